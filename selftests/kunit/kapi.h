/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the tests of the session verbs. */
#ifndef _KDTL_KUNIT_KAPI_H
#define _KDTL_KUNIT_KAPI_H

#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kdtl_answers.h>
#include <linux/kdtl_counters.h>
#include <linux/kdtl_pmu.h>
#include <linux/kdtl_verbs.h>
#include <linux/module.h>

#include "kunit-shim.h"
#include "pass.h"
#include "../fake/kdtl_fake_pmu.h"

/* A race may stop after this time (in ms), although its rounds are not done. */
extern unsigned int kapi_race_ms;

/* Races find the same on every machine, but take long where emulated CPUs take turns. */
#define kapi_need_races(test) do {					\
	if (!kapi_race_ms)						\
		kunit_skip(test, "race_ms=0: races run elsewhere");	\
} while (0)

/* How often to repeat a test that is no race: a tenth of @nr if races are skipped or short. */
static inline unsigned int kapi_rounds(unsigned int nr)
{
	return kapi_race_ms < 1000 ? nr / 10 : nr;
}

/* The suites that kapi_main.c runs. */
extern struct kunit_suite kdtl_aux_suite;
extern struct kunit_suite kdtl_counters_suite;
extern struct kunit_suite kdtl_edges_suite;
extern struct kunit_suite kdtl_events_suite;
extern struct kunit_suite kdtl_evtsets_suite;
extern struct kunit_suite kdtl_filter_suite;
extern struct kunit_suite kdtl_hist_suite;
extern struct kunit_suite kdtl_hammer_suite;
extern struct kunit_suite kdtl_masks_suite;
extern struct kunit_suite kdtl_messages_suite;
extern struct kunit_suite kdtl_misuse_suite;
extern struct kunit_suite kdtl_open_suite;
extern struct kunit_suite kdtl_probes_suite;
extern struct kunit_suite kdtl_session_suite;
extern struct kunit_suite kdtl_states_suite;
extern struct kunit_suite kdtl_timebase_suite;
extern struct kunit_suite kdtl_triggers_suite;
extern struct kunit_suite kdtl_wait_suite;
extern struct kunit_suite kdtl_who_suite;

#define KAPI_AUX_PAGES	16
#define KAPI_MSG_SLOTS	(PAGE_SIZE / sizeof(struct kdtl_msg))
/*
 * Long enough for an emulated debug kernel: only a failed test waits for all of
 * it.
 */
#define KAPI_FOREVER	msecs_to_jiffies(300 * MSEC_PER_SEC)

/*
 * How many references the sessions and events on this module's sources hold; -1 if nothing counts
 * them, as in a built-in module or a kernel without module unloading.
 */
static inline int kapi_held(void)
{
#if defined(MODULE) && defined(CONFIG_MODULE_UNLOAD)
	return module_refcount(THIS_MODULE);
#else
	return -1;
#endif
}

/*
 * Create the session of a test.  It is kept in test->priv, so that kapi_exit() closes it even after
 * a failed assertion.
 */
static inline struct kdtl_session *kapi_create(struct kunit *test,
					       const struct kdtl_session_attr *attr)
{
	struct kdtl_session *s = kdtl_session_create(attr);

	KUNIT_EXPECT_FALSE(test, IS_ERR_OR_NULL(s));
	test->priv = IS_ERR(s) ? NULL : s;
	return test->priv;
}

static inline int kapi_go(struct kdtl_session *s)
{
	return kdtl_load(s, NULL) ?: kdtl_start(s);
}

static inline struct kdtl_session *kapi_started(struct kunit *test,
						const struct kdtl_session_attr *attr)
{
	struct kdtl_session *s = kapi_create(test, attr);

	if (s)
		KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	return s;
}

static inline void kapi_close(struct kunit *test)
{
	struct kdtl_session *s = test->priv;

	test->priv = NULL;
	kdtl_session_close(s);
}

/* Create a session on the test source. */
static inline struct kdtl_session *kapi_session_of(struct kunit *test,
						   unsigned int msg_pages,
						   unsigned int watermark,
						   struct completion *done)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= KAPI_AUX_PAGES,
		.msg_pages	= msg_pages,
		.watermark	= watermark,
		.done		= done,
	};

	return kapi_create(test, &attr);
}

/* Create a session with the attributes that most tests want. */
static inline struct kdtl_session *kapi_session(struct kunit *test, u32 flags)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= KAPI_AUX_PAGES,
		.msg_pages	= 4,
		.flags		= flags,
	};

	return kapi_create(test, &attr);
}

/* Make each entry of the kind post one KDTL_MSG_OVERFLOW. */
static inline int kapi_per_entry(struct kdtl_session *s, enum kdtl_kind kind)
{
	struct kdtl_counter_req req = {
		.counter	= KDTL_CTR_CEDE + kind,
		.flags		= KDTL_COUNTER_NOTIFY,
		.value		= -1,
		.short_reset	= -1,
	};

	return kdtl_write_counters(s, &req, 1);
}

/* Make entries of one kind on a CPU; they are there on return. */
static inline int kapi_emit(int cpu, enum kdtl_kind kind, unsigned int nr)
{
	return kdtl_fake_emit(cpu, kind, nr, 0, 0, 0);
}

static inline u64 kapi_counter(struct kunit *test, struct kdtl_session *s,
			       u16 set, enum kdtl_counter counter, int cpu)
{
	struct kdtl_counter_req req = {
		.set		= set,
		.counter	= counter,
		.cpu		= cpu,
	};

	KUNIT_EXPECT_EQ(test, kdtl_read_counters(s, &req, 1), 0);
	return req.value;
}

static inline struct kdtl_evtset_info kapi_info(struct kunit *test,
						struct kdtl_session *s, u16 id,
						int cpu)
{
	struct kdtl_evtset_info info = { .id = id, .cpu = cpu };

	KUNIT_EXPECT_EQ(test, kdtl_getinfo_evtsets(s, &info, 1), 0);
	return info;
}

/* Read the next message, which must be there. */
static inline struct kdtl_msg kapi_msg(struct kunit *test, struct kdtl_session *s)
{
	struct kdtl_msg msg = {};

	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true),
			(ssize_t)sizeof(msg));
	return msg;
}

/* Read messages until one of this type comes; those before it are dropped. */
static inline bool kapi_msg_of(struct kdtl_session *s, enum kdtl_msg_type type,
			       struct kdtl_msg *msg)
{
	while (kdtl_read(s, msg, sizeof(*msg), true) > 0) {
		if (msg->type == type)
			return true;
	}
	return false;
}

/* Open a session that posts overflow messages only, one for each entry of kind FAULT. */
static inline struct kdtl_session *kapi_overflows_only(struct kunit *test)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= KAPI_AUX_PAGES,
		.watermark	= KDTL_ENTRY_SIZE,
		.msg_pages	= 1,
		.msg_types	= 1 << KDTL_MSG_OVERFLOW,
	};
	struct kdtl_session *s = kapi_create(test, &attr);

	if (s) {
		KUNIT_EXPECT_EQ(test, kapi_per_entry(s, KDTL_KIND_FAULT), 0);
		KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	}
	return s;
}

/* Read all messages, and return how many of them had this type. */
static inline unsigned int kapi_msgs_of(struct kdtl_session *s,
					enum kdtl_msg_type type)
{
	struct kdtl_msg msg;
	unsigned int nr = 0;

	while (kapi_msg_of(s, type, &msg))
		nr++;
	return nr;
}

/* Give back all unread entries of a CPU. */
static inline void kapi_drain(struct kdtl_session *s, int cpu)
{
	const void *span;
	ssize_t len = kdtl_aux_peek(s, cpu, &span);

	if (len > 0)
		kdtl_aux_consume(s, cpu, len);
}

/* Check produced = consumed + lost + unread on every CPU.  Returns the sum of produced. */
static inline u64 kapi_conserved(struct kunit *test, struct kdtl_session *s)
{
	struct kdtl_aux_info info;
	u64 sum = 0;
	int cpu;

	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
		KUNIT_EXPECT_EQ(test, info.produced,
				info.consumed + info.lost + info.unread);
		sum += info.produced;
	}
	return sum;
}

/* Returns a CPU other than @cpu, or -1 if there is none. */
static inline int kapi_other_cpu(int cpu)
{
	int other;

	for_each_online_cpu(other) {
		if (other != cpu)
			return other;
	}
	return -1;
}

/* Do @meanwhile until a condition holds.  Returns false if it did not hold within KAPI_FOREVER. */
#define __kapi_until(cond, meanwhile)					\
({									\
	unsigned long __end = jiffies + KAPI_FOREVER;			\
	bool __met;							\
	while (!(__met = (cond)) && time_before(jiffies, __end))	\
		meanwhile;						\
	__met;								\
})

#define kapi_until(cond)	__kapi_until(cond, usleep_range(200, 500))

/* As kapi_until(), but without sleeping between two looks at the condition. */
#define kapi_until_busy(cond)	__kapi_until(cond, cond_resched())

/* Bind the test to CPU 0: most entries are made there, which then needs no worker. */
static inline int kapi_init(struct kunit *test)
{
	return set_cpus_allowed_ptr(current, cpumask_of(0));
}

static inline void kapi_exit(struct kunit *test)
{
	kapi_close(test);
}

#endif /* _KDTL_KUNIT_KAPI_H */
