// SPDX-License-Identifier: GPL-2.0
/* kdtl map: which task has which CPU, a line for each change. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "rows.h"

#define CODE_TEXT	8
#define TIME_WIDTH	time_width(6)

/**
 * struct cpu - a column
 * @cpu: its number
 * @key: the task that has it, even if it is not shown; NULL: the idle task
 * @is_known: @key still has the CPU
 * @is_wanted: @key is a task that is to be shown
 * @is_shown: the last line shows such a task here
 */
struct cpu {
	unsigned int	cpu;
	struct key	*key;
	bool		is_known;
	bool		is_wanted;
	bool		is_shown;
};

/**
 * struct map - what is printed
 * @r: the recording
 * @tasks: which tasks are shown
 * @times: which time is shown
 * @chosen: some tasks are not shown
 * @cpu: the CPUs, a column each
 * @nr_cpus: number of those
 * @column: the column of each CPU; 0: none, 1: the first
 * @keys: the tasks
 * @code: the number of each task's code, from 1 on; 0: none yet
 * @named: the tasks that have codes
 * @nr_codes: number of those
 * @len: letters and digits of a code
 * @width: of the terminal
 */
struct map {
	struct recording	r;
	struct filter		tasks;
	struct filter		times;
	bool			chosen;
	struct cpu		*cpu;
	size_t			nr_cpus;
	size_t			*column;
	struct keys		keys;
	size_t			*code;
	struct key		**named;
	size_t			nr_codes;
	int			len;
	int			width;
};

static const char *parse(struct map *m, int argc, char **argv)
{
	static const struct option names[] = { FILTER_OPTIONS, OPTIONS_END };
	int opt;

	while ((opt = next_option(argc, argv, ":h", names)) != -1)
		filter_option(&m->tasks, opt, optarg);
	if (argc - optind > 1)
		usage_error("map: expected at most one file");
	return argv[optind] ?: "kdtl.data";
}

/* Track all tasks and times, to know who has each CPU, but show only those that are wanted. */
static void split_filter(struct map *m)
{
	m->times = (struct filter){
		.from = m->tasks.from, .to = m->tasks.to,
		.first = m->tasks.first, .last = m->tasks.last,
	};
	m->tasks.from = NULL;
	m->tasks.to = NULL;
	m->chosen = m->tasks.pid || m->tasks.comm || m->tasks.cgroup || m->tasks.min_wait;
}

static void make_columns(struct map *m)
{
	const cpu_set_t *cpus = m->tasks.cpus;
	unsigned int cpu;

	m->column = calloc(MAX_CPUS, sizeof(*m->column));
	if (!m->column)
		die("no memory");
	for (size_t i = 0; i < m->r.nr; i++)
		m->column[entry_cpu(m->r.entry[i])] = 1;
	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		if (!m->column[cpu])
			continue;
		m->column[cpu] = 0;
		if (cpus && !CPU_ISSET_S(cpu, CPU_ALLOC_SIZE(MAX_CPUS), cpus))
			continue;
		grow(m->cpu, m->nr_cpus);
		m->cpu[m->nr_cpus++] = (struct cpu){ .cpu = cpu };
		m->column[cpu] = m->nr_cpus;
	}
	m->tasks.cpus = NULL;
}

/* A code begins with a letter; further ones are letters or digits. */
#define LETTERS		52
#define SIGNS		62

static void make_codes(struct map *m, struct key **key, const bool *wanted)
{
	size_t most = LETTERS, tasks = 0;

	m->code = calloc(m->keys.nr + 1, sizeof(*m->code));
	if (!m->code)
		die("no memory");
	for (size_t i = 0; i < m->r.nr; i++) {
		if (wanted[i] && !m->code[key[i]->nr]) {
			m->code[key[i]->nr] = 1;
			tasks++;
		}
	}
	memset(m->code, 0, m->keys.nr * sizeof(*m->code));
	for (m->len = 1; most < tasks; m->len++)
		most *= SIGNS;
}

static const char *code_text(char to[CODE_TEXT], const struct map *m, size_t code)
{
	static const char signs[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

	code--;
	to[m->len] = '\0';
	for (int i = m->len - 1; i > 0; i--, code /= SIGNS)
		to[i] = signs[code % SIGNS];
	to[0] = signs[code];
	return to;
}

/* Columns are narrow, so print one digit below the other. */
static void print_head(const struct map *m)
{
	unsigned int unit = 1;

	while (m->cpu[m->nr_cpus - 1].cpu / unit >= 10)
		unit *= 10;
	for (bool first = true; unit; unit /= 10, first = false) {
		printf("%-*s", TIME_WIDTH, first ? "time of day CPU" : "");
		for (size_t i = 0; i < m->nr_cpus; i++) {
			if (m->cpu[i].cpu >= unit || unit == 1)
				printf("  %-*u", m->len, m->cpu[i].cpu / unit % 10);
			else
				printf("  %-*s", m->len, "");
		}
		putchar('\n');
	}
}

static void name_task(struct map *m, struct key *key)
{
	grow(m->named, m->nr_codes);
	m->named[m->nr_codes++] = key;
	m->code[key->nr] = m->nr_codes;
}

/* Print the legend beside the line or, if there is no room, below it. */
static void print_legend(const struct map *m, size_t from)
{
	int at = TIME_WIDTH + m->nr_cpus * (m->len + 2), n;
	char text[CODE_TEXT], task[CELL_TEXT];

	for (; from < m->nr_codes; from++) {
		n = strlen(key_text(task, &m->keys, m->named[from])) + m->len + 6;
		if (at + n > m->width) {
			printf("\n%*s", TIME_WIDTH, "");
			at = TIME_WIDTH;
		}
		at += n;
		printf("  %s => %s", code_text(text, m, from + 1), task);
	}
}

static void print_line(struct map *m, const struct kdtl_entry *e, size_t changed)
{
	const size_t named = m->nr_codes;
	char text[CODE_TEXT], time[TIME_TEXT];

	fputs(time_text(time, time_of_day(&m->r, be64toh(e->timebase)), "%H:%M:%S", 6), stdout);
	for (size_t i = 0; i < m->nr_cpus; i++) {
		struct cpu *c = &m->cpu[i];
		const char *shown = text;

		c->is_shown = c->is_known && c->is_wanted;
		if (!c->is_known)
			shown = "-";
		else if (!c->key)
			shown = ".";
		else if (!c->is_wanted)
			shown = ":";
		else if (!m->code[c->key->nr])
			name_task(m, c->key);
		if (shown == text)
			code_text(text, m, m->code[c->key->nr]);
		printf(" %c%-*s", i == changed ? '*' : ' ', m->len, shown);
	}
	print_legend(m, named);
	putchar('\n');
}

/* Entry @i takes effect.  Returns whether that is shown. */
static bool dispatch(struct map *m, struct cpu *c, size_t i, struct key *key, bool wanted)
{
	const struct kdtl_entry *e = m->r.entry[i];

	c->key = entry_is_idle(e) ? NULL : key;
	c->is_wanted = wanted;
	c->is_known = true;
	return filter_wants(&m->times, &m->r, e) && (wanted || !m->chosen || c->is_shown);
}

/* For each entry, by time: does the CPU's next entry say that the task had the CPU until then? */
static bool *find_known(const struct recording *r)
{
	const struct kdtl_entry **next = calloc(MAX_CPUS, sizeof(*next));
	bool *known = resized(NULL, r->nr + 1);

	if (!next)
		die("no memory");
	for (size_t i = r->nr; i--;) {
		const struct kdtl_entry *e = r->entry[i], *n = next[entry_cpu(e)];

		known[i] = n && ran_between(r, e, n);
		next[entry_cpu(e)] = e;
	}
	free(next);
	return known;
}

/* Keep only as many CPUs as the terminal has room for, but at least one. */
static void drop_columns(struct map *m)
{
	const int columns = (m->width - TIME_WIDTH) / (m->len + 2);
	const size_t room = columns > 0 ? columns : 1;

	if (m->nr_cpus <= room)
		return;
	fprintf(stderr, "kdtl: the line has room for %zu of %zu CPUs: choose some with --cpu\n",
		room, m->nr_cpus);
	while (m->nr_cpus > room)
		m->column[m->cpu[--m->nr_cpus].cpu] = 0;
}

static void print_map(struct map *m, const char *path)
{
	struct key **key = resized(NULL, (m->r.nr + 1) * sizeof(*key));
	bool *known = find_known(&m->r), *wanted = resized(NULL, m->r.nr + 1);
	struct cpu *c;
	size_t nr = 0;

	for (size_t i = 0; i < m->r.nr; i++) {
		const struct kdtl_entry *e = m->r.entry[i];

		key[i] = key_of(&m->keys, &m->r, e);
		wanted[i] = m->column[entry_cpu(e)] && !entry_is_idle(e) &&
			    filter_wants(&m->tasks, &m->r, e);
		nr += wanted[i];
	}
	if (!nr)
		tell_empty(&m->tasks, &m->r, path);
	make_codes(m, key, wanted);
	drop_columns(m);
	print_head(m);
	for (size_t i = 0; i < m->r.nr; i++) {
		const size_t column = m->column[entry_cpu(m->r.entry[i])];

		if (!column)
			continue;
		c = &m->cpu[column - 1];
		if (dispatch(m, c, i, key[i], wanted[i]))
			print_line(m, m->r.entry[i], column - 1);
		/* If the next entry says that another task was before it, nobody knows when. */
		c->is_known = known[i];
	}
}

static int map(int argc, char **argv)
{
	struct map m = { .width = terminal_width(), .keys = { .by = BY_TASK } };
	const char *path = parse(&m, argc, argv);

	m.r = recording_open(path);
	recording_sort(&m.r);
	filter_begin(&m.tasks, &m.r);
	errno = 0;
	if (!m.r.sched)
		die("%s: the entries of %s name no tasks; kdtl report shows them by CPU", path,
		    source_text(&m.r));
	split_filter(&m);
	make_columns(&m);
	if (!m.nr_cpus)
		die("%s: no dispatches on these CPUs; kdtl print shows all", path);
	printf("%s: who has the CPUs; . idle, - not known%s, * changed\n", path,
	       m.chosen ? ", : another task" : "");
	if (name_beside(path, IRQ_SUFFIX))
		puts("interrupts are the time of the task that they interrupt");
	print_origin(&m.r);
	print_map(&m, path);
	return 0;
}

const struct verb verb_map = {
	.name = "map",
	.brief = "which task has which CPU, a line for each change",
	.usage =
	"map [OPTION]... [FILE]\n"
	FILTER_USAGE,
	.run = map,
};
