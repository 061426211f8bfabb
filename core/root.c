// SPDX-License-Identifier: GPL-2.0
/*
 * The list of sessions, and what else a debugger needs to read them from an image of the memory
 *
 * Nothing here is on the path of an entry.  A timer reads the clocks each second while there
 * are sessions, because the entries in an image have their times only in ticks.
 */
#include <linux/jiffies.h>
#include <linux/kdtl.h>
#include <linux/kdtl_root.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
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

/*
 * Protects the list of sessions and their ids.  A session is complete while it is
 * on the list.  No other kdtl lock is taken inside.
 */
DEFINE_MUTEX(kdtl_list_lock);
static u32 kdtl_last_id;

/* The first session is about to come. */
static void kdtl_root_begin(void)
{
	kdtl_root.nr_cpus = nr_cpu_ids;
	kdtl_root_read(&kdtl_root.clock[0]);
	WRITE_ONCE(kdtl_root.last, 0);
	timer_setup(&kdtl_root_timer, kdtl_root_tick, TIMER_DEFERRABLE);
	mod_timer(&kdtl_root_timer, jiffies + HZ);
}

/**
 * kdtl_session_list() - give a new session its id, and show it
 * @s: the session, complete
 *
 * Context: may sleep.
 */
void kdtl_session_list(struct kdtl_session *s)
{
	mutex_lock(&kdtl_list_lock);
	if (list_empty(&kdtl_root.sessions))
		kdtl_root_begin();
	s->id = ++kdtl_last_id;
	list_add_tail(&s->node, &kdtl_root.sessions);
	mutex_unlock(&kdtl_list_lock);
}

/**
 * kdtl_session_unlist() - undo kdtl_session_list()
 * @s: the session
 *
 * Context: may sleep.
 * Return: true if another session uses the same completion.
 */
bool kdtl_session_unlist(struct kdtl_session *s)
{
	const struct kdtl_session *other;
	bool shares = false;

	mutex_lock(&kdtl_list_lock);
	list_del(&s->node);
	if (list_empty(&kdtl_root.sessions))
		timer_delete_sync(&kdtl_root_timer);
	list_for_each_entry(other, &kdtl_root.sessions, node)
		shares |= other->done == s->done;
	mutex_unlock(&kdtl_list_lock);
	return shares;
}

/**
 * kdtl_session_hold_listed() - hold what may be a session, or may have been one
 * @s: the pointer, which is not followed unless it is a session's
 *
 * Context: may sleep.
 * Return: whether it is a session that nobody closes, and now held.
 */
bool kdtl_session_hold_listed(const struct kdtl_session *s)
{
	struct kdtl_session *each;
	bool held = false;

	mutex_lock(&kdtl_list_lock);
	list_for_each_entry(each, &kdtl_root.sessions, node) {
		if (each == s)
			held = !kdtl_session_hold(each);
	}
	mutex_unlock(&kdtl_list_lock);
	return held;
}

/**
 * kdtl_session_hold_of() - find and hold a session of a module
 * @module: the module
 *
 * Context: may sleep.
 * Return: a session that nobody closes, held; NULL: there is none.
 */
struct kdtl_session *kdtl_session_hold_of(const struct module *module)
{
	struct kdtl_session *s, *found = NULL;

	mutex_lock(&kdtl_list_lock);
	list_for_each_entry(s, &kdtl_root.sessions, node) {
		if (s->module != module || kdtl_session_hold(s))
			continue;
		found = s;
		break;
	}
	mutex_unlock(&kdtl_list_lock);
	return found;
}
