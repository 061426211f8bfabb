// SPDX-License-Identifier: GPL-2.0
/*
 * What a debugger needs to read sessions from an image of the memory
 *
 * Nothing here is on the path of an entry.  A timer reads the clocks each second while there
 * are sessions, because the entries in an image have their times only in ticks.
 */
#include <linux/jiffies.h>
#include <linux/kdtl.h>
#include <linux/kdtl_root.h>
#include <linux/ktime.h>
#include <linux/sched/clock.h>
#include <linux/timekeeping.h>
#include <linux/timer.h>
#include <linux/utsname.h>

#include "compat.h"
#include "root.h"
#include "session.h"

/* Between two readings, the clock is slewed by less than this. */
#define KDTL_ROOT_SLEW	(500 * NSEC_PER_MSEC)

struct kdtl_root kdtl_root = {
	.magic		= KDTL_ROOT_MAGIC,
	.version	= KDTL_ROOT_VERSION,
	.size		= sizeof(kdtl_root),
	.entry_size	= KDTL_ENTRY_SIZE,
	.task_size	= sizeof(struct kdtl_task),
	.session_size	= sizeof(struct kdtl_session),
	.aux_size	= sizeof(struct kdtl_aux),
#ifdef CONFIG_SMP
	.cpu_offset	= &per_cpu_offset(0),
#endif
	.host		= &init_uts_ns.name,
	.sessions	= LIST_HEAD_INIT(kdtl_root.sessions),
};

static void kdtl_root_read(struct kdtl_root_clock *c)
{
	unsigned long flags;

	local_irq_save(flags);
	c->ticks = local_clock();
	c->mono = ktime_get_ns();
	c->real = ktime_get_real_ns();
	local_irq_restore(flags);
}

/* Was the clock set, or did the machine sleep, between the two? */
static bool kdtl_root_stepped(const struct kdtl_root_clock *a, const struct kdtl_root_clock *b)
{
	return abs((s64)((b->real - a->real) - (b->ticks - a->ticks))) > KDTL_ROOT_SLEW;
}

static void kdtl_root_tick(struct timer_list *timer)
{
	const u32 next = kdtl_root.last == 1 ? 2 : 1;

	kdtl_root_read(&kdtl_root.clock[next]);
	if (kdtl_root_stepped(&kdtl_root.clock[kdtl_root.last], &kdtl_root.clock[next]))
		kdtl_root.clock[0] = kdtl_root.clock[next];
	/*
	 * This CPU may be stopped after any instruction, and the image made then: the reading
	 * before this one must stay valid until this one is complete.  No other CPU reads them.
	 */
	barrier();
	WRITE_ONCE(kdtl_root.last, next);
	mod_timer(timer, jiffies + HZ);
}

/* It wakes no idle CPU. */
static struct timer_list kdtl_root_timer;

/**
 * kdtl_root_begin() - start to read the clocks, for the first session
 *
 * Context: may sleep.
 */
void kdtl_root_begin(void)
{
	kdtl_root.nr_cpus = nr_cpu_ids;
	kdtl_root_read(&kdtl_root.clock[0]);
	WRITE_ONCE(kdtl_root.last, 0);
	timer_setup(&kdtl_root_timer, kdtl_root_tick, TIMER_DEFERRABLE);
	mod_timer(&kdtl_root_timer, jiffies + HZ);
}

/**
 * kdtl_root_end() - stop reading the clocks, after the last session
 *
 * Context: may sleep.
 */
void kdtl_root_end(void)
{
	timer_delete_sync(&kdtl_root_timer);
}
