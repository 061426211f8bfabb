// SPDX-License-Identifier: GPL-2.0
/* The tasks of a recording, each as it was at a time. */
#include <stdio.h>
#include <stdlib.h>

#include "kdtl.h"

/* A task's first dispatch may seem older than its fork, if the clocks of CPUs differ. */
#define SKEW_NS		20000000

static int by_pid_and_time(const void *a, const void *b)
{
	const struct task *x = a, *y = b;

	if (x->resets != y->resets)
		return x->resets < y->resets ? -1 : 1;
	if (x->t.pid != y->t.pid)
		return x->t.pid < y->t.pid ? -1 : 1;
	if (x->t.since != y->t.since)
		return x->t.since < y->t.since ? -1 : 1;
	return x->t.seq < y->t.seq ? -1 : x->t.seq > y->t.seq;
}

static int by_id(const void *a, const void *b)
{
	const struct cgroup *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

void tasks_sort(struct recording *r)
{
	if (r->nr_tasks)
		qsort(r->task, r->nr_tasks, sizeof(*r->task), by_pid_and_time);
	if (r->nr_cgroups)
		qsort(r->cgroup, r->nr_cgroups, sizeof(*r->cgroup), by_id);
}

/* The chunks of KDTL_CHUNK_RESET before an entry; they are in the order of the file. */
static size_t resets_before(const struct recording *r, const struct kdtl_entry *e)
{
	size_t from = 0, to = r->nr_resets, i;

	while (from < to) {
		i = from + (to - from) / 2;
		if (r->reset[i] < (const void *)e)
			from = i + 1;
		else
			to = i;
	}
	return from;
}

/*
 * What @pid was at the time @ticks, which is that of @e or somewhat later; NULL: not known.  Only
 * records count that no loss separates from the entry.  If @e is NULL, or not in the file, it
 * counts as coming after all records.
 */
const struct kdtl_task *task_at(const struct recording *r, const struct kdtl_entry *e, int pid,
				uint64_t ticks)
{
	static const struct kdtl_task idle = { .comm = "idle" };
	struct task key = {
		.t = { .seq = UINT64_MAX, .since = ticks, .pid = pid },
	};
	size_t from = 0, to = r->nr_tasks, i;
	const struct task *t;

	if (!r->nr_tasks)
		return NULL;
	if (!pid)
		return &idle;
	key.resets = !e || entry_still(r, e) || entry_is_begin(r, e) || entry_move(r, e) ?
		     r->nr_resets : resets_before(r, e);
	/* The first one that comes after the key. */
	while (from < to) {
		i = from + (to - from) / 2;
		if (by_pid_and_time(&r->task[i], &key) > 0)
			to = i;
		else
			from = i + 1;
	}
	t = &r->task[from];
	if (from && t[-1].resets == key.resets && t[-1].t.pid == key.t.pid)
		return &t[-1].t;
	/* After a loss, the first record that is known need not be the task's first. */
	if (from < r->nr_tasks && !t->resets && !key.resets && t->t.pid == key.t.pid &&
	    ticks_to_ns(r, t->t.since - key.t.since) < SKEW_NS)
		return &t->t;
	return NULL;
}

/* The name of the task that left the CPU of entry @i; "": not known. */
const char *entry_prev_comm(char to[COMM_LEN + 8], const struct recording *r, size_t i,
			    const struct kdtl_task *prev)
{
	const struct kdtl_entry *e = r->entry[i];

	if (!entry_prev_pid(e)) {
		snprintf(to, COMM_LEN + 8, "swapper/%u", entry_cpu(e));
		return to;
	}
	if (i && entry_cpu(r->entry[i - 1]) == entry_cpu(e) &&
	    entry_pid(r->entry[i - 1]) == entry_prev_pid(e))
		snprintf(to, COMM_LEN + 8, "%.*s", COMM_LEN, entry_comm(r->entry[i - 1]));
	else
		snprintf(to, COMM_LEN + 8, "%.*s", COMM_LEN, prev ? prev->comm : "");
	return to;
}

/* The path of the cgroup @id; NULL: not known. */
const char *cgroup_path(const struct recording *r, uint64_t id)
{
	const struct cgroup key = { .id = id };
	const struct cgroup *c;

	if (!r->nr_cgroups)
		return NULL;
	c = bsearch(&key, r->cgroup, r->nr_cgroups, sizeof(key), by_id);
	return c ? c->path : NULL;
}

/* Is @path the cgroup @top, or below it? */
bool is_in_cgroup(const char *path, const char *top)
{
	size_t len = strlen(top);

	while (len && top[len - 1] == '/')
		len--;
	return !strncmp(path, top, len) && (!path[len] || path[len] == '/');
}
