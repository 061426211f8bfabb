// SPDX-License-Identifier: GPL-2.0
/*
 * Mistakes of a client's author are answered with an errno, and harm nobody else
 *
 * selftests/guest/misuse.sh looks for the log lines about them.
 */
#include <linux/kthread.h>
#include <linux/notifier.h>
#include <linux/preempt.h>
#include <linux/sched/task.h>

#include "kapi.h"

/* ----------------------------------------------------------------- sessions */

/* What functions that create something return if they fail, and an author did not check. */
static const long misuse_bad[] = { 0, -ENOMEM, -MAX_ERRNO };

static void misuse_no_session(struct kunit *test)
{
	struct kdtl_counter_req counter = { .cpu = -1 };
	struct kdtl_evtset_info set_info = { .cpu = -1 };
	struct kdtl_evtset set = { .id = 1 };
	struct kdtl_config config = {};
	struct kdtl_entry entry;
	struct kdtl_aux_info info;
	struct kdtl_session *s;
	struct kdtl_msg msg;
	const void *span;
	unsigned int i;
	u64 missed;
	size_t at;

	for (i = 0; i < ARRAY_SIZE(misuse_bad); i++) {
		s = ERR_PTR(misuse_bad[i]);
		KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), -EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_unload(s), -EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_start(s), -EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_stop(s), -EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_restart(s), -EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_write_config(s, &config, 1), -EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_write_counters(s, &counter, 1), -EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_read_counters(s, &counter, 1), -EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_create_evtsets(s, &set, 1), -EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_delete_evtsets(s, &set, 1), -EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_getinfo_evtsets(s, &set_info, 1), -EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true), (ssize_t)-EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_read(s, NULL, 0, false), (ssize_t)-EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, MAX_SCHEDULE_TIMEOUT), -EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, -1), -EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)-EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 0), -EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_aux_gap(s, 0, &at, &missed), -EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_aux_snapshot(s, 0, &entry, sizeof(entry), &missed),
				(ssize_t)-EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), -EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_aux_mmap(s, 0, NULL), -EINVAL);
		KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_merge_create(s)), (long)-EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_flush(s), -EINVAL);
		kdtl_session_close(s);
	}
}

/* The log lines about them name this function. */
static void misuse_attr(struct kunit *test)
{
	static const struct {
		int				err;
		struct kdtl_session_attr	attr;
	} bad[] = {
		{ -EINVAL, { .pmu = KDTL_FAKE_PMU, .aux_pages = 3 } },
		{ -EINVAL, { .pmu = KDTL_FAKE_PMU, .msg_pages = 5 } },
		{ -EINVAL, { .pmu = KDTL_FAKE_PMU, .mask = 1U << 31 } },
		{ -EINVAL, { .pmu = KDTL_FAKE_PMU, .flags = 1U << 31 } },
		{ -EINVAL, { .pmu = KDTL_FAKE_PMU, .msg_types = 1U << 31 } },
		{ -EINVAL, { .pmu = KDTL_FAKE_PMU, .aux_pages = 1, .flags = KDTL_SESSION_NO_AUX } },
		{ -EINVAL, { .pmu = KDTL_FAKE_PMU, .watermark = UINT_MAX } },
		{ -EINVAL, { .pmu = KDTL_FAKE_PMU, .cpus = cpu_none_mask } },
		{ -ENOMEM, { .pmu = KDTL_FAKE_PMU, .aux_pages = 1 << 20 } },
		{ -EINVAL, { .pmu = KDTL_FAKE_PMU, .config = 1 } },
		{ -EINVAL, { .flags = KDTL_SESSION_RAW } },
		{ -EINVAL, { .pmu = "software", .flags = KDTL_SESSION_RAW, .mask = 1 } },
		{ -EOPNOTSUPP, { .pmu = "software", .flags = KDTL_SESSION_RAW } },
#ifdef KDTL_PERF_AUX
		{ -ENODEV, { .pmu = "no_such", .flags = KDTL_SESSION_RAW } },
#else
		{ -EOPNOTSUPP, { .pmu = "no_such", .flags = KDTL_SESSION_RAW } },
		{ -EOPNOTSUPP, { .pmu = KDTL_FAKE_PMU, .flags = KDTL_SESSION_RAW } },
#endif
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_create(&bad[i].attr)),
				(long)bad[i].err);
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_create(NULL)), (long)-EINVAL);
}

static void misuse_span(const struct kdtl_span *span, void *data)
{
}

/* Each of these completions has a NULL in its list, which a wake-up would follow in hard irq. */
static void misuse_done(struct kunit *test)
{
	struct completion forgotten = {}, twisted, done;
	struct kdtl_session_attr attr = { .pmu = KDTL_FAKE_PMU, .done = &forgotten };
	const struct kdtl_reader reader = { .span = misuse_span };

	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_create(&attr)), (long)-EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_open(&attr, &reader)), (long)-EINVAL);
	init_completion(&twisted);
	twisted.wait.task_list.prev = NULL;
	attr.done = &twisted;
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_create(&attr)), (long)-EINVAL);
	init_completion(&done);
	attr.done = &done;
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, kapi_create(test, &attr));
	kapi_close(test);
}

/* Both must be functions: to a macro, the commas inside the braces would separate arguments. */
static void misuse_literal(struct kunit *test)
{
	struct kdtl_session *s;

	s = kdtl_session_create(&(struct kdtl_session_attr){
		.pmu = KDTL_FAKE_PMU, .aux_pages = 3 });
	KUNIT_EXPECT_EQ(test, PTR_ERR(s), (long)-EINVAL);
	kdtl_session_close(s);
	s = kdtl_session_open(&(struct kdtl_session_attr){
		.pmu = KDTL_FAKE_PMU, .aux_pages = 1 },
		&(struct kdtl_reader){ .interval_ms = 1, .fifo = true });
	KUNIT_EXPECT_EQ(test, PTR_ERR(s), (long)-EINVAL);
	kdtl_session_close(s);
}

/* ---------------------------------------------------------- other pointers */

static void misuse_null(struct kunit *test)
{
	struct kdtl_session *s = kapi_session(test, 0);
	struct kdtl_entry entry;
	size_t at;
	u64 lost;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 1), 0);
	KUNIT_EXPECT_EQ(test, kdtl_write_config(s, NULL, 1), -EBUSY);
	KUNIT_EXPECT_EQ(test, kdtl_read_counters(s, NULL, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_getinfo_evtsets(s, NULL, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, NULL, sizeof(struct kdtl_msg), true),
			(ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, NULL), (ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_gap(s, 0, NULL, &lost), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_gap(s, 0, &at, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_mmap(s, 0, NULL), -EINVAL);
	kdtl_isolated_cpus(NULL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_snapshot(s, 0, &entry, sizeof(entry), NULL),
			(ssize_t)-EINVAL);
	/* The entry that the refused calls were about is still there. */
	KUNIT_EXPECT_EQ(test, kapi_conserved(test, s), 1ULL);
	kapi_close(test);

	s = kapi_session(test, KDTL_SESSION_OVERWRITE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 1), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_snapshot(s, 0, NULL, sizeof(entry), NULL),
			(ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_snapshot(s, 0, NULL, 0, NULL), (ssize_t)0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_snapshot(s, 0, &entry, sizeof(entry), NULL),
			(ssize_t)sizeof(entry));
}

/* So do the functions that are asked what a task was. */
static void misuse_null_task(struct kunit *test)
{
	struct kdtl_task task;
	char path[8];
	u64 seq = 0, lost;

	KUNIT_EXPECT_EQ(test, kdtl_task_at(NULL, 1, 0, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_task_at(NULL, 1, 0, &task), -ENOENT);
	KUNIT_EXPECT_EQ(test, kdtl_tasks_read(NULL, NULL, &task, 1, &lost), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_tasks_read(NULL, &seq, NULL, 1, &lost), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_tasks_read(NULL, &seq, &task, 1, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_tasks_read(NULL, &seq, &task, 1, &lost), 0);
	KUNIT_EXPECT_EQ(test, kdtl_cgroup_path(NULL, 1, NULL, sizeof(path)), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_cgroup_path(NULL, 1, path, sizeof(path)), -ENOENT);
	KUNIT_EXPECT_EQ(test, kdtl_task_name(NULL, NULL, path, sizeof(path)), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_task_name(NULL, &task, NULL, sizeof(path)), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_task_name(NULL, &task, path, 0), -EINVAL);
}

/* ------------------------------------------------------------------ reading */

/* Make three entries on CPU 0, all of which a reader has seen. */
static struct kdtl_session *misuse_reading(struct kunit *test)
{
	struct kdtl_session *s = kapi_session(test, 0);
	const void *span;

	if (!s)
		return NULL;
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 3), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)(3 * KDTL_ENTRY_SIZE));
	return s;
}

static u64 misuse_unread(struct kunit *test, struct kdtl_session *s)
{
	struct kdtl_aux_info info = {};

	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	return info.unread;
}

/* Entries that no peek has shown cannot have been read, and cannot be given back. */
static void misuse_consume(struct kunit *test)
{
	struct kdtl_session *s = misuse_reading(test);
	const void *span;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	/* These entries have come since the peek. */
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 5), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 4 * KDTL_ENTRY_SIZE), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 3 * KDTL_ENTRY_SIZE + 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, misuse_unread(test, s), 8ULL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 2 * KDTL_ENTRY_SIZE), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 2 * KDTL_ENTRY_SIZE), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, KDTL_ENTRY_SIZE), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, KDTL_ENTRY_SIZE), -EINVAL);
	KUNIT_EXPECT_EQ(test, misuse_unread(test, s), 5ULL);

	/* A load drops what a peek has shown. */
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)(5 * KDTL_ENTRY_SIZE));
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 5), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, KDTL_ENTRY_SIZE), -EINVAL);
	KUNIT_EXPECT_EQ(test, misuse_unread(test, s), 5ULL);
}

/* To give back a part of an entry is refused: what followed would begin inside an entry. */
static void misuse_consume_part(struct kunit *test)
{
	static const size_t parts[] = { 1, 13, KDTL_ENTRY_SIZE - 1, KDTL_ENTRY_SIZE + 1,
					3 * KDTL_ENTRY_SIZE - 1 };
	struct kdtl_session *s = misuse_reading(test);
	const struct kdtl_entry *e;
	const void *span = NULL;
	unsigned int i, nr = 0;
	ssize_t len;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, parts[i]), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, KDTL_ENTRY_SIZE), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 13), -EINVAL);
	KUNIT_EXPECT_EQ(test, misuse_unread(test, s), 2ULL);
	len = kdtl_aux_peek(s, 0, &span);
	KUNIT_EXPECT_EQ(test, len, (ssize_t)(2 * KDTL_ENTRY_SIZE));
	kdtl_for_each_entry(e, span, len)
		nr += kdtl_fake_entry_seq(e) != 0;
	KUNIT_EXPECT_EQ(test, nr, 2U);
}

/* These are called by pointers, because sleep.cocci would find the mistakes otherwise. */
static void (*misuse_close)(struct kdtl_session *s) = kdtl_session_close;
static int (*misuse_load)(struct kdtl_session *s, const struct cpumask *cpus) = kdtl_load;
static int (*const misuse_verbs[])(struct kdtl_session *s) = {
	kdtl_unload, kdtl_start, kdtl_stop, kdtl_restart, kdtl_flush,
};
static int (*misuse_wait)(struct kdtl_session *s, long timeout) = kdtl_wait;
static ssize_t (*misuse_read)(struct kdtl_session *s, struct kdtl_msg *msg, size_t size,
			      bool noblock) = kdtl_read;
static int (*misuse_read_counters)(struct kdtl_session *s, struct kdtl_counter_req *req,
				   unsigned int nr) = kdtl_read_counters;
static struct kdtl_merge *(*misuse_merge)(struct kdtl_session *s) = kdtl_merge_create;
static int (*misuse_sync)(struct kdtl_merge *m) = kdtl_merge_sync;
static void (*misuse_destroy)(struct kdtl_merge *m) = kdtl_merge_destroy;
static struct kdtl_session *(*misuse_create)(const struct kdtl_session_attr *attr,
					     struct module *owner) = __kdtl_session_create;
static struct kdtl_tasks *(*misuse_tasks)(struct module *owner) = __kdtl_tasks_open;
static void (*misuse_tasks_close)(struct kdtl_tasks *t) = kdtl_tasks_close;
static struct kdtl_trigger *(*misuse_trigger_open)(struct module *owner,
						   const struct kdtl_trigger_attr *attr) =
	__kdtl_trigger_open;
static void (*misuse_trigger_close)(struct kdtl_trigger *t) = kdtl_trigger_close;
static int (*misuse_notify)(const struct kdtl_alarm *alarm) = kdtl_alarm;
static int (*misuse_register)(struct notifier_block *nb) = kdtl_alarm_register;
static int (*misuse_unregister)(struct notifier_block *nb) = kdtl_alarm_unregister;
static struct kdtl_session *misuse_waking;
static struct kdtl_merge *misuse_merging;
static unsigned int misuse_wakes;
static unsigned int misuse_allowed;	/* verbs that were not refused */

/* Nobody may sleep here.  @s is a session that is not loaded, and has misuse_merging. */
static void misuse_call_atomic(struct kdtl_session *s)
{
	const struct kdtl_session_attr attr = { .pmu = KDTL_FAKE_PMU };
	struct kdtl_counter_req req = { };
	struct kdtl_msg msg;
	unsigned int i;

	misuse_close(s);
	for (i = 0; i < ARRAY_SIZE(misuse_verbs); i++)
		misuse_allowed += misuse_verbs[i](s) != -EDEADLK;
	misuse_allowed += misuse_load(s, NULL) != -EDEADLK;
	misuse_allowed += misuse_wait(s, 1) != -EDEADLK;
	misuse_allowed += misuse_read(s, &msg, sizeof(msg), false) != -EDEADLK;
	misuse_allowed += misuse_read_counters(s, &req, 1) != -EDEADLK;
	misuse_allowed += misuse_merge(s) != ERR_PTR(-EDEADLK);
	misuse_allowed += misuse_create(&attr, THIS_MODULE) != ERR_PTR(-EDEADLK);
	misuse_allowed += misuse_sync(misuse_merging) != -EDEADLK;
	misuse_destroy(misuse_merging);
	misuse_allowed += misuse_tasks(THIS_MODULE) != ERR_PTR(-EDEADLK);
	misuse_tasks_close(NULL);
	misuse_allowed += misuse_trigger_open(THIS_MODULE, NULL) != ERR_PTR(-EDEADLK);
	misuse_trigger_close(NULL);
	misuse_allowed += misuse_notify(NULL) != -EDEADLK;
	misuse_allowed += misuse_register(NULL) != -EDEADLK;
	misuse_allowed += misuse_unregister(NULL) != -EDEADLK;
	/* Verbs that do not sleep are allowed. */
	misuse_allowed += misuse_wait(s, 0) != -ETIMEDOUT;
	misuse_allowed += misuse_read(s, &msg, sizeof(msg), true) != -EAGAIN;
}

static void misuse_wake(void *data)
{
	struct kdtl_session **other = data;

	misuse_wakes++;
	/* Each of these makes a line, of which the log shows the first ten. */
	misuse_close(misuse_waking);
	misuse_call_atomic(*other);
}

/* Nothing may sleep in wake(), and there a close would wait for the wake-up that it is in. */
static void misuse_in_wake(struct kunit *test)
{
	static struct kdtl_session *other;
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= 1,
		.watermark	= KDTL_ENTRY_SIZE,
		.wake		= misuse_wake,
		.wake_data	= &other,
	};
	const struct kdtl_session_attr plain = { .pmu = KDTL_FAKE_PMU, .aux_pages = 1 };

	misuse_wakes = 0;
	misuse_allowed = 0;
	other = kdtl_session_create(&plain);
	KUNIT_ASSERT_FALSE(test, IS_ERR(other));
	misuse_merging = kdtl_merge_create(other);
	KUNIT_ASSERT_FALSE(test, IS_ERR(misuse_merging));
	misuse_waking = kapi_create(test, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, misuse_waking);
	KUNIT_EXPECT_EQ(test, kapi_go(misuse_waking), 0);
	/* wake() is called once in hard irq, and once inside a verb. */
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(misuse_wakes) == 1));
	KUNIT_EXPECT_EQ(test, kdtl_stop(misuse_waking), 0);
	KUNIT_EXPECT_EQ(test, misuse_wakes, 2U);
	KUNIT_EXPECT_EQ(test, misuse_allowed, 0U);
	/* Both sessions are as they were. */
	KUNIT_EXPECT_EQ(test, misuse_unread(test, misuse_waking), 1ULL);
	KUNIT_EXPECT_EQ(test, kdtl_load(other, NULL), 0);
	KUNIT_EXPECT_EQ(test, kdtl_merge_sync(misuse_merging), 0);
	/* The close wakes once more: wake() still needs the other session and the merge. */
	kapi_close(test);
	kdtl_merge_destroy(misuse_merging);
	kdtl_session_close(other);
}

/* A timer's function is not to sleep either, nor who holds a spinlock, if the kernel can tell. */
static void misuse_atomic(struct kunit *test)
{
	struct kdtl_session *s = kapi_session(test, 0);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	misuse_allowed = 0;
	misuse_merging = kdtl_merge_create(s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(misuse_merging));
	local_bh_disable();
	misuse_call_atomic(s);
	local_bh_enable();
	if (IS_ENABLED(CONFIG_PREEMPT_COUNT)) {
		preempt_disable();
		misuse_call_atomic(s);
		preempt_enable();
	}
	KUNIT_EXPECT_EQ(test, misuse_allowed, 0U);
	/* The session and the merge are as they were. */
	KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), 0);
	KUNIT_EXPECT_EQ(test, kdtl_merge_sync(misuse_merging), 0);
	kdtl_merge_destroy(misuse_merging);
}

static int misuse_closer(void *s)
{
	misuse_close(s);
	return 0;
}

/* A second close, after the first one or beside it, finds no memory that was freed. */
static void misuse_close_again(struct kunit *test)
{
	const unsigned int rounds = kapi_rounds(200);
	const int held = kapi_held();
	struct task_struct *closer;
	struct kdtl_session *s;
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		s = kapi_session(test, 0);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
		test->priv = NULL;
		KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
		closer = kthread_create(misuse_closer, s, "misuse_closer");
		KUNIT_EXPECT_FALSE(test, IS_ERR(closer));
		if (!IS_ERR(closer)) {
			get_task_struct(closer);
			wake_up_process(closer);
		}
		misuse_close(s);
		if (IS_ERR(closer))
			return;
		/* Unless the thread was stopped before it ran, both have closed the session. */
		kthread_stop(closer);
		put_task_struct(closer);
		misuse_close(s);
		KUNIT_EXPECT_EQ(test, kapi_held(), held);
	}
}

/* Two readers have seen the same entries; the second one cannot give them back. */
static void misuse_two_readers(struct kunit *test)
{
	struct kdtl_session *s = misuse_reading(test);
	const void *span;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)(3 * KDTL_ENTRY_SIZE));
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 3), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 3 * KDTL_ENTRY_SIZE), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 3 * KDTL_ENTRY_SIZE), -EINVAL);
	KUNIT_EXPECT_EQ(test, misuse_unread(test, s), 3ULL);
}

/* Counters are set on all CPUs; a caller that names one CPU is told so. */
static void misuse_write_cpu(struct kunit *test)
{
	static const int bad[] = { 1, 77, -2, INT_MAX, INT_MIN };
	struct kdtl_session *s = kapi_session(test, 0);
	struct kdtl_counter_req req[2] = {
		{ .counter = KDTL_CTR_ENTRIES, .value = 5, .cpu = -1 },
		{ .counter = KDTL_CTR_CEDE, .value = 6 },
	};
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		req[1].cpu = bad[i];
		KUNIT_EXPECT_EQ(test, kdtl_write_counters(s, req, 2), -EINVAL);
		KUNIT_EXPECT_EQ(test, req[0].error, 0);
		KUNIT_EXPECT_EQ(test, req[1].error, -EINVAL);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, -1), 0ULL);
	}
	req[1].cpu = 0;
	KUNIT_EXPECT_EQ(test, kdtl_write_counters(s, req, 2), 0);
	KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), 0);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0), 5ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, 0), 6ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, -1),
			6ULL * num_online_cpus());
}

/* kdtl_merge_create() may have failed, and the author did not check that either. */
static void misuse_no_merge(struct kunit *test)
{
	struct kdtl_merge *m;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(misuse_bad); i++) {
		m = ERR_PTR(misuse_bad[i]);
		KUNIT_EXPECT_EQ(test, kdtl_merge_sync(m), -EINVAL);
		KUNIT_EXPECT_TRUE(test, !kdtl_merge_next(m));
		KUNIT_EXPECT_EQ(test, kdtl_merge_cpu(m), -EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_merge_late(m), 0ULL);
		KUNIT_EXPECT_EQ(test, kdtl_merge_lost(m), 0ULL);
		kdtl_merge_destroy(m);
	}
}

/* A merge is destroyed once more, before its session is closed, and after. */
static void misuse_destroy_again(struct kunit *test)
{
	struct kdtl_session *s = kapi_session(test, 0);
	struct kdtl_merge *m;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	m = kdtl_merge_create(s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m));
	misuse_destroy(m);
	misuse_destroy(m);

	m = kdtl_merge_create(s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m));
	kapi_close(test);
	misuse_destroy(m);
	misuse_destroy(m);
}

static void misuse_no_notifier(struct kunit *test)
{
	struct notifier_block empty = {};

	KUNIT_EXPECT_EQ(test, kdtl_alarm_register(NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_alarm_register(&empty), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_alarm_unregister(NULL), -EINVAL);
}

static int misuse_alarms;

static int misuse_alarmed(struct notifier_block *nb, unsigned long unused, void *data)
{
	const struct kdtl_alarm *alarm = data;

	misuse_alarms += alarm->cpu == 0 && alarm->from == 1 && alarm->to == 2;
	return NOTIFY_OK;
}

/* Notifiers rely on what an alarm says, so none that is wrong gets to them. */
static void misuse_alarm(struct kunit *test)
{
	const struct kdtl_alarm wrong[] = {
		{ .cpu = -1 },
		{ .what = "", .cpu = -1 },
		{ .what = "two\nlines", .cpu = -1 },
		{ .what = "no such CPU", .cpu = nr_cpu_ids },
		{ .what = "no such CPU", .cpu = -2 },
		{ .what = "ends early", .cpu = 0, .from = 2, .to = 1 },
		{ .what = "no end", .cpu = 0, .from = 2 },
	};
	const struct kdtl_alarm right = { .what = "right", .from = 1, .to = 2 };
	struct notifier_block nb = { .notifier_call = misuse_alarmed };
	unsigned int i;

	misuse_alarms = 0;
	KUNIT_ASSERT_EQ(test, kdtl_alarm_register(&nb), 0);
	KUNIT_EXPECT_EQ(test, kdtl_alarm(NULL), -EINVAL);
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		KUNIT_EXPECT_EQ(test, kdtl_alarm(&wrong[i]), -EINVAL);
	KUNIT_EXPECT_EQ(test, misuse_alarms, 0);
	KUNIT_EXPECT_EQ(test, kdtl_alarm(&right), 0);
	KUNIT_EXPECT_EQ(test, misuse_alarms, 1);
	KUNIT_EXPECT_EQ(test, kdtl_alarm_unregister(&nb), 0);
}

/* This notifier returns an errno, which would end one of the kernel's chains. */
static int misuse_stops(struct notifier_block *nb, unsigned long unused, void *data)
{
	misuse_alarms++;
	return -EINVAL;
}

static void misuse_notifier_stops(struct kunit *test)
{
	const struct kdtl_alarm alarm = { .what = "for all", .from = 1, .to = 2 };
	struct notifier_block first = { .notifier_call = misuse_stops, .priority = 1 };
	struct notifier_block second = { .notifier_call = misuse_alarmed };

	misuse_alarms = 0;
	KUNIT_ASSERT_EQ(test, kdtl_alarm_register(&first), 0);
	KUNIT_ASSERT_EQ(test, kdtl_alarm_register(&second), 0);
	KUNIT_EXPECT_EQ(test, kdtl_alarm(&alarm), 0);
	KUNIT_EXPECT_EQ(test, misuse_alarms, 2);
	KUNIT_EXPECT_EQ(test, kdtl_alarm_unregister(&second), 0);
	KUNIT_EXPECT_EQ(test, kdtl_alarm_unregister(&first), 0);
}

static void misuse_fire(void *data)
{
}

static void misuse_trigger(struct kunit *test)
{
	static const struct kdtl_trigger_attr right = {
		.cgroup		= "/kdtl",
		.threshold	= NSEC_PER_MSEC,
		.window		= NSEC_PER_SEC,
		.fire		= misuse_fire,
	};
	struct kdtl_trigger_attr wrong[] = {
		right, right, right, right, right, right, right, right, right,
	};
	unsigned int i;

	wrong[0].cgroup = NULL;
	wrong[1].cgroup = "kdtl";
	wrong[2].cause = KDTL_PRESSURE_ROWS;
	wrong[3].cause = -1;
	wrong[4].threshold = 0;
	wrong[5].threshold = num_possible_cpus() * NSEC_PER_SEC + 1ULL;
	wrong[6].window = 10 * NSEC_PER_MSEC - 1;
	wrong[7].window = 10 * (u64)NSEC_PER_SEC + 1;
	wrong[8].fire = NULL;
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_trigger_open(&wrong[i])), (long)-EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_trigger_open(NULL)), (long)-EINVAL);
	kdtl_trigger_close(NULL);
	kdtl_trigger_close(ERR_PTR(-ENODEV));
	KUNIT_EXPECT_EQ(test, kdtl_pressure_begin(NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_pressure_begin(&(struct kdtl_pressure_counter){}), -EINVAL);
}

static void misuse_no_source(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, kdtl_pmu_register(NULL), -EINVAL);
	kdtl_pmu_unregister(NULL);
}

/* However many entries a source says it has lost, the sums never go back. */
static void misuse_lost(struct kunit *test)
{
	static const u64 lost[] = { 5, U64_MAX - 4, 1ULL << 63, U64_MAX, 7 };
	struct kdtl_session *s = kapi_session(test, 0);
	struct kdtl_aux_info info = {};
	u64 was = 0;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	for (i = 0; i < ARRAY_SIZE(lost); i++) {
		KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 1), 0);
		KUNIT_EXPECT_EQ(test, kdtl_fake_lost(0, lost[i]), 0);
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
		KUNIT_EXPECT_GE(test, info.lost, was);
		KUNIT_EXPECT_EQ(test, info.produced, info.lost + i + 1);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_LOST, 0), info.lost);
		was = info.lost;
	}
	KUNIT_EXPECT_EQ(test, info.lost, (u64)S64_MAX);
}

/* A driver passes no source, one that is not registered, or no entry. */
static void misuse_no_output(struct kunit *test)
{
	static const struct kdtl_entry e;
	static struct kdtl_pmu none;
	unsigned long flags;

	local_irq_save(flags);
	kdtl_pmu_output(NULL, &e, KDTL_KIND_CEDE);
	kdtl_pmu_output(&none, NULL, KDTL_KIND_CEDE);
	kdtl_pmu_lost(NULL, 1);
	kdtl_pmu_lost(&none, 1);
	local_irq_restore(flags);
}

static struct kunit_case misuse_cases[] = {
	KUNIT_CASE(misuse_no_session),
	KUNIT_CASE(misuse_attr),
	KUNIT_CASE(misuse_done),
	KUNIT_CASE(misuse_literal),
	KUNIT_CASE(misuse_null),
	KUNIT_CASE(misuse_null_task),
	KUNIT_CASE(misuse_consume),
	KUNIT_CASE(misuse_consume_part),
	KUNIT_CASE(misuse_in_wake),
	KUNIT_CASE(misuse_atomic),
	KUNIT_CASE(misuse_close_again),
	KUNIT_CASE(misuse_two_readers),
	KUNIT_CASE(misuse_write_cpu),
	KUNIT_CASE(misuse_no_merge),
	KUNIT_CASE(misuse_destroy_again),
	KUNIT_CASE(misuse_no_notifier),
	KUNIT_CASE(misuse_alarm),
	KUNIT_CASE(misuse_notifier_stops),
	KUNIT_CASE(misuse_trigger),
	KUNIT_CASE(misuse_no_source),
	KUNIT_CASE(misuse_lost),
	KUNIT_CASE(misuse_no_output),
	{}
};

struct kunit_suite kdtl_misuse_suite = {
	.name		= "kdtl_misuse",
	.init		= kapi_init,
	.exit		= kapi_exit,
	.test_cases	= misuse_cases,
};
