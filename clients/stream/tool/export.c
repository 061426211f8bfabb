// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl export: what a recording says, for other programs
 *
 * CSV and JSON lines have the same fields for each entry.  Chrome's trace format has
 * tracks: one for each CPU with who had it, and one for each task with its waits.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export.h"

/* A file that is not whole yet; NULL: there is none. */
static const char *unfinished;

static struct export_options parse(int argc, char **argv)
{
	enum { OPT_FORMAT = OPT_OTHERS, OPT_STEAL };
	static const struct option names[] = {
		{ "format", required_argument, NULL, OPT_FORMAT },
		{ "steal", required_argument, NULL, OPT_STEAL },
		FILTER_OPTIONS,
		OPTIONS_END
	};
	struct export_options o = { .path = "kdtl.data" };
	int opt;

	while ((opt = next_option(argc, argv, ":ho:", names)) != -1) {
		switch (opt) {
		case 'o':
			o.out = strcmp(optarg, "-") ? optarg : NULL;
			break;
		case OPT_FORMAT:
			o.format = optarg;
			break;
		case OPT_STEAL:
			o.steal = optarg;
			break;
		default:
			filter_option(&o.filter, opt, optarg);
		}
	}
	if (!o.format)
		usage_error("export: --format chrome, csv, ftrace or jsonl is missing");
	if (argc - optind > 1)
		usage_error("export: expected at most one file");
	if (argv[optind])
		o.path = argv[optind];
	return o;
}

/* Sort by time, although the entries are sorted by CPU. */
static int by_time(const void *a, const void *b, void *recording)
{
	const struct recording *r = recording;
	const size_t x = ((const struct line *)a)->i, y = ((const struct line *)b)->i;
	const uint64_t s = be64toh(r->entry[x]->timebase), t = be64toh(r->entry[y]->timebase);

	if (s != t)
		return s < t ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* For successive lines of a CPU, find what was lost before the second one, or after the first. */
static void find_losses(const struct recording *r, struct line *line, size_t nr)
{
	const struct gap *l, *end = r->loss + r->nr_losses;
	unsigned int cpu;

	for (size_t k = 0; k < nr; k++) {
		cpu = entry_cpu(r->entry[line[k].i]);
		if (!k || entry_cpu(r->entry[line[k - 1].i]) != cpu)
			l = gap_after(r->loss, r->nr_losses, cpu, 0);
		for (; l < end && l->cpu == cpu && l->to <= entry_time(r, r->entry[line[k].i]); l++) {
			if (!line[k].lost || l->from < line[k].lost_since)
				line[k].lost_since = l->from;
			line[k].lost += l->lost;
		}
		if (k + 1 < nr && entry_cpu(r->entry[line[k + 1].i]) == cpu)
			continue;
		for (; l < end && l->cpu == cpu; l++)
			line[k].lost_after += l->lost;
	}
}

/* The entries that are wanted. */
static struct line *find_entries(struct recording *r, const struct filter *f, size_t *nr)
{
	struct line *line = NULL;

	*nr = 0;
	for (size_t i = 0; i < r->nr; i++) {
		if (!filter_wants(f, r, r->entry[i]))
			continue;
		grow(line, *nr);
		line[(*nr)++] = (struct line){ .i = i };
	}
	find_losses(r, line, *nr);
	if (*nr)
		qsort_r(line, *nr, sizeof(*line), by_time, r);
	return line;
}

/* ---------------------------------------------------------------------- CSV */

/*
 * RFC 4180 allows printable ASCII only, so names are written as kdtl print shows them.  Whoever
 * chose a name must not make a formula of it: a spreadsheet computes what begins with one of these.
 */
static void csv_text(FILE *out, const char *text, size_t len)
{
	char shown[PRINTABLE(KDTL_CGROUP_LEN)], first = len ? *text : '\0';

	printable(shown, text, len);
	if (first && strchr("=+-@", first)) {
		sprintf(shown, "\\x%02x", first);
		printable(shown + 4, text + 1, len - 1);
	}
	if (!strpbrk(shown, ",\"")) {
		fputs(shown, out);
		return;
	}
	putc('"', out);
	for (const char *p = shown; *p; p++) {
		if (*p == '"')
			putc('"', out);
		putc(*p, out);
	}
	putc('"', out);
}

/* The task that had the CPU longest. */
static void csv_behind(FILE *out, const struct who *w)
{
	const struct ran *ran = w->ran;

	if (!w->nr) {
		fputs(",,", out);
		return;
	}
	if (ran->pid)
		csv_text(out, ran->comm, COMM_LEN);
	else
		fputs("idle", out);
	fprintf(out, ",%d,%" PRIu64, ran->pid, ran->ns);
}

static void csv_field(FILE *out, const struct field *f, const struct who *w)
{
	switch (f->kind) {
	case FIELD_UNKNOWN:
		break;
	case FIELD_NUMBER:
	case FIELD_BOOL:
		fprintf(out, "%" PRId64, (int64_t)f->number);
		break;
	case FIELD_TIME:
		fprintf(out, "%" PRIu64, f->number);
		break;
	case FIELD_TEXT:
		csv_text(out, f->text ?: f->digits, f->len);
		break;
	case FIELD_BEHIND:
		csv_behind(out, w);
		break;
	}
}

static void csv_line(FILE *out, const struct fields *f, bool head)
{
	for (size_t i = 0; i < f->nr; i++) {
		if (i)
			putc(',', out);
		if (!head)
			csv_field(out, &f->field[i], &f->who);
		else if (f->field[i].kind == FIELD_BEHIND)
			fputs("behind,behind_pid,behind_ns", out);
		else
			fputs(f->field[i].name, out);
	}
	putc('\n', out);
}

/* The names of the fields are in the first line, also if no entry follows. */
static void export_csv(FILE *out, struct recording *r, const struct sleeps *s,
		       const struct line *line, size_t nr)
{
	static const struct kdtl_entry none;
	const struct kdtl_entry *entry = &none;
	struct recording empty = *r;
	struct fields f = { 0 };

	(void)s;
	empty.entry = &entry;
	empty.nr = 1;
	entry_fields(&f, &empty, &(struct line){ 0 });
	csv_line(out, &f, true);
	for (size_t k = 0; k < nr; k++) {
		entry_fields(&f, r, &line[k]);
		csv_line(out, &f, false);
	}
}

/* --------------------------------------------------------------------- verb */

static const struct {
	const char	*name;
	void		(*run)(FILE *out, struct recording *r, const struct sleeps *s,
			       const struct line *line, size_t nr);
	bool		json;		/* it needs json-c */
	bool		wakes;		/* it takes wake-ups beside the recording */
	bool		alone;		/* it takes a recording of those */
} formats[] = {
	{ "chrome", export_chrome, .json = true, .wakes = true },
	{ "csv", export_csv, .alone = true },
	{ "ftrace", export_ftrace, .wakes = true },
	{ "jsonl", export_jsonl, .json = true, .alone = true },
};

static void remove_unfinished(void)
{
	if (unfinished)
		unlink(unfinished);
}

/* Is it the same file, even by another name?  "-" is standard input, which may be a file. */
static bool is_same_file(const char *in, const char *out)
{
	struct stat x, y;

	if (strcmp(in, "-") ? stat(in, &x) : fstat(STDIN_FILENO, &x))
		return false;
	return !stat(out, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Do not overwrite the recordings beside the input, even if they are not used. */
static void check_out(const struct export_options *o)
{
	static const struct {
		const char	*suffix;
		const char	*of;
	} others[] = {
		{ STEAL_SUFFIX, "stolen time" },
		{ IRQ_SUFFIX, "interrupts" },
		{ WAKE_SUFFIX, "wake-ups" },
	};
	char beside[4096];
	int n;

	if (is_same_file(o->path, o->out))
		usage_error("export: -o %s: is the recording", o->out);
	if (o->steal && is_same_file(o->steal, o->out))
		usage_error("export: -o %s: is the recording of stolen time", o->out);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		n = snprintf(beside, sizeof(beside), "%s%s", o->path, others[i].suffix);
		if (n < (int)sizeof(beside) && is_same_file(beside, o->out))
			usage_error("export: -o %s: is the recording of %s", o->out, others[i].of);
	}
}

static FILE *open_out(const struct export_options *o)
{
	struct stat st;
	FILE *f;

	if (!o->out)
		return stdout;
	f = fopen(o->out, "we");
	if (!f)
		die("%s", o->out);
	if (!fstat(fileno(f), &st) && S_ISREG(st.st_mode)) {
		unfinished = o->out;
		atexit(remove_unfinished);
	}
	return f;
}

static int export(int argc, char **argv)
{
	struct export_options o = parse(argc, argv);
	struct recording r;
	struct sleeps s;
	struct line *line;
	size_t i, nr;
	FILE *out;

	for (i = 0; i < ARRAY_SIZE(formats) && strcmp(o.format, formats[i].name); i++)
		;
	if (i == ARRAY_SIZE(formats))
		usage_error("export: --format %s: must be chrome, csv, ftrace or jsonl", o.format);
	if (!HAVE_JSON && formats[i].json) {
		errno = 0;
		die("--format %s: this kdtl was built without json-c; install Debian's libjson-c-dev and pkg-config, and run make tool again",
		    o.format);
	}
	if (o.out)
		check_out(&o);
	r = recording_open_any(o.path);
	if (!recording_is_wake(&r)) {
		steal_open(&r, o.path, o.steal);
		irq_open(&r, o.path, NULL);
	} else if (o.steal || !formats[i].alone) {
		usage_error("export: %s: has wake-ups, which csv and jsonl show, without --steal", o.path);
	}
	if (formats[i].run == export_ftrace && !r.sched)
		usage_error("export: --format ftrace: the entries of %s name no tasks", source_text(&r));
	recording_sort(&r);
	filter_begin(&o.filter, &r);
	if (!o.filter.from && !o.filter.to)
		tell_approximate(&r);
	recording_sort_by_cpu(&r);
	if (formats[i].run == export_ftrace)
		moves_put(&r);
	losses_tell(&r, o.path);
	losses_place(&r);
	line = find_entries(&r, &o.filter, &nr);
	if (!nr)
		tell_empty(&o.filter, &r, o.path);
	out = open_out(&o);
	formats[i].run(out, &r, formats[i].wakes && sleeps_beside(&s, &r, o.path) ? &s : NULL,
		       line, nr);
	if (fflush(out) || ferror(out) || (o.out && fclose(out)))
		die("%s", o.out ?: "standard output");
	unfinished = NULL;
	return 0;
}

const struct verb verb_export = {
	.name = "export",
	.brief = "write JSON, CSV or a trace for Perfetto and Chrome",
	.usage =
	"export --format FORMAT [OPTION]... [FILE]\n"
	"  --format chrome|csv|ftrace|jsonl\n"
	"                           a trace for Perfetto, a table, ftrace's text (for\n"
	"                           Perfetto's scheduling tracks), a JSON object per line\n"
	"  -o FILE                  write to FILE (default: standard output)\n"
	"  --steal FILE2            what the hypervisor took (default: FILE.steal)\n"
	FILTER_USAGE,
	.run = export,
};
