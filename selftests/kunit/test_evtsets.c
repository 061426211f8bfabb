// SPDX-License-Identifier: GPL-2.0
/*
 * Event sets: their order, how they switch, and what each of them counts
 *
 * Sets that are left by overflow switch at an entry that the test knows, so a few lines here
 * predict every counter of every set.
 */
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/prandom.h>
#include <linux/slab.h>

#include "../../core/aux.h"
#include "../../core/session.h"
#include "kapi.h"

static int evtsets_create(struct kdtl_session *s, u16 id, u64 timeout, u32 overflows)
{
	struct kdtl_evtset req = { .id = id, .timeout = timeout, .overflows = overflows };

	return kdtl_create_evtsets(s, &req, 1);
}

/* Make a counter of the set overflow each time that it has counted @nr. */
static int evtsets_every(struct kdtl_session *s, u16 set, enum kdtl_counter counter,
			 u64 nr, u32 flags)
{
	struct kdtl_counter_req req = {
		.set		= set,
		.counter	= counter,
		.flags		= flags,
		.value		= -nr,
		.short_reset	= -nr,
		.long_reset	= -nr,
	};

	return kdtl_write_counters(s, &req, 1);
}

static int evtsets_mask(struct kdtl_session *s, u16 set, u32 mask)
{
	struct kdtl_config req = { .set = set, .mask = mask };

	return kdtl_write_config(s, &req, 1);
}

/* Returns which set is active on a CPU; -1 unless it is exactly one. */
static int evtsets_active(struct kunit *test, struct kdtl_session *s,
			  const u16 *ids, unsigned int nr, int cpu)
{
	int active = -1;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!kapi_info(test, s, ids[i], cpu).active_now)
			continue;
		if (active >= 0)
			return -1;
		active = ids[i];
	}
	return active;
}

/* -------------------------------------------------------------------- order */

static void evtsets_order(struct kunit *test)
{
	/* The sets are created in this order, by two calls; they run in the order of their ids. */
	struct kdtl_evtset req[] = {
		{ .id = 700, .overflows = 1 }, { .id = 3, .overflows = 1 },
		{ .id = U16_MAX, .overflows = 1 }, { .id = 0, .overflows = 1 },
	};
	static const u16 order[] = { 0, 3, 5, 700, U16_MAX };
	struct kdtl_session *s = kapi_session(test, 0);
	const unsigned int nr = ARRAY_SIZE(order);
	struct kdtl_msg msg;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kdtl_create_evtsets(s, req, ARRAY_SIZE(req)), 0);
	KUNIT_ASSERT_EQ(test, evtsets_create(s, 5, 0, 1), 0);
	for (i = 0; i < nr; i++)
		KUNIT_ASSERT_EQ(test, evtsets_every(s, order[i], KDTL_CTR_ENTRIES, 2, 0), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_EQ(test, evtsets_active(test, s, order, nr, 0), 0);
	for (i = 0; i < 3 * nr; i++) {
		kapi_emit(0, KDTL_KIND_CEDE, 1);
		KUNIT_EXPECT_EQ(test, evtsets_active(test, s, order, nr, 0),
				(int)order[i % nr]);
		kapi_emit(0, KDTL_KIND_CEDE, 1);
		KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_SET_SWITCH, &msg));
		KUNIT_EXPECT_EQ(test, msg.set_switch.from, order[i % nr]);
		KUNIT_EXPECT_EQ(test, msg.set, order[(i + 1) % nr]);
		KUNIT_EXPECT_EQ(test, msg.cpu, 0);
		KUNIT_EXPECT_EQ(test, evtsets_active(test, s, order, nr, 0),
				(int)order[(i + 1) % nr]);
		KUNIT_EXPECT_FALSE(test, kapi_msg_of(s, KDTL_MSG_SET_SWITCH, &msg));
	}
	for (i = 0; i < nr; i++) {
		KUNIT_EXPECT_EQ(test, kapi_info(test, s, order[i], 0).runs, 3ULL + !i);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, order[i], KDTL_CTR_CEDE, 0), 6ULL);
	}
}

/* A set is left after a number of overflows, of whichever counters. */
static void evtsets_overflow_count(struct kunit *test)
{
	static const u16 ids[] = { 0, 1 };
	struct kdtl_session *s = kapi_session(test, 0);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, evtsets_create(s, 0, 0, 5), 0);
	KUNIT_ASSERT_EQ(test, evtsets_create(s, 1, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, evtsets_every(s, 0, KDTL_CTR_CEDE, 1, 0), 0);
	KUNIT_ASSERT_EQ(test, evtsets_every(s, 0, KDTL_CTR_FAULT, 2, KDTL_COUNTER_NOTIFY), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 3);
	kapi_emit(0, KDTL_KIND_FAULT, 3);
	KUNIT_EXPECT_EQ(test, evtsets_active(test, s, ids, 2, 0), 0);
	kapi_emit(0, KDTL_KIND_FAULT, 1);
	KUNIT_EXPECT_EQ(test, evtsets_active(test, s, ids, 2, 0), 1);
	/* Set 1 has no condition on which it is left. */
	kapi_emit(0, KDTL_KIND_FAULT, 1000);
	KUNIT_EXPECT_EQ(test, evtsets_active(test, s, ids, 2, 0), 1);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 1, KDTL_CTR_FAULT, 0), 1000ULL);
}

/* If two counters overflow at the same entry, that is two overflows. */
static void evtsets_overflow_together(struct kunit *test)
{
	static const u16 ids[] = { 0, 1 };
	struct kdtl_session *s = kapi_session(test, 0);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, evtsets_create(s, 0, 0, 4), 0);
	KUNIT_ASSERT_EQ(test, evtsets_create(s, 1, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, evtsets_every(s, 0, KDTL_CTR_CEDE, 1, 0), 0);
	KUNIT_ASSERT_EQ(test, evtsets_every(s, 0, KDTL_CTR_ENTRIES, 1, 0), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_EQ(test, evtsets_active(test, s, ids, 2, 0), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_EQ(test, evtsets_active(test, s, ids, 2, 0), 1);
}

/* A switch tells the reader about the entries so far, so the period that they began is over. */
static void evtsets_period(struct kunit *test)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= 1,
		.msg_pages	= 1,
		.period		= 3600 * NSEC_PER_SEC,
	};
	static const u16 ids[] = { 0, 1 };
	struct kdtl_session *s = kapi_create(test, &attr);
	struct kdtl_aux *aux;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, evtsets_create(s, 0, 0, 1), 0);
	KUNIT_ASSERT_EQ(test, evtsets_create(s, 1, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, evtsets_every(s, 0, KDTL_CTR_CEDE, 2, 0), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	aux = kdtl_session_aux(s, 0);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_TRUE(test, hrtimer_is_queued(&aux->period_timer));
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_EQ(test, evtsets_active(test, s, ids, 2, 0), 1);
	KUNIT_EXPECT_FALSE(test, hrtimer_is_queued(&aux->period_timer));
}

/* Each CPU switches on its own. */
static void evtsets_per_cpu(struct kunit *test)
{
	static const u16 ids[] = { 0, 1 };
	struct kdtl_session *s = kapi_session(test, 0);
	const int other = kapi_other_cpu(0);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_GT(test, other, 0);
	KUNIT_ASSERT_EQ(test, evtsets_create(s, 0, 0, 1), 0);
	KUNIT_ASSERT_EQ(test, evtsets_create(s, 1, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, evtsets_every(s, 0, KDTL_CTR_CEDE, 10, 0), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kapi_emit(other, KDTL_KIND_CEDE, 10);
	kapi_emit(0, KDTL_KIND_CEDE, 9);
	KUNIT_EXPECT_EQ(test, evtsets_active(test, s, ids, 2, 0), 0);
	KUNIT_EXPECT_EQ(test, evtsets_active(test, s, ids, 2, other), 1);
	/*
	 * For all CPUs together: active if it is active on any of them, and the most runs of any.
	 */
	KUNIT_EXPECT_TRUE(test, kapi_info(test, s, 0, -1).active_now);
	KUNIT_EXPECT_TRUE(test, kapi_info(test, s, 1, -1).active_now);
	KUNIT_EXPECT_EQ(test, kapi_info(test, s, 1, -1).runs, 1ULL);
	KUNIT_EXPECT_EQ(test, kapi_info(test, s, 1, 0).runs, 0ULL);
	KUNIT_EXPECT_EQ(test, kapi_info(test, s, 0, -1).overflowed, BIT(KDTL_CTR_CEDE) + 0U);
	KUNIT_EXPECT_EQ(test, kapi_info(test, s, 0, 0).overflowed, 0U);
}

/* ------------------------------------------------------------------ timeout */

/*
 * kdtl_create_evtsets() gives back the timeout as the timer can do it, and getinfo says the same.
 */
static void evtsets_real_timeout(struct kunit *test)
{
	static const u64 asked[] = {
		1, 99999, 100001, NSEC_PER_MSEC, 12345678, NSEC_PER_SEC, U64_MAX,
	};
	struct kdtl_session *s = kapi_session(test, 0);
	struct kdtl_evtset req;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (i = 0; i < ARRAY_SIZE(asked); i++) {
		req = (struct kdtl_evtset){ .id = i + 1, .timeout = asked[i] };
		KUNIT_EXPECT_EQ(test, kdtl_create_evtsets(s, &req, 1), 0);
		KUNIT_EXPECT_GE(test, req.timeout, min_t(u64, asked[i], KTIME_MAX / 2));
		KUNIT_EXPECT_EQ(test, do_div(req.timeout, hrtimer_resolution), 0U);
		req = (struct kdtl_evtset){ .id = i + 101, .timeout = asked[i] };
		KUNIT_EXPECT_EQ(test, kdtl_create_evtsets(s, &req, 1), 0);
		KUNIT_EXPECT_EQ(test, kapi_info(test, s, i + 101, -1).timeout, req.timeout);
		KUNIT_EXPECT_EQ(test, kapi_info(test, s, i + 101, -1).remaining, req.timeout);
	}
	/* If no timeout is asked for, none is set. */
	req = (struct kdtl_evtset){ .id = 50 };
	KUNIT_EXPECT_EQ(test, kdtl_create_evtsets(s, &req, 1), 0);
	KUNIT_EXPECT_EQ(test, req.timeout, 0ULL);
	KUNIT_EXPECT_EQ(test, kapi_info(test, s, 50, -1).timeout, 0ULL);
}

/* Timeouts switch the sets; the times that they were active add up to the running time. */
static void evtsets_timeout(struct kunit *test)
{
	static const u16 ids[] = { 0, 1, 2 };
	const u64 timeout = 5 * NSEC_PER_MSEC;
	struct kdtl_session *s = kapi_session(test, 0);
	struct kdtl_evtset_info info;
	struct kdtl_msg msg;
	u64 active = 0, runs = 0, running, elapsed;
	unsigned int i;
	int cpu, from;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (i = 0; i < ARRAY_SIZE(ids); i++)
		KUNIT_ASSERT_EQ(test, evtsets_create(s, ids[i], timeout, 0), 0);
	KUNIT_ASSERT_EQ(test, kdtl_load(s, NULL), 0);
	KUNIT_EXPECT_EQ(test, kapi_info(test, s, 0, 0).runs, 1ULL);
	KUNIT_EXPECT_EQ(test, kapi_info(test, s, 1, 0).runs, 0ULL);
	elapsed = ktime_get_ns();
	KUNIT_ASSERT_EQ(test, kdtl_start(s), 0);
	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_TRUE(test, kapi_until(kapi_info(test, s, 0, cpu).runs >= 8));
		info = kapi_info(test, s, 1, cpu);
		KUNIT_EXPECT_LE(test, info.remaining, timeout);
		KUNIT_EXPECT_EQ(test, info.timeout, timeout);
	}
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	elapsed = ktime_get_ns() - elapsed;

	for_each_online_cpu(cpu) {
		active = 0;
		runs = 0;
		for (i = 0; i < ARRAY_SIZE(ids); i++) {
			info = kapi_info(test, s, ids[i], cpu);
			KUNIT_EXPECT_EQ(test, info.active,
					kapi_counter(test, s, ids[i], KDTL_CTR_RUNNING, cpu));
			active += info.active;
			runs += info.runs;
			/* A run is as long as the timeout, and not much longer. */
			KUNIT_EXPECT_GE(test, info.active + div_u64(info.active, 50),
					timeout * (info.runs - 1));
		}
		running = kapi_counter(test, s, 0, KDTL_CTR_ENABLED, cpu);
		KUNIT_EXPECT_EQ(test, active, running);
		KUNIT_EXPECT_GE(test, runs, 3 * 8 - 2ULL);
		KUNIT_EXPECT_LE(test, runs, div_u64(div64_u64(elapsed, timeout) * 51, 50) + 2);
		KUNIT_EXPECT_GE(test, evtsets_active(test, s, ids, 3, cpu), 0);
	}

	/* The messages name the sets in the order of their ids. */
	from = 0;
	while (kapi_msg_of(s, KDTL_MSG_SET_SWITCH, &msg)) {
		if (msg.cpu != 0)
			continue;
		KUNIT_EXPECT_EQ(test, (int)msg.set_switch.from, from);
		from = (from + 1) % 3;
		KUNIT_EXPECT_EQ(test, (int)msg.set, from);
	}
}

/* While the session is stopped or paused, the time of its set stands still. */
static void evtsets_remaining(struct kunit *test)
{
	static const u16 ids[] = { 0, 1 };
	/* This is longer than an emulated machine may stall. */
	const u64 timeout = 4ULL * NSEC_PER_SEC;
	struct kdtl_session *s = kapi_session(test, KDTL_SESSION_PAUSE);
	u64 left;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, evtsets_create(s, 0, timeout, 0), 0);
	KUNIT_ASSERT_EQ(test, evtsets_create(s, 1, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, evtsets_every(s, 0, KDTL_CTR_FAULT, 1, KDTL_COUNTER_NOTIFY), 0);
	KUNIT_ASSERT_EQ(test, kdtl_load(s, NULL), 0);
	KUNIT_EXPECT_EQ(test, kapi_info(test, s, 0, 0).remaining, timeout);
	KUNIT_ASSERT_EQ(test, kdtl_start(s), 0);
	pass_ms(20);
	KUNIT_ASSERT_EQ(test, kdtl_stop(s), 0);
	left = kapi_info(test, s, 0, 0).remaining;
	KUNIT_EXPECT_LE(test, left, timeout - 10 * NSEC_PER_MSEC);
	pass_ms(50);
	KUNIT_EXPECT_EQ(test, kapi_info(test, s, 0, 0).remaining, left);
	KUNIT_EXPECT_EQ(test, evtsets_active(test, s, ids, 2, 0), 0);

	KUNIT_ASSERT_EQ(test, kdtl_start(s), 0);
	kapi_emit(0, KDTL_KIND_FAULT, 1);
	left = kapi_info(test, s, 0, 0).remaining;
	pass_ms(50);
	KUNIT_EXPECT_EQ(test, kapi_info(test, s, 0, 0).remaining, left);
	KUNIT_EXPECT_EQ(test, evtsets_active(test, s, ids, 2, 0), 0);
	KUNIT_EXPECT_EQ(test, kdtl_restart(s), 0);
	KUNIT_EXPECT_TRUE(test, kapi_until(evtsets_active(test, s, ids, 2, 0) == 1));
	KUNIT_EXPECT_EQ(test, kapi_info(test, s, 1, 0).remaining, 0ULL);
}

/* A source that is polled.  If an entry is due, a poll for KDTL_KIND_FAULT alone finds it. */
static bool evtsets_polled_due;
static unsigned int evtsets_polled_nr;	/* entries that it has at the next poll in any case */
static u32 evtsets_polled_mask;		/* the kinds that it was asked for last */

static void evtsets_polled_entry(struct kdtl_pmu *p)
{
	struct kdtl_entry e;

	kdtl_fake_entry_fill(&e, KDTL_KIND_FAULT, 0, 0, 0);
	kdtl_pmu_output(p, &e, KDTL_KIND_FAULT);
}

static int evtsets_polled_source(struct kdtl_pmu *p, u32 mask, u64 period)
{
	unsigned int nr = evtsets_polled_nr;

	WRITE_ONCE(evtsets_polled_mask, mask);
	evtsets_polled_nr = 0;
	if (mask == KDTL_MASK_FAULT && evtsets_polled_due) {
		evtsets_polled_due = false;
		nr++;
	}
	while (nr--)
		evtsets_polled_entry(p);
	return 0;
}

static struct kdtl_pmu evtsets_polled = {
	.pmu.module	= THIS_MODULE,
	.name		= "kdtl_polled",
	.mask		= KDTL_MASK_ALL,
	.tb_freq	= NSEC_PER_SEC,
	.source		= evtsets_polled_source,
};

#define EVTSETS_POLLED	.pmu = "kdtl_polled", .cpus = cpumask_of(0), .aux_pages = 1

/*
 * A switch polls the source, and the entry that it finds pauses the CPU: the new set stays active.
 */
static void evtsets_pause_in_switch(struct kunit *test)
{
	static const u16 ids[] = { 0, 1 };
	const u64 timeout = 20 * NSEC_PER_MSEC;
	const struct kdtl_session_attr attr = {
		EVTSETS_POLLED, .msg_pages = 1, .flags = KDTL_SESSION_PAUSE,
	};
	struct kdtl_config config = { .set = 1, .mask = KDTL_MASK_FAULT };
	struct kdtl_session *s;
	struct kdtl_msg msg;

	s = kapi_create(test, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	evtsets_polled_due = true;
	KUNIT_EXPECT_EQ(test, evtsets_create(s, 0, timeout, 0), 0);
	KUNIT_EXPECT_EQ(test, evtsets_create(s, 1, timeout, 0), 0);
	KUNIT_EXPECT_EQ(test, evtsets_every(s, 1, KDTL_CTR_FAULT, 1,
					    KDTL_COUNTER_NOTIFY), 0);
	KUNIT_EXPECT_EQ(test, kdtl_write_config(s, &config, 1), 0);
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_TRUE(test, kapi_until(kapi_msg_of(s, KDTL_MSG_OVERFLOW, &msg)));
	msleep(100);
	KUNIT_EXPECT_EQ(test, evtsets_active(test, s, ids, 2, 0), 1);
	/* There was one switch: the one that polled the source. */
	KUNIT_EXPECT_EQ(test, kapi_msgs_of(s, KDTL_MSG_SET_SWITCH), 1U);
	KUNIT_EXPECT_EQ(test, kdtl_restart(s), 0);
	KUNIT_EXPECT_TRUE(test, kapi_until(kapi_msg_of(s, KDTL_MSG_SET_SWITCH, &msg)));
	kapi_close(test);
}

/*
 * Starting a session polls the source, and an entry that comes then already switches the set.  The
 * source must be asked for the new set's kinds, and the new set's timeout must run.
 */
static void evtsets_switch_in_start(struct kunit *test)
{
	const struct kdtl_session_attr attr = { EVTSETS_POLLED, .msg_pages = 1 };
	struct kdtl_session *s;
	struct kdtl_msg msg;

	s = kapi_create(test, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	evtsets_polled_due = true;
	KUNIT_EXPECT_EQ(test, evtsets_create(s, 0, 0, 1), 0);
	KUNIT_EXPECT_EQ(test, evtsets_create(s, 1, 20 * NSEC_PER_MSEC, 0), 0);
	KUNIT_EXPECT_EQ(test, evtsets_create(s, 2, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, evtsets_mask(s, 0, KDTL_MASK_FAULT), 0);
	KUNIT_EXPECT_EQ(test, evtsets_mask(s, 1, KDTL_MASK_CEDE), 0);
	KUNIT_EXPECT_EQ(test, evtsets_mask(s, 2, KDTL_MASK_CEDE), 0);
	KUNIT_EXPECT_EQ(test, evtsets_every(s, 0, KDTL_CTR_FAULT, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_FALSE(test, evtsets_polled_due);
	KUNIT_EXPECT_EQ(test, READ_ONCE(evtsets_polled_mask), (u32)KDTL_MASK_CEDE);
	KUNIT_EXPECT_TRUE(test, kapi_msg_of(s, KDTL_MSG_SET_SWITCH, &msg));
	KUNIT_EXPECT_TRUE(test, kapi_until(kapi_msg_of(s, KDTL_MSG_SET_SWITCH, &msg)));
	KUNIT_EXPECT_EQ(test, msg.set_switch.from, (u16)1);
	kapi_close(test);
}

/* Give the source on CPU 0 entries that it has not handed out; called on that CPU. */
static void evtsets_polled_has(unsigned int nr)
{
	local_irq_disable();
	evtsets_polled_nr = nr;
	local_irq_enable();
}

/* Create two sets on the polled source.  The first has a timeout, and messages tell of switches. */
static struct kdtl_session *evtsets_polled_session(struct kunit *test, u32 flags)
{
	const struct kdtl_session_attr attr = {
		EVTSETS_POLLED, .msg_pages = 1, .flags = flags,
		.msg_types = 1 << KDTL_MSG_SET_SWITCH | 1 << KDTL_MSG_OVERFLOW,
	};
	struct kdtl_session *s = kapi_create(test, &attr);

	if (!s)
		return NULL;
	/* This is longer than the machine may stall between a start and evtsets_polled_has(). */
	KUNIT_EXPECT_EQ(test, evtsets_create(s, 0, NSEC_PER_SEC, 0), 0);
	KUNIT_EXPECT_EQ(test, evtsets_create(s, 1, 0, 0), 0);
	return s;
}

/* Entries of the time before a switch belong to the set before it. */
static void evtsets_pending_switch(struct kunit *test)
{
	static const u16 ids[] = { 0, 1 };
	struct kdtl_session *s;
	struct kdtl_msg msg;

	s = evtsets_polled_session(test, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	evtsets_polled_has(5);
	KUNIT_EXPECT_EQ(test, evtsets_active(test, s, ids, 2, 0), 0);
	KUNIT_EXPECT_TRUE(test, kapi_until(kapi_msg_of(s, KDTL_MSG_SET_SWITCH, &msg)));
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_FAULT, 0), 5ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 1, KDTL_CTR_FAULT, 0), 0ULL);
	kapi_close(test);
}

/* If such an entry pauses the CPU, the switch that is due waits for kdtl_restart(). */
static void evtsets_pending_pause(struct kunit *test)
{
	static const u16 ids[] = { 0, 1 };
	struct kdtl_session *s;
	struct kdtl_msg msg;

	s = evtsets_polled_session(test, KDTL_SESSION_PAUSE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, evtsets_every(s, 0, KDTL_CTR_FAULT, 3,
					    KDTL_COUNTER_NOTIFY), 0);
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	evtsets_polled_has(5);
	KUNIT_EXPECT_TRUE(test, kapi_until(kdtl_read(s, &msg, sizeof(msg), true) > 0));
	KUNIT_EXPECT_EQ(test, (int)msg.type, (int)KDTL_MSG_OVERFLOW);
	KUNIT_EXPECT_EQ(test, msg.set, (u16)0);
	KUNIT_EXPECT_EQ(test, evtsets_active(test, s, ids, 2, 0), 0);
	KUNIT_EXPECT_EQ(test, kapi_info(test, s, 0, 0).remaining, 1ULL);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true), (ssize_t)-EAGAIN);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0), 3ULL);

	KUNIT_EXPECT_EQ(test, kdtl_restart(s), 0);
	KUNIT_EXPECT_TRUE(test, kapi_msg_of(s, KDTL_MSG_SET_SWITCH, &msg));
	KUNIT_EXPECT_EQ(test, evtsets_active(test, s, ids, 2, 0), 1);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 1, KDTL_CTR_ENTRIES, 0), 0ULL);
	kapi_close(test);
}

/*
 * Entries of the time of a pause are not logged, although the source hands them out only
 * afterwards.
 */
static void evtsets_pending_restart(struct kunit *test)
{
	const struct kdtl_session_attr attr = { EVTSETS_POLLED };
	struct kdtl_session *s, *other;
	struct kdtl_msg msg;

	s = evtsets_polled_session(test, KDTL_SESSION_PAUSE);
	/* Without another session the pause would switch the source off. */
	other = kdtl_session_create(&attr);
	KUNIT_EXPECT_FALSE(test, IS_ERR(other));
	if (s && !IS_ERR(other)) {
		KUNIT_EXPECT_EQ(test, evtsets_every(s, 0, KDTL_CTR_FAULT, 1,
						    KDTL_COUNTER_NOTIFY), 0);
		KUNIT_EXPECT_EQ(test, kapi_go(other), 0);
		KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
		local_irq_disable();
		evtsets_polled_entry(&evtsets_polled);
		local_irq_enable();
		KUNIT_EXPECT_TRUE(test, kapi_msg_of(s, KDTL_MSG_OVERFLOW, &msg));
		evtsets_polled_has(5);
		KUNIT_EXPECT_EQ(test, kdtl_restart(s), 0);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0), 1ULL);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, other, 0, KDTL_CTR_ENTRIES, 0), 6ULL);
		KUNIT_EXPECT_FALSE(test, kapi_msg_of(s, KDTL_MSG_OVERFLOW, &msg));
	}
	kdtl_session_close(other);
	if (s)
		kapi_close(test);
}

/* ---------------------------------------------------------- what is refused */

#define EVTSETS_SENTINEL	(-4321)

static void evtsets_errors(struct kunit *test)
{
	static const struct {
		const char		*what;
		int			err;
		struct kdtl_evtset	req;
	} bad[] = {
		{ "both", -EINVAL, { .id = 20, .timeout = NSEC_PER_SEC, .overflows = 1 } },
		{ "both, set 0", -EINVAL, { .id = 0, .timeout = 1, .overflows = 1 } },
		{ "exists", -EEXIST, { .id = 7 } },
		{ "twice", -EEXIST, { .id = 10 } },
	};
	struct kdtl_session *s = kapi_session(test, 0);
	struct kdtl_evtset_info info = { .id = 10, .cpu = -1 };
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, evtsets_create(s, 7, 0, 0), 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct kdtl_evtset req[3] = {
			{ .id = 10, .timeout = NSEC_PER_SEC, .error = EVTSETS_SENTINEL },
			bad[i].req,
			{ .id = 11, .error = EVTSETS_SENTINEL },
		};

		KUNIT_EXPECT_EQ_MSG(test, kdtl_create_evtsets(s, req, 3), bad[i].err,
				    "%s", bad[i].what);
		KUNIT_EXPECT_EQ(test, req[0].error, 0);
		KUNIT_EXPECT_EQ_MSG(test, req[1].error, bad[i].err, "%s", bad[i].what);
		/* None of them was created. */
		KUNIT_EXPECT_EQ(test, kdtl_getinfo_evtsets(s, &info, 1), -EINVAL);
		KUNIT_EXPECT_EQ(test, info.error, -EINVAL);
	}
	KUNIT_EXPECT_EQ(test, kdtl_create_evtsets(s, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, kdtl_create_evtsets(s, NULL, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_create_evtsets(s, NULL, KDTL_MAX_REQUESTS + 1), -E2BIG);
}

static void evtsets_delete(struct kunit *test)
{
	struct kdtl_evtset req[3] = {
		{ .id = 1, .error = EVTSETS_SENTINEL }, { .id = 0 },
		{ .id = 2, .error = EVTSETS_SENTINEL },
	};
	struct kdtl_session *s = kapi_session(test, 0);
	struct kdtl_evtset_info info = { .id = 1, .cpu = -1 };
	struct kdtl_evtset_info two[2] = {
		{ .id = 2, .cpu = -1, .runs = 99 }, { .id = 9, .cpu = -1 },
	};

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, evtsets_create(s, 1, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, evtsets_create(s, 2, 0, 0), 0);
	/* Set 0 cannot be deleted, and so the other sets of the vector stay, too. */
	KUNIT_EXPECT_EQ(test, kdtl_delete_evtsets(s, req, 3), -EINVAL);
	KUNIT_EXPECT_EQ(test, req[0].error, 0);
	KUNIT_EXPECT_EQ(test, req[1].error, -EINVAL);
	KUNIT_EXPECT_EQ(test, req[2].error, EVTSETS_SENTINEL);
	KUNIT_EXPECT_EQ(test, kdtl_getinfo_evtsets(s, &info, 1), 0);
	req[1].id = 9;
	KUNIT_EXPECT_EQ(test, kdtl_delete_evtsets(s, req, 3), -EINVAL);
	KUNIT_EXPECT_EQ(test, req[1].error, -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_getinfo_evtsets(s, &info, 1), 0);

	/* If one id is unknown, even one above the highest id, getinfo fills in nothing. */
	KUNIT_EXPECT_EQ(test, kdtl_getinfo_evtsets(s, two, 2), -EINVAL);
	KUNIT_EXPECT_EQ(test, two[0].error, 0);
	KUNIT_EXPECT_EQ(test, two[0].runs, 99ULL);
	KUNIT_EXPECT_EQ(test, two[1].error, -EINVAL);
	two[1].id = 2;
	two[1].cpu = nr_cpu_ids;
	KUNIT_EXPECT_EQ(test, kdtl_getinfo_evtsets(s, two, 2), -EINVAL);
	KUNIT_EXPECT_EQ(test, two[1].error, -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_getinfo_evtsets(s, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, kdtl_getinfo_evtsets(s, NULL, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_getinfo_evtsets(s, two, KDTL_MAX_REQUESTS + 1), -E2BIG);

	/* Two sets are deleted at a time. */
	req[1].id = 2;
	KUNIT_EXPECT_EQ(test, kdtl_delete_evtsets(s, req, 2), 0);
	KUNIT_EXPECT_EQ(test, kdtl_getinfo_evtsets(s, &info, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_delete_evtsets(s, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, kdtl_delete_evtsets(s, NULL, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_delete_evtsets(s, req, KDTL_MAX_REQUESTS + 1), -E2BIG);
	/* Their counters and configs are gone, too. */
	KUNIT_EXPECT_EQ(test, evtsets_mask(s, 1, KDTL_MASK_ALL), -EINVAL);
	KUNIT_EXPECT_EQ(test, evtsets_every(s, 1, KDTL_CTR_CEDE, 1, 0), -EINVAL);
}

/* Delete the set that was active on a CPU when the session was unloaded. */
static void evtsets_delete_last(struct kunit *test)
{
	static const u16 ids[] = { 0, 1 };
	struct kdtl_evtset req = { .id = 1 };
	struct kdtl_session *s = kapi_session(test, 0);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, evtsets_create(s, 0, 0, 1), 0);
	KUNIT_ASSERT_EQ(test, evtsets_create(s, 1, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, evtsets_every(s, 0, KDTL_CTR_CEDE, 2, 0), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 5);
	KUNIT_EXPECT_EQ(test, evtsets_active(test, s, ids, 2, 0), 1);
	KUNIT_EXPECT_EQ(test, kdtl_delete_evtsets(s, &req, 1), -EBUSY);
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 1, KDTL_CTR_CEDE, 0), 3ULL);
	KUNIT_EXPECT_EQ(test, kdtl_delete_evtsets(s, &req, 1), 0);
	/* The area no longer refers to the deleted set. */
	KUNIT_EXPECT_TRUE(test, kdtl_session_aux(s, 0)->set ==
				list_first_entry(&s->sets, struct kdtl_set, node));
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0), 2ULL);
	KUNIT_EXPECT_EQ(test, kapi_conserved(test, s), 5ULL);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 4);
	/* It is the only set, so it follows itself at each switch. */
	KUNIT_EXPECT_EQ(test, kapi_info(test, s, 0, 0).runs, 3ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0), 4ULL);
	/* For all CPUs together, the number of runs is the highest of any CPU. */
	KUNIT_EXPECT_EQ(test, kapi_info(test, s, 0, -1).runs, 3ULL);
}

/* ------------------------------------------------------------- load, unload */

static void evtsets_load(struct kunit *test)
{
	static const u16 ids[] = { 0, 4 };
	struct kdtl_session *s = kapi_session(test, 0);
	int round;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, evtsets_create(s, 0, 0, 1), 0);
	KUNIT_ASSERT_EQ(test, evtsets_create(s, 4, 0, 1), 0);
	KUNIT_ASSERT_EQ(test, evtsets_every(s, 0, KDTL_CTR_CEDE, 3, 0), 0);
	KUNIT_ASSERT_EQ(test, evtsets_every(s, 4, KDTL_CTR_CEDE, 5, 0), 0);
	for (round = 0; round < 3; round++) {
		KUNIT_ASSERT_EQ(test, kdtl_load(s, NULL), 0);
		KUNIT_EXPECT_EQ(test, evtsets_active(test, s, ids, 2, 0), 0);
		KUNIT_EXPECT_EQ(test, kapi_info(test, s, 0, 0).runs, 1ULL);
		KUNIT_EXPECT_EQ(test, kapi_info(test, s, 4, 0).runs, 0ULL);
		KUNIT_EXPECT_EQ(test, kapi_info(test, s, 0, 0).active, 0ULL);
		KUNIT_EXPECT_EQ(test, kapi_info(test, s, 0, 0).overflowed, 0U);
		KUNIT_ASSERT_EQ(test, kdtl_start(s), 0);
		kapi_emit(0, KDTL_KIND_CEDE, 3 + 5 + 3 + 1);
		KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
		/* After an unload the numbers are kept, but no set is active. */
		KUNIT_EXPECT_EQ(test, kapi_info(test, s, 0, 0).runs, 2ULL);
		KUNIT_EXPECT_EQ(test, kapi_info(test, s, 4, 0).runs, 2ULL);
		KUNIT_EXPECT_EQ(test, evtsets_active(test, s, ids, 2, 0), -1);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0), 6ULL);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 4, KDTL_CTR_ENTRIES, 0), 6ULL);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 4, KDTL_CTR_CEDE, 0), (u64)-4);
	}
	/* To stop and start a session does not begin with the first set again. */
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 4);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
	KUNIT_EXPECT_EQ(test, evtsets_active(test, s, ids, 2, 0), 4);
	KUNIT_EXPECT_EQ(test, kapi_info(test, s, 4, 0).runs, 1ULL);
	kapi_emit(0, KDTL_KIND_CEDE, 4);
	KUNIT_EXPECT_EQ(test, evtsets_active(test, s, ids, 2, 0), 0);
}

/* ------------------------------------------------------------------ pausing */

/*
 * If the overflow that is to switch the set also pauses the CPU, the switch waits for the restart;
 * the counter then gets its long reset.
 */
static void evtsets_mask_first(struct kunit *test)
{
	static const u16 ids[] = { 0, 1 };
	struct kdtl_counter_req req = {
		.counter = KDTL_CTR_CEDE, .flags = KDTL_COUNTER_NOTIFY,
		.value = -2, .short_reset = -50, .long_reset = -60,
	};
	struct kdtl_session *s = kapi_session(test, KDTL_SESSION_PAUSE);
	struct kdtl_msg msg;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, evtsets_create(s, 0, 0, 1), 0);
	KUNIT_ASSERT_EQ(test, evtsets_create(s, 1, 0, 1), 0);
	KUNIT_ASSERT_EQ(test, kdtl_write_counters(s, &req, 1), 0);
	KUNIT_ASSERT_EQ(test, evtsets_every(s, 1, KDTL_CTR_CEDE, 3, 0), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 10);
	KUNIT_EXPECT_EQ(test, evtsets_active(test, s, ids, 2, 0), 0);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0), 2ULL);
	KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_OVERFLOW, &msg));
	KUNIT_EXPECT_EQ(test, msg.set, 0);
	KUNIT_EXPECT_FALSE(test, kapi_msg_of(s, KDTL_MSG_SET_SWITCH, &msg));

	KUNIT_EXPECT_EQ(test, kdtl_restart(s), 0);
	KUNIT_ASSERT_TRUE(test, kapi_until(kapi_msg_of(s, KDTL_MSG_SET_SWITCH, &msg)));
	KUNIT_EXPECT_EQ(test, msg.set, 1);
	KUNIT_EXPECT_EQ(test, evtsets_active(test, s, ids, 2, 0), 1);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, 0), (u64)-60);
	/* Overflows of set 1 do not notify, so that set is left at once. */
	kapi_emit(0, KDTL_KIND_CEDE, 4);
	KUNIT_EXPECT_EQ(test, evtsets_active(test, s, ids, 2, 0), 0);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, 0), (u64)-59);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 1, KDTL_CTR_ENTRIES, 0), 3ULL);
}

/* ---------------------------------------------------------- who sees what */

#define EVTSETS_MODEL	4
#define EVTSETS_SUMS	(KDTL_CTR_THROTTLED - KDTL_CTR_QUEUED + 1)

/* What the numbers of a set must be. */
struct evtsets_model {
	u32	mask;
	u64	every;		/* after so many entries of its mask it is left */
	u64	since;
	u64	runs;
	u64	kinds[KDTL_NR_KINDS];
	u64	sums[EVTSETS_SUMS];		/* of times, from KDTL_CTR_QUEUED on */
};

/* Call this before evtsets_model_entry(), which may go on to the next set. */
static void evtsets_model_times(struct evtsets_model *set, enum kdtl_kind kind,
				const u32 *times)
{
	if (kind != KDTL_KIND_UNKNOWN && !(set->mask & BIT(kind)))
		return;
	set->sums[0] += times[0];
	set->sums[(kind == KDTL_KIND_THROTTLE ? KDTL_CTR_THROTTLED : KDTL_CTR_READY) -
		  KDTL_CTR_QUEUED] += times[1];
	set->sums[KDTL_CTR_SLEPT - KDTL_CTR_QUEUED] += times[2];
}

static void evtsets_model_entry(struct evtsets_model *m, unsigned int nr, unsigned int *now,
				enum kdtl_kind kind)
{
	struct evtsets_model *set = &m[*now];

	if (kind != KDTL_KIND_UNKNOWN && !(set->mask & BIT(kind)))
		return;
	set->kinds[kind]++;
	if (++set->since < set->every)
		return;
	set->since = 0;
	*now = (*now + 1) % nr;
	m[*now].runs++;
}

/* Each set counts the entries of its mask, from the switch to it until the next switch. */
static void evtsets_exact_masks(struct kunit *test)
{
	struct evtsets_model m[EVTSETS_MODEL] = {
		{ .mask = KDTL_MASK_CEDE, .every = 3, .runs = 1 },
		{ .mask = KDTL_MASK_PREEMPT | KDTL_MASK_FAULT, .every = 1 },
		{ .mask = KDTL_MASK_ALL, .every = 7 },
		{ .mask = KDTL_MASK_FAULT, .every = 2 },
	};
	struct kdtl_session *s = kapi_session(test, 0);
	unsigned int now = 0, i, kind;
	struct rnd_state rnd;
	u64 sum = 0;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (i = 0; i < EVTSETS_MODEL; i++) {
		KUNIT_ASSERT_EQ(test, evtsets_create(s, i, 0, 1), 0);
		KUNIT_ASSERT_EQ(test, evtsets_every(s, i, KDTL_CTR_ENTRIES, m[i].every, 0), 0);
		KUNIT_ASSERT_EQ(test, evtsets_mask(s, i, m[i].mask), 0);
	}
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	prandom_seed_state(&rnd, 1);
	for (i = 0; i < kapi_rounds(20000); i++) {
		kind = prandom_u32_state(&rnd) % KDTL_NR_KINDS;
		kapi_emit(0, kind, 1);
		evtsets_model_entry(m, EVTSETS_MODEL, &now, kind);
		if (i % 256 == 0)
			kapi_drain(s, 0);
	}
	for (i = 0; i < EVTSETS_MODEL; i++) {
		KUNIT_EXPECT_EQ(test, kapi_info(test, s, i, 0).runs, m[i].runs);
		for (kind = 0; kind < KDTL_NR_KINDS; kind++) {
			KUNIT_EXPECT_EQ_MSG(test, kapi_counter(test, s, i, KDTL_CTR_CEDE + kind, 0),
					    m[i].kinds[kind], "set %u, kind %u", i, kind);
			sum += m[i].kinds[kind];
		}
	}
	KUNIT_EXPECT_EQ(test, kapi_conserved(test, s), sum);
	kunit_info(test, "%llu runs of set 0", m[0].runs);
}

/**
 * struct evtsets_user - a session on CPU 0, and what the numbers of its sets must be
 * @s: the session
 * @nr: the number of its sets
 * @now: the active set
 * @started: the session is started
 * @m: the sets
 */
struct evtsets_user {
	struct kdtl_session	*s;
	unsigned int		nr;
	unsigned int		now;
	bool			started;
	struct evtsets_model	m[2];
};

static void evtsets_user_entry(struct evtsets_user *u, enum kdtl_kind kind, const u32 *times)
{
	if (!u->started)
		return;
	evtsets_model_times(&u->m[u->now], kind, times);
	evtsets_model_entry(u->m, u->nr, &u->now, kind);
}

static void evtsets_user_toggle(struct kunit *test, struct evtsets_user *u)
{
	KUNIT_EXPECT_EQ(test, u->started ? kdtl_stop(u->s) : kdtl_start(u->s), 0);
	u->started = !u->started;
}

static void evtsets_user_check(struct kunit *test, const struct evtsets_user *u)
{
	unsigned int i, c;

	for (i = 0; i < u->nr; i++) {
		for (c = KDTL_CTR_CEDE; c <= KDTL_CTR_UNKNOWN; c++)
			KUNIT_EXPECT_EQ_MSG(test, kapi_counter(test, u->s, i, c, 0),
					    u->m[i].kinds[c - KDTL_CTR_CEDE],
					    "set %u, counter %u", i, c);
		for (c = KDTL_CTR_QUEUED; c <= KDTL_CTR_THROTTLED; c++)
			KUNIT_EXPECT_EQ_MSG(test, kapi_counter(test, u->s, i, c, 0),
					    u->m[i].sums[c - KDTL_CTR_QUEUED],
					    "set %u, counter %u", i, c);
	}
}

/*
 * The sessions of one CPU share the counts of their source.  Each of them must show its own counts,
 * although they have different masks, start and stop at different times, and one switches sets.
 */
static void evtsets_two_sessions(struct kunit *test)
{
	struct evtsets_user a = { .nr = 2, .m = {
		{ .mask = KDTL_MASK_CEDE | KDTL_MASK_THROTTLE, .every = 3, .runs = 1 },
		{ .mask = KDTL_MASK_ALL | KDTL_MASK_IDLE, .every = 5 },
	} }, b = { .nr = 1, .m = {
		{ .mask = KDTL_MASK_PREEMPT | KDTL_MASK_THROTTLE, .every = U64_MAX },
	} };
	u32 times[3];
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.flags		= KDTL_SESSION_NO_AUX,
		.msg_pages	= 1,
		.mask		= b.m[0].mask,
	};
	unsigned int i, k, kind, op;
	struct rnd_state rnd;

	a.s = kapi_session(test, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, a.s);
	for (i = 0; i < a.nr; i++) {
		KUNIT_ASSERT_EQ(test, evtsets_create(a.s, i, 0, 1), 0);
		KUNIT_ASSERT_EQ(test, evtsets_every(a.s, i, KDTL_CTR_ENTRIES, a.m[i].every, 0), 0);
		KUNIT_ASSERT_EQ(test, evtsets_mask(a.s, i, a.m[i].mask), 0);
	}
	KUNIT_ASSERT_EQ(test, kdtl_load(a.s, NULL), 0);
	b.s = kdtl_session_create(&attr);
	KUNIT_ASSERT_FALSE(test, IS_ERR(b.s));
	KUNIT_EXPECT_EQ(test, kdtl_load(b.s, NULL), 0);

	prandom_seed_state(&rnd, 1);
	for (i = 0; i < kapi_rounds(4000); i++) {
		op = prandom_u32_state(&rnd) % 64;
		if (op < 2)
			evtsets_user_toggle(test, op ? &a : &b);
		for (k = 0; k < ARRAY_SIZE(times); k++)
			times[k] = prandom_u32_state(&rnd);
		kind = prandom_u32_state(&rnd) % KDTL_NR_KINDS;
		kdtl_fake_emit(0, kind, 1, times[0], times[1], times[2]);
		evtsets_user_entry(&a, kind, times);
		evtsets_user_entry(&b, kind, times);
		if (i % 256 == 0) {
			evtsets_user_check(test, &a);
			evtsets_user_check(test, &b);
			kapi_drain(a.s, 0);
		}
	}
	evtsets_user_check(test, &a);
	evtsets_user_check(test, &b);
	kdtl_session_close(b.s);
}

/* ----------------------------------------------------------- nothing is lost */

struct evtsets_producer {
	struct kdtl_session	*s;
	int			cpu;
	u64			made;
};

/*
 * Runs on the CPU whose entries it makes, with interrupts enabled between them, so timers may
 * switch sets at any point.  It waits if the reader is late, so that nothing is lost.
 */
static int evtsets_produce(void *arg)
{
	struct evtsets_producer *p = arg;
	struct kdtl_aux_info info;

	while (!kthread_should_stop()) {
		kdtl_aux_info(p->s, p->cpu, &info);
		if (info.unread * KDTL_ENTRY_SIZE > info.size / 2) {
			usleep_range(20, 50);
			continue;
		}
		local_irq_disable();
		kdtl_fake_emit_here(KDTL_KIND_CEDE, 0, 0, 0);
		local_irq_enable();
		p->made++;
		if (p->made % 32 == 0)
			usleep_range(20, 50);
		cond_resched();
	}
	return 0;
}

/* Check that the numbers of the unread entries have no gap, and give the entries back. */
static u64 evtsets_read(struct kunit *test, struct kdtl_session *s, int cpu, u64 *next)
{
	const struct kdtl_entry *e;
	const void *span;
	u64 nr = 0;
	ssize_t len;

	len = kdtl_aux_peek(s, cpu, &span);
	if (len <= 0)
		return 0;
	kdtl_for_each_entry(e, span, len) {
		const u64 seq = kdtl_fake_entry_seq(e);

		if (*next)
			KUNIT_EXPECT_EQ(test, seq, *next);
		*next = seq + 1;
		nr++;
	}
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, cpu, len), 0);
	return nr;
}

/* The timer switches thousands of times between two sets that log everything. */
static void evtsets_lossless(struct kunit *test)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= 64,
	};
	struct kdtl_session *s = kapi_create(test, &attr);
	const int cpu = num_online_cpus() - 1;
	struct evtsets_producer p = { .s = s, .cpu = cpu };
	unsigned long end = jiffies + KAPI_FOREVER;
	u64 next = 0, got = 0, runs = 0;
	struct kdtl_aux_info info;
	struct task_struct *task;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, evtsets_create(s, 0, 1, 0), 0);
	KUNIT_ASSERT_EQ(test, evtsets_create(s, 1, 1, 0), 0);
	KUNIT_ASSERT_EQ(test, evtsets_mask(s, 1, KDTL_MASK_CEDE), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	task = kthread_create_on_cpu(evtsets_produce, &p, cpu, "kdtl_produce/%u");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	wake_up_process(task);
	while (runs < kapi_rounds(4000) && time_before(jiffies, end)) {
		got += evtsets_read(test, s, cpu, &next);
		runs = kapi_info(test, s, 0, cpu).runs + kapi_info(test, s, 1, cpu).runs;
		usleep_range(500, 1000);
	}
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	got += evtsets_read(test, s, cpu, &next);

	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
	KUNIT_EXPECT_EQ(test, info.lost, 0ULL);
	KUNIT_EXPECT_EQ(test, got, p.made);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, cpu) +
			      kapi_counter(test, s, 1, KDTL_CTR_CEDE, cpu), p.made);
	KUNIT_EXPECT_GT(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, cpu), 0ULL);
	KUNIT_EXPECT_GT(test, kapi_counter(test, s, 1, KDTL_CTR_CEDE, cpu), 0ULL);
	KUNIT_EXPECT_GE(test, runs, (u64)kapi_rounds(4000) / 4);
	kunit_info(test, "%llu entries, %llu switches", got, runs);
}

/* Overflows switch the sets at each entry, and nothing is lost. */
static void evtsets_lossless_overflow(struct kunit *test)
{
	struct kdtl_session *s = kapi_session(test, 0);
	const unsigned int rounds = kapi_rounds(3000);
	u64 next = 0, got = 0;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_EQ(test, evtsets_create(s, i, 0, 1), 0);
		KUNIT_ASSERT_EQ(test, evtsets_every(s, i, KDTL_CTR_CEDE, 1, 0), 0);
	}
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	for (i = 0; i < rounds; i++) {
		kapi_emit(0, KDTL_KIND_CEDE, 1 + i % 5);
		got += evtsets_read(test, s, 0, &next);
	}
	KUNIT_EXPECT_EQ(test, got, rounds * 3ULL);
	KUNIT_EXPECT_EQ(test, kapi_info(test, s, 1, 0).runs, (u64)rounds);
}

static struct kunit_case evtsets_cases[] = {
	KUNIT_CASE(evtsets_order),
	KUNIT_CASE(evtsets_overflow_count),
	KUNIT_CASE(evtsets_overflow_together),
	KUNIT_CASE(evtsets_period),
	KUNIT_CASE(evtsets_per_cpu),
	KUNIT_CASE(evtsets_real_timeout),
	KUNIT_CASE(evtsets_timeout),
	KUNIT_CASE(evtsets_remaining),
	KUNIT_CASE(evtsets_pause_in_switch),
	KUNIT_CASE(evtsets_switch_in_start),
	KUNIT_CASE(evtsets_pending_switch),
	KUNIT_CASE(evtsets_pending_pause),
	KUNIT_CASE(evtsets_pending_restart),
	KUNIT_CASE(evtsets_errors),
	KUNIT_CASE(evtsets_delete),
	KUNIT_CASE(evtsets_delete_last),
	KUNIT_CASE(evtsets_load),
	KUNIT_CASE(evtsets_mask_first),
	KUNIT_CASE(evtsets_exact_masks),
	KUNIT_CASE(evtsets_two_sessions),
	KUNIT_CASE(evtsets_lossless),
	KUNIT_CASE(evtsets_lossless_overflow),
	{}
};

static int evtsets_suite_init(struct kunit_suite *suite)
{
	return kdtl_pmu_register(&evtsets_polled);
}

static void evtsets_suite_exit(struct kunit_suite *suite)
{
	kdtl_pmu_unregister(&evtsets_polled);
}

struct kunit_suite kdtl_evtsets_suite = {
	.name		= "kdtl_evtsets",
	.suite_init	= evtsets_suite_init,
	.suite_exit	= evtsets_suite_exit,
	.init		= kapi_init,
	.exit		= kapi_exit,
	.test_cases	= evtsets_cases,
};
