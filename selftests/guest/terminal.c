// SPDX-License-Identifier: GPL-2.0
/*
 * A vt100 on which a program runs, and which says what is on its screen
 *
 *	terminal COLUMNS LINES PROGRAM [ARGUMENT]...
 *
 * It does what stdin says, line by line:
 *
 *	wait TEXT		until the screen has this text
 *	show			print the screen
 *	type KEYS		on the keyboard
 *	size COLUMNS LINES	make the window another size
 *	end			wait until the program ends, and say how it did
 *
 * It fails if TEXT does not come within two minutes, or if the program writes a sequence that
 * a vt100 does not have, or outside the screen. After "size" the program may still place the
 * cursor for the old size, which is moved into the new one, until it clears the screen.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <poll.h>
#include <pty.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include "must.h"

#define MAX	256
#define PATIENCE	120000	/* ms */

static char cell[MAX][MAX];
static int columns, lines, x, y, fd;
static bool resized;	/* the program has not cleared the screen since the last "size" */

static void clear(int line, int from, int to)
{
	if (from < to)
		memset(&cell[line][from], ' ', to - from);
}

static void show(void)
{
	for (int i = 0; i < lines; i++) {
		int n = columns;

		while (n && cell[i][n - 1] == ' ')
			n--;
		printf("%.*s\n", n, cell[i]);
	}
}

static void line_feed(void)
{
	if (y + 1 < lines) {
		y++;
		return;
	}
	memmove(cell[0], cell[1], (lines - 1) * sizeof(cell[0]));
	clear(y, 0, columns);
}

static void put(char c)
{
	/* Behind the last column the next character begins a new line. */
	if (x == columns) {
		x = 0;
		line_feed();
	}
	cell[y][x++] = c;
}

static void erase(int what)
{
	const int at = x < columns ? x : columns - 1;

	if (what != 1)
		clear(y, at, columns);
	if (what)
		clear(y, 0, at + 1);
}

static void erase_screen(int what)
{
	if (what == 2 || (!what && !x && !y))
		resized = false;
	erase(what);
	for (int i = what == 1 ? 0 : y + 1; i < (what == 1 ? y : lines); i++)
		clear(i, 0, columns);
	for (int i = 0; what == 2 && i < y; i++)
		clear(i, 0, columns);
}

static void move(int to_x, int to_y)
{
	if (resized) {
		to_x = to_x < columns ? to_x : columns - 1;
		to_y = to_y < lines ? to_y : lines - 1;
	}
	if (to_x < 0 || to_x >= columns || to_y < 0 || to_y >= lines)
		die("the cursor is put to column %d, line %d", to_x + 1, to_y + 1);
	x = to_x;
	y = to_y;
}

/* ESC [ PARAMETERS FINAL */
static void control(const char *p, char final)
{
	const int x_on = x < columns ? x : columns - 1;
	const bool private = *p == '?';
	int n[2] = { 0 }, one;
	char *end;

	if (private)
		p++;
	n[0] = strtol(p, &end, 10);
	if (*end == ';')
		n[1] = strtol(end + 1, NULL, 10);
	one = n[0] ? n[0] : 1;
	if (strchr("mhlgr", final)) {
		/* A new scrolling region also takes the cursor home. */
		if (final == 'r')
			move(0, 0);
	} else if (private) {
		die("ESC [ ?%s %c", p, final);
	} else if (final == 'H' || final == 'f') {
		move((n[1] ? n[1] : 1) - 1, one - 1);
	} else if (final == 'A' || final == 'B') {
		move(x_on, final == 'A' ? y - one : y + one);
	} else if (final == 'C' || final == 'D') {
		move(final == 'C' ? x_on + one : x_on - one, y);
	} else if (final == 'J') {
		erase_screen(n[0]);
	} else if (final == 'K') {
		erase(n[0]);
	} else {
		die("ESC [ %s %c", p, final);
	}
}

/* Takes a character from the program. */
static void take(char c)
{
	static char sequence[MAX];
	static size_t nr;

	if (nr) {
		sequence[nr++] = c;
		must(nr < sizeof(sequence));
		if (nr == 2 && strchr("[()", c))
			return;
		if (sequence[1] == '[' && !isalpha(c))
			return;
		sequence[nr - 1] = '\0';
		if (sequence[1] == '[')
			control(sequence + 2, c);
		else if (!strchr("=>78()BM0", c))
			die("ESC %c", c);
		nr = 0;
	} else if (c == '\033') {
		sequence[nr++] = c;
	} else if (c == '\n') {
		line_feed();
	} else if (c == '\r') {
		x = 0;
	} else if (c == '\b') {
		move((x < columns ? x : columns - 1) - 1, y);
	} else if (c == '\t') {
		move((x | 7) + 1 < columns ? (x | 7) + 1 : columns - 1, y);
	} else if (c >= ' ' && c <= '~') {
		put(c);
	} else if (c && c != '\016' && c != '\017' && c != '\a') {
		die("character %d", c);
	}
}

/* Takes what the program writes in @ms; false: nothing. */
static bool run(int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char text[4096];
	ssize_t n;

	if (poll(&p, 1, ms) <= 0)
		return false;
	n = read(fd, text, sizeof(text));
	for (ssize_t i = 0; i < n; i++)
		take(text[i]);
	return n > 0;
}

static bool has(const char *text)
{
	for (int i = 0; i < lines; i++) {
		if (memmem(cell[i], columns, text, strlen(text)))
			return true;
	}
	return false;
}

static void wait_for(const char *text)
{
	for (int ms = 0; !has(text); ms += 10) {
		run(10);
		if (ms > PATIENCE) {
			show();
			die("%s is not on the screen", text);
		}
	}
}

static void resize(const char *size)
{
	struct winsize w = { 0 };

	must(sscanf(size, "%hu %hu", &w.ws_col, &w.ws_row) == 2);
	must(w.ws_col < MAX && w.ws_row < MAX);
	columns = w.ws_col;
	lines = w.ws_row;
	if (x > columns)
		x = columns;
	if (y >= lines)
		y = lines - 1;
	resized = true;
	must(!ioctl(fd, TIOCSWINSZ, &w));
}

static void end(pid_t pid, const struct termios *before)
{
	struct termios after = { 0 };
	int status, ms;

	for (ms = 0; !waitpid(pid, &status, WNOHANG) && ms < PATIENCE; ms += 10)
		run(10);
	must(ms < PATIENCE);
	while (run(0))
		;
	must(!tcgetattr(fd, &after));
	printf("exit %d, terminal %s\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
	       memcmp(before, &after, sizeof(after)) ? "changed" : "as it was");
}

int main(int argc, char **argv)
{
	struct termios before = { 0 };
	struct winsize w;
	char line[MAX];
	int slave;
	pid_t pid;

	must(argc > 3);
	setlinebuf(stdout);
	w = (struct winsize){ .ws_col = atoi(argv[1]), .ws_row = atoi(argv[2]) };
	must(w.ws_col > 0 && w.ws_col < MAX && w.ws_row > 0 && w.ws_row < MAX);
	columns = w.ws_col;
	lines = w.ws_row;
	memset(cell, ' ', sizeof(cell));
	setenv("TERM", "vt100", 1);
	must(!openpty(&fd, &slave, NULL, NULL, &w));
	must(!tcgetattr(fd, &before));
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		close(fd);
		login_tty(slave);
		execvp(argv[3], argv + 3);
		_exit(127);
	}
	/* Because @slave stays open here, the terminal stays as the program leaves it. */
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "wait ", 5))
			wait_for(line + 5);
		else if (!strncmp(line, "type ", 5))
			must(write(fd, line + 5, strlen(line + 5)) > 0);
		else if (!strncmp(line, "size ", 5))
			resize(line + 5);
		else if (!strcmp(line, "show"))
			show();
		else if (!strcmp(line, "end"))
			end(pid, &before);
		else
			die("no such command: %s", line);
	}
	return 0;
}
