// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_vpa - the POWER hypervisor as a source of dispatch trace log entries
 *
 * One entry for each time the hypervisor runs one of this partition's virtual
 * processors on a real one.  Each CPU registers a log with the hypervisor, which
 * writes the entries there and counts them in lppaca::dtl_idx.  The hypervisor
 * raises no interrupt, and wraps around without regard to the reader.  So a timer
 * on each CPU polls the log, and entries that were overwritten count as lost.  On an
 * idle CPU the timer is off: the CPU polls on its way out of idle.
 *
 * Linux's own users register 4096 bytes, 85 entries.  That is too little: while a
 * virtual processor confers its cycles to the holder of a lock, interrupts are off
 * and the timer does not run, but each attempt makes an entry.  So kdtl_vpa
 * registers the largest log that the hypervisor takes, from log_bytes down to 4096.
 *
 *	hypervisor				poll
 *	   write entry i into slot i % n	V: read dtl_idx
 *	H: barrier				   copy entries (after a barrier)
 *	   write i + 1 to dtl_idx		W: read dtl_idx again (likewise)
 *
 * H pairs with V ([vpa.H] in the models): an entry that is counted is complete.
 * H also pairs with W, to detect an entry that was overwritten while it was copied:
 * before the hypervisor writes to that slot again, it has counted n - 1 more.  PAPR
 * promises H, and KVM has it as the smp_wmb() in __kvmppc_create_dtl_entry().
 * Between two entries lies a whole dispatch.
 *
 * Each CPU has just one log, and one enable mask in its lppaca, for all users in
 * the partition.  KDTL_VPA_OTHERS lists the other users.
 *
 * Documentation/pmu-vpa.rst describes each field of an entry.
 */
#define pr_fmt(fmt) "kdtl_vpa: " fmt

#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/kdtl_pmu.h>
#include <linux/kthread.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/ratelimit.h>
#include <linux/slab.h>
#include <linux/tick.h>
#include <linux/timer.h>
#include <trace/events/power.h>
#include <asm/dtl.h>
#include <asm/firmware.h>
#include <asm/lppaca.h>
#include <asm/plpar_wrappers.h>
#include <asm/svm.h>
#include <asm/time.h>

#include "../compat.h"
#include "../fanout.h"
#include "papr.h"

static char *name = "kdtl_vpa";
module_param(name, charp, 0444);
MODULE_PARM_DESC(name, "name of the PMU (default kdtl_vpa; the perf tool decodes names that start with vpa_dtl)");

static unsigned int log_bytes = 65536;
module_param(log_bytes, uint, 0444);
MODULE_PARM_DESC(log_bytes, "size of each CPU's log, a power of two from 4096 to 65536 (default 65536); smaller if the hypervisor refuses it");

#define KDTL_VPA_MIN_LOG	DISPATCH_LOG_BYTES
#define KDTL_VPA_MAX_LOG	65536U

static_assert(sizeof(struct kdtl_entry) == sizeof(struct dtl_entry));
static_assert((KDTL_MASK_CEDE | KDTL_MASK_PREEMPT | KDTL_MASK_FAULT) == DTL_LOG_ALL);

/*
 * Even after a quiet time, this many entries a second must not overrun the log.  A
 * log that is too small for that is polled every millisecond or more often.
 */
#define KDTL_VPA_SUDDEN_RATE	340000
#define KDTL_VPA_SMALL_INTERVAL	NSEC_PER_MSEC
#define KDTL_VPA_MIN_INTERVAL	(50 * NSEC_PER_USEC)

/* Entries that are copied before the count is read again: as many as fit 4096 bytes. */
#define KDTL_VPA_BATCH		85

/*
 * At the last poll's rate, the next poll finds 1 / KDTL_VPA_HEADROOM of the log
 * filled.  So the rate may grow by this factor until then.
 */
#define KDTL_VPA_HEADROOM	4

/**
 * enum kdtl_vpa_problem - the problems with a CPU's log that are printed
 * @KDTL_VPA_FINE: no problem
 * @KDTL_VPA_IN_USE: another user has the log
 * @KDTL_VPA_REFUSED: the hypervisor does not register the log
 * @KDTL_VPA_KEPT: the hypervisor does not give the log back
 * @KDTL_VPA_TAKEN: another user has had the log meanwhile
 * @KDTL_VPA_THEIRS: another user has the log now
 * @KDTL_VPA_INDEX: dtl_idx makes no sense
 * @KDTL_VPA_ENTRY: an entry is not newer than the one before
 * @KDTL_VPA_FUTURE: an entry is from the future
 * @KDTL_VPA_NR_PROBLEMS: number of the above
 */
enum kdtl_vpa_problem {
	KDTL_VPA_FINE,
	KDTL_VPA_IN_USE,
	KDTL_VPA_REFUSED,
	KDTL_VPA_KEPT,
	KDTL_VPA_TAKEN,
	KDTL_VPA_THEIRS,
	KDTL_VPA_INDEX,
	KDTL_VPA_ENTRY,
	KDTL_VPA_FUTURE,
	KDTL_VPA_NR_PROBLEMS,
};

/**
 * struct kdtl_vpa_cpu - a CPU's log
 * @log: the log, to which the hypervisor writes while @mask is not 0
 * @copy: KDTL_VPA_BATCH entries that are being handed out
 * @entries: number of entries that fit @log
 * @next: index of the first entry not yet handed out
 * @slot: @next % @entries
 * @last_tb: time base of the newest entry handed out
 * @polled_tb: time base when the last poll began, so before it looked at the count
 * @now_tb: a recent time base; read again before a newer entry is refused
 * @mask: KDTL_MASK_*, as in the lppaca; 0: not registered
 * @wanted: the value that @mask is to get
 * @polling: entries are being handed out, which may change @wanted
 * @kept: @log was not given back, so the hypervisor may still write there
 * @theirs: another user seems to have registered its own log over @log
 * @idle: the CPU is in an idle state
 * @resting: @timer is off, because the CPU was idle when it expired
 * @interval: ns until the next poll, at most
 * @max_interval: the longest @interval that the events and the log's size allow
 * @period: the longest @interval that the events allow; 0: any
 * @seen: entries since @paced
 * @paced: ns of CLOCK_MONOTONIC at the timer's last poll or start
 * @timer: polls, on this CPU
 * @tick: expires at the first tick of a CPU that is not idle
 * @problem: the problem that @print is to print
 * @detail: the number in its message
 * @print: prints @problem in a context where printk() may be called
 *
 * All of it belongs to the CPU (interrupts off) while there are events on it, else
 * to attach() and detach().
 */
struct kdtl_vpa_cpu {
	struct kdtl_entry	*log;
	struct kdtl_entry	*copy;
	unsigned int		entries;
	u64			next;
	unsigned int		slot;
	u64			last_tb;
	u64			polled_tb;
	u64			now_tb;
	u32			mask;
	u32			wanted;
	bool			polling;
	bool			kept;
	bool			theirs;
	bool			idle;
	bool			resting;
	u64			interval;
	u64			max_interval;
	u64			period;
	unsigned int		seen;
	u64			paced;
	struct hrtimer		timer;
	struct timer_list	tick;
	enum kdtl_vpa_problem	problem;
	s64			detail;
	struct irq_work		print;
};

static DEFINE_PER_CPU(struct kdtl_vpa_cpu, kdtl_vpa_cpus);
static struct ratelimit_state kdtl_vpa_limits[KDTL_VPA_NR_PROBLEMS];
static struct kdtl_pmu kdtl_vpa_pmu;

#define KDTL_VPA_OTHERS								\
	(IS_ENABLED(CONFIG_VIRT_CPU_ACCOUNTING_NATIVE) ?			\
	 "this kernel itself uses it (CONFIG_VIRT_CPU_ACCOUNTING_NATIVE)" :	\
	 "stop /proc/powerpc/vcpudispatch_stats, debugfs powerpc/dtl, vpa_dtl events")

static void kdtl_vpa_print(struct irq_work *work)
{
	struct kdtl_vpa_cpu *c = container_of(work, struct kdtl_vpa_cpu, print);
	const int cpu = smp_processor_id();

	if (!__ratelimit(&kdtl_vpa_limits[c->problem]))
		return;
	switch (c->problem) {
	case KDTL_VPA_FINE:
	case KDTL_VPA_NR_PROBLEMS:
		break;
	case KDTL_VPA_IN_USE:
		pr_warn("CPU %d: its log is in use: %s\n", cpu, KDTL_VPA_OTHERS);
		break;
	case KDTL_VPA_REFUSED:
		pr_warn("CPU %d: the hypervisor does not register its log (H_REGISTER_VPA: %lld)\n",
			cpu, c->detail);
		break;
	case KDTL_VPA_KEPT:
		pr_warn("CPU %d: the hypervisor does not give its log back, so its memory is not freed (H_REGISTER_VPA: %lld)\n",
			cpu, c->detail);
		break;
	case KDTL_VPA_TAKEN:
		pr_warn("CPU %d: someone else has used its log, now it is registered again; dispatches meanwhile are lost\n",
			cpu);
		break;
	case KDTL_VPA_THEIRS:
		pr_warn("CPU %d: someone else uses its log now, and keeps it\n", cpu);
		break;
	case KDTL_VPA_INDEX:
		pr_warn("CPU %d: the hypervisor's count of dispatches made a jump of %lld: an unknown number of entries is lost\n",
			cpu, c->detail);
		break;
	case KDTL_VPA_ENTRY:
		pr_warn("CPU %d: entries without a new time (%lld ticks after the last): does someone else use its log?\n",
			cpu, c->detail);
		break;
	case KDTL_VPA_FUTURE:
		pr_warn("CPU %d: entries from the future (%lld ticks ahead) are counted as lost\n",
			cpu, c->detail);
		break;
	}
}

/* Interrupts are off, maybe under the runqueue lock, so let an irq_work print. */
static void kdtl_vpa_report(struct kdtl_vpa_cpu *c,
			    enum kdtl_vpa_problem problem, s64 detail)
{
	c->problem = problem;
	c->detail = detail;
	irq_work_queue(&c->print);
}

/* ----------------------------------------------------------------- polling */

/*
 * The maximum number of entries that are safe to read: if there is one more, the
 * hypervisor may be overwriting the oldest one already.
 */
static unsigned int kdtl_vpa_max_fresh(const struct kdtl_vpa_cpu *c)
{
	return c->entries - 1;
}

/* The hypervisor has lapped us: go on with the oldest entry that is safe to read. */
static noinline u64 kdtl_vpa_lapped(struct kdtl_vpa_cpu *c, u64 index)
{
	const u64 fresh = index - c->next;
	u64 lost;

	/* The count starts over for a new log. */
	if ((s64)fresh < 0)
		c->theirs = true;
	/*
	 * More dispatches than ticks, or a count that went back (a huge difference):
	 * the count makes no sense.  Nobody knows how many entries are lost, but one
	 * that counts as lost shows readers that there is a gap.
	 */
	if (fresh > c->entries + (get_tb() - c->polled_tb)) {
		kdtl_vpa_report(c, KDTL_VPA_INDEX, fresh);
		c->next = index;
		lost = 1;
	} else {
		lost = fresh - kdtl_vpa_max_fresh(c);
		c->next += lost;
	}
	c->slot = c->next % c->entries;
	/* Entries come faster than planned: poll often until kdtl_vpa_pace() slows down. */
	c->interval = min_t(u64, KDTL_VPA_MIN_INTERVAL, c->max_interval);
	kdtl_pmu_lost(&kdtl_vpa_pmu, lost);
	return index - c->next;
}

/* The number of entries to read; those that can no longer be read count as lost. */
static u64 kdtl_vpa_fresh(struct kdtl_vpa_cpu *c)
{
	u64 index, fresh;

	/* [vpa.W] Reads the index after the entries that were just copied. Pairs with H. */
	virt_rmb();
	index = be64_to_cpu(get_lppaca()->dtl_idx);
	/* [vpa.V] Reads the index before the entries that it counts. Pairs with [vpa.H]. */
	virt_rmb();

	fresh = index - c->next;
	return likely(fresh <= kdtl_vpa_max_fresh(c)) ? fresh : kdtl_vpa_lapped(c, index);
}

/* May an entry of time @tb follow one of time @last? */
static __always_inline bool kdtl_vpa_time_ok(struct kdtl_vpa_cpu *c, u64 tb, u64 last)
{
	if (unlikely((s64)(tb - last) <= 0))
		return false;
	if (likely(tb <= c->now_tb))
		return true;
	c->now_tb = get_tb();
	return tb <= c->now_tb;
}

static noinline void kdtl_vpa_refuse(struct kdtl_vpa_cpu *c, const struct kdtl_entry *e)
{
	const u64 tb = kdtl_entry_time(e);

	/*
	 * If the time is not new, the hypervisor has counted the dispatch without writing
	 * its entry: the slot holds something older.  If an entry from the future were
	 * handed out, all until then would look old.
	 */
	if ((s64)(tb - c->last_tb) <= 0)
		kdtl_vpa_report(c, KDTL_VPA_ENTRY, tb - c->last_tb);
	else
		kdtl_vpa_report(c, KDTL_VPA_FUTURE, tb - c->now_tb);
	kdtl_pmu_lost(&kdtl_vpa_pmu, 1);
}

/*
 * Hand out entries up to one whose time is wrong, and return their number: @together if
 * the sinks need no more than to store them, or else one by one, since each may change
 * what the sinks need.
 */
static __always_inline unsigned int kdtl_vpa_put(const bool together, struct kdtl_vpa_cpu *c,
						 struct kdtl_pmu_cpu *here,
						 const struct kdtl_entry *e, unsigned int nr)
{
	u64 tb, last = c->last_tb;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		tb = kdtl_entry_time(&e[i]);
		if (!kdtl_vpa_time_ok(c, tb, last))
			break;
		last = tb;
		if (together)
			kdtl_pmu_count(here, kdtl_papr_kind(&e[i]), kdtl_entry_queued(&e[i]),
				       kdtl_entry_ready(&e[i]), kdtl_entry_slept(&e[i]));
		else
			kdtl_fan_out(here, &e[i], kdtl_papr_kind(&e[i]));
	}
	if (together && likely(i))
		kdtl_sinks_store(here, e, i);
	return i;
}

static void kdtl_vpa_hand_out(struct kdtl_vpa_cpu *c, const struct kdtl_entry *e,
			      unsigned int nr)
{
	struct kdtl_pmu_cpu *here = this_cpu_ptr(kdtl_vpa_pmu.cpu);
	unsigned int done;

	for (; nr; e += done, nr -= done) {
		if (likely(kdtl_sinks_take(here, kdtl_pmu_mask(&kdtl_vpa_pmu), nr)))
			done = kdtl_vpa_put(true, c, here, e, nr);
		else
			done = kdtl_vpa_put(false, c, here, e, nr);
		if (likely(done)) {
			c->last_tb = kdtl_entry_time(&e[done - 1]);
			c->theirs = false;
		}
		if (unlikely(done < nr))
			kdtl_vpa_refuse(c, &e[done++]);
	}
}

/* Copy the next @nr entries, which may go on at the log's beginning. */
static void kdtl_vpa_copy(struct kdtl_vpa_cpu *c, unsigned int nr)
{
	const unsigned int first = min(nr, c->entries - c->slot);

	memcpy(c->copy, &c->log[c->slot], first * sizeof(*c->copy));
	if (unlikely(first < nr))
		memcpy(&c->copy[first], c->log, (nr - first) * sizeof(*c->copy));
}

/*
 * Hand out the entries in the log, and return whether those were all.  Read at
 * most as many as fit the log: a hypervisor that writes as fast as this loop reads
 * must not keep the CPU here.
 *
 * The processor may be taken away at any point, while the count goes on.  So @polled_tb is read
 * before the count: with a later time, a large count would seem to be a jump.
 */
static bool kdtl_vpa_poll(struct kdtl_vpa_cpu *c)
{
	unsigned int nr, budget = c->entries;
	const u64 began = get_tb();
	u64 fresh, next, gone;

	c->polling = true;
	c->now_tb = began;
	for (fresh = kdtl_vpa_fresh(c); fresh && budget; budget -= nr) {
		nr = min_t(u64, fresh, min_t(unsigned int, budget, KDTL_VPA_BATCH));
		next = c->next;
		kdtl_vpa_copy(c, nr);
		fresh = kdtl_vpa_fresh(c);
		/* kdtl_vpa_fresh() moves c->next over entries that were overwritten meanwhile. */
		gone = c->next - next;
		if (unlikely(gone >= nr))
			continue;
		c->next = next + nr;
		c->slot += nr - gone;
		if (c->slot >= c->entries)
			c->slot -= c->entries;
		fresh -= nr - gone;
		c->seen += nr - gone;
		kdtl_vpa_hand_out(c, c->copy + gone, nr - gone);
	}
	c->polled_tb = began;
	c->polling = false;
	return !fresh;
}

/*
 * Adapt the interval to the number of entries since the timer's last poll.  If
 * there were more than planned, it shrinks at once by that ratio; if there were
 * fewer, it grows by that ratio, but at most to its double.
 */
static void kdtl_vpa_pace(struct kdtl_vpa_cpu *c, u64 now)
{
	const unsigned int planned = c->entries / KDTL_VPA_HEADROOM;
	u64 interval = 2 * c->interval;

	if (c->seen)
		interval = min(interval, div_u64((now - c->paced) * planned, c->seen));
	interval = max_t(u64, interval, KDTL_VPA_MIN_INTERVAL);
	c->interval = min(interval, c->max_interval);
	c->paced = now;
	c->seen = 0;
}

/* The longest interval after which a sudden rate has not filled the log. */
static u64 kdtl_vpa_safe_interval(const struct kdtl_vpa_cpu *c)
{
	const u64 log = div_u64((u64)c->entries * NSEC_PER_SEC, KDTL_VPA_SUDDEN_RATE);

	return max_t(u64, log, KDTL_VPA_SMALL_INTERVAL);
}

static void kdtl_vpa_limit_interval(struct kdtl_vpa_cpu *c)
{
	c->max_interval = kdtl_vpa_safe_interval(c);
	if (c->period)
		c->max_interval = min(c->max_interval, c->period);
}

/*
 * The timer shares another timer's interrupt if one comes, such as the tick's: after
 * half of the interval, or at once if the last poll had an interrupt of its own.
 */
static u64 kdtl_vpa_slack(const struct kdtl_vpa_cpu *c, bool alone)
{
	return alone ? c->interval - KDTL_VPA_MIN_INTERVAL : c->interval / 2;
}

static void kdtl_vpa_start_timer(struct kdtl_vpa_cpu *c)
{
	const u64 slack = kdtl_vpa_slack(c, true);

	c->resting = false;
	c->paced = ktime_get_ns();
	c->seen = 0;
	hrtimer_start_range_ns(&c->timer, ns_to_ktime(c->interval - slack), slack,
			       HRTIMER_MODE_REL_PINNED_HARD);
}

/* ------------------------------------------------------- switching a log on and off */

static int kdtl_vpa_register(struct kdtl_vpa_cpu *c, u32 mask)
{
	struct lppaca *lppaca = get_lppaca();
	unsigned int size;
	long rc;

	/* Another user may have come since attach() looked. */
	if (lppaca->dtl_enable_mask) {
		kdtl_vpa_report(c, KDTL_VPA_IN_USE, 0);
		return -EBUSY;
	}

	memset(c->log, 0, log_bytes);
	size = log_bytes;
	for (;;) {
		/* PAPR: the second word of a new log is its size. */
		c->log->enqueue_to_dispatch_time = cpu_to_be32(size);
		rc = register_dtl(hard_smp_processor_id(), __pa(c->log));
		if (rc != H_PARAMETER || size == KDTL_VPA_MIN_LOG)
			break;
		size /= 2;
	}
	if (rc) {
		kdtl_vpa_report(c, KDTL_VPA_REFUSED, rc);
		return rc == H_BUSY ? -EBUSY : -EIO;
	}
	c->entries = size / sizeof(struct kdtl_entry);

	/* dtl_idx is still an earlier owner's, and starts over with a new log. */
	lppaca->dtl_idx = 0;
	c->next = 0;
	c->slot = 0;
	c->theirs = false;
	c->last_tb = 0;
	c->polled_tb = get_tb();
	c->now_tb = c->polled_tb;
	kdtl_vpa_limit_interval(c);
	c->interval = c->max_interval;
	c->resting = false;
	/* [vpa.M] The hypervisor must see the new index before it begins to count. */
	virt_wmb();
	WRITE_ONCE(lppaca->dtl_enable_mask, mask);
	c->mask = mask;
	return 0;
}

/*
 * Another user who takes the log registers a buffer of its own, whose entries are
 * counted from 0.  A different mask shows that, or a count that went back and no new
 * entry in our buffer since.  With the first entries of a log, neither needs to show.
 */
static bool kdtl_vpa_is_theirs(struct kdtl_vpa_cpu *c)
{
	const u32 mask = READ_ONCE(get_lppaca()->dtl_enable_mask);

	if (mask && mask != c->mask)
		c->theirs = true;
	return mask && c->theirs;
}

static void kdtl_vpa_unregister(struct kdtl_vpa_cpu *c)
{
	long rc;

	c->resting = false;
	if (kdtl_vpa_is_theirs(c)) {
		c->mask = 0;
		/* If it is ours after all, the hypervisor goes on writing. */
		c->kept = true;
		kdtl_vpa_report(c, KDTL_VPA_THEIRS, 0);
		return;
	}
	WRITE_ONCE(get_lppaca()->dtl_enable_mask, 0);
	c->mask = 0;
	rc = unregister_dtl(hard_smp_processor_id());
	c->kept = rc;
	if (rc)
		kdtl_vpa_report(c, KDTL_VPA_KEPT, rc);
}

/*
 * Bring the log into the state that the events want.  This is a loop because the
 * last poll, after the log was switched off, may make an event want something else.
 */
static int kdtl_vpa_apply(struct kdtl_vpa_cpu *c)
{
	int err;

	while (c->wanted != c->mask) {
		if (!c->mask) {
			err = kdtl_vpa_register(c, c->wanted);
			if (err) {
				c->wanted = 0;
				return err;
			}
			/* This fails only in kdtl_vpa_timer(), which restarts the timer itself. */
			if (hrtimer_try_to_cancel(&c->timer) >= 0)
				kdtl_vpa_start_timer(c);
		} else if (!c->wanted) {
			kdtl_vpa_unregister(c);
			/* Fails only in kdtl_vpa_timer(), which then stops the timer itself. */
			hrtimer_try_to_cancel(&c->timer);
			/* Read the last entries; the hypervisor writes no more. */
			if (!c->theirs)
				kdtl_vpa_poll(c);
		} else {
			if (!kdtl_vpa_is_theirs(c))
				WRITE_ONCE(get_lppaca()->dtl_enable_mask, c->wanted);
			c->mask = c->wanted;
		}
	}
	return 0;
}

/* Another user took the log away from us, and has released it since. */
static void kdtl_vpa_retake(struct kdtl_vpa_cpu *c)
{
	const u32 mask = c->mask;

	c->mask = 0;
	if (kdtl_vpa_register(c, mask)) {
		/* Try again with the next poll. */
		c->mask = mask;
		return;
	}
	kdtl_vpa_report(c, KDTL_VPA_TAKEN, 0);
	c->polling = true;
	kdtl_pmu_lost(&kdtl_vpa_pmu, 1);
	c->polling = false;
}

/* Keep the log in the state that the events want. */
static void kdtl_vpa_polled(struct kdtl_vpa_cpu *c)
{
	if (unlikely(!READ_ONCE(get_lppaca()->dtl_enable_mask)) && c->wanted)
		kdtl_vpa_retake(c);
	kdtl_vpa_apply(c);
}

/*
 * May the timer stay off until the CPU runs something?  The hypervisor dispatches an
 * idle virtual processor only for an interrupt, and kdtl_vpa_idle() polls then.  When
 * something runs, the tick must come soon enough.
 */
static bool kdtl_vpa_may_rest(const struct kdtl_vpa_cpu *c)
{
	return c->idle && !need_resched() && TICK_NSEC <= kdtl_vpa_safe_interval(c) &&
	       !tick_nohz_full_cpu(smp_processor_id());
}

static enum hrtimer_restart kdtl_vpa_timer(struct hrtimer *timer)
{
	struct kdtl_vpa_cpu *c = container_of(timer, struct kdtl_vpa_cpu, timer);
	const u64 now = ktime_get_ns();
	const bool alone = now >= ktime_to_ns(hrtimer_get_expires(timer));
	u64 slack;

	kdtl_vpa_poll(c);
	kdtl_vpa_pace(c, now);
	kdtl_vpa_polled(c);
	if (!c->mask)
		return HRTIMER_NORESTART;
	if (kdtl_vpa_may_rest(c)) {
		c->resting = true;
		mod_timer(&c->tick, jiffies);
		return HRTIMER_NORESTART;
	}
	slack = kdtl_vpa_slack(c, alone);
	hrtimer_set_expires_range_ns(timer, ns_to_ktime(now + c->interval - slack), slack);
	return HRTIMER_RESTART;
}

/* An interrupt has come while the timer is off; @busy: the CPU runs something. */
static void kdtl_vpa_awake(struct kdtl_vpa_cpu *c, bool busy)
{
	kdtl_vpa_poll(c);
	kdtl_vpa_polled(c);
	/* A log that was registered again needs the timer. */
	if (c->mask && (busy || !c->resting))
		kdtl_vpa_start_timer(c);
}

/* Probe of cpu_idle. */
static void kdtl_vpa_idle(void *unused, unsigned int state, unsigned int cpu)
{
	struct kdtl_vpa_cpu *c = this_cpu_ptr(&kdtl_vpa_cpus);
	unsigned long flags;

	/* The hypervisor knows nothing of state 0, which is a loop. */
	c->idle = state && state != PWR_EVENT_EXIT;
	if (c->idle || likely(!c->resting))
		return;
	local_irq_save(flags);
	if (c->resting)
		kdtl_vpa_awake(c, need_resched());
	local_irq_restore(flags);
}

/*
 * An interrupt or another CPU may give the CPU something to run just after
 * kdtl_vpa_idle().  This deferrable timer leaves an idle CPU alone.
 */
static void kdtl_vpa_tick(struct timer_list *tick)
{
	struct kdtl_vpa_cpu *c = container_of(tick, struct kdtl_vpa_cpu, tick);
	unsigned long flags;

	local_irq_save(flags);
	/* Hotplug moves a timer that is left over. */
	if (c == this_cpu_ptr(&kdtl_vpa_cpus) && c->resting) {
		kdtl_vpa_awake(c, !c->idle);
		if (c->resting)
			mod_timer(tick, jiffies);
	}
	local_irq_restore(flags);
}

static int kdtl_vpa_source(struct kdtl_pmu *p, u32 mask, u64 period)
{
	struct kdtl_vpa_cpu *c = this_cpu_ptr(&kdtl_vpa_cpus);

	c->wanted = mask;
	c->period = period;
	kdtl_vpa_limit_interval(c);
	/* A counter overflowed during a poll, whose caller goes on to kdtl_vpa_apply(). */
	if (c->polling)
		return 0;
	/* Entries that are there already belong to the events as they were. */
	if (c->mask)
		kdtl_vpa_poll(c);
	/* A new event must not wait for a poll that is far away. */
	if (c->mask && c->interval > c->max_interval) {
		c->interval = c->max_interval;
		kdtl_vpa_start_timer(c);
	}
	return kdtl_vpa_apply(c);
}

/* An entry is counted before its virtual processor runs, so all up to now are there. */
static u64 kdtl_vpa_sync(struct kdtl_pmu *p)
{
	struct kdtl_vpa_cpu *c = this_cpu_ptr(&kdtl_vpa_cpus);
	const u64 now = get_tb();
	bool all;

	if (!c->mask)
		return now;
	/* A BPF program that a poll's tracepoint runs may read an event. */
	if (c->polling)
		return c->last_tb;
	all = kdtl_vpa_poll(c);
	kdtl_vpa_apply(c);
	return all ? now : c->last_tb;
}

/* ---------------------------------------------------------------- ownership */

/*
 * Users of the partition's logs exclude each other by dtl_access_lock.  It is not
 * exported, so a module only detects other users, by their enable mask, and they
 * do not detect the module.
 */
#ifdef MODULE

static int kdtl_vpa_lock(void)
{
	return 0;
}

static void kdtl_vpa_unlock(void)
{
}

#else

/**
 * struct kdtl_vpa_owner - the thread that holds dtl_access_lock
 * @task: the thread
 * @tried: completed when @task has tried to take the lock
 * @has_it: @task holds the lock
 *
 * A rwsem must be released by the task that took it, but the first user and the
 * last one are seldom the same task.
 */
static struct kdtl_vpa_owner {
	struct task_struct	*task;
	struct completion	tried;
	bool			has_it;
} kdtl_vpa_owner;

static int kdtl_vpa_lock_thread(void *arg)
{
	struct kdtl_vpa_owner *o = arg;

	o->has_it = down_write_trylock(&dtl_access_lock);
	complete(&o->tried);
	for (;;) {
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	if (o->has_it)
		up_write(&dtl_access_lock);
	return 0;
}

static int kdtl_vpa_lock(void)
{
	struct kdtl_vpa_owner *o = &kdtl_vpa_owner;

	init_completion(&o->tried);
	o->task = kthread_run(kdtl_vpa_lock_thread, o, "kdtl_vpa");
	if (IS_ERR(o->task))
		return PTR_ERR(o->task);
	wait_for_completion(&o->tried);
	if (o->has_it)
		return 0;
	kthread_stop(o->task);
	return -EBUSY;
}

static void kdtl_vpa_unlock(void)
{
	kthread_stop(kdtl_vpa_owner.task);
}

#endif /* MODULE */

static bool kdtl_vpa_in_use(void)
{
	int cpu;
	bool used = false;

	cpus_read_lock();
	for_each_online_cpu(cpu)
		used |= READ_ONCE(lppaca_of(cpu).dtl_enable_mask);
	cpus_read_unlock();
	return used;
}

static int kdtl_vpa_claim(void)
{
	int err = kdtl_vpa_lock();

	if (!err && kdtl_vpa_in_use()) {
		kdtl_vpa_unlock();
		err = -EBUSY;
	}
	if (err == -EBUSY)
		pr_warn_ratelimited("the partition's dispatch trace log is in use: %s\n",
				    KDTL_VPA_OTHERS);
	return err;
}

static void kdtl_vpa_free(void)
{
	struct kdtl_vpa_cpu *c;
	int cpu;

	for_each_possible_cpu(cpu) {
		c = per_cpu_ptr(&kdtl_vpa_cpus, cpu);
		irq_work_sync(&c->print);
		timer_delete_sync(&c->tick);
		kfree(c->copy);
		c->copy = NULL;
		if (c->kept)
			continue;
		kfree(c->log);
		c->log = NULL;
	}
}

static int kdtl_vpa_alloc(struct kdtl_vpa_cpu *c, int node)
{
	/* The last user may have gone while the CPU was idle. */
	c->idle = false;
	c->copy = kmalloc_array_node(KDTL_VPA_BATCH, sizeof(*c->copy), GFP_KERNEL, node);
	/* kmalloc() aligns a power of two to its size, as the hypervisor wants. */
	if (!c->log)
		c->log = kzalloc_node(log_bytes, GFP_KERNEL, node);
	return c->copy && c->log ? 0 : -ENOMEM;
}

static int kdtl_vpa_attach(struct kdtl_pmu *p)
{
	struct kdtl_vpa_cpu *c;
	int cpu, err;

	err = kdtl_vpa_claim();
	if (err)
		return err;
	for_each_possible_cpu(cpu) {
		c = per_cpu_ptr(&kdtl_vpa_cpus, cpu);
		err = kdtl_vpa_alloc(c, cpu_to_node(cpu));
		if (err)
			goto free;
	}
	err = register_trace_cpu_idle(kdtl_vpa_idle, NULL);
	if (err)
		goto free;
	return 0;

free:
	kdtl_vpa_free();
	kdtl_vpa_unlock();
	return err;
}

static void kdtl_vpa_detach(struct kdtl_pmu *p)
{
	unregister_trace_cpu_idle(kdtl_vpa_idle, NULL);
	tracepoint_synchronize_unregister();
	kdtl_vpa_free();
	kdtl_vpa_unlock();
}

static struct kdtl_pmu kdtl_vpa_pmu = {
	.pmu.module	= THIS_MODULE,
	.rating		= 200,
	.stolen		= true,
	.attach		= kdtl_vpa_attach,
	.detach		= kdtl_vpa_detach,
	.source		= kdtl_vpa_source,
	.sync		= kdtl_vpa_sync,
	.clock		= kdtl_papr_clock,
};

static int __init kdtl_vpa_init(void)
{
	struct kdtl_vpa_cpu *c;
	int cpu, i;

	/* KVM guests have this feature as well. */
	if (!firmware_has_feature(FW_FEATURE_SPLPAR)) {
		pr_info("no hypervisor that logs dispatches\n");
		return -ENODEV;
	}
	if (!is_power_of_2(log_bytes) || log_bytes < KDTL_VPA_MIN_LOG ||
	    log_bytes > KDTL_VPA_MAX_LOG) {
		pr_warn("log_bytes=%u: must be a power of two from %u to %u\n",
			log_bytes, KDTL_VPA_MIN_LOG, KDTL_VPA_MAX_LOG);
		return -EINVAL;
	}
	if (is_secure_guest()) {
		pr_info("the hypervisor cannot write to a secure guest's memory\n");
		return -ENODEV;
	}

	for_each_possible_cpu(cpu) {
		c = per_cpu_ptr(&kdtl_vpa_cpus, cpu);
		hrtimer_setup(&c->timer, kdtl_vpa_timer, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_HARD);
		timer_setup(&c->tick, kdtl_vpa_tick, TIMER_DEFERRABLE | TIMER_PINNED);
		init_irq_work(&c->print, kdtl_vpa_print);
	}
	/* Limit each kind of message: each poll of each CPU might print one. */
	for (i = 0; i < KDTL_VPA_NR_PROBLEMS; i++)
		ratelimit_state_init(&kdtl_vpa_limits[i], 10 * HZ, 1);
	kdtl_vpa_pmu.name = name;
	kdtl_vpa_pmu.tb_freq = tb_ticks_per_sec;
	kdtl_vpa_pmu.tb_boot = kdtl_papr_boot_tb();
	return kdtl_pmu_register(&kdtl_vpa_pmu);
}

static void __exit kdtl_vpa_exit(void)
{
	kdtl_pmu_unregister(&kdtl_vpa_pmu);
}

module_init(kdtl_vpa_init);
module_exit(kdtl_vpa_exit);

MODULE_DESCRIPTION("Dispatch trace log entries from the POWER hypervisor");
MODULE_LICENSE("GPL");
MODULE_ALIAS("kdtl-pmu");
MODULE_ALIAS("kdtl-pmu-kdtl_vpa");
MODULE_IMPORT_NS(KDTL_NS);
