// SPDX-License-Identifier: GPL-2.0
/*
 * A JSON object on one line, for the answers of why and report
 *
 * It needs no library, so that each build of the tool has it.  A key comes first, then its value;
 * @first_in says that no comma is needed.
 */
#include <inttypes.h>
#include <stdio.h>

#include "export.h"

static bool first_in;

void line_open(const char *key, char bracket)
{
	line_key(key);
	putchar(bracket);
	first_in = true;
}

void line_close(char bracket)
{
	putchar(bracket);
	first_in = false;
}

/* @key is NULL in an array. */
void line_key(const char *key)
{
	if (!first_in)
		putchar(',');
	first_in = false;
	if (key)
		printf("\"%s\":", key);
}

/* @text is NULL if not known.  printable() escapes control characters, and what is not UTF-8. */
void line_text(const char *key, const char *text, size_t len)
{
	char plain[PRINTABLE(KDTL_CGROUP_LEN)];

	line_key(key);
	if (!text) {
		fputs("null", stdout);
		return;
	}
	putchar('"');
	for (const char *c = utf8_text(plain, text, len); *c; c++) {
		if (*c == '"' || *c == '\\')
			putchar('\\');
		putchar(*c);
	}
	putchar('"');
}

void line_number(const char *key, uint64_t number)
{
	line_key(key);
	printf("%" PRIu64, number);
}

void line_bool(const char *key, bool value)
{
	line_key(key);
	fputs(value ? "true" : "false", stdout);
}

/* A time of day: @key_ns has ns since 1970, and @key the text. */
void line_time(const char *key, const char *key_ns, uint64_t ns)
{
	char text[TIME_TEXT];

	line_number(key_ns, ns);
	time_text(text, ns, "%Y-%m-%dT%H:%M:%S", 9);
	line_text(key, text, sizeof(text));
}

/* One line is one object. */
void line_begin(void)
{
	first_in = true;
	line_open(NULL, '{');
}

void line_end(void)
{
	line_close('}');
	putchar('\n');
}
