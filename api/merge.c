// SPDX-License-Identifier: GPL-2.0
/*
 * Reading the entries of all CPUs in the order of time
 *
 * The difficulty is an entry that has its time already but is not in its CPU's
 * area yet.  kdtl_merge_sync() therefore interrupts every CPU that is logged once
 * and reads its clock there.  A source writes with interrupts off, so an entry
 * that comes later on that CPU is not older than this reading.  The oldest of
 * these readings is the horizon: no entry that is still to come is older.  Entries
 * before the horizon are merged, the others wait for the next sync.  All that this
 * asks of a clock is that it does not go back on its own CPU.
 *
 * So an entry is held back until the first kdtl_merge_sync() that begins after
 * every CPU's clock has passed the entry's time.  That is the next sync, unless the
 * clocks differ by more than the time between the entry and the sync.
 *
 * A sync waits for no verb, because the task in the verb may not get a CPU.  If a CPU begins to
 * be logged meanwhile, the horizon may be wrong: kdtl_session::starts tells, and the sync looks
 * again.  Only kdtl_load() must not run beside a sync, because it drops the entries; a sync that
 * finds one at work takes nothing in.
 *
 * A CPU that is not logged at the time of a sync (offline, not loaded, stopped) has
 * no say in the horizon.  When it is logged later, its first entries may be older
 * than what has been returned, if its clock is behind.  Such entries are late: they are
 * counted, but not returned, because times would go back.
 *
 * Idle CPUs are interrupted too, because idle_cpu() does not prove that a CPU will
 * read its clock only later.  On its way out of the idle loop a CPU may pull a task
 * from another one, become busy and read its clock without a full barrier in
 * between, and x86 does not order the TSC after earlier stores.  So the CPU may
 * look idle when it has read its clock already.  An RCU grace period would be proof
 * without an interrupt, but takes milliseconds, and does not end while a real-time
 * task starves RCU.  And the log of kdtl_vpa can only be read on its own CPU.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/export.h>
#include <linux/kdtl_verbs.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "reader.h"
#include "request.h"

/**
 * struct kdtl_cursor - the merge's position in a CPU's area
 * @node: in kdtl_merge::due, if @e is before the merge's horizon
 * @e: next entry
 * @end: end of the entries that were there at the last sync
 * @time: time of @e, while the cursor is in kdtl_merge::due
 * @passed: bytes before @e that have not been given back yet
 * @told: bytes up to which kdtl_merge_lost() has told of losses, at most @passed
 * @lost: entries that were lost before late ones, and not told yet
 * @horizon: the CPU's clock at the last sync
 */
struct kdtl_cursor {
	struct rb_node			node;
	const struct kdtl_entry	*e;
	const struct kdtl_entry	*end;
	u64			time;
	size_t			passed;
	size_t			told;
	u64			lost;
	u64			horizon;
};

/**
 * struct kdtl_merge - see kdtl_merge_create()
 * @node: in kdtl_merges
 * @session: the session; NULL once it is closed
 * @due: cursors that have an entry before @horizon, by its time
 * @last: the cursor of the entry that kdtl_merge_next() returned last
 * @horizon: no entry that is still to come is older, unless it is late
 * @returned: time of the entry that kdtl_merge_next() returned last
 * @late: entries that came after a newer one had been returned
 * @loads: kdtl_session::loads when @cursors were set
 * @cursors: by CPU
 */
struct kdtl_merge {
	struct list_head	node;
	struct kdtl_session	*session;
	struct rb_root_cached	due;
	struct kdtl_cursor	*last;
	u64			horizon;
	u64			returned;
	u64			late;
	u32			loads;
	struct kdtl_cursor	cursors[];
};

/* All merges that were not destroyed, and their lock, inside of which no other is taken. */
static LIST_HEAD(kdtl_merges);
static DEFINE_MUTEX(kdtl_merges_lock);

static struct kdtl_cursor *kdtl_cursor_of(const struct rb_node *node)
{
	return rb_entry(node, struct kdtl_cursor, node);
}

static bool kdtl_cursor_less(struct rb_node *a, const struct rb_node *b)
{
	return kdtl_cursor_of(a)->time < kdtl_cursor_of(b)->time;
}

/*
 * Refuse a merge that was not created, or whose session is closed.  Returns -EINVAL or
 * -ESHUTDOWN.
 */
static noinline int kdtl_merge_refuse(const struct kdtl_merge *m, const char *verb,
				      unsigned long caller)
{
	const long err = PTR_ERR(m);	/* 0 for NULL, where %pe prints an address */

	if (IS_ERR_OR_NULL(m)) {
		pr_warn_ratelimited("%ps: %s() without a merge (%ld): did kdtl_merge_create() fail?\n",
				    (void *)caller, verb, err);
		return -EINVAL;
	}
	pr_warn_ratelimited("%ps: %s(): the session is closed\n", (void *)caller, verb);
	return -ESHUTDOWN;
}

/* Is there a merge, and is its session not closed? */
static bool kdtl_merge_is_live(const struct kdtl_merge *m)
{
	return !IS_ERR_OR_NULL(m) && m->session;
}

/**
 * kdtl_merge_create() - begin to read a session in the order of time
 * @s: the session; not in overwrite mode, and not one that only counts
 *
 * The merge is the session's reader until kdtl_merge_destroy(): meanwhile
 * kdtl_aux_peek(), kdtl_aux_consume() and a second merge are refused with -EBUSY, and
 * a line in the log.  The next kdtl_merge_sync() gives the entries that were returned
 * back to the writers.  The merge may be kept over kdtl_unload() and kdtl_load(), which
 * drops the unread entries as usual.  Destroy it before the session is closed.
 *
 * Context: task, may sleep.
 * Return:
 * * the merge, or ERR_PTR
 * * -EINVAL: the session is in overwrite mode or only counts, or @s is NULL
 * * -EBUSY: it has a reader already, a merge or that of kdtl_session_open()
 * * -EOPNOTSUPP: it is raw, or its source has no sync()
 * * -ESHUTDOWN: the session is being closed
 * * -ENOMEM: no memory
 */
struct kdtl_merge *kdtl_merge_create(struct kdtl_session *s)
{
	struct kdtl_merge *m = NULL;
	int err = kdtl_session_enter(s, __func__, _RET_IP_);

	if (err)
		return ERR_PTR(err);
	err = kdtl_entries_check(s, __func__);
	if (!err && s->no_reader)
		err = kdtl_reader_refuse(s, "merge");
	if (!err && !s->pmu->sync) {
		pr_warn("%s: merge: %s has no sync()\n", s->owner, s->pmu->name);
		err = -EOPNOTSUPP;
	}
	if (!err)
		m = kvzalloc(struct_size(m, cursors, nr_cpu_ids), GFP_KERNEL);
	if (m) {
		m->session = s;
		s->merge = m;
		WRITE_ONCE(s->no_reader, true);
		mutex_lock(&kdtl_merges_lock);
		list_add(&m->node, &kdtl_merges);
		mutex_unlock(&kdtl_merges_lock);
	}
	kdtl_session_leave(s);
	return m ?: ERR_PTR(err ?: -ENOMEM);
}
EXPORT_SYMBOL_NS_GPL(kdtl_merge_create, KDTL_NS);

static void kdtl_cursor_consume(struct kdtl_merge *m, int cpu)
{
	struct kdtl_cursor *c = &m->cursors[cpu];

	if (c->passed)
		kdtl_reader_consume(m->session, cpu, c->passed);
	c->passed = 0;
	c->told = 0;
}

/* kdtl_load() has dropped the entries that were to be returned or given back. */
static void kdtl_merge_forget(struct kdtl_merge *m)
{
	int cpu;

	m->last = NULL;
	m->due = RB_ROOT_CACHED;
	for_each_cpu(cpu, m->session->cpus) {
		m->cursors[cpu].passed = 0;
		m->cursors[cpu].lost = 0;
	}
}

/* Does the cursor have an entry that is to be returned before the next sync? */
static bool kdtl_cursor_due(const struct kdtl_merge *m, struct kdtl_cursor *c)
{
	if (c->e == c->end)
		return false;
	c->time = kdtl_entry_time(c->e);
	return c->time < m->horizon;
}

/* Have the cursor's entry returned before the next sync, if it is due. */
static void kdtl_cursor_queue(struct kdtl_merge *m, struct kdtl_cursor *c)
{
	if (kdtl_cursor_due(m, c))
		rb_add_cached(&c->node, &m->due, kdtl_cursor_less);
}

/* Step beyond the entry that was returned last. */
static void kdtl_merge_advance(struct kdtl_merge *m)
{
	const u32 loads = READ_ONCE(m->session->loads);
	struct kdtl_cursor *c;

	if (m->loads != loads) {
		m->loads = loads;
		kdtl_merge_forget(m);
	}
	c = m->last;
	if (!c)
		return;
	m->last = NULL;
	c->e++;
	c->passed += sizeof(*c->e);
	c->told = c->passed;
	c->lost = 0;
	rb_erase_cached(&c->node, &m->due);
	kdtl_cursor_queue(m, c);
}

/* Take what may be a merge out of the list.  Returns false if it is not there. */
static bool kdtl_merge_unlist(struct kdtl_merge *m)
{
	bool found;

	mutex_lock(&kdtl_merges_lock);
	found = kdtl_list_has(&kdtl_merges, &m->node);
	if (found)
		list_del(&m->node);
	mutex_unlock(&kdtl_merges_lock);
	return found;
}

/**
 * kdtl_merge_destroy() - end a merge
 * @m: the merge; may be NULL or ERR_PTR
 *
 * Entries that were returned are given back to the writers; the others stay unread.
 * If the session is closed already, only the merge's memory is freed.  If @m is destroyed
 * already, and no new merge has its memory, there is only a line in the log.
 *
 * Context: task, may sleep; not while kdtl_session_close() runs for the session.
 */
void kdtl_merge_destroy(struct kdtl_merge *m)
{
	char caller[KDTL_OWNER_LEN];
	struct kdtl_session *s;
	int cpu;

	if (IS_ERR_OR_NULL(m))
		return;
	might_sleep_if(!kdtl_is_atomic());
	snprintf(caller, sizeof(caller), "%ps", (void *)_RET_IP_);
	if (kdtl_may_sleep(caller, __func__))
		return;
	if (!kdtl_merge_unlist(m)) {
		pr_warn_ratelimited("%s: %s(): the merge is destroyed already\n", caller, __func__);
		return;
	}
	s = m->session;
	if (s) {
		mutex_lock(&s->reading);
		kdtl_merge_advance(m);
		for_each_cpu(cpu, s->cpus)
			kdtl_cursor_consume(m, cpu);
		mutex_unlock(&s->reading);
		mutex_lock(&s->lock);
		s->merge = NULL;
		WRITE_ONCE(s->no_reader, false);
		mutex_unlock(&s->lock);
	}
	kvfree(m);
}
EXPORT_SYMBOL_NS_GPL(kdtl_merge_destroy, KDTL_NS);

/**
 * kdtl_merge_detach() - let a merge outlive its session
 * @m: the merge
 *
 * Context: while the session is being closed, and no verb is at work any more.
 */
void kdtl_merge_detach(struct kdtl_merge *m)
{
	pr_warn_ratelimited("%s: close: the session's merge was not destroyed before\n",
			    m->session->owner);
	m->due = RB_ROOT_CACHED;
	m->last = NULL;
	m->session = NULL;
}

/* Runs with interrupts off on each CPU that is loaded, even if it has no event now. */
static void kdtl_merge_sync_cpu(void *arg)
{
	struct kdtl_merge *m = arg;
	struct kdtl_pmu *p = m->session->pmu;

	m->cursors[smp_processor_id()].horizon = p->sync(p);
}

/* The horizon while events may write. */
static u64 kdtl_merge_find_horizon(struct kdtl_merge *m)
{
	struct kdtl_session *s = m->session;
	u64 horizon = U64_MAX;
	int cpu;

	for_each_cpu(cpu, s->cpus)
		m->cursors[cpu].horizon = U64_MAX;
	on_each_cpu_mask(s->loaded, kdtl_merge_sync_cpu, m, true);
	for_each_cpu(cpu, s->cpus)
		horizon = min(horizon, m->cursors[cpu].horizon);
	return horizon;
}

/* Take in a CPU's entries, except late ones, which are its oldest. */
static void kdtl_cursor_take_in(struct kdtl_merge *m, int cpu)
{
	struct kdtl_cursor *c = &m->cursors[cpu];
	const void *span;
	ssize_t len;

	len = kdtl_reader_peek(m->session, cpu, &span);
	if (len < (ssize_t)sizeof(*c->e))
		return;
	c->e = span;
	c->end = c->e + kdtl_entries(len);
	while (kdtl_cursor_due(m, c) && c->time < m->returned) {
		c->lost += kdtl_reader_lost(m->session, cpu, c->told, c->passed);
		c->e++;
		c->passed += sizeof(*c->e);
		c->told = c->passed;
		m->late++;
	}
	kdtl_cursor_queue(m, c);
}

/* Give back what was returned, and take in what there is now, up to a new horizon. */
static void kdtl_merge_take_in(struct kdtl_merge *m, bool logged)
{
	struct kdtl_session *s = m->session;
	int cpu;

	for_each_cpu(cpu, s->cpus)
		kdtl_cursor_consume(m, cpu);
	m->horizon = logged ? kdtl_merge_find_horizon(m) : U64_MAX;
	m->due = RB_ROOT_CACHED;
	for_each_cpu(cpu, s->cpus)
		kdtl_cursor_take_in(m, cpu);
}

/**
 * kdtl_merge_sync() - take in all entries up to now
 * @m: the merge
 *
 * Interrupts every CPU that is loaded, even if it is idle, once, or again if CPUs began to be
 * logged meanwhile; if the session is not started, it interrupts none.  Entries that
 * kdtl_merge_next() has returned are given back to the writers.
 *
 * It waits for no other verb.  While another thread is in kdtl_load(), which drops the
 * entries, it takes in nothing.
 *
 * Context: task, may sleep.
 * Return: 0; -ESHUTDOWN: the session is closed; -EINVAL: @m is NULL.
 */
int kdtl_merge_sync(struct kdtl_merge *m)
{
	struct kdtl_session *s;
	u32 starts;
	int err;

	might_sleep_if(!kdtl_is_atomic());
	if (!kdtl_merge_is_live(m))
		return kdtl_merge_refuse(m, __func__, _RET_IP_);
	s = m->session;
	err = kdtl_may_sleep(s->owner, __func__) ?: kdtl_session_hold(s);
	if (err)
		return err;
	if (!mutex_trylock(&s->reading))
		goto release;
	kdtl_merge_advance(m);
	do {
		/* [merge.F] pairs with E in kdtl_cpus_off(): if it is even, nothing is to come. */
		starts = smp_load_acquire(&s->starts);
		kdtl_merge_take_in(m, starts & 1);
		/*
		 * [merge.R] pairs with S in kdtl_cpus_begin(): the clocks were read, and the
		 * entries seen, before.
		 */
		smp_mb();
	} while (READ_ONCE(s->starts) != starts);
	mutex_unlock(&s->reading);
release:
	kdtl_session_release(s);
	return 0;
}
EXPORT_SYMBOL_NS_GPL(kdtl_merge_sync, KDTL_NS);

/**
 * kdtl_merge_next() - get the next entry in the order of time
 * @m: the merge
 *
 * The times of the entries never go back, over all CPUs and from one
 * kdtl_merge_sync() to the next.  An entry that comes too late for that is counted,
 * but not returned: see kdtl_merge_late().  Takes O(log CPUs).
 *
 * Context: any.
 * Return: the entry, valid until the next kdtl_merge_sync() or kdtl_merge_destroy();
 * NULL: there are no more until kdtl_merge_sync(), or the session is closed, or @m is
 * NULL (a line in the log).
 */
const struct kdtl_entry *kdtl_merge_next(struct kdtl_merge *m)
{
	struct rb_node *oldest;

	if (!kdtl_merge_is_live(m)) {
		kdtl_merge_refuse(m, __func__, _RET_IP_);
		return NULL;
	}
	kdtl_merge_advance(m);
	oldest = rb_first_cached(&m->due);
	if (!oldest)
		return NULL;
	m->last = kdtl_cursor_of(oldest);
	m->returned = m->last->time;
	return m->last->e;
}
EXPORT_SYMBOL_NS_GPL(kdtl_merge_next, KDTL_NS);

/**
 * kdtl_merge_cpu() - the CPU in whose area the last returned entry lies
 * @m: the merge
 *
 * For kdtl_vpa, kdtl_entry_cpu() returns the hypervisor's processor number; this
 * function returns Linux's.
 *
 * Context: any.
 * Return: the CPU, or -EINVAL: kdtl_merge_next() has not returned an entry, or @m is
 * NULL.
 */
int kdtl_merge_cpu(const struct kdtl_merge *m)
{
	return !IS_ERR_OR_NULL(m) && m->last ? m->last - m->cursors : -EINVAL;
}
EXPORT_SYMBOL_NS_GPL(kdtl_merge_cpu, KDTL_NS);

/**
 * kdtl_merge_lost() - count the entries that were lost before the last returned one
 * @m: the merge
 *
 * The entries of the same CPU that were lost since that CPU's entry before.
 *
 * Context: any but NMI.
 * Return: the number; 0 also if kdtl_merge_next() has not returned an entry, or @m is
 * NULL.
 */
u64 kdtl_merge_lost(const struct kdtl_merge *m)
{
	const struct kdtl_cursor *c;

	if (IS_ERR_OR_NULL(m) || !m->last)
		return 0;
	c = m->last;
	return c->lost + kdtl_reader_lost(m->session, kdtl_merge_cpu(m), c->told, c->passed);
}
EXPORT_SYMBOL_NS_GPL(kdtl_merge_lost, KDTL_NS);

/**
 * kdtl_merge_late() - count the entries that came too late to be returned
 * @m: the merge
 *
 * An entry is late if a newer one had been returned before the entry's CPU was
 * logged.  That happens only if the CPU's clock is behind: when the CPU comes
 * online, is loaded or started, the entries that it makes until its clock has
 * caught up may be late.  They count as consumed, so produced = consumed + lost +
 * unread holds, and consumed = returned + late.
 *
 * Context: any.
 * Return: the number since kdtl_merge_create(), up to the last kdtl_merge_sync(); 0 if
 * @m is NULL.
 */
u64 kdtl_merge_late(const struct kdtl_merge *m)
{
	return IS_ERR_OR_NULL(m) ? 0 : m->late;
}
EXPORT_SYMBOL_NS_GPL(kdtl_merge_late, KDTL_NS);
