// SPDX-License-Identifier: GPL-2.0
/*
 * Many threads use one session: no verb ever sees it half changed
 *
 * Whatever the other threads do, each verb returns something that states.def lists for it in some
 * state, the numbers of an area add up, and an entry that was read and could be given back is a
 * good one.  Afterwards the session works as before.
 */
#include <linux/kthread.h>
#include <linux/prandom.h>

#include "kapi.h"

#define HAMMER_THREADS	8
#define HAMMER_TIME	min_t(unsigned long, 3 * HZ, msecs_to_jiffies(kapi_race_ms))
/* At least so many calls are made, however slow the machine is. */
#define HAMMER_CALLS	200UL

struct hammer {
	struct kunit		*test;
	struct kdtl_session	*s;
	unsigned long		good;
	unsigned long		refused;
	unsigned int		id;
	struct task_struct	*task;
};

/* -------------------------------------------------------------------- verbs */

static ssize_t hammer_kdtl_load(struct kdtl_session *s)
{
	return kdtl_load(s, NULL);
}

static ssize_t hammer_kdtl_unload(struct kdtl_session *s)
{
	return kdtl_unload(s);
}

static ssize_t hammer_kdtl_start(struct kdtl_session *s)
{
	return kdtl_start(s);
}

static ssize_t hammer_kdtl_stop(struct kdtl_session *s)
{
	return kdtl_stop(s);
}

static ssize_t hammer_kdtl_restart(struct kdtl_session *s)
{
	return kdtl_restart(s);
}

static ssize_t hammer_kdtl_write_config(struct kdtl_session *s)
{
	struct kdtl_config req = { .mask = KDTL_MASK_CEDE };

	return kdtl_write_config(s, &req, 1);
}

/* Every hundredth entry pauses its CPU. */
static ssize_t hammer_kdtl_write_counters(struct kdtl_session *s)
{
	struct kdtl_counter_req req = {
		.counter	= KDTL_CTR_CEDE,
		.flags		= KDTL_COUNTER_NOTIFY,
		.value		= -100,
		.long_reset	= -100,
	};

	return kdtl_write_counters(s, &req, 1);
}

static ssize_t hammer_kdtl_read_counters(struct kdtl_session *s)
{
	struct kdtl_counter_req req = { .counter = KDTL_CTR_CEDE, .cpu = -1 };

	return kdtl_read_counters(s, &req, 1);
}

/* Another thread may have created the set: it exists afterwards in any case. */
static ssize_t hammer_kdtl_create_evtsets(struct kdtl_session *s)
{
	struct kdtl_evtset req = { .id = 1, .overflows = 1 };
	const int err = kdtl_create_evtsets(s, &req, 1);

	return err == -EEXIST ? 0 : err;
}

static ssize_t hammer_kdtl_delete_evtsets(struct kdtl_session *s)
{
	struct kdtl_evtset req = { .id = 1 };
	const int err = kdtl_delete_evtsets(s, &req, 1);

	return err == -EINVAL ? 0 : err;
}

/* Set 0 always exists, and is active as long as it is the only one. */
static ssize_t hammer_kdtl_getinfo_evtsets(struct kdtl_session *s)
{
	struct kdtl_evtset_info req = { .cpu = -1 };

	return kdtl_getinfo_evtsets(s, &req, 1);
}

static ssize_t hammer_kdtl_read(struct kdtl_session *s)
{
	struct kdtl_msg msg;
	const ssize_t ret = kdtl_read(s, &msg, sizeof(msg), true);

	if (ret > 0 && (ret != sizeof(msg) || msg.size != sizeof(msg) ||
			msg.type < KDTL_MSG_AUX || msg.type > KDTL_MSG_END))
		return -EBADMSG;
	return ret;
}

static ssize_t hammer_kdtl_wait(struct kdtl_session *s)
{
	return kdtl_wait(s, 1);
}

static int hammer_cpu(void)
{
	return raw_smp_processor_id();
}

static ssize_t hammer_kdtl_aux_peek(struct kdtl_session *s)
{
	const void *span;

	return kdtl_aux_peek(s, hammer_cpu(), &span);
}

/*
 * Another reader or a load may come between peek and consume.  Then the entries need not be good,
 * and giving them back fails.
 */
static ssize_t hammer_kdtl_aux_consume(struct kdtl_session *s)
{
	const struct kdtl_entry *e;
	const int cpu = hammer_cpu();
	bool bad = false;
	const void *span;
	ssize_t len;

	len = kdtl_aux_peek(s, cpu, &span);
	if (len <= 0)
		return len;
	kdtl_for_each_entry(e, span, len)
		bad |= !kdtl_fake_entry_seq(e);
	if (kdtl_aux_consume(s, cpu, len))
		return 0;
	return bad ? -EBADMSG : 0;
}

static ssize_t hammer_kdtl_aux_gap(struct kdtl_session *s)
{
	size_t at;
	u64 lost;

	return kdtl_aux_gap(s, hammer_cpu(), &at, &lost);
}

static ssize_t hammer_kdtl_aux_snapshot(struct kdtl_session *s)
{
	struct kdtl_entry e;
	const ssize_t ret = kdtl_aux_snapshot(s, hammer_cpu(), &e, sizeof(e), NULL);

	/* This session is not in overwrite mode, so the only right answer is -EINVAL. */
	return ret == -EINVAL ? 0 : -EBADMSG;
}

static ssize_t hammer_kdtl_timebase_sync(struct kdtl_session *s)
{
	struct kdtl_timebase tb = {};

	return kdtl_timebase_sync(s, &tb);
}

static ssize_t hammer_kdtl_aux_info(struct kdtl_session *s)
{
	struct kdtl_aux_info info;
	const int err = kdtl_aux_info(s, hammer_cpu(), &info);

	if (!err && (info.produced != info.consumed + info.lost + info.unread ||
		     info.unread * KDTL_ENTRY_SIZE > info.size ||
		     info.head - info.tail > info.size))
		return -EBADMSG;
	return err;
}

static void hammer_waits(const struct kdtl_waiting *w, void *data)
{
}

static ssize_t hammer_kdtl_waiting(struct kdtl_session *s)
{
	return kdtl_waiting(s, hammer_waits, NULL);
}

static ssize_t hammer_kdtl_merge_next(struct kdtl_session *s)
{
	return 0;
}

static ssize_t hammer_kdtl_flush(struct kdtl_session *s)
{
	return kdtl_flush(s);
}

/* Not called while others use the session. */
static ssize_t hammer_kdtl_session_close(struct kdtl_session *s)
{
	return 0;
}

/* ------------------------------------------------------- what they may return */

#define TO(s)	0
#define OK	0
#define SAME	0
#define NONE	0
#define NO(e)	-(e)
#define OUT	0

static const struct hammer_verb {
	const char	*name;
	ssize_t		(*call)(struct kdtl_session *s);
	int		may[5];
	int		closing;
} hammer_verbs[] = {
#define KDTL_VERB(verb, created, stopped, started, paused, unloaded, closing)	\
	{ #verb, hammer_ ## verb,						\
	  { created, stopped, started, paused, unloaded }, closing },
#include "states.def"
#undef KDTL_VERB
};

static bool hammer_may(const struct hammer_verb *verb, ssize_t ret)
{
	unsigned int i;

	/* In any state there may be nothing to read. */
	if (ret >= 0 || (verb->call == hammer_kdtl_read && ret == -EAGAIN) ||
	    (verb->call == hammer_kdtl_wait && ret == -ETIMEDOUT))
		return true;
	/* Nobody closes it. */
	if (ret == verb->closing)
		return false;
	for (i = 0; i < ARRAY_SIZE(verb->may); i++) {
		if (verb->may[i] == ret)
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------ threads */

static int hammer_thread(void *arg)
{
	struct hammer *h = arg;
	const struct hammer_verb *verb;
	struct rnd_state rnd;
	ssize_t ret;

	prandom_seed_state(&rnd, 1000 + h->id);
	while (!kthread_should_stop()) {
		verb = &hammer_verbs[prandom_u32_state(&rnd) % ARRAY_SIZE(hammer_verbs)];
		ret = verb->call(h->s);
		if (!hammer_may(verb, ret))
			KUNIT_FAIL(h->test, "%s: %zd", verb->name, ret);
		if (ret < 0)
			h->refused++;
		else
			h->good++;
		cond_resched();
	}
	return 0;
}

static int hammer_produce(void *arg)
{
	while (!kthread_should_stop()) {
		local_irq_disable();
		kdtl_fake_emit_here(KDTL_KIND_CEDE, 1, 1, 1);
		local_irq_enable();
		usleep_range(20, 40);
	}
	return 0;
}

static bool hammer_enough(const struct hammer *h, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (READ_ONCE(h[i].good) + READ_ONCE(h[i].refused) < HAMMER_CALLS)
			return false;
	}
	return true;
}

/* From whatever state it is in: everything works as in a new session. */
static void hammer_works(struct kunit *test, struct kdtl_session *s)
{
	struct kdtl_evtset one = { .id = 1 };
	struct kdtl_counter_req quiet = { .counter = KDTL_CTR_CEDE };
	struct kdtl_config all = { .mask = KDTL_MASK_ALL };
	struct kdtl_aux_info info;
	int cpu;

	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	kdtl_delete_evtsets(s, &one, 1);
	KUNIT_EXPECT_EQ(test, kdtl_write_counters(s, &quiet, 1), 0);
	KUNIT_EXPECT_EQ(test, kdtl_write_config(s, &all, 1), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	for_each_online_cpu(cpu) {
		kapi_emit(cpu, KDTL_KIND_CEDE, 20 + cpu);
		kapi_emit(cpu, KDTL_KIND_FAULT, 3);
	}
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
		KUNIT_EXPECT_EQ(test, info.produced, 23ULL + cpu);
		KUNIT_EXPECT_EQ(test, info.unread, 23ULL + cpu);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, cpu), 20ULL + cpu);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_FAULT, cpu), 3ULL);
	}
	while (kdtl_wait(s, 0) == 1) {
		kapi_msgs_of(s, KDTL_MSG_END);
		for_each_online_cpu(cpu)
			kapi_drain(s, cpu);
	}
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
}

static void hammer_verbs_at_random(struct kunit *test)
{
	struct task_struct *producer[4] = {};
	struct hammer h[HAMMER_THREADS] = {};
	unsigned long good = 0, refused = 0, end;
	struct kdtl_session *s;
	unsigned int i;
	int cpu;

	kapi_need_races(test);
	s = kapi_session(test, KDTL_SESSION_PAUSE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (i = 0; i < ARRAY_SIZE(h); i++) {
		h[i].test = test;
		h[i].s = s;
		h[i].id = i;
		h[i].task = kthread_run(hammer_thread, &h[i], "kdtl_hammer/%u", i);
		KUNIT_EXPECT_FALSE(test, IS_ERR(h[i].task));
	}
	i = 0;
	for_each_online_cpu(cpu) {
		if (i == ARRAY_SIZE(producer))
			break;
		producer[i] = kthread_create_on_cpu(hammer_produce, NULL, cpu,
						    "kdtl_produce/%u");
		if (!IS_ERR(producer[i]))
			wake_up_process(producer[i]);
		i++;
	}
	end = jiffies + HAMMER_TIME;
	while (time_before(jiffies, end))
		msleep(50);
	KUNIT_EXPECT_TRUE(test, kapi_until(hammer_enough(h, ARRAY_SIZE(h))));

	for (i = 0; i < ARRAY_SIZE(producer); i++) {
		if (!IS_ERR_OR_NULL(producer[i]))
			kthread_stop(producer[i]);
	}
	for (i = 0; i < ARRAY_SIZE(h); i++) {
		if (IS_ERR(h[i].task))
			continue;
		kthread_stop(h[i].task);
		good += h[i].good;
		refused += h[i].refused;
	}
	hammer_works(test, s);
	kunit_info(test, "%lu calls, %lu of them refused", good + refused, refused);
}

/* Each thread creates and closes sessions of its own, all the time. */
static int hammer_sessions_thread(void *arg)
{
	struct hammer *h = arg;
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= 1,
		.msg_pages	= 1,
		.watermark	= KDTL_ENTRY_SIZE,
	};
	struct kdtl_session *s;
	int cpu, err;

	while (!kthread_should_stop()) {
		s = kdtl_session_create(&attr);
		if (IS_ERR(s)) {
			KUNIT_FAIL(h->test, "create: %pe", s);
			break;
		}
		err = kapi_go(s);
		if (err)
			KUNIT_FAIL(h->test, "start: %d", err);
		err = kdtl_wait(s, 2);
		if (err != 1 && err != -ETIMEDOUT && !kthread_should_stop())
			KUNIT_FAIL(h->test, "wait: %d", err);
		for_each_online_cpu(cpu)
			kapi_drain(s, cpu);
		kdtl_session_close(s);
		h->good++;
	}
	while (!kthread_should_stop())
		schedule_timeout_idle(1);
	return 0;
}

static void hammer_sessions(struct kunit *test)
{
	struct hammer h[HAMMER_THREADS] = {};
	unsigned long end = jiffies + HAMMER_TIME, sum = 0;
	unsigned int i;

	kapi_need_races(test);
	for (i = 0; i < ARRAY_SIZE(h); i++) {
		h[i].test = test;
		h[i].task = kthread_run(hammer_sessions_thread, &h[i], "kdtl_hammer/%u", i);
		KUNIT_EXPECT_FALSE(test, IS_ERR(h[i].task));
	}
	while (time_before(jiffies, end))
		kapi_emit(0, KDTL_KIND_CEDE, 3);
	for (i = 0; i < ARRAY_SIZE(h); i++) {
		if (IS_ERR(h[i].task))
			continue;
		KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(h[i].good) >= 2));
		kthread_stop(h[i].task);
		sum += h[i].good;
	}
	kunit_info(test, "%lu sessions", sum);
}

static struct kunit_case hammer_cases[] = {
	KUNIT_CASE(hammer_verbs_at_random),
	KUNIT_CASE(hammer_sessions),
	{}
};

struct kunit_suite kdtl_hammer_suite = {
	.name		= "kdtl_hammer",
	.init		= kapi_init,
	.exit		= kapi_exit,
	.test_cases	= hammer_cases,
};
