// SPDX-License-Identifier: GPL-2.0
/*
 * bench_native - what a dispatch costs on a CPU whose caches a workload has used
 *
 * Loading the module plays the scheduler: it calls the probes of sched_switch directly, with
 * interrupts off, for pairs of tasks that never run.  Before each switch it walks through memory,
 * which evicts what the probe will need.  Then it touches what the scheduler touches in a switch,
 * so that a probe does not pay for that.  All probes take turns in one boot, so that their figures
 * come from the same conditions.
 *
 * With lines=1 it does not measure time, but marks each call, for selftests/bench/lines.c.  The
 * results are in the log.
 */
#define pr_fmt(fmt) "bench_native: " fmt

#include <linux/delay.h>
#include <linux/kallsyms.h>
#include <linux/kdtl_verbs.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/timex.h>
#include <linux/tracepoint.h>
#include <linux/vmalloc.h>
#include <trace/events/sched.h>

#include "probe.h"

#define BENCH_LINE		64
#define BENCH_MAX_SESSIONS	8
#define BENCH_CALLS		64	/* how many calls are marked */
#define BENCH_WAITED_NS		100	/* how long a task waits, as the scheduler counts */

static bool both;
module_param(both, bool, 0444);
MODULE_PARM_DESC(both, "measure on CPUs 0 and 1 at once");

static bool lines;
module_param(lines, bool, 0444);
MODULE_PARM_DESC(lines, "mark the calls instead of measuring them");

static unsigned int windows = 200;
module_param(windows, uint, 0444);
MODULE_PARM_DESC(windows, "number of times that each probe is measured in each state (default 200)");

static unsigned int nr_tasks = 1000;
module_param(nr_tasks, uint, 0444);
MODULE_PARM_DESC(nr_tasks, "number of tasks (default 1000)");

static unsigned int l1_bytes = 64 << 10;
module_param(l1_bytes, uint, 0444);
MODULE_PARM_DESC(l1_bytes, "number of bytes that evict the first level's cache (default 64 KiB)");

static unsigned int l2_bytes = 2 << 20;
module_param(l2_bytes, uint, 0444);
MODULE_PARM_DESC(l2_bytes, "number of bytes that evict the second level's cache (default 2 MiB)");

static unsigned int aux_pages = 64;
module_param(aux_pages, uint, 0444);
MODULE_PARM_DESC(aux_pages, "AUX pages of each session (default 64)");

/* ------------------------------------------------------------ what is measured */

static void bench_stamp(void *data, bool preempt, struct task_struct *prev,
			struct task_struct *next, unsigned int prev_state)
{
	cycles_t now = get_cycles();

	OPTIMIZER_HIDE_VAR(now);
}

/*
 * A probe whose figures are known: it touches 3 + 2 + 4 lines of bench_bytes, in 4 pages.  The line
 * that it touches first, in a fifth page, does not count.
 */
static u8 bench_bytes[5 * 4096] __aligned(4096);

static void bench_hand(void *data, bool preempt, struct task_struct *prev,
		       struct task_struct *next, unsigned int prev_state)
{
	u8 *b = bench_bytes;

	READ_ONCE(b[0]);
	READ_ONCE(b[4096]);
	READ_ONCE(b[4096 + BENCH_LINE - 1]);
	WRITE_ONCE(b[4096 + BENCH_LINE], 1);
	atomic_inc((atomic_t *)&b[2 * 4096]);
	/* This is across two lines. */
	WRITE_ONCE(*(u64 *)&b[3 * 4096 + BENCH_LINE - 4], 1);
	memset(&b[4 * 4096], 1, 4 * BENCH_LINE);
}

static const struct bench_kind bench_own_kinds[] = {
	{ .name = "stamp", .probe = bench_stamp },
	{ .name = "hand", .probe = bench_hand },
};

/* A kind of bench_probe's or of the above, or sessions of kdtl. */
struct bench_case {
	const char	*name;
	const char	*kind;
	unsigned int	sessions;
};

static const struct bench_case bench_cases[] = {
	{ "empty_probe", "empty" },
	{ "stamp", "stamp" },
	{ "record_floor", "record" },
	{ "record_floor.8", "records" },
	{ "relay", "relay" },
	{ "kfifo", "kfifo" },
	{ "trace_ring_buffer", "ring_buffer" },
	{ "kdtl_sched.1", NULL, 1 },
	{ "kdtl_sched.2", NULL, 2 },
	{ "kdtl_sched.4", NULL, 4 },
	{ "kdtl_sched.8", NULL, 8 },
	{ "hand", "hand" },	/* must be last; only for lines=1 */
};

#define BENCH_TIMED	(ARRAY_SIZE(bench_cases) - 1)

/*
 * A figure is the mean over some switches.  CPU n uses every @step-th task, beginning with the task
 * n * @apart.
 */
struct bench_state {
	const char	*name;
	unsigned int	tasks;
	unsigned int	apart;
	unsigned int	step;
	unsigned int	bytes;
	unsigned int	switches;
};

static struct tracepoint *bench_tp;
static struct kdtl_session *bench_sessions[BENCH_MAX_SESSIONS];
static unsigned int bench_started;
static struct task_struct **bench_tasks;

static void bench_find_tp(struct tracepoint *tp, void *priv)
{
	if (!strcmp(tp->name, "sched_switch"))
		bench_tp = tp;
}

static const struct bench_kind *bench_kind(const char *name)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(bench_own_kinds); i++) {
		if (!strcmp(bench_own_kinds[i].name, name))
			return &bench_own_kinds[i];
	}
	return bench_kind_find(name);
}

/* Returns the probe that kdtl_sched has registered. */
static struct tracepoint_func *bench_kdtl_probe(void)
{
	struct tracepoint_func *f = rcu_dereference_raw(bench_tp->funcs);
	char name[KSYM_NAME_LEN];

	for (; f && f->func; f++) {
		snprintf(name, sizeof(name), "%ps", f->func);
		if (strstarts(name, "kdtl_sched"))
			return f;
	}
	return NULL;
}

static int bench_sessions_set(unsigned int nr)
{
	int err = 0;

	while (!err && bench_started < nr)
		err = kdtl_start(bench_sessions[bench_started++]);
	while (!err && bench_started > nr)
		err = kdtl_stop(bench_sessions[--bench_started]);
	return err;
}

/* Consume all that is unread, as a reader would, without looking at it. */
static void bench_drain(int cpu)
{
	const void *span;
	unsigned int i;
	ssize_t len;

	for (i = 0; i < bench_started; i++) {
		while ((len = kdtl_aux_peek(bench_sessions[i], cpu, &span)) > 0)
			kdtl_aux_consume(bench_sessions[i], cpu, len);
	}
}

static void bench_sessions_close(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bench_sessions); i++) {
		if (bench_sessions[i])
			kdtl_session_close(bench_sessions[i]);
	}
}

static int bench_sessions_open(void)
{
	const struct kdtl_session_attr attr = {
		.pmu		= "kdtl_sched",
		.aux_pages	= aux_pages,
		/* Nobody waits, so nobody needs to be woken. */
		.watermark	= aux_pages << PAGE_SHIFT,
	};
	struct kdtl_session *s;
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(bench_sessions); i++) {
		s = kdtl_session_create(&attr);
		if (IS_ERR(s))
			return PTR_ERR(s);
		bench_sessions[i] = s;
		err = kdtl_load(s, NULL);
		if (err)
			return err;
	}
	return 0;
}

/* Unless each session has got all entries, something else was measured. */
static int bench_sessions_check(void)
{
	struct kdtl_aux_info info;
	unsigned int i;
	int cpu;

	for (i = 0; i < ARRAY_SIZE(bench_sessions); i++) {
		for_each_online_cpu(cpu) {
			if (kdtl_aux_info(bench_sessions[i], cpu, &info))
				continue;
			if (info.lost || (cpu == 0 && info.produced < windows))
				return -EIO;
		}
	}
	return 0;
}

/* ------------------------------------------------------------------------ tasks */

static int bench_task(void *unused)
{
	return 0;
}

static void bench_tasks_exit(void)
{
	unsigned int i;

	for (i = 0; i < nr_tasks && bench_tasks[i]; i++)
		kthread_stop(bench_tasks[i]);
	kvfree(bench_tasks);
}

/*
 * The tasks get adjacent pids and never run.  To a probe it looks as if the scheduler had run them.
 */
static int bench_tasks_init(void)
{
	struct task_struct *t;
	unsigned int i;

	bench_tasks = kvcalloc(nr_tasks, sizeof(*bench_tasks), GFP_KERNEL);
	if (!bench_tasks)
		return -ENOMEM;
	for (i = 0; i < nr_tasks; i++) {
		t = kthread_create(bench_task, NULL, "bench/%u", i);
		if (IS_ERR(t)) {
			bench_tasks_exit();
			return PTR_ERR(t);
		}
		t->sched_info.pcount = 1;
		/* They sleep as most tasks do. */
		WRITE_ONCE(t->__state, TASK_INTERRUPTIBLE);
		bench_tasks[i] = t;
	}
	return 0;
}

/* --------------------------------------------- the scheduler, as far as it is played */

/* Queue @t, in @later ns. */
static void bench_wake(struct task_struct *t, u64 later)
{
	t->sched_info.last_queued = local_clock() + later;
}

/* Touch what __schedule(), and what it calls, has touched when it gets to the tracepoint. */
static __always_inline void bench_leave(struct task_struct *prev, struct task_struct *next)
{
	prev->nvcsw++;
	prev->se.exec_start++;
	prev->se.sum_exec_runtime++;
	READ_ONCE(prev->__state);
	READ_ONCE(prev->on_rq);
	next->se.exec_start++;
	next->se.prev_sum_exec_runtime++;
	READ_ONCE(next->on_rq);
}

/*
 * Touch what sched_info_depart(), sched_info_arrive() and context_switch() touch afterwards.  @runs
 * is by how much the number of @t's runs grows.
 */
static __always_inline void bench_arrive(struct task_struct *prev, struct task_struct *t,
					 unsigned int runs)
{
	/* The scheduler read its clock when the switch began, and not again. */
	const u64 now = t->sched_info.last_queued + BENCH_WAITED_NS;

	READ_ONCE(prev->sched_info.last_arrival);
	t->sched_info.run_delay += now - t->sched_info.last_queued;
	t->sched_info.last_queued = 0;
	t->sched_info.last_arrival = now;
	t->sched_info.pcount += runs;
#ifdef CONFIG_STACKPROTECTOR
	READ_ONCE(t->stack_canary);
#endif
	READ_ONCE(t->mm);
	READ_ONCE(t->active_mm);
	READ_ONCE(t->stack);
}

/* --------------------------------------------------------------------- measuring */

struct bench_runner {
	unsigned int	cpu;
	u32		seed;
	u8		*walked;
	u32		*results;	/* in tenths of a cycle */
	struct completion done;
	int		err;
};

static struct bench_runner bench_runners[2];
static atomic_t bench_met;

/* Wait until all CPUs that measure are here. */
static void bench_meet(void)
{
	const int nr = atomic_inc_return(&bench_met);

	while (atomic_read(&bench_met) < roundup(nr, both ? 2 : 1))
		cond_resched();
}

static u32 bench_random(struct bench_runner *r, u32 below)
{
	r->seed ^= r->seed << 13;
	r->seed ^= r->seed >> 17;
	r->seed ^= r->seed << 5;
	return r->seed % below;
}

/* A read barrier is an lfence on x86: all before it has ended, and nothing after it has begun. */
static __always_inline cycles_t bench_cycles(void)
{
	cycles_t t;

	rmb();	/* with itself: nothing before it is still under way */
	t = get_cycles();
	rmb();	/* with itself: nothing after it has begun */
	return t;
}

static void bench_walk(const u8 *p, unsigned int bytes)
{
	unsigned int i;

	for (i = 0; i < bytes; i += BENCH_LINE)
		READ_ONCE(p[i]);
}

static noinline u64 bench_switch(bench_probe_t *probe, void *data, struct task_struct *prev,
				 struct task_struct *next)
{
	const cycles_t t = bench_cycles();

	bench_leave(prev, next);
	probe(data, false, prev, next, TASK_INTERRUPTIBLE);
	bench_arrive(prev, next, 1);
	return bench_cycles() - t;
}

/* An instruction that lines.c knows; with n = 1 it is followed by an access to the stack. */
static __always_inline void bench_mark(const int n)
{
#ifdef __x86_64__
	asm volatile(".byte 0x0f, 0x1f, 0x80, %c0, 'k', 'd', 'l'\n\t"
		     ".if %c0 == 1\n\tpush %%rax\n\tpop %%rax\n\t.endif" :: "i" (n) : "memory");
#endif
}

/* Before the probe is called, the plugin knows what the scheduler and a call as such touch. */
static noinline void bench_marked(bench_probe_t *probe, void *data, struct task_struct *prev,
				  struct task_struct *next, bench_probe_t *empty)
{
	bench_mark(1);
	bench_mark(2);
	READ_ONCE(bench_bytes[0]);
	bench_leave(prev, next);
	/* The probe compares the number of runs, so it must not grow before the probe. */
	bench_arrive(prev, next, 0);
	bench_wake(next, 0);
	empty(data, false, prev, next, TASK_INTERRUPTIBLE);
	bench_mark(3);
	probe(data, false, prev, next, TASK_INTERRUPTIBLE);
	bench_mark(0);
}

static u64 bench_window(struct bench_runner *r, const struct bench_state *s,
			bench_probe_t *probe, void *data)
{
	bench_probe_t *empty = bench_kind_find("empty")->probe;
	struct task_struct **tasks = bench_tasks + r->cpu * s->apart;
	const unsigned int warm = max(2 * s->tasks, s->switches);
	struct task_struct *prev, *next;
	unsigned int i, a, b;
	unsigned long flags;
	u64 later, sum = 0;

	local_irq_save(flags);
	/*
	 * Other code, and other states, have left the caches in no particular state; so warm them
	 * up.  Who gets the CPU leaves it in the next switch.
	 */
	for (i = 0; i < warm; i++) {
		next = tasks[(i + 1) % s->tasks * s->step];
		bench_wake(next, 0);
		bench_switch(probe, data, tasks[i % s->tasks * s->step], next);
	}
	/*
	 * A long walk takes longer than most waits.  So that no task seems to have waited for all
	 * of it, each is queued in the middle of it.
	 */
	bench_walk(r->walked, s->bytes);
	later = local_clock();
	bench_walk(r->walked, s->bytes);
	later = (local_clock() - later) / 2;
	for (i = 0, a = warm % s->tasks; i < s->switches; i++, a = b) {
		b = (a + 1 + bench_random(r, s->tasks - 1)) % s->tasks;
		prev = tasks[a * s->step];
		next = tasks[b * s->step];
		bench_wake(next, later);
		bench_walk(r->walked, s->bytes);
		if (lines)
			bench_marked(probe, data, prev, next, empty);
		else
			sum += bench_switch(probe, data, prev, next);
	}
	local_irq_restore(flags);
	return div_u64(10 * sum, s->switches);
}

static int bench_one(struct bench_runner *r, const struct bench_state *s,
		     const struct bench_case *c, u32 *result)
{
	const struct bench_kind *kind = c->kind ? bench_kind(c->kind) : NULL;
	struct tracepoint_func *f = NULL;

	/* The first CPU prepares the probe for both. */
	if (r == bench_runners && kind && kind->reset)
		kind->reset();
	if (r == bench_runners && !kind)
		r->err = bench_sessions_set(c->sessions);
	bench_meet();
	if (!kind)
		f = bench_kdtl_probe();
	if (bench_runners[0].err || (!kind && !f))
		return bench_runners[0].err ?: -ENOENT;
	*result = kind ? bench_window(r, s, kind->probe, NULL) :
			 bench_window(r, s, f->func, f->data);
	bench_drain(r->cpu);
	bench_meet();
	return 0;
}

static u32 *bench_result(struct bench_runner *r, unsigned int state, unsigned int c)
{
	return r->results + (state * BENCH_TIMED + c) * windows;
}

/* Let all probes take turns. */
static int bench_measure(struct bench_runner *r, const struct bench_state *states,
			 unsigned int nr)
{
	unsigned int c, i, w;
	int err = 0;

	for (w = 0; w < windows; w++) {
		for (i = 0; i < nr && !err; i++) {
			/* The first of two times does not count: another probe ran before it. */
			for (c = 0; c < 2 * BENCH_TIMED && !err; c++)
				err = bench_one(r, &states[i], &bench_cases[c / 2],
						bench_result(r, i, c / 2) + w);
		}
	}
	return err;
}

/*
 * Measure the probes one after the other: it takes long to start sessions while the other CPU
 * waits.
 */
static int bench_measure_both(struct bench_runner *r, const struct bench_state *states,
			      unsigned int nr)
{
	unsigned int c, i, w;
	int err = 0;

	for (c = 0; c < BENCH_TIMED; c++) {
		for (i = 0; i < nr; i++) {
			for (w = 0; w < windows && !err; w++)
				err = bench_one(r, &states[i], &bench_cases[c],
						bench_result(r, i, c) + w);
		}
	}
	return err;
}

static int bench_smaller(const void *a, const void *b)
{
	const u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

/* Log the least, the 10th percentile, the median and the 90th percentile. */
static void bench_say(const char *state, const char *name, u32 *w)
{
	const u32 *p10 = w + windows / 10, *p50 = w + windows / 2, *p90 = w + windows * 9 / 10;

	sort(w, windows, sizeof(*w), bench_smaller, NULL);
	pr_info("%s %s %u.%u %u.%u %u.%u %u.%u\n", state, name, *w / 10, *w % 10,
		*p10 / 10, *p10 % 10, *p50 / 10, *p50 % 10, *p90 / 10, *p90 % 10);
}

static int bench_mark_all(struct bench_runner *r)
{
	const struct bench_state s = { "lines", nr_tasks, 0, 1, 0, BENCH_CALLS };
	unsigned int c;
	u32 unused;
	int err = 0;

	for (c = 0; c < ARRAY_SIZE(bench_cases) && !err; c++) {
		err = bench_one(r, &s, &bench_cases[c], &unused);
		pr_info("lines %s %u\n", bench_cases[c].name, BENCH_CALLS);
	}
	return err;
}

#define BENCH_STATES	3

static int bench_thread(void *arg)
{
	const struct bench_state alone[BENCH_STATES] = {
		{ "hot", 2, 0, 1, 0, 256 },
		{ "l1", nr_tasks, 0, 1, l1_bytes, 32 },
		{ "l2", nr_tasks, 0, 1, l2_bytes, 8 },
	};
	/* In the last two states, single switches show how many of them wait for the other CPU. */
	const struct bench_state together[BENCH_STATES] = {
		{ "two", 2, nr_tasks / 2, 1, 0, 256 },
		{ "adjacent", nr_tasks / 2, 1, 2, 0, 1 },
		{ "distant", nr_tasks / 2, nr_tasks / 2, 1, 0, 1 },
	};
	const struct bench_state *states = both ? together : alone;
	struct bench_runner *r = arg;
	unsigned int i, c;
	int err;

	if (lines)
		err = bench_mark_all(r);
	else if (both)
		err = bench_measure_both(r, states, BENCH_STATES);
	else
		err = bench_measure(r, states, BENCH_STATES);
	for (i = 0; i < BENCH_STATES && !err && !lines && r == bench_runners; i++) {
		for (c = 0; c < BENCH_TIMED; c++)
			bench_say(states[i].name, bench_cases[c].name, bench_result(r, i, c));
	}
	r->err = err;
	kthread_complete_and_exit(&r->done, 0);
	return 0;
}

static void bench_runner_end(struct bench_runner *r)
{
	vfree(r->walked);
	vfree(r->results);
}

/* Create a thread that does not run yet. */
static struct task_struct *bench_runner_create(struct bench_runner *r, unsigned int cpu)
{
	const size_t size = max(l1_bytes, l2_bytes);

	r->cpu = cpu;
	r->seed = 2463534242u + cpu;
	init_completion(&r->done);
	r->walked = vmalloc(size);
	r->results = vcalloc(BENCH_STATES * BENCH_TIMED, windows * sizeof(*r->results));
	if (!r->walked || !r->results)
		return ERR_PTR(-ENOMEM);
	memset(r->walked, 1, size);
	return kthread_create_on_cpu(bench_thread, r, cpu, "bench_native/%u");
}

/* Log the rate of the clock that bench_cycles() reads. */
static void bench_say_rate(cycles_t cycles, u64 ns)
{
	if (!lines)
		pr_info("rate %llu\n", div64_u64((u64)cycles * NSEC_PER_USEC, ns));
}

static int bench_run(void)
{
	const u64 begun = ktime_get_ns();
	const cycles_t cycles = get_cycles();
	struct task_struct *threads[ARRAY_SIZE(bench_runners)];
	unsigned int i, nr;
	int err = 0;

	for (nr = 0; nr < 1 + both && !err; nr++) {
		threads[nr] = bench_runner_create(&bench_runners[nr], nr);
		err = PTR_ERR_OR_ZERO(threads[nr]);
	}
	for (i = 0; i < nr; i++) {
		if (IS_ERR(threads[i]))
			continue;
		if (err)
			kthread_stop(threads[i]);
		else
			wake_up_process(threads[i]);
	}
	for (i = 0; i < nr && !err; i++)
		wait_for_completion(&bench_runners[i].done);
	for (i = 0; i < nr; i++) {
		err = err ?: bench_runners[i].err;
		bench_runner_end(&bench_runners[i]);
	}
	bench_say_rate(get_cycles() - cycles, ktime_get_ns() - begun);
	return err;
}

/*
 * If local_clock() stood still between two ticks, a task would seem to have waited for longer than
 * any usual one, and its dispatch would not be a usual one.
 */
static bool bench_clock_runs(void)
{
	unsigned long flags;
	u64 begun, ended;

	local_irq_save(flags);
	begun = local_clock();
	udelay(1);
	ended = local_clock();
	local_irq_restore(flags);
	return ended > begun;
}

static int __init bench_native_init(void)
{
	int err;

	if (!bench_clock_runs()) {
		pr_err("local_clock() has the resolution of a tick\n");
		return -EINVAL;
	}
	for_each_kernel_tracepoint(bench_find_tp, NULL);
	if (!bench_tp || !windows || nr_tasks < 4 || (both && !cpu_online(1)))
		return -EINVAL;
	err = bench_tasks_init();
	if (err)
		return err;
	err = bench_sessions_open();
	if (!err)
		err = bench_run();
	if (!err)
		err = bench_sessions_check();
	bench_sessions_close();
	bench_tasks_exit();
	return err;
}

static void __exit bench_native_exit(void)
{
}

module_init(bench_native_init);
module_exit(bench_native_exit);

MODULE_DESCRIPTION("Benchmark: a dispatch with cold caches");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
