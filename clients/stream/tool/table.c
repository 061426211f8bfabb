// SPDX-License-Identifier: GPL-2.0
/* Tables that fit the terminal: names are shortened, numbers are not. */
#include <stdio.h>

#include "rows.h"

/* Names that are shortened keep this much of their widths. */
#define NAME_MIN	PATH_MIN

static const char *text_of(const struct table *t, char *to, const void *rows, size_t i, size_t c)
{
	return t->text(to, (const char *)rows + i * t->size, t->column[c].what);
}

static void widths(const struct table *t, const void *rows, size_t nr, int *width)
{
	char text[CELL_TEXT];
	int n;

	for (size_t c = 0; c < t->nr; c++) {
		width[c] = strlen(t->column[c].head);
		for (size_t i = 0; i < nr; i++) {
			n = strlen(text_of(t, text, rows, i, c));
			width[c] = n > width[c] ? n : width[c];
		}
	}
}

/* Fit the table to the terminal: the widest name loses columns first. */
static void fit(const struct table *t, int *width)
{
	int total = t->nr - 1, widest;

	for (size_t c = 0; c < t->nr; c++)
		total += width[c];
	for (; total > t->width; total--) {
		widest = -1;
		for (size_t c = 0; c < t->nr; c++) {
			if (t->column[c].is_name && width[c] > NAME_MIN &&
			    (widest < 0 || width[c] > width[widest]))
				widest = c;
		}
		if (widest < 0)
			return;
		width[widest]--;
	}
}

static void print_groups(const struct table *t, const int *width)
{
	bool any = false;
	int at = 0, n = 0;

	for (size_t c = 0; c < t->nr; c++) {
		if (t->column[c].group) {
			n += printf("%*s%s", at > n ? at - n : 0, "", t->column[c].group);
			any = true;
		}
		at += width[c] + 1;
	}
	if (any)
		putchar('\n');
}

/* Shorten a text: a path loses its middle, a name its end, but not the PID after it. */
static void print_short(const char *text, int width)
{
	const char *end = strrchr(text, '(');

	if (!end || text[strlen(text) - 1] != ')' || (int)strlen(end) > width - 2)
		end = "";
	if (*text == '/')
		print_path(text, width);
	else
		printf("%.*s~%s", width - 1 - (int)strlen(end), text, end);
}

static void print_cell(const struct table *t, size_t c, const int *width, const char *text)
{
	const int pad = width[c] - (int)strlen(text);
	const bool last = c + 1 == t->nr;

	if (!t->column[c].is_name)
		printf("%*s%s", pad, "", text);
	else if (pad < 0)
		print_short(text, width[c]);
	else
		printf("%s%*s", text, last ? 0 : pad, "");
	putchar(last ? '\n' : ' ');
}

/* Print @nr rows. */
void print_table(const struct table *t, const void *rows, size_t nr)
{
	int width[MAX_COLUMNS];
	char text[CELL_TEXT];

	widths(t, rows, nr, width);
	fit(t, width);
	print_groups(t, width);
	for (size_t c = 0; c < t->nr; c++)
		print_cell(t, c, width, t->column[c].head);
	for (size_t i = 0; i < nr; i++) {
		for (size_t c = 0; c < t->nr; c++)
			print_cell(t, c, width, text_of(t, text, rows, i, c));
	}
}
