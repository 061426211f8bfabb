// SPDX-License-Identifier: GPL-2.0
/* kdtl why --json: an object for each wait. */
#include <stdlib.h>

#include "export.h"
#include "sleeps.h"

static void put_cgroup(const struct recording *r, const struct kdtl_task *t)
{
	line_text("cgroup", t ? cgroup_path(r, t->cgroup) : NULL, KDTL_CGROUP_LEN);
}

static void put_behind(const struct recording *r, const struct who *w)
{
	line_open("behind", '[');
	for (const struct ran *ran = w->ran; ran < w->ran + w->nr; ran++) {
		line_open(NULL, '{');
		line_text("comm", ran->pid ? ran->comm : "idle", COMM_LEN);
		if (ran->pid < 0) {
			line_text("pid", NULL, 0);
			line_text("irq", kdtl_irq_word(ran->pid), COMM_LEN);
		} else {
			line_number("pid", ran->pid);
		}
		put_cgroup(r, ran->pid ? ran->task : NULL);
		line_number("ns", ran->ns);
		line_close('}');
	}
	line_close(']');
}

/* Put who had the CPU, which the hypervisor's log does not say. */
static void put_who(const struct recording *r, size_t i)
{
	struct who who = { 0 };

	if (r->sched && entry_wait(r, r->entry[i]))
		who_ran(r, i, &who);
	else
		who.unknown = entry_wait(r, r->entry[i]);
	put_behind(r, &who);
	if (r->steal)
		line_number("stolen_ns", who.stolen);
	else
		line_text("stolen_ns", NULL, 0);
	line_number("unknown_ns", who.unknown);
	line_number("elsewhere_ns", who.elsewhere);
	free(who.ran);
}

/* Put who could not be preempted; without any such task in the recording, that is not known. */
static void put_kept(const struct recording *r, const struct kepts *k, size_t i)
{
	const struct kdtl_wake_entry *kept = kept_before(k, r, r->entry[i]);
	const char *comm = NULL;

	if (kept)
		comm = kdtl_wake_pid(kept) ? kdtl_wake_comm(kept) : "idle";
	line_text("kept_comm", comm, COMM_LEN);
	if (kept)
		line_number("kept_pid", kdtl_wake_pid(kept));
	else
		line_text("kept_pid", NULL, 0);
	if (k->nr)
		line_number("kept_ns", kept ? kdtl_wake_arg(kept) : 0);
	else
		line_text("kept_ns", NULL, 0);
}

/* The wait of entry @i; @limit is what held its task back, or NULL. */
void why_json(const struct recording *r, const struct kepts *k, size_t i, const char *limit)
{
	const struct kdtl_entry *e = r->entry[i];
	const uint64_t ns = entry_wait(r, e) + entry_throttled(r, e);
	const uint64_t end = time_of_day(r, be64toh(e->timebase));

	line_begin();
	line_text("comm", r->sched ? entry_comm(e) : NULL, COMM_LEN);
	if (r->sched)
		line_number("pid", entry_pid(e));
	else
		line_text("pid", NULL, 0);
	put_cgroup(r, r->nr_tasks ? entry_task(r, e) : NULL);
	line_number("cpu", entry_cpu(e));
	line_time("begin", "begin_ns", ns < end ? end - ns : 0);
	line_time("end", "end_ns", end);
	line_number("waited_ns", entry_wait(r, e));
	line_number("throttled_ns", entry_throttled(r, e));
	line_text("limit", limit, limit ? strlen(limit) : 0);
	line_bool("saturated", entry_throttled_saturated(e) || entry_wait_saturated(e));
	line_bool("not_over", entry_still(r, e));
	put_who(r, i);
	put_kept(r, k, i);
	line_end();
}
