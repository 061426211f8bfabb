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
		usage_error("export: --format chrome, csv or jsonl is missing");
	if (argc - optind > 1)
		usage_error("export: expected at most one file");
	if (argv[optind])
		o.path = argv[optind];
	return o;
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

/* In the order of time, although the entries are in that of CPUs. */
static int by_time(const void *a, const void *b, void *recording)
{
	const struct recording *r = recording;
	const size_t x = ((const struct line *)a)->i, y = ((const struct line *)b)->i;
	const uint64_t s = be64toh(r->entry[x]->timebase), t = be64toh(r->entry[y]->timebase);

	if (s != t)
		return s < t ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Lines of a CPU that follow each other: what was lost before the second one, or behind the first. */
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

/* ------------------------------------------------------------------- fields */

static struct field *add(struct fields *f, const char *name, enum field_kind kind)
{
	struct field *field = &f->field[f->nr++];

	*field = (struct field){ .name = name, .kind = kind };
	return field;
}

static void add_number(struct fields *f, const char *name, int64_t value)
{
	add(f, name, FIELD_NUMBER)->number = value;
}

/* Times may be as large as a clock can say. */
static void add_time(struct fields *f, const char *name, uint64_t ns)
{
	add(f, name, FIELD_TIME)->number = ns;
}

static void add_bool(struct fields *f, const char *name, bool value)
{
	add(f, name, FIELD_BOOL)->number = value;
}

static void add_text(struct fields *f, const char *name, const char *text, size_t len)
{
	struct field *field = add(f, name, FIELD_TEXT);

	field->text = text;
	field->len = len;
}

static void add_hex(struct fields *f, const char *name, uint64_t value)
{
	struct field *field = add(f, name, FIELD_TEXT);

	field->len = snprintf(field->digits, sizeof(field->digits), "%016" PRIx64, value);
}

static void add_code(struct fields *f, const char *name, const char *text, unsigned int code)
{
	struct field *field = add(f, name, FIELD_TEXT);

	field->text = text;
	field->len = text ? strlen(text) :
		(size_t)snprintf(field->digits, sizeof(field->digits), "%u", code);
}

static void add_task(struct fields *f, const struct recording *r, const struct kdtl_entry *e)
{
	const struct kdtl_task *t = entry_pid(e) ? entry_task(r, e) : NULL;
	const char *path = t ? cgroup_path(r, t->cgroup) : NULL;

	if (t) {
		add_number(f, "tgid", t->tgid);
		add_code(f, "policy", t->policy < NR_POLICY_NAMES ?
			 policy_names[t->policy] : NULL, t->policy);
		add_number(f, "nice", t->nice);
		add_number(f, "rt_priority", t->rt_priority);
	} else {
		add(f, "tgid", FIELD_UNKNOWN);
		add(f, "policy", FIELD_UNKNOWN);
		add(f, "nice", FIELD_UNKNOWN);
		add(f, "rt_priority", FIELD_UNKNOWN);
	}
	if (path)
		add_text(f, "cgroup", path, strnlen(path, KDTL_CGROUP_LEN));
	else
		add(f, "cgroup", FIELD_UNKNOWN);
}

/* Who had the CPU meanwhile; the format decides how much of it is shown. */
static void add_behind(struct fields *f, const struct recording *r, size_t i)
{
	const struct kdtl_entry *e = r->entry[i];

	f->who.nr = 0;
	f->who.stolen = 0;
	f->who.unknown = 0;
	f->who.elsewhere = 0;
	if (!entry_is_idle(e))
		who_ran(r, i, &f->who);
	add(f, "behind", FIELD_BEHIND);
	add_time(f, "behind_unknown_ns", f->who.unknown + f->who.elsewhere);
	if (r->steal)
		add_time(f, "stolen_ns", f->who.stolen);
	else
		add(f, "stolen_ns", FIELD_UNKNOWN);
}

/* Programs that keep numbers as doubles round what is larger than 2^53. */
static void add_digits(struct fields *f, const char *name, uint64_t value)
{
	struct field *field = add(f, name, FIELD_TEXT);

	field->len = snprintf(field->digits, sizeof(field->digits), "%" PRIu64, value);
}

/* What later versions added comes last. */
static void add_more(struct fields *f, const struct recording *r, const struct line *line)
{
	const struct kdtl_entry *e = r->entry[line->i];

	add_digits(f, "time_ns_text", time_of_day(r, be64toh(e->timebase)));
	add_digits(f, "since_boot_ns_text", entry_time(r, e));
	/* Of older versions it is not known when entries were lost. */
	if (r->head.lost && !r->nr_losses) {
		add(f, "lost", FIELD_UNKNOWN);
		add(f, "lost_since_boot_ns", FIELD_UNKNOWN);
		add(f, "lost_after", FIELD_UNKNOWN);
		return;
	}
	add_time(f, "lost", line->lost);
	if (line->lost)
		add_time(f, "lost_since_boot_ns", line->lost_since);
	else
		add(f, "lost_since_boot_ns", FIELD_UNKNOWN);
	add_time(f, "lost_after", line->lost_after);
}

/* All that is known of an entry.  The entries must be sorted by CPU. */
void entry_fields(struct fields *f, const struct recording *r, const struct line *line)
{
	const struct kdtl_entry *e = r->entry[line->i];

	f->nr = 0;
	add_time(f, "time_ns", time_of_day(r, be64toh(e->timebase)));
	add_bool(f, "time_approximate", !r->nr_clocks);
	add_time(f, "since_boot_ns", entry_time(r, e));
	add_number(f, "cpu", entry_cpu(e));
	if (entry_has_wait(r, e))
		add_time(f, "waited_ns", entry_wait(r, e));
	else
		add(f, "waited_ns", FIELD_UNKNOWN);
	add_bool(f, "waited_saturated", entry_wait_saturated(e));
	add_time(f, "slept_ns", entry_slept(r, e));
	add_bool(f, "slept_saturated", entry_slept_saturated(e));
	add_time(f, "throttled_ns", entry_throttled(r, e));
	add_bool(f, "throttled_saturated", entry_throttled_saturated(e));
	add_code(f, "dispatch_reason", dispatch_name(r, e->dispatch_reason), e->dispatch_reason);
	add_code(f, "preempt_reason", preempt_name(r, e->preempt_reason), e->preempt_reason);
	if (!r->sched) {
		add_hex(f, "fault_addr", be64toh(e->fault_addr));
		add_hex(f, "srr0", be64toh(e->srr0));
		add_hex(f, "srr1", be64toh(e->srr1));
		add_more(f, r, line);
		return;
	}
	add_text(f, "comm", entry_comm(e), strnlen(entry_comm(e), COMM_LEN));
	add_number(f, "pid", entry_pid(e));
	add_number(f, "prev_pid", entry_prev_pid(e));
	add_task(f, r, e);
	add_behind(f, r, line->i);
	add_more(f, r, line);
}

/* ---------------------------------------------------------------------- CSV */

/* RFC 4180 has printable ASCII alone, so names are as print shows them. */
static void csv_text(FILE *out, const char *text, size_t len)
{
	char shown[PRINTABLE(KDTL_CGROUP_LEN)];

	printable(shown, text, len);
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
static void export_csv(FILE *out, struct recording *r, const struct line *line, size_t nr)
{
	static const struct kdtl_entry none;
	const struct kdtl_entry *entry = &none;
	struct recording empty = *r;
	struct fields f = { 0 };

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
	void		(*run)(FILE *out, struct recording *r, const struct line *line, size_t nr);
} formats[] = {
	{ "chrome", export_chrome }, { "csv", export_csv }, { "jsonl", export_jsonl },
};

static void remove_unfinished(void)
{
	if (unfinished)
		unlink(unfinished);
}

/* Also by another name, and "-" is standard input, which may be a file. */
static bool is_same_file(const char *in, const char *out)
{
	struct stat x, y;

	if (strcmp(in, "-") ? stat(in, &x) : fstat(STDIN_FILENO, &x))
		return false;
	return !stat(out, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The recording of stolen time beside the other one is kept, also if it is not used. */
static void check_out(const struct export_options *o)
{
	char beside[4096];
	const int n = snprintf(beside, sizeof(beside), "%s" STEAL_SUFFIX, o->path);

	if (is_same_file(o->path, o->out))
		usage_error("export: -o %s: is the recording", o->out);
	if ((o->steal && is_same_file(o->steal, o->out)) ||
	    (n < (int)sizeof(beside) && is_same_file(beside, o->out)))
		usage_error("export: -o %s: is the recording of stolen time", o->out);
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
	struct line *line;
	size_t i, nr;
	FILE *out;

	for (i = 0; i < ARRAY_SIZE(formats) && strcmp(o.format, formats[i].name); i++)
		;
	if (i == ARRAY_SIZE(formats))
		usage_error("export: --format %s: must be chrome, csv or jsonl", o.format);
	if (!HAVE_JSON && strcmp(o.format, "csv")) {
		errno = 0;
		die("--format %s: this kdtl was built without json-c; install Debian's libjson-c-dev and pkg-config, and run make tool again",
		    o.format);
	}
	if (o.out)
		check_out(&o);
	r = recording_open(o.path);
	steal_open(&r, o.path, o.steal);
	recording_sort(&r);
	filter_begin(&o.filter, &r);
	if (!o.filter.from && !o.filter.to)
		tell_approximate(&r);
	recording_sort_by_cpu(&r);
	losses_tell(&r, o.path);
	line = find_entries(&r, &o.filter, &nr);
	if (!nr)
		tell_empty(&o.filter, &r, o.path);
	out = open_out(&o);
	formats[i].run(out, &r, line, nr);
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
	"  --format chrome|csv|jsonl\n"
	"                           a trace for Perfetto, a table, a JSON object per line\n"
	"  -o FILE                  write to FILE (default: standard output)\n"
	"  --steal FILE2            what the hypervisor took (default: FILE.steal)\n"
	FILTER_USAGE,
	.run = export,
};
