// SPDX-License-Identifier: GPL-2.0
/*
 * The suite of kdtl_kunit_irq.ko, into which core/pmu/kdtl_irq.c is compiled, too
 *
 * A tasklet and a timer keep their CPU, and write down from when until when, by the clock of the
 * entries.  Each moment of that time must be in exactly one entry, even where one interrupts the
 * other.
 */
#include <linux/bottom_half.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/smp.h>

#include "../../core/compat.h"
#include "irq.h"
#include "kapi.h"

#include "driver.h"
#include "../../core/pmu/kdtl_irq.c"

#define SPIN_NS		(2 * NSEC_PER_MSEC)

/* The softirq may be left to ksoftirqd so often. */
#define TRIES		1000

#define NO_TIMERS	"timers run before the handler that is traced"

/**
 * struct spin - a time in which something has a CPU
 * @from: when it began
 * @to: when it ended; 0: it has not
 */
struct spin {
	u64	from;
	u64	to;
};

static struct load {
	struct spin		tasklet;
	struct spin		timer;
	bool			wants_timer;
	bool			in_thread;
	int			cpu;
	pid_t			pid;
	struct hrtimer		hrtimer;
} load;

static void load_start_timer(void)
{
	hrtimer_start(&load.hrtimer, ns_to_ktime(NSEC_PER_MSEC / 2), HRTIMER_MODE_REL_PINNED_HARD);
}

/*
 * If @other, the timer interrupts this.  It is started when the time of this has begun: a host that
 * stops the CPU before would have the timer go off too early.
 */
static void spin(struct spin *s, const struct spin *other)
{
	s->from = local_clock();
	if (other)
		load_start_timer();
	while (local_clock() - s->from < SPIN_NS || (other && !READ_ONCE(other->to)))
		cpu_relax();
	WRITE_ONCE(s->to, local_clock());
}

static enum hrtimer_restart load_timer(struct hrtimer *unused)
{
	load.cpu = smp_processor_id();
	load.pid = current->pid;
	spin(&load.timer, NULL);
	return HRTIMER_NORESTART;
}

static void load_tasklet(struct tasklet_struct *unused)
{
	load.cpu = smp_processor_id();
	load.pid = current->pid;
	load.in_thread = kdtl_in_ksoftirqd();
	spin(&load.tasklet, load.wants_timer ? &load.timer : NULL);
}

static DECLARE_TASKLET(tasklet, load_tasklet);

static struct kdtl_session *irq_session(struct kunit *test)
{
	const struct kdtl_session_attr attr = { .pmu = "kdtl_irq", .aux_pages = 64 };

	load = (struct load) { };
	hrtimer_setup(&load.hrtimer, load_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	return kapi_started(test, &attr);
}

/**
 * struct found - what the entries of a CPU say about a span of time
 * @all: how much of it entries account for
 * @soft: how much of that was softirqs
 * @bad: entries that overlap, or that say something wrong
 */
struct found {
	u64		all;
	u64		soft;
	unsigned int	bad;
};

static bool irq_is_odd(const struct kdtl_entry *e)
{
	const s32 pid = kdtl_entry_pid(e);

	if (kdtl_entry_dispatch_reason(e) != KDTL_DISPATCH_EXTERNAL_INTERRUPT || pid >= 0 ||
	    kdtl_entry_cpu(e) != load.cpu || !kdtl_entry_wait(e))
		return true;
	if (kdtl_irq_kind_of(pid) == KDTL_IRQ_HARD || kdtl_irq_kind_of(pid) == KDTL_IRQ_OTHER)
		return !*kdtl_entry_comm(e);
	return kdtl_irq_kind_of(pid) != KDTL_IRQ_SOFT || kdtl_irq_nr(pid) >= NR_SOFTIRQS ||
	       strcmp(kdtl_entry_comm(e), kdtl_softirq_name(kdtl_irq_nr(pid)));
}

static bool irq_is_mine(const struct kdtl_entry *e)
{
	return kdtl_entry_pid(e) == kdtl_irq_pid(KDTL_IRQ_SOFT, TASKLET_SOFTIRQ) &&
	       !strcmp(kdtl_entry_comm(e), "tasklet");
}

/* Read all that the load's CPU has logged, and sum up what it says about this span. */
static struct found irq_find(struct kdtl_session *s, u64 from, u64 to)
{
	const struct kdtl_entry *e;
	struct found f = {};
	const void *span;
	u64 begin, end, last = 0;
	ssize_t len;

	while ((len = kdtl_aux_peek(s, load.cpu, &span)) > 0) {
		kdtl_for_each_entry(e, span, len) {
			end = kdtl_entry_time(e);
			begin = end - kdtl_entry_wait(e);
			f.bad += begin < last || irq_is_odd(e);
			last = end;
			begin = max(begin, from);
			end = min(end, to);
			if (begin >= end)
				continue;
			f.all += end - begin;
			f.bad += kdtl_entry_prev_pid(e) != load.pid;
			if (kdtl_irq_kind_of(kdtl_entry_pid(e)) != KDTL_IRQ_SOFT)
				continue;
			f.soft += end - begin;
			f.bad += !irq_is_mine(e);
		}
		kdtl_aux_consume(s, load.cpu, len);
	}
	return f;
}

/* Run the tasklet in this thread's time.  Returns false if that cannot be done. */
static bool load_inline(struct kdtl_session *s)
{
	const bool wants_timer = load.wants_timer;
	int i;

	for (i = 0; i < TRIES; i++) {
		load.tasklet.to = 0;
		load.timer.to = 0;
		local_bh_disable();
		tasklet_schedule(&tasklet);
		local_bh_enable();
		if (!kapi_until(READ_ONCE(load.tasklet.to)))
			return false;
		if (!load.in_thread)
			return true;
		/* The tasklet ran in ksoftirqd; what was logged meanwhile is of no use. */
		load.wants_timer = wants_timer;
		kapi_drain(s, load.cpu);
	}
	return false;
}

/* -------------------------------------------------------------------- cases */

static void irq_softirq(struct kunit *test)
{
	struct kdtl_session *s = irq_session(test);
	struct found f;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		kunit_skip(test, "softirqs are threads'");
	KUNIT_ASSERT_TRUE(test, load_inline(s));
	f = irq_find(s, load.tasklet.from, load.tasklet.to);
	KUNIT_EXPECT_EQ(test, f.bad, 0U);
	KUNIT_EXPECT_EQ(test, f.all, load.tasklet.to - load.tasklet.from);
	KUNIT_EXPECT_GT(test, f.soft, 0ULL);
}

/* A timer interrupts the tasklet and takes some of its time. */
static void irq_nested(struct kunit *test)
{
	struct kdtl_session *s = irq_session(test);
	const u64 *from = &load.tasklet.from, *to = &load.tasklet.to;
	struct found f;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		kunit_skip(test, "softirqs are threads'");
	if (IS_ENABLED(CONFIG_S390))
		kunit_skip(test, "%s", NO_TIMERS);
	load.wants_timer = true;
	KUNIT_ASSERT_TRUE(test, load_inline(s));
	f = irq_find(s, *from, *to);
	KUNIT_EXPECT_EQ(test, f.bad, 0U);
	KUNIT_EXPECT_EQ(test, f.all, *to - *from);
	KUNIT_EXPECT_GT(test, f.soft, 0ULL);
	/* None of the timer's time counts as the softirq's. */
	KUNIT_EXPECT_LE(test, f.soft, *to - *from - (load.timer.to - load.timer.from));
}

/* A timer runs in the middle of whatever else the CPU does. */
static void irq_timer(struct kunit *test)
{
	struct kdtl_session *s = irq_session(test);
	struct found f;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	if (IS_ENABLED(CONFIG_S390))
		kunit_skip(test, "%s", NO_TIMERS);
	load_start_timer();
	KUNIT_ASSERT_TRUE(test, kapi_until(READ_ONCE(load.timer.to)));
	hrtimer_cancel(&load.hrtimer);
	f = irq_find(s, load.timer.from, load.timer.to);
	KUNIT_EXPECT_EQ(test, f.bad, 0U);
	KUNIT_EXPECT_EQ(test, f.all, load.timer.to - load.timer.from);
	KUNIT_EXPECT_EQ(test, f.soft, 0ULL);
}

static unsigned int irq_depth(void)
{
	return this_cpu_read(kdtl_irq_cpus.depth);
}

/* Call the driver's hooks in an order in which no kernel should call them. */
static void irq_order(struct kunit *test)
{
	unsigned int depth[6], i = 0;
	unsigned long flags;
	u64 since, synced;

	local_irq_save(flags);
	kdtl_irq_end(kdtl_irq_pid(KDTL_IRQ_HARD, 7));
	depth[i++] = irq_depth();
	kdtl_irq_begin(kdtl_irq_pid(KDTL_IRQ_SOFT, 1), "timer");
	kdtl_irq_begin(kdtl_irq_pid(KDTL_IRQ_HARD, 7), "a name that is longer than there is room");
	kdtl_irq_begin(kdtl_irq_pid(KDTL_IRQ_OTHER, 2), "");
	depth[i++] = irq_depth();
	since = this_cpu_read(kdtl_irq_cpus.since);
	synced = kdtl_irq_sync(&kdtl_irq_pmu);
	since = this_cpu_read(kdtl_irq_cpus.since) - since;
	kdtl_irq_end(kdtl_irq_pid(KDTL_IRQ_SOFT, 2));
	depth[i++] = irq_depth();
	kdtl_irq_end(kdtl_irq_pid(KDTL_IRQ_HARD, 7));
	depth[i++] = irq_depth();
	kdtl_irq_end(kdtl_irq_pid(KDTL_IRQ_OTHER, 2));
	depth[i++] = irq_depth();
	kdtl_irq_end(kdtl_irq_pid(KDTL_IRQ_SOFT, 1));
	depth[i++] = irq_depth();
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, depth[0], 0U);
	KUNIT_EXPECT_EQ(test, depth[1], 3U);
	KUNIT_EXPECT_EQ(test, depth[2], 3U);
	KUNIT_EXPECT_EQ(test, depth[3], 1U);
	KUNIT_EXPECT_EQ(test, depth[4], 1U);
	KUNIT_EXPECT_EQ(test, depth[5], 0U);
	KUNIT_EXPECT_TRUE(test, synced >= since);
}

/**
 * struct in_thread - a softirq in a thread
 * @user: the thread looks like a user's program
 * @depth: how many interrupts were known in it; -1: it has not run
 */
struct in_thread {
	bool	user;
	int	depth;
};

static int as_ksoftirqd(void *data)
{
	struct in_thread *in = data;
	unsigned long flags;

	local_irq_save(flags);
	if (in->user)
		current->flags &= ~PF_KTHREAD;
	kdtl_softirq_begins(NULL, TIMER_SOFTIRQ);
	WRITE_ONCE(in->depth, irq_depth());
	kdtl_softirq_ends(NULL, TIMER_SOFTIRQ);
	current->flags |= PF_KTHREAD;
	local_irq_restore(flags);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

/*
 * Softirqs that ksoftirqd or ktimers runs belong to that thread; those of any other thread do not,
 * and a program may have such a name, too.
 */
static void irq_thread(struct kunit *test)
{
	static const char *const names[] = { "ksoftirqd/kdtl", "ktimers/kdtl", "kdtl/ksoftirqd" };
	struct in_thread in;
	struct task_struct *t;
	int i;

	for (i = 0; i < 2 * ARRAY_SIZE(names); i++) {
		in = (struct in_thread) { .user = i & 1, .depth = -1 };
		t = kthread_run(as_ksoftirqd, &in, "%s", names[i / 2]);
		KUNIT_ASSERT_FALSE(test, IS_ERR(t));
		KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(in.depth) >= 0));
		kthread_stop(t);
		KUNIT_EXPECT_EQ(test, in.depth,
				(in.user || i / 2 == 2) && !IS_ENABLED(CONFIG_PREEMPT_RT));
	}
}

/* The numbers that stand in place of pids are negative, and the kinds can be told apart. */
static void irq_numbers(struct kunit *test)
{
	static const unsigned int nrs[] = { 0, 1, 9, 1023, 0xfffffff };
	unsigned int kind, i;
	s32 pid;

	for (kind = KDTL_IRQ_SOFT; kind <= KDTL_IRQ_OTHER; kind++) {
		for (i = 0; i < ARRAY_SIZE(nrs); i++) {
			pid = kdtl_irq_pid(kind, nrs[i]);
			KUNIT_EXPECT_LT(test, pid, 0);
			KUNIT_EXPECT_EQ(test, kdtl_irq_kind_of(pid), kind);
			KUNIT_EXPECT_EQ(test, kdtl_irq_nr(pid), nrs[i]);
		}
	}
}

static void irq_mixed(struct kunit *test)
{
	struct kdtl_pmu p = {
		.pmu.module = THIS_MODULE, .name = "kdtl_mixed", .tb_freq = NSEC_PER_SEC,
		.interrupts = true, .stolen = true,
	};

	KUNIT_EXPECT_EQ(test, kdtl_pmu_register(&p), -EINVAL);
	p.stolen = false;
	p.tasks = true;
	KUNIT_EXPECT_EQ(test, kdtl_pmu_register(&p), -EINVAL);
	p.tasks = false;
	p.mask = KDTL_MASK_WAKE;
	KUNIT_EXPECT_EQ(test, kdtl_pmu_register(&p), -EINVAL);
	p.mask = 0;
	p.tb_freq = 1;
	KUNIT_EXPECT_EQ(test, kdtl_pmu_register(&p), -EINVAL);
}

static int irq_suite_init(struct kunit_suite *suite)
{
	return kdtl_irq_init();
}

static void irq_suite_exit(struct kunit_suite *suite)
{
	tasklet_kill(&tasklet);
	kdtl_irq_exit();
}

/* Of two handlers, one of which interrupts the other, none is left when both have ended. */
static void irq_handlers(struct kunit *test)
{
	struct irqaction outer = { .name = "outer" }, inner = { .name = "inner" };
	unsigned int before, between, after;
	const struct kdtl_irq_cpu *c;
	unsigned long flags;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, irq_session(test));
	local_irq_save(flags);
	c = this_cpu_ptr(&kdtl_irq_cpus);
	before = c->depth;
	kdtl_irq_handler_begins(NULL, 5, &outer);
	kdtl_irq_handler_begins(NULL, 6, &inner);
	kdtl_irq_handler_ends(NULL, 6, &inner, 0);
	between = c->depth;
	kdtl_irq_handler_ends(NULL, 5, &outer, 0);
	after = c->depth;
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, between, before + 1);
	KUNIT_EXPECT_EQ(test, after, before);
	kapi_close(test);
}

static struct kunit_case irq_cases[] = {
	KUNIT_CASE(irq_softirq),
	KUNIT_CASE(irq_nested),
	KUNIT_CASE(irq_timer),
	KUNIT_CASE(irq_order),
	KUNIT_CASE(irq_thread),
	KUNIT_CASE(irq_numbers),
	KUNIT_CASE(irq_mixed),
	KUNIT_CASE(irq_handlers),
	{ }
};

struct kunit_suite kdtl_irq_suite = {
	.name		= "kdtl_irq",
	.suite_init	= irq_suite_init,
	.suite_exit	= irq_suite_exit,
	.init		= kapi_init,
	.exit		= kapi_exit,
	.test_cases	= irq_cases,
};
