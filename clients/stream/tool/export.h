/* SPDX-License-Identifier: GPL-2.0 */
/* kdtl export: declarations shared by its files. */
#ifndef KDTL_TOOL_EXPORT_H
#define KDTL_TOOL_EXPORT_H

#include <stdio.h>

#include "kdtl.h"
#include "sleeps.h"

/**
 * struct export_options - the command line of export
 * @format: one of formats[]
 * @out: the file to write; NULL: standard output
 * @filter: the entries that are wanted
 * @path: the recording
 * @steal: the one of stolen time; NULL: the one beside it, if there is one
 */
struct export_options {
	const char	*format;
	const char	*out;
	struct filter	filter;
	const char	*path;
	const char	*steal;
};

/**
 * struct line - an entry that is wanted
 * @i: its number
 * @lost: entries of its CPU that were lost since the line of that CPU before it
 * @lost_since: when the first of these may have been lost, in ns since boot
 * @lost_after: entries of its CPU that were lost later, if this is the CPU's last line
 */
struct line {
	size_t		i;
	uint64_t	lost;
	uint64_t	lost_since;
	uint64_t	lost_after;
};

enum field_kind {
	FIELD_UNKNOWN,
	FIELD_NUMBER,
	FIELD_TIME,	/* without a sign */
	FIELD_BOOL,
	FIELD_TEXT,
	FIELD_BEHIND,	/* fields::who */
};

/**
 * struct field - something that is known of an entry
 * @name: its name
 * @kind: which of the other members hold its value
 * @number: a number
 * @text: a text; NULL: it is in @digits
 * @len: its length; it may be without a NUL
 * @digits: a short text
 */
struct field {
	const char	*name;
	enum field_kind	kind;
	uint64_t	number;
	const char	*text;
	size_t		len;
	char		digits[24];
};

#define MAX_FIELDS	32

/**
 * struct fields - all that is known of an entry
 * @field: in the order in which they are shown
 * @nr: their number
 * @who: who had the CPU while the task waited
 */
struct fields {
	struct field	field[MAX_FIELDS];
	size_t		nr;
	struct who	who;
};

void entry_fields(struct fields *f, const struct recording *r, const struct line *line);

/* json_line.c */
void line_open(const char *key, char bracket);
void line_close(char bracket);
void line_key(const char *key);
void line_text(const char *key, const char *text, size_t len);
void line_number(const char *key, uint64_t number);
void line_bool(const char *key, bool value);
void line_time(const char *key, const char *key_ns, uint64_t ns);
void line_begin(void);
void line_end(void);

/* json.c; without json-c these do nothing. */
void export_jsonl(FILE *out, struct recording *r, const struct sleeps *s,
		  const struct line *line, size_t nr);
void export_chrome(FILE *out, struct recording *r, const struct sleeps *s,
		   const struct line *line, size_t nr);

/* ftrace.c */
void export_ftrace(FILE *out, struct recording *r, const struct sleeps *s,
		   const struct line *line, size_t nr);

#endif /* KDTL_TOOL_EXPORT_H */
