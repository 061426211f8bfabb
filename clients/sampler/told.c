// SPDX-License-Identifier: GPL-2.0
/*
 * How much was counted of the waits that go on, by task
 *
 * The entry that ends a wait includes the time in the queues of other CPUs.  If part of that was
 * counted there while the wait went on, it must not be counted again.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "causes.h"

#define TOLD_BITS	10

/**
 * struct told - how much was counted of a wait that goes on
 * @pid: the task; 0: none
 * @cpu: the CPU in whose queue it is
 * @since: when it began to wait there
 * @until: until when its wait was counted there
 * @before: how much was counted on other CPUs before
 *
 * This is a cache by pid.  If another task takes the place, and the first one is moved to another
 * CPU before it runs, part of its wait counts twice.
 */
struct told {
	pid_t	pid;
	int	cpu;
	u64	since;
	u64	until;
	u64	before;
};

static struct told tolds[1 << TOLD_BITS];

/**
 * told_note() - a wait that goes on was counted
 * @w: the wait
 *
 * Context: under sampler.lock.
 */
void told_note(const struct kdtl_waiting *w)
{
	struct told *t = &tolds[w->pid & ((1 << TOLD_BITS) - 1)];
	struct told new = {
		.pid = w->pid, .cpu = w->cpu, .since = w->since, .until = w->until,
	};

	if (t->pid == w->pid && t->cpu == w->cpu) {
		new.since = min(t->since, w->since);
		new.before = t->before;
	} else if (t->pid == w->pid) {
		new.before = t->before + t->until - t->since;
	}
	*t = new;
}

/**
 * told_take() - a wait has ended
 * @pid: the task
 * @cpu: the CPU that it has got
 *
 * Context: under sampler.lock.
 * Return: how much of it was counted on other CPUs.
 */
u64 told_take(pid_t pid, int cpu)
{
	struct told *t = &tolds[pid & ((1 << TOLD_BITS) - 1)];

	if (t->pid != pid)
		return 0;
	t->pid = 0;
	return t->before + (t->cpu == cpu ? 0 : t->until - t->since);
}

/**
 * told_reset() - forget all of them
 *
 * Context: under sampler.lock.
 */
void told_reset(void)
{
	memset(tolds, 0, sizeof(tolds));
}
