// SPDX-License-Identifier: GPL-2.0
/* Dispatches summed up by task, process, command, cgroup or CPU: the rows of tables. */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>

#include "rows.h"

/* Ids of culprits that are no task: above all PIDs. */
#define INTERRUPTS	(UINT64_MAX - 2)
#define HYPERVISOR	(UINT64_MAX - 1)
#define IDLE		UINT64_MAX
#define NO_TASK		INTERRUPTS

/* The wait that @permille of a thousand dispatches did not exceed. */
uint64_t percentile(const uint64_t *wait, size_t nr, unsigned int permille)
{
	return wait[((uint64_t)nr * permille + 999) / 1000 - 1];
}

int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int by_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return strncmp(x->name, y->name, KDTL_CGROUP_LEN);
}

/* The name of a task has a NUL in a key. */
static struct key *new_key(struct keys *k, const struct key *like)
{
	struct key *key = resized(NULL, sizeof(*key));

	*key = *like;
	key->nr = k->nr++;
	key->name = strndup(like->name, KDTL_CGROUP_LEN - 1);
	if (!key->name)
		die("no memory");
	return key;
}

/* The PID of the entry's process, and @comm is its name; 0: not known. */
static uint64_t process_of(const struct recording *r, const struct kdtl_entry *e, char *comm)
{
	const struct kdtl_task *t = entry_task(r, e), *leader;
	const char *name = entry_comm(e);

	if (!t)
		return 0;
	if (t->tgid != (uint32_t)entry_pid(e)) {
		leader = task_at(r, e, t->tgid, be64toh(e->timebase));
		name = leader ? leader->comm : "?";
	}
	memcpy(comm, name, strnlen(name, COMM_LEN));
	return t->tgid;
}

static struct key *find_key(struct keys *k, const struct key *key)
{
	struct key **found = tfind(key, &k->tree, by_key);

	if (!found) {
		found = tsearch(new_key(k, key), &k->tree, by_key);
		if (!found)
			die("no memory");
	}
	return *found;
}

/* What the row of @e is for. */
struct key *key_of(struct keys *k, const struct recording *r, const struct kdtl_entry *e)
{
	const struct kdtl_task *t;
	char comm[COMM_LEN + 1] = "";
	struct key key = { .name = comm };

	if (k->by == BY_CPU) {
		key.id = entry_cpu(e);
	} else if (entry_is_idle(e)) {
		/* The id tells this row from that of a task named "idle". */
		key.id = IDLE;
		key.name = "idle";
	} else if (k->by == BY_CGROUP) {
		t = entry_task(r, e);
		key.name = t ? cgroup_path(r, t->cgroup) : NULL;
		if (!key.name)
			key.name = "?";
	} else if (k->by == BY_PROCESS) {
		key.id = process_of(r, e, comm);
	} else {
		memcpy(comm, entry_comm(e), COMM_LEN);
		key.id = k->by == BY_TASK ? entry_pid(e) : 0;
	}
	return find_key(k, &key);
}

/* What the row is for of a task that became its process by exec(). */
struct key *key_of_execd(struct keys *k, const struct recording *r, const struct kdtl_task *t)
{
	char comm[COMM_LEN + 1] = "";
	struct key key = { .name = comm };

	if (k->by == BY_CGROUP) {
		key.name = cgroup_path(r, t->cgroup);
		if (!key.name)
			key.name = "?";
	} else {
		memcpy(comm, t->comm, COMM_LEN);
		key.id = k->by == BY_COMM ? 0 : t->pid;
	}
	return find_key(k, &key);
}

static void free_key(void *p)
{
	struct key *key = p;

	free((char *)key->name);
	free(key);
}

void keys_free(struct keys *k)
{
	tdestroy(k->tree, free_key);
	*k = (struct keys){ .by = k->by };
}

const char *key_text(char to[CELL_TEXT], const struct keys *k, const struct key *key)
{
	char name[PRINTABLE(KDTL_CGROUP_LEN)];

	printable(name, key->name, KDTL_CGROUP_LEN);
	if (k->by == BY_CPU)
		snprintf(to, CELL_TEXT, "CPU %u", (unsigned int)key->id);
	else if (k->by == BY_PROCESS && !key->id)
		snprintf(to, CELL_TEXT, "?");
	else if ((k->by == BY_TASK || k->by == BY_PROCESS) && key->id < NO_TASK)
		snprintf(to, CELL_TEXT, "%s (%d)", name, (int)key->id);
	else if (k->by == BY_COMM && key->id < NO_TASK && means_else(name))
		snprintf(to, CELL_TEXT, "\\x%02x%s", *name, name + 1);
	else
		snprintf(to, CELL_TEXT, "%s", name);
	return to;
}

const char *const row_heads[] = {
	[BY_TASK] = "task (PID)", [BY_COMM] = "command", [BY_CGROUP] = "cgroup", [BY_CPU] = "CPU",
	[BY_PROCESS] = "process (PID)",
};

/* What rows are counted in. */
const char *const row_names[] = {
	[BY_TASK] = "tasks", [BY_COMM] = "commands", [BY_CGROUP] = "cgroups", [BY_CPU] = "CPUs",
	[BY_PROCESS] = "processes",
};

/* As many rows as fit the terminal beside @others other lines, but at most 20. */
size_t default_rows(unsigned int others)
{
	const unsigned int lines = terminal_rows();

	return lines >= others + 20 ? 20 : lines > others ? lines - others : 1;
}

/* The option --by, or --behind. */
enum by parse_by(const char *option, const char *text)
{
	static const char *const names[] = {
		[BY_TASK] = "task", [BY_COMM] = "comm", [BY_CGROUP] = "cgroup", [BY_CPU] = "cpu",
		[BY_PROCESS] = "process",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(text, names[i]))
			return i;
	}
	usage_error("%s %s: must be task, process, comm, cgroup or cpu", option, text);
}

/* The hypervisor's log names no tasks, so there the rows are for CPUs. */
enum by rows_by(const struct recording *r, enum by by, bool asked)
{
	if (!r->sched && asked && by != BY_CPU)
		usage_error("--by: the entries of %s name no tasks", source_text(r));
	if (by == BY_CGROUP && !r->nr_tasks)
		usage_error("--by cgroup: the recording has no cgroups: it is from an older kdtl");
	if (by == BY_PROCESS && !r->nr_tasks)
		usage_error("--by process: the recording has no processes: it is from an older kdtl");
	return r->sched ? by : BY_CPU;
}

/*
 * The dispatches that are wanted, in the order of the entries.  With an @interval (in ns), each
 * dispatch gets the number of its interval.
 */
struct dispatch *find_dispatches(const struct recording *r, const struct filter *f,
				 struct keys *k, uint64_t interval, size_t *nr)
{
	struct dispatch *d = NULL;
	const struct kdtl_entry *e;

	*nr = 0;
	for (size_t i = 0; i < r->nr; i++) {
		e = r->entry[i];
		if (entry_is_idle(e) || entry_is_begin(r, e) || !filter_wants(f, r, e))
			continue;
		grow(d, *nr);
		d[(*nr)++] = (struct dispatch){
			key_of(k, r, e), i,
			interval ? time_of_day(r, be64toh(e->timebase)) / interval : 0,
		};
	}
	return d;
}

static int by_interval_and_key(const void *a, const void *b)
{
	const struct dispatch *x = a, *y = b;

	if (x->interval != y->interval)
		return x->interval < y->interval ? -1 : 1;
	if (x->key->nr != y->key->nr)
		return x->key->nr < y->key->nr ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

/* Sort dispatches as rows_of() needs them. */
void sort_dispatches(struct dispatch *d, size_t nr)
{
	if (nr)
		qsort(d, nr, sizeof(*d), by_interval_and_key);
}

/*
 * How long the task of entry @i ran, if the next entry says so.  Otherwise it is at most
 * what is added to @unknown.  While the hypervisor or an interrupt had the CPU, it did not run.
 * Nor did it once the CPU was offline.
 */
static uint64_t ran_for(const struct recording *r, size_t i, uint64_t end, uint64_t *unknown)
{
	const unsigned int cpu = entry_cpu(r->entry[i]);
	const size_t next = next_of_cpu(r, i);
	const struct move *m = move_after(r, r->entry[i]);
	const uint64_t from = entry_time(r, r->entry[i]);
	uint64_t to = next == SIZE_MAX ? end : entry_time(r, r->entry[next]), ns;

	if (m && since_boot(r, m->ticks) < to)
		to = m->online ? from : since_boot(r, m->ticks);
	ns = to - from - taken_in(r, cpu, from, to);
	if (ran_until_next(r, i))
		return ns;
	*unknown += ns;
	return 0;
}

static struct row row_of(const struct recording *r, const struct dispatch *d, size_t nr,
			 uint64_t end)
{
	uint64_t *wait = resized(NULL, nr * sizeof(*wait)), unknown = 0;
	struct row row = { .key = d->key, .first = d, .nr = nr, .least = UINT64_MAX };
	const struct kdtl_entry *e;

	for (size_t i = 0; i < nr; i++) {
		e = r->entry[d[i].i];
		if (entry_still(r, e))
			row.still++;
		else
			row.ran += ran_for(r, d[i].i, end, &unknown);
		if (entry_is_throttled(e)) {
			row.throttled += entry_throttled(r, e);
			row.throttled_more |= entry_throttled_saturated(e);
		}
		if (!entry_has_wait(r, e))
			continue;
		wait[row.waits] = entry_wait(r, e);
		row.waited += wait[row.waits];
		row.elsewhere += wait[row.waits] - entry_queued(r, e);
		if (entry_wait_saturated(e) && wait[row.waits] < row.least)
			row.least = wait[row.waits];
		row.waits++;
	}
	row.unknown = unknown;
	if (row.waits) {
		qsort(wait, row.waits, sizeof(*wait), by_value);
		row.p50 = percentile(wait, row.waits, 500);
		row.p99 = percentile(wait, row.waits, 990);
		row.max = wait[row.waits - 1];
	}
	free(wait);
	return row;
}

/* Threads that became their processes by exec(): whose time is whose from then on. */
struct execd *find_execd(const struct recording *r, const struct filter *f, struct keys *k,
			 uint64_t interval, size_t *nr)
{
	struct execd *x = NULL;
	const struct kdtl_entry *e;
	const struct kdtl_task *t;
	uint64_t from, to;

	*nr = 0;
	for (size_t i = 0; i < r->nr && k->by != BY_CPU; i++) {
		e = r->entry[i];
		t = execd_task(r, i);
		if (!t)
			continue;
		from = since_boot(r, t->since);
		to = entry_time(r, r->entry[next_of_cpu(r, i)]);
		grow(x, *nr);
		x[(*nr)++] = (struct execd){
			filter_wants(f, r, e) && !entry_is_begin(r, e) ? key_of(k, r, e) : NULL,
			filter_wants_execd(f, r, e, t) ? key_of_execd(k, r, t) : NULL,
			interval ? time_of_day(r, be64toh(e->timebase)) / interval : 0,
			to - from - taken_in(r, entry_cpu(e), from, to),
		};
	}
	return x;
}

/* The row of @key; SIZE_MAX: there is none. */
static size_t row_with(const struct row *row, size_t nr, const struct key *key)
{
	size_t i;

	for (i = 0; i < nr && row[i].key != key; i++)
		;
	return i < nr ? i : SIZE_MAX;
}

/* Count the time for the programs, which may have no dispatch of their own. */
struct row *move_execd(const struct execd *x, size_t nr, uint64_t interval, struct row *row,
		       size_t *nr_rows)
{
	size_t at;

	for (size_t i = 0; i < nr; i++) {
		if (x[i].interval != interval)
			continue;
		at = row_with(row, *nr_rows, x[i].was);
		if (at != SIZE_MAX)
			row[at].ran -= x[i].ns;
		if (!x[i].is)
			continue;
		at = row_with(row, *nr_rows, x[i].is);
		if (at == SIZE_MAX) {
			at = *nr_rows;
			grow(row, *nr_rows);
			row[(*nr_rows)++] = (struct row){ .key = x[i].is, .least = UINT64_MAX };
		}
		row[at].ran += x[i].ns;
	}
	return row;
}

/* The end of the recording, in ns since boot: it goes on after the last entry. */
uint64_t recording_end(const struct recording *r)
{
	return r->nr || r->nr_clocks ? since_boot(r, recording_span(r).to) : 0;
}

static uint64_t waited(const struct row *row)
{
	return row->waited;
}

static uint64_t longest(const struct row *row)
{
	return row->max;
}

static uint64_t ran(const struct row *row)
{
	return row->ran;
}

static uint64_t dispatches(const struct row *row)
{
	return row->nr - row->still;
}

static uint64_t throttled(const struct row *row)
{
	return row->throttled;
}

static uint64_t half(const struct row *row)
{
	return row->p50;
}

static uint64_t most(const struct row *row)
{
	return row->p99;
}

const struct sort sorts[NR_SORTS] = {
	{ 'w', "waited", waited },
	{ 'm', "max", longest },
	{ 'r', "ran", ran },
	{ 'd', "count", dispatches },
	{ 't', "throttled", throttled },
	{ 0, "p50", half },
	{ 0, "p99", most },
};

/* The option --sort. */
const struct sort *parse_sort(const char *text)
{
	for (size_t i = 0; i < NR_SORTS; i++) {
		if (!strcmp(text, sorts[i].name))
			return &sorts[i];
	}
	usage_error("--sort %s: must be waited, throttled, ran, count, p50, p99 or max", text);
}

/* For how long the tasks of a row had no CPU. */
static uint64_t without(const struct row *row)
{
	return row->waited + row->throttled;
}

static int highest_first(const void *a, const void *b, void *value)
{
	uint64_t (*of)(const struct row *row) = ((const struct sort *)value)->value;
	const struct row *x = a, *y = b;
	const uint64_t s = of(x), t = of(y);

	if (s != t)
		return s > t ? -1 : 1;
	if (x->ran != y->ran)
		return x->ran > y->ran ? -1 : 1;
	return by_key(x->key, y->key);
}

/* Sort rows; @sort NULL: the longest time without a CPU comes first. */
void sort_rows(struct row *row, size_t nr, const struct sort *sort)
{
	struct sort worst = { .value = without };

	if (nr)
		qsort_r(row, nr, sizeof(*row), highest_first, sort ? (void *)sort : &worst);
}

/*
 * The rows of @nr dispatches of one interval, which are sorted, worst first; @end is
 * recording_end().
 */
struct row *rows_of(const struct recording *r, const struct dispatch *d, size_t nr,
		    uint64_t end, size_t *nr_rows)
{
	struct row *row = NULL;

	*nr_rows = 0;
	for (size_t i = 0, n; i < nr; i += n) {
		for (n = 1; i + n < nr && d[i + n].key == d[i].key; n++)
			;
		grow(row, *nr_rows);
		row[(*nr_rows)++] = row_of(r, d + i, n, end);
	}
	sort_rows(row, *nr_rows, NULL);
	return row;
}

/**
 * struct sweep - goes back in time over the waits of a row on one CPU
 * @start: when each wait began, the latest one first
 * @nr: number of waits
 * @begun: how many of them begin after the moment at which the sweep is
 * @open: how many there are at that moment
 */
struct sweep {
	uint64_t	*start;
	size_t		nr;
	size_t		begun;
	size_t		open;
};

static int latest_first(const void *a, const void *b)
{
	return by_value(b, a);
}

/* The sum of all waits, as far as they lie between @since and @until. */
static uint64_t sweep_back(struct sweep *s, uint64_t since, uint64_t until)
{
	uint64_t ns = 0;

	for (; s->open && s->begun < s->nr && s->start[s->begun] > since; s->begun++) {
		ns += s->open-- * (until - s->start[s->begun]);
		until = s->start[s->begun];
	}
	return ns + s->open * (until - since);
}

/*
 * sweep_back(), without the time in which the hypervisor or interrupts had the CPU, which is added
 * to @stolen or to @irqs.
 */
static uint64_t sweep_had(struct sweep *s, const struct recording *r, unsigned int cpu,
			  uint64_t since, uint64_t until, uint64_t *stolen, uint64_t *irqs)
{
	const struct gap *g = gap_after(r->taken, r->nr_taken, cpu, until);
	const struct gap *end = r->taken + r->nr_taken;
	uint64_t ns = 0;

	/* Begin with the last gap that begins before @until, and go back. */
	if (g < end && g->cpu == cpu && g->from < until)
		g++;
	for (; g > r->taken && g[-1].cpu == cpu && g[-1].to > since; g--) {
		if (g[-1].to < until) {
			ns += sweep_back(s, g[-1].to, until);
			until = g[-1].to;
		}
		*(g[-1].entry ? irqs : stolen) +=
			sweep_back(s, g[-1].from > since ? g[-1].from : since, until);
		until = g[-1].from > since ? g[-1].from : since;
	}
	return ns + sweep_back(s, since, until);
}

static void blame(struct key *key, uint64_t ns, struct key **blamed)
{
	if (ns && !key->behind) {
		key->next = *blamed;
		*blamed = key;
	}
	key->behind += ns;
}

/* The hypervisor and interrupts as culprits; nobody else has their ids. */
static struct key hypervisor = { .id = HYPERVISOR, .name = "the hypervisor" };
static struct key interrupts = { .id = INTERRUPTS, .name = "interrupts" };

/* Blame the tasks that had the CPU of these @nr waits during them; @who has each entry's key. */
static void blame_cpu(const struct recording *r, struct key **who, const struct dispatch *d,
		      size_t nr, struct key **blamed)
{
	struct sweep s = { .start = resized(NULL, nr * sizeof(*s.start)) };
	const unsigned int cpu = entry_cpu(r->entry[d->i]);
	uint64_t ns, stolen = 0, irqs = 0;
	size_t i;

	for (size_t n = 0; n < nr; n++) {
		const uint64_t t = entry_time(r, r->entry[d[n].i]);

		ns = entry_queued(r, r->entry[d[n].i]);
		s.start[s.nr++] = ns < t ? t - ns : 0;
	}
	qsort(s.start, s.nr, sizeof(*s.start), latest_first);
	for (i = d[nr - 1].i; i && entry_cpu(r->entry[i - 1]) == cpu; i--) {
		if (nr && d[nr - 1].i == i) {
			s.open++;
			nr--;
		}
		if (!s.open) {
			if (!nr)
				break;
			i = d[nr - 1].i + 1;
			continue;
		}
		ns = sweep_had(&s, r, cpu, entry_time(r, r->entry[i - 1]),
			       entry_time(r, r->entry[i]), &stolen, &irqs);
		if (ran_until_next(r, i - 1))
			blame(who[i - 1], ns, blamed);
	}
	/* Before the CPU's first entry, only that is known. */
	if (nr && d[nr - 1].i == i)
		s.open++;
	if (s.open)
		sweep_had(&s, r, cpu, s.start[s.nr - 1], entry_time(r, r->entry[i]), &stolen,
			  &irqs);
	blame(&hypervisor, stolen, blamed);
	blame(&interrupts, irqs, blamed);
	free(s.start);
}

/*
 * Who had the CPU after entry @i; of several programs, or cgroups, the one that had it for most of
 * the time.
 */
static struct key *culprit_of(const struct recording *r, struct keys *k, size_t i)
{
	const struct kdtl_entry *e = r->entry[i];
	const size_t next = next_of_cpu(r, i);
	char comm[COMM_LEN + 1] = "";
	const struct key key = { .name = comm };
	const struct kdtl_task *t;
	const char *name;

	if ((k->by != BY_COMM && k->by != BY_CGROUP) || next == SIZE_MAX || entry_is_idle(e) ||
	    !r->nr_tasks)
		return key_of(k, r, e);
	t = ran_task(r, e, entry_prev_pid(r->entry[next]), entry_time(r, e),
		     entry_time(r, r->entry[next]), &name);
	if (k->by == BY_CGROUP)
		return t ? key_of_execd(k, r, t) : key_of(k, r, e);
	memcpy(comm, name, strnlen(name, COMM_LEN));
	return find_key(k, &key);
}

/* Who had the CPU after each entry, for find_culprit(): a command, or what @k is by. */
struct key **culprits_of(const struct recording *r, struct keys *k)
{
	struct key **who = resized(NULL, (r->nr + 1) * sizeof(*who));

	/* At the end of a wait that is not over, the CPU's task goes on. */
	for (size_t i = 0; i < r->nr; i++)
		who[i] = i && entry_still(r, r->entry[i]) ? who[i - 1] : culprit_of(r, k, i);
	return who;
}

/*
 * Whose tasks had the CPUs longest while the tasks of @row waited, by the rule of who_ran(), or the
 * hypervisor, or interrupts.  @who is that of culprits_of().
 */
void find_culprit(const struct recording *r, struct key **who, struct row *row)
{
	struct key *blamed = NULL;
	size_t n;

	for (size_t i = 0; i < row->nr; i += n) {
		const unsigned int cpu = entry_cpu(r->entry[row->first[i].i]);

		for (n = 1; i + n < row->nr && entry_cpu(r->entry[row->first[i + n].i]) == cpu; n++)
			;
		blame_cpu(r, who, row->first + i, n, &blamed);
	}
	for (; blamed; blamed = blamed->next) {
		row->known += blamed->behind;
		if (blamed->behind > row->behind ||
		    (blamed->behind == row->behind && by_key(blamed, row->culprit) < 0)) {
			row->behind = blamed->behind;
			row->culprit = blamed;
		}
		blamed->behind = 0;
	}
}
