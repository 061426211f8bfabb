// SPDX-License-Identifier: GPL-2.0
/*
 * The simple form: kdtl_session_open() and the reader that kdtl runs
 *
 * The source is one of this module, so the module's use count shows what a session that could not
 * be opened left behind.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/prio.h>
#include <linux/sched/task.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "../../core/session.h"
#include "kapi.h"

#define OPEN_PMU	"kdtl_fake_open"
#define OPEN_MARK	10U		/* entries until a wake-up */
#define OPEN_HOUR	3600000U	/* ms: only the test makes it look */
#define OPEN_SOON	20		/* ms: more than the timer's slack, which is a tick */

/* ------------------------------------------------------------------- source */

/* What the source answers. */
static struct {
	int	attach_error;
	int	setup_error;
	int	source_error;
} open_src;

static int open_attach(struct kdtl_pmu *p)
{
	return open_src.attach_error;
}

static void *open_setup_aux(struct perf_event *event, void **pages, int nr_pages,
			    bool overwrite)
{
	/* The last CPU is refused: those before it must not keep what they have by then. */
	if (open_src.setup_error && event->cpu == cpumask_last(cpu_online_mask))
		return NULL;
	return &open_src;
}

static void open_free_aux(void *priv)
{
}

static int open_source(struct kdtl_pmu *p, u32 mask, u64 period)
{
	return mask ? open_src.source_error : 0;
}

static struct kdtl_pmu open_pmu = {
	.pmu.module	= THIS_MODULE,
	.pmu.setup_aux	= open_setup_aux,
	.pmu.free_aux	= open_free_aux,
	.name		= OPEN_PMU,
	.mask		= KDTL_MASK_ALL,
	.tb_freq	= NSEC_PER_SEC / 2,
	.attach		= open_attach,
	.source		= open_source,
};

/* -------------------------------------------------------------------- reader */

/**
 * struct open_seen - what the callbacks saw
 * @spans: number of spans
 * @rounds: number of rounds
 * @entries: number of entries, by CPU
 * @lost: number of entries that were lost, as the spans say
 * @lost_at: the same, by the number of entries of CPU 0 before them
 * @numbered: the entries that are lost have numbers, too
 * @bad: entries that were not the next one, and spans that were not as they should be
 * @in_round: number of entries that had been seen when round() was called
 * @round_at: when round() was called last
 * @soonest: the shortest time between two rounds, in ns
 * @task: the task that called
 * @interval: what round() returns
 * @session: the session that the callbacks were called with
 * @act: called in each span; may be NULL
 * @act_ret: what @act returned
 * @entered: completed in each span, if @held
 * @leave: each span waits for it, if @held
 * @held: spans are held up
 */
static struct open_seen {
	unsigned int		spans;
	unsigned int		rounds;
	u64			entries[2];
	u64			lost;
	u64			lost_at[16];
	bool			numbered;
	unsigned int		bad;
	u64			in_round;
	u64			round_at;
	u64			soonest;
	struct task_struct	*task;
	unsigned int		interval;
	struct kdtl_session	*session;
	int			(*act)(struct kdtl_session *s);
	int			act_ret;
	struct completion	entered;
	struct completion	leave;
	bool			held;
} open_seen;

/* The number of the last entry: the source numbers the entries of each CPU. */
static DEFINE_PER_CPU(u64, open_last);

static u64 open_all(void)
{
	return READ_ONCE(open_seen.entries[0]) + READ_ONCE(open_seen.entries[1]);
}

static void open_span(const struct kdtl_span *span, void *data)
{
	struct open_seen *o = data;
	const int cpu = min(span->cpu, 1);
	u64 skip = o->numbered ? span->lost : 0;
	u64 *last = &per_cpu(open_last, span->cpu);
	const struct kdtl_entry *e;

	o->task = current;
	o->session = span->session;
	o->lost += span->lost;
	o->lost_at[min(o->entries[0], 15ULL)] += span->lost;
	o->bad += !span->nr || span->info->unread < span->nr;
	kdtl_span_for_each_entry(e, span) {
		o->bad += *last && kdtl_fake_entry_seq(e) != *last + 1 + skip;
		skip = 0;
		o->bad += kdtl_entry_cpu(e) != span->cpu;
		*last = kdtl_fake_entry_seq(e);
		WRITE_ONCE(o->entries[cpu], o->entries[cpu] + 1);
	}
	if (o->act)
		o->act_ret = o->act(span->session);
	if (o->held) {
		complete(&o->entered);
		wait_for_completion(&o->leave);
	}
	WRITE_ONCE(o->spans, o->spans + 1);
}

static unsigned int open_round(struct kdtl_session *s, void *data)
{
	struct open_seen *o = data;
	const u64 now = ktime_get_ns();

	o->session = s;
	o->task = current;
	o->in_round = open_all();
	o->soonest = min(o->soonest, now - o->round_at);
	o->round_at = now;
	WRITE_ONCE(o->rounds, o->rounds + 1);
	return o->interval;
}

static const struct kdtl_reader open_reader = {
	.span		= open_span,
	.round		= open_round,
	.data		= &open_seen,
	.interval_ms	= OPEN_HOUR,
};

static const struct kdtl_session_attr open_attr = {
	.pmu		= KDTL_FAKE_PMU,
	.aux_pages	= KAPI_AUX_PAGES,
	.watermark	= OPEN_MARK * KDTL_ENTRY_SIZE,
};

/* Open a session, and wait for the reader's first look, which comes after the open. */
static struct kdtl_session *open_with(struct kunit *test, const struct kdtl_session_attr *attr,
				      const struct kdtl_reader *reader)
{
	struct kdtl_session *s = kdtl_session_open(attr, reader);

	KUNIT_EXPECT_FALSE(test, IS_ERR_OR_NULL(s));
	if (IS_ERR(s))
		return NULL;
	test->priv = s;
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	return s;
}

static struct kdtl_session *open_session(struct kunit *test)
{
	return open_with(test, &open_attr, &open_reader);
}

static int open_refs;

static int open_init(struct kunit *test)
{
	int cpu;

	for_each_possible_cpu(cpu)
		per_cpu(open_last, cpu) = 0;
	memset(&open_seen, 0, sizeof(open_seen));
	init_completion(&open_seen.entered);
	init_completion(&open_seen.leave);
	open_refs = kapi_held();
	return kapi_init(test);
}

/* A case that has failed must not hold up its callback for ever. */
static void open_exit(struct kunit *test)
{
	open_seen.held = false;
	open_seen.act = NULL;
	complete_all(&open_seen.leave);
	kapi_exit(test);
}

/* --------------------------------------------------------------------- reading */

/* Each entry is shown once, in its order and with its CPU, and then given back to the writer. */
static void open_spans(struct kunit *test)
{
	const int other = kapi_other_cpu(0);
	struct kdtl_session *s = open_session(test);
	struct kdtl_aux_info info;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 7), 0);
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	KUNIT_EXPECT_EQ(test, open_seen.spans, 1U);
	KUNIT_EXPECT_EQ(test, open_seen.entries[0], 7ULL);
	KUNIT_EXPECT_EQ(test, open_seen.in_round, 7ULL);
	KUNIT_EXPECT_PTR_EQ(test, open_seen.session, s);
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 4), 0);
	if (other > 0)
		KUNIT_EXPECT_EQ(test, kapi_emit(other, KDTL_KIND_PREEMPT, 5), 0);
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	KUNIT_EXPECT_EQ(test, open_seen.entries[0], 11ULL);
	KUNIT_EXPECT_EQ(test, open_seen.entries[1], other > 0 ? 5ULL : 0ULL);
	KUNIT_EXPECT_EQ(test, open_seen.in_round, open_all());
	KUNIT_EXPECT_EQ(test, open_seen.bad, 0U);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, info.unread, 0ULL);
	KUNIT_EXPECT_EQ(test, info.consumed, 11ULL);
	KUNIT_EXPECT_EQ(test, info.lost, 0ULL);
}

/* A span ends where entries were lost, and the next span says how many. */
#define OPEN_ROOM	(PAGE_SIZE / KDTL_ENTRY_SIZE)

static void open_lost(struct kunit *test)
{
	struct kdtl_session_attr attr = open_attr;
	struct kdtl_aux_info info;
	struct kdtl_session *s;

	attr.aux_pages = 1;
	attr.watermark = 0;
	s = open_with(test, &attr, &open_reader);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	/* Entries are lost before the first one, between two, twice in a row, and at the end. */
	kdtl_fake_lost(0, 3);
	kapi_emit(0, KDTL_KIND_CEDE, 2);
	kdtl_fake_lost(0, 4);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	kdtl_fake_lost(0, 5);
	kdtl_fake_lost(0, 6);
	kapi_emit(0, KDTL_KIND_CEDE, 7);
	kdtl_fake_lost(0, 8);
	/* A loss wakes the reader, so some of them may have been read already. */
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	KUNIT_EXPECT_EQ(test, open_all(), 10ULL);
	KUNIT_EXPECT_EQ(test, open_seen.lost, 18ULL);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	KUNIT_EXPECT_EQ(test, open_seen.lost, 26ULL);
	KUNIT_EXPECT_EQ(test, open_seen.lost_at[0], 3ULL);
	KUNIT_EXPECT_EQ(test, open_seen.lost_at[2], 4ULL);
	KUNIT_EXPECT_EQ(test, open_seen.lost_at[3], 11ULL);
	KUNIT_EXPECT_EQ(test, open_seen.lost_at[10], 8ULL);
	KUNIT_EXPECT_EQ(test, open_seen.bad, 0U);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, info.lost, 26ULL);
	KUNIT_EXPECT_EQ(test, info.consumed, 11ULL);
}

/* The area fills up while a callback looks at it; the next span says how many entries that cost. */
static int open_fill(struct kdtl_session *s)
{
	open_seen.act = NULL;
	return kapi_emit(0, KDTL_KIND_CEDE, OPEN_ROOM + 20);
}

static void open_full(struct kunit *test)
{
	struct kdtl_session_attr attr = open_attr;
	struct kdtl_session *s;

	attr.aux_pages = 1;
	attr.watermark = 0;
	s = open_with(test, &attr, &open_reader);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	open_seen.numbered = true;
	open_seen.act = open_fill;
	kapi_emit(0, KDTL_KIND_CEDE, 5);
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	KUNIT_EXPECT_EQ(test, open_all(), (u64)OPEN_ROOM);
	KUNIT_EXPECT_EQ(test, open_seen.lost, 0ULL);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	KUNIT_EXPECT_EQ(test, open_all(), OPEN_ROOM + 1ULL);
	KUNIT_EXPECT_EQ(test, open_seen.lost, 25ULL);
	KUNIT_EXPECT_EQ(test, open_seen.bad, 0U);
}

/* The span has the time base with it. */
static u64 open_ns;

static void open_ns_span(const struct kdtl_span *span, void *unused)
{
	open_ns = kdtl_ticks_to_ns(span->info, kdtl_entry_wait(span->entries));
}

static void open_ticks(struct kunit *test)
{
	const struct kdtl_reader reader = { .span = open_ns_span };
	struct kdtl_session *s = open_with(test, &open_attr, &reader);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_fake_emit(0, KDTL_KIND_CEDE, 1, 40, 2, 0), 0);
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	KUNIT_EXPECT_EQ(test, open_ns, 42ULL);
}

/* A watermark makes the reader look at once, without waiting for its interval. */
static void open_watermark(struct kunit *test)
{
	struct kdtl_session *s = open_session(test);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, OPEN_MARK), 0);
	KUNIT_EXPECT_TRUE(test, kapi_until(open_all() == OPEN_MARK));
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 3 * OPEN_MARK), 0);
	KUNIT_EXPECT_TRUE(test, kapi_until(open_all() == 4 * OPEN_MARK));
	KUNIT_EXPECT_EQ(test, open_seen.bad, 0U);
}

/*
 * Rounds come without entries, too: after the interval, or after what the last round() asked for,
 * and not earlier.
 */
static void open_rounds(struct kunit *test)
{
	struct kdtl_reader reader = open_reader;
	struct kdtl_session *s;

	reader.interval_ms = 1;
	s = open_with(test, &open_attr, &reader);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(open_seen.rounds) >= 5));
	kapi_close(test);
	KUNIT_EXPECT_EQ(test, open_seen.spans, 0U);

	open_seen.interval = OPEN_SOON;
	s = open_session(test);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	open_seen.soonest = U64_MAX;
	open_seen.rounds = 0;
	KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(open_seen.rounds) >= 5));
	KUNIT_EXPECT_GE(test, READ_ONCE(open_seen.soonest), OPEN_SOON * (u64)NSEC_PER_MSEC);
}

/* This reader finds more entries at each look, because it makes them itself. */
static struct {
	struct rcu_head		rcu;
	struct completion	ended;
	bool			busy;
} open_rcu;

static int open_makes_more(struct kdtl_session *s)
{
	unsigned int i;

	if (!READ_ONCE(open_rcu.busy))
		return 0;
	local_irq_disable();
	for (i = 0; i < OPEN_MARK; i++)
		kdtl_fake_emit_here(KDTL_KIND_CEDE, 0, 0, 0);
	local_irq_enable();
	return 0;
}

static void open_rcu_ended(struct rcu_head *rcu)
{
	complete_all(&open_rcu.ended);
}

/* The reader's thread never sleeps; Tasks RCU must get on all the same. */
static void open_lets_tasks_rcu_end(struct kunit *test)
{
	struct kdtl_session *s = open_session(test);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	init_completion(&open_rcu.ended);
	open_rcu.busy = true;
	open_seen.act = open_makes_more;
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, OPEN_MARK), 0);
	KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(open_seen.spans) >= 10));
	call_rcu_tasks(&open_rcu.rcu, open_rcu_ended);
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&open_rcu.ended, KAPI_FOREVER));
	WRITE_ONCE(open_rcu.busy, false);
	wait_for_completion(&open_rcu.ended);
	KUNIT_EXPECT_EQ(test, open_seen.bad, 0U);
}

/* The reader looks once an hour, so only flushes make rounds, one each. */
static void open_flush(struct kunit *test)
{
	struct kdtl_session_attr attr = open_attr;
	struct kdtl_session *s;
	unsigned int i, rounds;

	attr.watermark = 0;
	s = open_with(test, &attr, &open_reader);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	rounds = open_seen.rounds;
	for (i = 1; i <= 20; i++) {
		KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 1), 0);
		KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
		KUNIT_EXPECT_EQ(test, open_all(), (u64)i);
		KUNIT_EXPECT_EQ(test, open_seen.rounds, rounds + i);
	}
}

/* After a stop one flush delivers all entries; the other verbs work, too. */
static void open_verbs(struct kunit *test)
{
	struct kdtl_session *s = open_session(test);
	struct kdtl_aux_info info;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 3), 0);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	KUNIT_EXPECT_EQ(test, open_all(), 3ULL);
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 3), 0);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 2), 0);
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	KUNIT_EXPECT_EQ(test, open_all(), 5ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, -1), 5ULL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, info.consumed, 5ULL);
	/* After an unload the entries that are left are still delivered. */
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 4), 0);
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	KUNIT_EXPECT_EQ(test, open_all(), 9ULL);
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 1), 0);
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	KUNIT_EXPECT_EQ(test, open_all(), 10ULL);
}

/*
 * A callback loads the session anew, which drops the entries that it is looking at; the entries
 * that come then must not be given back in their place.
 */
static int open_reload(struct kdtl_session *s)
{
	open_seen.act = NULL;
	return kdtl_unload(s) ?: kapi_go(s) ?: kapi_emit(0, KDTL_KIND_CEDE, 6);
}

static void open_loaded_inside(struct kunit *test)
{
	struct kdtl_session *s = open_session(test);
	struct kdtl_aux_info info;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	open_seen.act = open_reload;
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 4), 0);
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	KUNIT_EXPECT_EQ(test, open_seen.act_ret, 0);
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	KUNIT_EXPECT_EQ(test, open_all(), 10ULL);
	KUNIT_EXPECT_EQ(test, open_seen.bad, 0U);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, info.consumed, 6ULL);
	KUNIT_EXPECT_EQ(test, info.unread, 0ULL);
}

/* The caller's own notifications are the same as without a reader: it takes none of them away. */
static atomic_t open_wakes;

static void open_wake(void *data)
{
	atomic_inc(data);
}

static void open_notified(struct kunit *test)
{
	struct kdtl_session_attr attr = open_attr;
	struct completion done;
	struct kdtl_session *s;
	struct kdtl_msg msg;
	unsigned int i;

	init_completion(&done);
	atomic_set(&open_wakes, 0);
	attr.done = &done;
	attr.wake = open_wake;
	attr.wake_data = &open_wakes;
	attr.msg_pages = 1;
	s = open_with(test, &attr, &open_reader);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	while (kdtl_read(s, &msg, sizeof(msg), true) > 0)
		;
	for (i = 1; i <= 5; i++) {
		atomic_set(&open_wakes, 0);
		KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, OPEN_MARK), 0);
		KUNIT_EXPECT_TRUE(test, kapi_until(open_all() == i * OPEN_MARK));
		KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&open_wakes), 1);
		KUNIT_EXPECT_TRUE(test, completion_done(&done));
		KUNIT_EXPECT_EQ(test, kapi_msg(test, s).type, KDTL_MSG_AUX + 0);
		/* The message takes its count of the completion with it. */
		KUNIT_EXPECT_FALSE(test, completion_done(&done));
	}
	kapi_close(test);
}

/* ------------------------------------------------------------- where it runs */

static struct {
	int	policy;
	int	rt_priority;
	int	nice;
	bool	worker;
	char	comm[TASK_COMM_LEN];
} open_as;

static void open_as_span(const struct kdtl_span *span, void *unused)
{
	open_as.policy = current->policy;
	open_as.rt_priority = current->rt_priority;
	open_as.nice = task_nice(current);
	open_as.worker = current->flags & PF_WQ_WORKER;
	get_task_comm(open_as.comm, current);
}

static void open_run_as(struct kunit *test, const struct kdtl_reader *reader)
{
	struct kdtl_session *s = open_with(test, &open_attr, reader);

	memset(&open_as, 0, sizeof(open_as));
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 1), 0);
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	kapi_close(test);
}

static void open_thread(struct kunit *test)
{
	const struct kdtl_reader plain = { .span = open_as_span };
	const struct kdtl_reader nice = {
		.span = open_as_span, .name = "open_nice", .nice = -7,
	};
	const struct kdtl_reader fifo = {
		.span = open_as_span, .name = "open_fifo", .fifo = true,
	};

	open_run_as(test, &plain);
	KUNIT_EXPECT_FALSE(test, strcmp(open_as.comm, "kdtl_reader"));
	KUNIT_EXPECT_EQ(test, open_as.policy, SCHED_NORMAL);
	KUNIT_EXPECT_EQ(test, open_as.nice, 0);
	open_run_as(test, &nice);
	KUNIT_EXPECT_FALSE(test, strcmp(open_as.comm, "open_nice"));
	KUNIT_EXPECT_EQ(test, open_as.nice, -7);
	open_run_as(test, &fifo);
	KUNIT_EXPECT_FALSE(test, strcmp(open_as.comm, "open_fifo"));
	KUNIT_EXPECT_EQ(test, open_as.policy, SCHED_FIFO);
	KUNIT_EXPECT_GT(test, open_as.rt_priority, 0);
	KUNIT_EXPECT_FALSE(test, open_as.worker);
}

/* On a workqueue the reader looks after a wake-up, after its interval, and for a flush. */
static void open_workqueue(struct kunit *test)
{
	struct workqueue_struct *wq = alloc_workqueue("open_wq", WQ_UNBOUND, 0);
	const struct kdtl_reader as = { .span = open_as_span, .wq = wq };
	struct kdtl_reader reader = open_reader;
	struct kdtl_session *s;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wq);
	open_run_as(test, &as);
	KUNIT_EXPECT_TRUE(test, open_as.worker);

	reader.wq = wq;
	s = open_with(test, &open_attr, &reader);
	if (s) {
		KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 3), 0);
		KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
		KUNIT_EXPECT_EQ(test, open_all(), 3ULL);
		KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 2 * OPEN_MARK), 0);
		KUNIT_EXPECT_TRUE(test, kapi_until(open_all() == 3 + 2 * OPEN_MARK));
		kapi_close(test);
	}
	reader.interval_ms = 1;
	open_seen.rounds = 0;
	s = open_with(test, &open_attr, &reader);
	KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(open_seen.rounds) >= 5));
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 4), 0);
	kapi_close(test);
	KUNIT_EXPECT_EQ(test, open_all(), 7ULL + 2 * OPEN_MARK);
	KUNIT_EXPECT_EQ(test, open_seen.bad, 0U);
	destroy_workqueue(wq);
}

/* --------------------------------------------------------------------- refused */

static void open_nothing_left(struct kunit *test, const char *what)
{
	/* perf frees an event after a grace period. */
	KUNIT_EXPECT_TRUE_MSG(test, kapi_until(kapi_held() == open_refs),
			      "%s: %d uses more", what, kapi_held() - open_refs);
	KUNIT_EXPECT_EQ_MSG(test, open_seen.rounds, 0U, "%s", what);
}

static void open_bad_reader(struct kunit *test)
{
	const struct kdtl_session_attr attr = { .pmu = OPEN_PMU, .aux_pages = 1 };
	static const struct {
		const char		*what;
		struct kdtl_reader	reader;
	} bad[] = {
		{ "no span()", { .round = open_round } },
		{ "nice 20", { .span = open_span, .nice = MAX_NICE + 1 } },
		{ "nice -21", { .span = open_span, .nice = MIN_NICE - 1 } },
		{ "fifo and nice", { .span = open_span, .fifo = true, .nice = 1 } },
	};
	struct kdtl_reader wq = { .span = open_span, .name = "x" };
	unsigned int i;

	wq.wq = alloc_workqueue("open_wq", WQ_UNBOUND, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wq.wq);

	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_open(&attr, NULL)), (long)-EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_open(NULL, &open_reader)), (long)-EINVAL);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		KUNIT_EXPECT_EQ_MSG(test, PTR_ERR(kdtl_session_open(&attr, &bad[i].reader)),
				    (long)-EINVAL, "%s", bad[i].what);
		open_nothing_left(test, bad[i].what);
	}
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_open(&attr, &wq)), (long)-EINVAL);
	wq.name = NULL;
	wq.fifo = true;
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_open(&attr, &wq)), (long)-EINVAL);
	wq.fifo = false;
	wq.nice = 1;
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_open(&attr, &wq)), (long)-EINVAL);
	open_nothing_left(test, "a workqueue with a thread's properties");
	destroy_workqueue(wq.wq);
}

/* A session that keeps nothing for a reader is opened without one; any other is then refused. */
static void open_alone(struct kunit *test)
{
	struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= 1,
		.flags		= KDTL_SESSION_OVERWRITE,
	};
	struct kdtl_counter_req req = { .counter = KDTL_CTR_ENTRIES };
	struct kdtl_entry last[2];
	struct kdtl_session *s;

	s = kdtl_session_open(&attr, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	test->priv = s;
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 3), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_snapshot(s, 0, last, sizeof(last), NULL),
			(ssize_t)sizeof(last));
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), -EINVAL);
	kapi_close(test);

	attr = (struct kdtl_session_attr){ .pmu = KDTL_FAKE_PMU, .flags = KDTL_SESSION_NO_AUX };
	s = kdtl_session_open(&attr, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	test->priv = s;
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 3), 0);
	KUNIT_EXPECT_EQ(test, kdtl_read_counters(s, &req, 1), 0);
	KUNIT_EXPECT_EQ(test, req.value, 3ULL);
	kapi_close(test);

	/* Nothing is left of a session that could not be loaded, or started. */
	attr = (struct kdtl_session_attr){ .pmu = OPEN_PMU, .flags = KDTL_SESSION_OVERWRITE };
	open_src.setup_error = 1;
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_open(&attr, NULL)), (long)-ENOMEM);
	open_src.setup_error = 0;
	open_src.source_error = -EXDEV;
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_open(&attr, NULL)), (long)-EXDEV);
	open_src.source_error = 0;
	attr.flags = KDTL_SESSION_PAUSE;
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_open(&attr, NULL)), (long)-EINVAL);
	open_nothing_left(test, "a session without a reader");
}

/* If create, load or start fails, the reader is never called. */
static void open_refuse(struct kunit *test, const struct kdtl_session_attr *attr, int err,
			const char *what)
{
	KUNIT_EXPECT_EQ_MSG(test, PTR_ERR(kdtl_session_open(attr, &open_reader)), (long)err,
			    "%s", what);
	memset(&open_src, 0, sizeof(open_src));
	open_nothing_left(test, what);
}

static void open_refused(struct kunit *test)
{
	struct kdtl_session_attr attr = { .pmu = OPEN_PMU, .aux_pages = 3 };

	open_refuse(test, &attr, -EINVAL, "3 pages");
	attr.aux_pages = 1;
	open_src.attach_error = -EBUSY;
	open_refuse(test, &attr, -EBUSY, "create");
	open_src.setup_error = 1;
	open_refuse(test, &attr, -ENOMEM, "load");
	open_src.source_error = -EXDEV;
	open_refuse(test, &attr, -EXDEV, "start");
	attr.flags = KDTL_SESSION_OVERWRITE;
	open_refuse(test, &attr, -EINVAL, "overwrite");
	attr = (struct kdtl_session_attr){ .pmu = OPEN_PMU, .flags = KDTL_SESSION_NO_AUX };
	open_refuse(test, &attr, -EINVAL, "no area");
	attr.flags = 0;
	open_with(test, &attr, &open_reader);
	kapi_close(test);
	open_seen.rounds = 0;
	open_nothing_left(test, "a session");
}

/* kdtl's reader is the session's only reader. */
static void open_one_reader(struct kunit *test)
{
	struct kdtl_session *s = open_session(test);
	const void *span;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 2), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)-EBUSY);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, KDTL_ENTRY_SIZE), -EBUSY);
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_merge_create(s)), (long)-EBUSY);
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	KUNIT_EXPECT_EQ(test, open_all(), 2ULL);
}

/* ------------------------------------------------------------------------ close */

/* Entries that were logged before the close are delivered, and nothing is called after it. */
static void open_close(struct kunit *test)
{
	struct kdtl_session *s = open_session(test);
	unsigned int rounds;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, OPEN_MARK - 1), 0);
	KUNIT_EXPECT_EQ(test, open_all(), 0ULL);
	kapi_close(test);
	KUNIT_EXPECT_EQ(test, open_all(), OPEN_MARK - 1ULL);
	rounds = open_seen.rounds;
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 2 * OPEN_MARK), 0);
	KUNIT_EXPECT_EQ(test, open_all(), OPEN_MARK - 1ULL);
	KUNIT_EXPECT_EQ(test, open_seen.rounds, rounds);
}

/* The last span comes inside the close, where verbs fail. */
static int open_stop(struct kdtl_session *s)
{
	return kdtl_stop(s);
}

static void open_close_verb(struct kunit *test)
{
	struct kdtl_session *s = open_session(test);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	open_seen.act = open_stop;
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 1), 0);
	kapi_close(test);
	KUNIT_EXPECT_EQ(test, open_seen.spans, 1U);
	KUNIT_EXPECT_EQ(test, open_seen.act_ret, -ESHUTDOWN);
}

static struct completion open_closed;

static int open_closer(void *s)
{
	kdtl_session_close(s);
	complete(&open_closed);
	return 0;
}

/* A close waits for a callback that is running. */
static void open_close_waits(struct kunit *test)
{
	struct kdtl_session *s = open_session(test);
	struct task_struct *closer;
	unsigned int spans;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	init_completion(&open_closed);
	open_seen.held = true;
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, OPEN_MARK), 0);
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&open_seen.entered, KAPI_FOREVER));
	closer = kthread_run(open_closer, s, "open_closer");
	KUNIT_ASSERT_FALSE(test, IS_ERR(closer));
	test->priv = NULL;
	/* The close has begun, and waits. */
	KUNIT_EXPECT_TRUE(test, kapi_until(kdtl_stop(s) == -ESHUTDOWN));
	KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(closer->__state) == TASK_UNINTERRUPTIBLE));
	KUNIT_EXPECT_FALSE(test, completion_done(&open_closed));
	KUNIT_EXPECT_EQ(test, READ_ONCE(open_seen.spans), 0U);
	complete_all(&open_seen.leave);
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&open_closed, KAPI_FOREVER));
	spans = open_seen.spans;
	KUNIT_EXPECT_EQ(test, spans, 1U);
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, OPEN_MARK), 0);
	KUNIT_EXPECT_EQ(test, open_seen.spans, spans);
}

static int open_stop_err;

static int open_stopper(void *s)
{
	WRITE_ONCE(open_stop_err, kdtl_stop(s));
	return 0;
}

/* Run a verb in a thread until it waits for the session's lock, as the last of @users. */
static void open_run_locked(struct kunit *test, int (*verb)(void *s), struct kdtl_session *s,
			    unsigned int users)
{
	struct task_struct *task = kthread_create(verb, s, "open_verb");

	KUNIT_EXPECT_FALSE(test, IS_ERR(task));
	if (IS_ERR(task))
		return;
	get_task_struct(task);
	wake_up_process(task);
	KUNIT_EXPECT_TRUE(test, kapi_until(refcount_read(&s->users) == users &&
					   READ_ONCE(task->__state) == TASK_UNINTERRUPTIBLE));
	put_task_struct(task);
}

/* A verb that waits for another one is refused when a close comes first, which does not hang. */
static void open_close_before_verb(struct kunit *test)
{
	struct kdtl_session *s = kapi_session(test, 0);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	init_completion(&open_closed);
	open_stop_err = 0;
	test->priv = NULL;
	mutex_lock(&s->lock);
	open_run_locked(test, open_closer, s, 2);
	open_run_locked(test, open_stopper, s, 3);
	mutex_unlock(&s->lock);
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&open_closed, KAPI_FOREVER));
	KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(open_stop_err) == -ESHUTDOWN));
}

/* A callback that closed its own session, or waited for itself, would wait for ever. */
static int open_self_close(struct kdtl_session *s)
{
	kdtl_session_close(s);
	return kdtl_flush(s);
}

static void open_closes_itself(struct kunit *test)
{
	struct kdtl_session *s = open_session(test);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	open_seen.act = open_self_close;
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 2), 0);
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	KUNIT_EXPECT_EQ(test, open_seen.act_ret, -EDEADLK);
	open_seen.act = NULL;
	/* The session is as before. */
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 2), 0);
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	KUNIT_EXPECT_EQ(test, open_all(), 4ULL);
}

/*
 * There are two readers, a and b.  A span of a closes b; a span of b meanwhile tries to wait for a.
 */
static struct {
	struct kdtl_session	*a;
	struct kdtl_session	*b;
	bool			a_done;
	bool			b_begun;
	bool			b_done;
	int			flush;
	int			load;
} open_two;

static void open_two_a(const struct kdtl_span *span, void *unused)
{
	if (READ_ONCE(open_two.a_done) || !kapi_until(READ_ONCE(open_two.b_begun)))
		return;
	kdtl_session_close(open_two.b);
	WRITE_ONCE(open_two.a_done, true);
}

static void open_two_b(const struct kdtl_span *span, void *unused)
{
	if (open_two.b_done)
		return;
	open_two.b_done = true;
	WRITE_ONCE(open_two.b_begun, true);
	kapi_until(READ_ONCE(open_two.b->closing));
	open_two.flush = kdtl_flush(open_two.a);
	open_two.load = kdtl_load(open_two.a, NULL);
	kdtl_session_close(open_two.a);
}

static void open_close_each_other(struct kunit *test)
{
	const struct kdtl_reader a = { .span = open_two_a, .interval_ms = OPEN_HOUR };
	const struct kdtl_reader b = { .span = open_two_b, .interval_ms = OPEN_HOUR };

	memset(&open_two, 0, sizeof(open_two));
	open_two.a = open_with(test, &open_attr, &a);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, open_two.a);
	open_two.b = kdtl_session_open(&open_attr, &b);
	KUNIT_ASSERT_FALSE(test, IS_ERR(open_two.b));
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, OPEN_MARK), 0);
	KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(open_two.a_done)));
	KUNIT_EXPECT_EQ(test, open_two.flush, -EDEADLK);
	KUNIT_EXPECT_EQ(test, open_two.load, -EDEADLK);
	/* Reader a goes on. */
	KUNIT_EXPECT_EQ(test, kdtl_flush(open_two.a), 0);
	KUNIT_EXPECT_EQ(test, kdtl_unload(open_two.a), 0);
	KUNIT_EXPECT_EQ(test, kapi_go(open_two.a), 0);
}

/* A work item that waits for the reader, and runs on the reader's own queue or on another one. */
static struct open_item {
	struct work_struct	work;
	struct kdtl_session	*s;
	int			flush;
} open_item;

static void open_item_work(struct work_struct *work)
{
	open_item.flush = kdtl_flush(open_item.s);
	if (open_item.flush)
		kdtl_session_close(open_item.s);
}

static int open_item_run(struct workqueue_struct *wq, struct kdtl_session *s)
{
	open_item.s = s;
	queue_work(wq, &open_item.work);
	flush_work(&open_item.work);
	return open_item.flush;
}

/*
 * INIT_WORK() is called anew for each use, so that lockdep takes the items for different ones.
 * Otherwise the item that is refused, and so waits for nothing, would look to lockdep as if it
 * waited for its own queue.
 */
#define open_item_on(wq, s) ({						\
	INIT_WORK(&open_item.work, open_item_work);			\
	open_item_run(wq, s);						\
})

/* In an ordered queue the reader would have to wait for the end of the item that waits for it. */
static void open_behind_item(struct kunit *test)
{
	struct workqueue_struct *wq = alloc_ordered_workqueue("open_wq", 0);
	struct workqueue_struct *other = alloc_ordered_workqueue("open_other", 0);
	struct kdtl_reader reader = open_reader;
	struct kdtl_session *s;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wq);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, other);
	reader.wq = wq;
	reader.interval_ms = OPEN_HOUR;
	s = open_with(test, &open_attr, &reader);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 3), 0);
	KUNIT_EXPECT_EQ(test, open_item_on(wq, s), -EDEADLK);
	/* The session has not been closed either. */
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 2), 0);
	KUNIT_EXPECT_EQ(test, open_item_on(other, s), 0);
	KUNIT_EXPECT_EQ(test, open_all(), 5ULL);
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 2), 0);
	KUNIT_EXPECT_EQ(test, open_item_on(system_long_wq, s), 0);
	KUNIT_EXPECT_EQ(test, open_all(), 7ULL);
	kapi_close(test);
	destroy_workqueue(other);
	destroy_workqueue(wq);
}

static void open_flush_span(const struct kdtl_span *span, void *other)
{
	open_item.flush = kdtl_flush(other);
}

/* The same holds for the reader of another session in the same queue. */
static void open_behind_reader(struct kunit *test)
{
	struct workqueue_struct *wq = alloc_ordered_workqueue("open_wq", 0);
	struct kdtl_reader reader = open_reader;
	struct kdtl_session *s, *other;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wq);
	reader.wq = wq;
	reader.interval_ms = OPEN_HOUR;
	s = open_with(test, &open_attr, &reader);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	other = kdtl_session_open(&open_attr, &(struct kdtl_reader){
		.span = open_flush_span, .data = s, .wq = wq, .interval_ms = OPEN_HOUR });
	KUNIT_ASSERT_FALSE(test, IS_ERR(other));
	open_item.flush = 0;
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 1), 0);
	KUNIT_EXPECT_EQ(test, kdtl_flush(other), 0);
	KUNIT_EXPECT_EQ(test, open_item.flush, -EDEADLK);
	kdtl_session_close(other);
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	KUNIT_EXPECT_EQ(test, open_all(), 1ULL);
	kapi_close(test);
	destroy_workqueue(wq);
}

static int open_hog_state;

/* Wakes up the reader on this CPU, and then keeps the CPU. */
static int open_hog(void *unused)
{
	open_hog_state = kapi_emit(raw_smp_processor_id(), KDTL_KIND_CEDE, OPEN_MARK) ?: 1;
	while (!kthread_should_stop())
		cpu_relax();
	return 0;
}

static void open_where_span(const struct kdtl_span *span, void *cpu)
{
	WRITE_ONCE(*(int *)cpu, raw_smp_processor_id());
}

/*
 * A real-time task holds the CPU of a reader on a bound queue; kdtl_flush() runs the reader
 * elsewhere.
 */
static void open_held_cpu(struct kunit *test)
{
	struct task_struct *hog;
	struct kdtl_session *s;
	int where = -1;

	if (!cpu_online(1))
		kunit_skip(test, "CPU 1 is not there");
	s = open_with(test, &open_attr, &(struct kdtl_reader){
		.span = open_where_span, .data = &where, .wq = system_long_wq,
		.interval_ms = OPEN_HOUR });
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	hog = kthread_create(open_hog, NULL, "open_hog");
	KUNIT_ASSERT_FALSE(test, IS_ERR(hog));
	kthread_bind(hog, 1);
	sched_set_fifo(hog);
	open_hog_state = 0;
	wake_up_process(hog);
	KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(open_hog_state)));
	KUNIT_EXPECT_EQ(test, open_hog_state, 1);
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	kthread_stop(hog);
	KUNIT_EXPECT_EQ(test, where, 0);
	kapi_close(test);
}

/* The reader reads although a task, which may not get a CPU for long, is inside a verb. */
static void open_reads_beside_verbs(struct kunit *test)
{
	struct kdtl_session *s = open_session(test);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	mutex_lock(&s->lock);
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, OPEN_MARK), 0);
	KUNIT_EXPECT_TRUE(test, kapi_until(open_all() == OPEN_MARK));
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, OPEN_MARK), 0);
	KUNIT_EXPECT_TRUE(test, kapi_until(open_all() == 2 * OPEN_MARK));
	mutex_unlock(&s->lock);
}

static int open_load_err;

static int open_loader(void *s)
{
	open_load_err = kdtl_unload(s) ?: kdtl_load(s, NULL);
	complete(&open_closed);
	return 0;
}

/* A load by another thread waits while a callback is looking at a span. */
static void open_load_waits(struct kunit *test)
{
	struct kdtl_session *s = open_session(test);
	struct task_struct *loader;
	struct kdtl_aux_info info;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	init_completion(&open_closed);
	open_seen.held = true;
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, OPEN_MARK), 0);
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&open_seen.entered, KAPI_FOREVER));
	loader = kthread_create(open_loader, s, "open_loader");
	KUNIT_ASSERT_FALSE(test, IS_ERR(loader));
	get_task_struct(loader);
	wake_up_process(loader);
	KUNIT_EXPECT_TRUE(test, kapi_until(completion_done(&open_closed) ||
					   (READ_ONCE(s->state) == KDTL_CREATED &&
					    READ_ONCE(loader->__state) == TASK_UNINTERRUPTIBLE)));
	KUNIT_EXPECT_FALSE(test, completion_done(&open_closed));
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, info.unread, (u64)OPEN_MARK);
	/* The other verbs do not wait for the callback. */
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0), (u64)OPEN_MARK);
	open_seen.held = false;
	complete_all(&open_seen.leave);
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&open_closed, KAPI_FOREVER));
	put_task_struct(loader);
	KUNIT_EXPECT_EQ(test, open_load_err, 0);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 1), 0);
	KUNIT_EXPECT_EQ(test, kdtl_flush(s), 0);
	KUNIT_EXPECT_EQ(test, open_all(), OPEN_MARK + 1ULL);
	KUNIT_EXPECT_EQ(test, open_seen.bad, 0U);
}

/* Sessions are opened and closed again and again, and each delivers all its entries. */
static void open_again(struct kunit *test)
{
	struct workqueue_struct *wq = alloc_workqueue("open_wq", WQ_UNBOUND, 0);
	struct kdtl_reader reader = open_reader;
	struct kdtl_session *s;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wq);
	reader.interval_ms = 1;
	for (i = 0; i < 50; i++) {
		reader.wq = i & 1 ? wq : NULL;
		s = kdtl_session_open(&open_attr, &reader);
		KUNIT_ASSERT_FALSE(test, IS_ERR(s));
		kapi_emit(0, KDTL_KIND_CEDE, OPEN_MARK + i);
		kdtl_session_close(s);
	}
	destroy_workqueue(wq);
	KUNIT_EXPECT_EQ(test, open_all(), 50ULL * OPEN_MARK + 49 * 50 / 2);
}

static struct kunit_case open_cases[] = {
	KUNIT_CASE(open_spans),
	KUNIT_CASE(open_lost),
	KUNIT_CASE(open_full),
	KUNIT_CASE(open_ticks),
	KUNIT_CASE(open_watermark),
	KUNIT_CASE(open_rounds),
	KUNIT_CASE(open_lets_tasks_rcu_end),
	KUNIT_CASE(open_flush),
	KUNIT_CASE(open_verbs),
	KUNIT_CASE(open_loaded_inside),
	KUNIT_CASE(open_notified),
	KUNIT_CASE(open_thread),
	KUNIT_CASE(open_workqueue),
	KUNIT_CASE(open_bad_reader),
	KUNIT_CASE(open_alone),
	KUNIT_CASE(open_refused),
	KUNIT_CASE(open_one_reader),
	KUNIT_CASE(open_close),
	KUNIT_CASE(open_close_verb),
	KUNIT_CASE(open_close_waits),
	KUNIT_CASE(open_close_before_verb),
	KUNIT_CASE(open_closes_itself),
	KUNIT_CASE(open_close_each_other),
	KUNIT_CASE(open_behind_item),
	KUNIT_CASE(open_behind_reader),
	KUNIT_CASE(open_held_cpu),
	KUNIT_CASE(open_reads_beside_verbs),
	KUNIT_CASE(open_load_waits),
	KUNIT_CASE(open_again),
	{}
};

static int open_suite_init(struct kunit_suite *suite)
{
	return kdtl_pmu_register(&open_pmu);
}

static void open_suite_exit(struct kunit_suite *suite)
{
	kdtl_pmu_unregister(&open_pmu);
}

struct kunit_suite kdtl_open_suite = {
	.name		= "kdtl_open",
	.suite_init	= open_suite_init,
	.suite_exit	= open_suite_exit,
	.init		= open_init,
	.exit		= open_exit,
	.test_cases	= open_cases,
};
