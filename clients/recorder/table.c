// SPDX-License-Identifier: GPL-2.0
/*
 * The newest dispatches of all CPUs as one table in the kernel's log
 *
 * Safe when the kernel is dying: no lock, no allocation, no waiting.  All entries
 * are copied first, so that the table shows one moment.  Rows are then chosen
 * backwards in time, from each CPU's newest entry, and printed forwards.
 */
#define pr_fmt(fmt) "kdtl_recorder: " fmt

#include <linux/printk.h>
#include <linux/sched/clock.h>
#include <linux/vmalloc.h>

#include "table.h"

/**
 * table_alloc() - allocate a table
 * @t: the table
 * @lines: most rows that it may have
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM; call table_free() in both cases.
 */
int table_alloc(struct table *t, unsigned int lines)
{
	t->lines = lines;
	t->cpus = vcalloc(nr_cpu_ids, sizeof(*t->cpus));
	t->entries = vcalloc(array_size(nr_cpu_ids, lines), sizeof(*t->entries));
	return t->cpus && t->entries ? 0 : -ENOMEM;
}

/**
 * table_free() - undo table_alloc()
 * @t: the table
 *
 * Context: may sleep.
 */
void table_free(struct table *t)
{
	vfree(t->entries);
	vfree(t->cpus);
}

/* In ns since boot, like the time stamps of the kernel's log. */
static u64 table_time(const struct table *t, const struct kdtl_entry *e)
{
	return kdtl_ticks_to_ns(&t->info, kdtl_entry_time(e) - t->info.tb_boot);
}

/* Copy the newest entries.  Returns the number of CPUs that have any. */
static unsigned int table_take(struct table *t, struct kdtl_session *s, u64 *total)
{
	struct kdtl_entry *to = t->entries;
	unsigned int found = 0;
	struct table_cpu *c;
	ssize_t len;
	u64 missed;
	int cpu;

	*total = 0;
	t->now = local_clock();
	kdtl_for_each_cpu(cpu, s) {
		c = &t->cpus[cpu];
		len = kdtl_aux_snapshot(s, cpu, to, t->lines * sizeof(*to), &missed);
		if (len < 0) {
			pr_warn("CPU %d cannot be read (%zd)\n", cpu, len);
			len = 0;
		}
		c->start = to;
		c->end = to + len / sizeof(*to);
		c->from = c->end;
		to += t->lines;
		*total += c->end - c->start + missed;
		found += !!len;
	}
	return found;
}

/* The CPU whose next older entry is the newest of all, or NULL. */
static struct table_cpu *table_newest(struct table *t)
{
	struct table_cpu *c, *best = NULL;
	int cpu;

	for_each_possible_cpu(cpu) {
		c = &t->cpus[cpu];
		if (c->from > c->start &&
		    (!best || kdtl_entry_time(c->from - 1) > kdtl_entry_time(best->from - 1)))
			best = c;
	}
	return best;
}

/* The CPU whose next entry is the oldest of all, or NULL. */
static struct table_cpu *table_oldest(struct table *t)
{
	struct table_cpu *c, *best = NULL;
	int cpu;

	for_each_possible_cpu(cpu) {
		c = &t->cpus[cpu];
		if (c->from < c->end &&
		    (!best || kdtl_entry_time(c->from) < kdtl_entry_time(best->from)))
			best = c;
	}
	return best;
}

/*
 * Choose the rows to print: the last dispatch of every CPU, however old it is,
 * since a task that hangs was dispatched long ago; then back in time.
 */
static unsigned int table_choose(struct table *t, unsigned int found, u64 oldest)
{
	unsigned int rows = 0;
	struct table_cpu *c;
	int cpu;

	if (found <= t->lines) {
		for_each_possible_cpu(cpu) {
			c = &t->cpus[cpu];
			if (c->end > c->start) {
				c->from--;
				rows++;
			}
		}
	}
	while (rows < t->lines) {
		c = table_newest(t);
		if (!c || table_time(t, c->from - 1) < oldest)
			break;
		c->from--;
		rows++;
	}
	return rows;
}

/* ------------------------------------------------------------------ rows */

#define TABLE_WHO	80

/* Three digits and a unit; a + for "or more". */
static void table_span(char *buf, size_t size, u64 ns, bool saturated)
{
	const char * const unit[] = { "ns", "us", "ms", saturated ? "s+" : "s" };
	unsigned int i = 0, frac = 0;

	while (ns >= 1000 && i < ARRAY_SIZE(unit) - 1) {
		frac = do_div(ns, 1000);
		i++;
	}
	if (i && ns < 10)
		snprintf(buf, size, "%llu.%02u %s", ns, frac / 10, unit[i]);
	else if (i && ns < 100)
		snprintf(buf, size, "%llu.%u %s", ns, frac / 100, unit[i]);
	else
		snprintf(buf, size, "%llu %s", ns, unit[i]);
}

/* A task chooses its name, which must not add a line to the log. */
static void table_task(char *buf, size_t size, const struct kdtl_entry *e)
{
	const char *comm = kdtl_entry_comm(e);

	snprintf(buf, size, "%*pE:%d", (int)strlen(comm), comm, kdtl_entry_pid(e));
}

static void table_before(char *buf, size_t size, const struct table_cpu *c)
{
	const struct kdtl_entry *e = c->from;
	const pid_t pid = kdtl_entry_prev_pid(e);

	/* An entry has the previous task's pid only; its name is in its own entry. */
	if (!pid)
		snprintf(buf, size, "idle");
	else if (e > c->start && kdtl_entry_pid(e - 1) == pid)
		table_task(buf, size, e - 1);
	else
		snprintf(buf, size, ":%d", pid);
}

static void table_row(const struct table *t, const struct table_cpu *c, bool tasks)
{
	const struct kdtl_entry *e = c->from;
	/* For kdtl_vpa, kdtl_entry_cpu() is the hypervisor's processor number. */
	const int cpu = c - t->cpus;
	char who[TABLE_WHO], before[TABLE_WHO], waited[24];
	u64 when = table_time(t, e);
	u32 frac = do_div(when, NSEC_PER_SEC);

	if (kdtl_entry_is_throttled(e))
		strscpy(waited, "?", sizeof(waited));
	else
		table_span(waited, sizeof(waited),
			   kdtl_ticks_to_ns(&t->info, kdtl_entry_wait(e)),
			   kdtl_entry_wait_saturated(e));
	if (!tasks) {
		pr_warn("%5llu.%06u %3d %8s %-24s %s\n", when,
			frac / (u32)NSEC_PER_USEC, cpu, waited,
			kdtl_preempt_reason_name(kdtl_entry_preempt_reason(e)),
			kdtl_dispatch_reason_name(kdtl_entry_dispatch_reason(e)));
		return;
	}
	table_task(who, sizeof(who), e);
	table_before(before, sizeof(before), c);
	pr_warn("%5llu.%06u %3d %8s %-22s %-22s %s\n", when,
		frac / (u32)NSEC_PER_USEC, cpu, waited, who, before,
		kdtl_task_reason_name(kdtl_entry_dispatch_reason(e)));
}

/**
 * table_print() - print the newest dispatches of all CPUs, oldest first
 * @t: the table; the caller is its only user
 * @s: an overwrite session
 * @tasks: the source's entries name their tasks
 * @ms: how far to go back
 * @why: for the title
 *
 * Context: any, including NMI and a panic that has stopped the other CPUs.
 */
void table_print(struct table *t, struct kdtl_session *s, bool tasks,
		 unsigned int ms, const char *why)
{
	const u64 span = (u64)ms * NSEC_PER_MSEC;
	unsigned int found, rows;
	struct table_cpu *c;
	u64 total;

	if (kdtl_aux_info(s, -1, &t->info))
		return;
	found = table_take(t, s, &total);
	rows = table_choose(t, found, t->now > span ? t->now - span : 0);

	pr_warn("%s: the last %u ms of %u CPUs, %u of %llu dispatches, oldest first\n",
		why, ms, found, rows, total);
	if (tasks)
		pr_warn("       when CPU   waited who                    before                 why\n");
	else
		pr_warn("       when CPU   waited preempted by             dispatched by\n");
	while ((c = table_oldest(t))) {
		table_row(t, c, tasks);
		c->from++;
	}
	pr_warn("%s: end of table\n", why);
}
