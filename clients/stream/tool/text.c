// SPDX-License-Identifier: GPL-2.0
/* Tasks, paths and times as text, for tables that people read. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kdtl.h"

/* The terminal's width: a file or a pipe gets whole lines, and a serial console may not know it. */
int terminal_width(void)
{
	struct winsize size;
	const char *columns = getenv("COLUMNS");
	const int n = columns ? atoi(columns) : 0;
	const bool terminal = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);

	if (terminal && size.ws_col)
		return size.ws_col;
	if (n > 0)
		return n;
	return terminal ? 80 : 1 << 16;
}

/* The terminal's height: a file or a pipe has no end. */
unsigned int terminal_rows(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		return UINT_MAX;
	return size.ws_row ? size.ws_row : 24;
}

/* "NAME (PID)"; the hypervisor's log names no tasks. */
const char *task_text(char *to, size_t size, const struct recording *r,
		      const struct kdtl_entry *e)
{
	char comm[PRINTABLE(COMM_LEN)];

	if (!r->sched)
		snprintf(to, size, "virtual processor");
	else
		snprintf(to, size, "%s (%d)", printable(comm, entry_comm(e), COMM_LEN),
			 entry_pid(e));
	return to;
}

/*
 * "NAME (PID)" in a list, or amid a sentence: with printable(), but a comma is escaped as well,
 * since a name such as "a (1) 5 s, b" would blame another task.
 */
const char *listed_text(char to[TASK_TEXT], const char *comm, int pid)
{
	char text[PRINTABLE(COMM_LEN)], *p = to;

	for (const char *c = printable(text, comm, COMM_LEN); *c; c++)
		p += sprintf(p, *c == ',' ? "\\x%02x" : "%c", *c);
	sprintf(p, " (%d)", pid);
	return to;
}

/* The path of the task's cgroup; @t is NULL if nothing is known of the task. */
const char *path_text(char *to, const struct recording *r, const struct kdtl_task *t)
{
	const char *path = t ? cgroup_path(r, t->cgroup) : NULL;

	return path ? printable(to, path, strnlen(path, KDTL_CGROUP_LEN)) : "?";
}

/* At most @width columns of a path, but PATH_MIN at least; its end says more than its middle. */
void print_path(const char *path, int width)
{
	const int len = strlen(path), room = width > PATH_MIN ? width : PATH_MIN;
	const int left = room / 2 - 3;

	if (len <= room)
		fputs(path, stdout);
	else
		printf("%.*s...%s", left, path, path + len - (room - left - 3));
}

/* Would a command of this name, where its PID is not beside it, be taken for something else? */
bool means_else(const char *name)
{
	static const char *const names[] = {
		"?", "-", "not known", "idle", "interrupts", "the hypervisor",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

/*
 * One word of the line for scripts: like printable(), but blanks and = are escaped as well, and so
 * is the first byte of a name that would mean something else.
 */
const char *word_text(char to[PRINTABLE(KDTL_CGROUP_LEN)], const char *name, size_t len)
{
	char text[PRINTABLE(KDTL_CGROUP_LEN)], *p = to;
	bool escape;

	printable(text, name, len);
	escape = means_else(text);
	for (const char *c = text; *c; c++) {
		if (*c == ' ' || *c == '=' || (escape && c == text))
			p += sprintf(p, "\\x%02x", *c);
		else
			*p++ = *c;
	}
	*p = '\0';
	return to;
}

/* A time without blanks around it. */
const char *short_ns(char to[NS_TEXT], uint64_t ns)
{
	char *end;

	ns_text(to, ns, false);
	while (*to == ' ')
		to++;
	end = to + strlen(to);
	while (end > to && end[-1] == ' ')
		*--end = '\0';
	return to;
}

/* Is this UTF-8 without control characters?  No encoding may be longer than need be. */
static bool is_plain(const unsigned char *p, size_t len)
{
	static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
	unsigned int more;
	uint32_t c;

	while (len && *p) {
		c = *p++;
		len--;
		more = c < 0x80 ? 0 : c >> 5 == 6 ? 1 : c >> 4 == 14 ? 2 : c >> 3 == 30 ? 3 : 4;
		if (more > 3 || more > len)
			return false;
		c &= more ? 0x3f >> more : 0x7f;
		for (unsigned int i = 0; i < more; i++, len--, p++) {
			if (*p >> 6 != 2)
				return false;
			c = c << 6 | (*p & 0x3f);
		}
		if (c < least[more] || c > 0x10ffff || c >> 11 == 0x1b || c < ' ' ||
		    (c >= 0x7f && c < 0xa0))
			return false;
	}
	return true;
}

const char *utf8_text(char *to, const char *name, size_t len)
{
	len = strnlen(name, len);
	if (!is_plain((const unsigned char *)name, len))
		return printable(to, name, len);
	memcpy(to, name, len);
	to[len] = '\0';
	return to;
}

/* The name of a recording's source, as the recording has it. */
const char *source_text(const struct recording *r)
{
	static char to[PRINTABLE(KDTL_SOURCE_LEN)];

	return printable(to, r->head.source, KDTL_SOURCE_LEN);
}

/* The zone of local times from @begin to @end, or both if another one begins meanwhile. */
const char *zones_text(char to[ZONES_TEXT], uint64_t begin, uint64_t end)
{
	char zone[TIME_TEXT], other[TIME_TEXT];
	bool changes;

	time_text(zone, begin, "%Z", 0);
	changes = strcmp(zone, time_text(other, end, "%Z", 0));
	snprintf(to, ZONES_TEXT, "%s%s%s", zone, changes ? " and " : "", changes ? other : "");
	return to;
}

/* Where and on which day the recording was made. */
void print_origin(const struct recording *r)
{
	const uint64_t begin = time_of_day(r, r->nr ? be64toh(r->entry[0]->timebase) :
						      r->head.tb_boot);
	const uint64_t end = time_of_day(r, recording_span(r).to);
	char host[PRINTABLE(64)], day[TIME_TEXT], last[TIME_TEXT], zones[ZONES_TEXT];
	bool days;

	time_text(day, begin, "%Y-%m-%d", 0);
	days = strcmp(day, time_text(last, end, "%Y-%m-%d", 0));
	printf("host %s, %s%s%s, times in %s%s\n\n", printable(host, r->head.host, 64), day,
	       days ? " to " : "", days ? last : "", zones_text(zones, begin, end),
	       r->nr_clocks ? "" : " (approximate: an old recording)");
}
