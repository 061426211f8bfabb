// SPDX-License-Identifier: GPL-2.0
/*
 * Each allocation of a verb fails once: the 1st, the 2nd, ...
 *
 * Each verb is called again and again, and each time the next one of its allocations fails
 * (failslab, fail_page_alloc), until a call has no allocation left to fail.  A call that fails must
 * return -ENOMEM and leave everything as it was; then the same call must succeed.
 */
#include <linux/cpu.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "kapi.h"

#define FAULTS_PMU	"kdtl_faults"
#define FAULTS_OTHER	"kdtl_faults_other"
#define FAULTS_MOST	5000U
#define FAULTS_SETS	4U

static u64 faults_sync(struct kdtl_pmu *p)
{
	return local_clock();
}

/* A source of this module.  The module's use count shows if sessions or events leaked. */
static struct kdtl_pmu faults_pmu = {
	.pmu.module	= THIS_MODULE,
	.name		= FAULTS_PMU,
	.mask		= KDTL_MASK_ALL,
	.tb_freq	= NSEC_PER_SEC,
	.sync		= faults_sync,
};

static struct kdtl_pmu faults_other;

/**
 * struct faults - what a verb is called with
 * @s: the session
 * @m: its merge
 * @sets: a vector of sets
 */
struct faults {
	struct kdtl_session	*s;
	struct kdtl_merge	*m;
	struct kdtl_evtset	sets[FAULTS_SETS];
};

/**
 * struct faults_verb - a verb, and what to do before and after its faults
 * @name: for messages
 * @prepare: makes the arguments of @call; no fault is armed
 * @call: calls the verb; the fault is armed
 * @unchanged: checks that the verb that failed has changed nothing; no fault is armed
 * @undo: undoes @call and @prepare, after the verb has succeeded
 * @allocates: the verb must allocate memory; else it must not
 */
struct faults_verb {
	const char	*name;
	void		(*prepare)(struct kunit *test, struct faults *f);
	int		(*call)(struct faults *f);
	void		(*unchanged)(struct kunit *test, struct faults *f);
	void		(*undo)(struct kunit *test, struct faults *f);
	bool		allocates;
};

/* --------------------------------------------------------------------- faults */

static void faults_arm(unsigned int nth)
{
	WRITE_ONCE(current->fail_nth, nth);
}

/* Returns whether the fault has happened. */
static bool faults_disarm(void)
{
	const bool met = !READ_ONCE(current->fail_nth);

	WRITE_ONCE(current->fail_nth, 0);
	return met;
}

static void faults_walk(struct kunit *test, const struct faults_verb *v)
{
	const int users = module_refcount(THIS_MODULE);
	unsigned int nth, errors = 0;
	struct faults f = {};
	bool met = true;
	int err;

	for (nth = 1; met && nth < FAULTS_MOST; nth++) {
		if (v->prepare)
			v->prepare(test, &f);
		faults_arm(nth);
		err = v->call(&f);
		met = faults_disarm();
		if (err) {
			KUNIT_EXPECT_TRUE_MSG(test, met, "%s: %d without a fault",
					      v->name, err);
			KUNIT_EXPECT_EQ_MSG(test, err, -ENOMEM, "%s: fault %u", v->name, nth);
			errors++;
			if (v->unchanged)
				v->unchanged(test, &f);
			KUNIT_EXPECT_EQ_MSG(test, v->call(&f), 0, "%s after fault %u",
					    v->name, nth);
		}
		if (v->undo)
			v->undo(test, &f);
		KUNIT_EXPECT_EQ_MSG(test, module_refcount(THIS_MODULE), users,
				    "%s: fault %u left something", v->name, nth);
	}
	KUNIT_EXPECT_FALSE(test, met);
	kunit_info(test, "%s: %u allocations failed, %u errors", v->name, nth - 2, errors);
	if (v->allocates)
		KUNIT_EXPECT_GE(test, nth - 2, 1U);
	else
		KUNIT_EXPECT_EQ(test, nth - 2, 0U);
}

/* ---------------------------------------------------------------- preparations */

static const struct kdtl_session_attr faults_attr = {
	.pmu		= FAULTS_PMU,
	.aux_pages	= 16,
	.msg_pages	= 2,
};

static void faults_close(struct kunit *test, struct faults *f)
{
	kdtl_session_close(f->s);
	f->s = NULL;
}

static void faults_created(struct kunit *test, struct faults *f)
{
	f->s = kdtl_session_create(&faults_attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, f->s);
}

static void faults_loaded(struct kunit *test, struct faults *f)
{
	faults_created(test, f);
	KUNIT_ASSERT_EQ(test, kdtl_load(f->s, NULL), 0);
}

/* Unloaded again, so that the areas and all else exist from an earlier load. */
static void faults_unloaded(struct kunit *test, struct faults *f)
{
	faults_loaded(test, f);
	KUNIT_ASSERT_EQ(test, kdtl_unload(f->s), 0);
}

static void faults_started(struct kunit *test, struct faults *f)
{
	faults_loaded(test, f);
	KUNIT_ASSERT_EQ(test, kdtl_start(f->s), 0);
}

static void faults_vector(struct kunit *test, struct faults *f)
{
	unsigned int i;

	for (i = 0; i < FAULTS_SETS; i++)
		f->sets[i] = (struct kdtl_evtset){ .id = i + 1, .overflows = 7 };
}

static void faults_with_vector(struct kunit *test, struct faults *f)
{
	faults_created(test, f);
	faults_vector(test, f);
}

static void faults_with_sets(struct kunit *test, struct faults *f)
{
	faults_with_vector(test, f);
	KUNIT_ASSERT_EQ(test, kdtl_create_evtsets(f->s, f->sets, FAULTS_SETS), 0);
}

/* ----------------------------------------------------------------------- verbs */

static int faults_do_create(struct faults *f)
{
	f->s = kdtl_session_create(&faults_attr);
	return PTR_ERR_OR_ZERO(f->s);
}

static void faults_span(const struct kdtl_span *span, void *unused)
{
}

static int faults_do_open(struct faults *f)
{
	static const struct kdtl_reader reader = { .span = faults_span };

	f->s = kdtl_session_open(&faults_attr, &reader);
	return PTR_ERR_OR_ZERO(f->s);
}

static int faults_do_load(struct faults *f)
{
	return kdtl_load(f->s, NULL);
}

/* The session is not loaded, not even on one CPU. */
static void faults_not_loaded(struct kunit *test, struct faults *f)
{
	struct kdtl_aux_info info;
	int cpu;

	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(f->s, cpu, &info), 0);
		KUNIT_EXPECT_FALSE(test, info.online);
		KUNIT_EXPECT_EQ(test, info.produced, 0ULL);
	}
	KUNIT_EXPECT_EQ(test, kdtl_start(f->s), -EINVAL);
	KUNIT_EXPECT_EQ(test, kapi_msgs_of(f->s, KDTL_MSG_CPU), 0U);
}

static int faults_do_start(struct faults *f)
{
	return kdtl_start(f->s);
}

static int faults_do_stop(struct faults *f)
{
	return kdtl_stop(f->s);
}

static int faults_do_unload(struct faults *f)
{
	return kdtl_unload(f->s);
}

static int faults_do_create_evtsets(struct faults *f)
{
	return kdtl_create_evtsets(f->s, f->sets, FAULTS_SETS);
}

/* No set was created, and the element that failed is marked. */
static void faults_no_sets(struct kunit *test, struct faults *f)
{
	struct kdtl_evtset_info info;
	unsigned int i, marked = 0;

	for (i = 0; i < FAULTS_SETS; i++) {
		info = (struct kdtl_evtset_info){ .id = i + 1, .cpu = -1 };
		KUNIT_EXPECT_EQ(test, kdtl_getinfo_evtsets(f->s, &info, 1), -EINVAL);
		marked += f->sets[i].error == -ENOMEM;
	}
	KUNIT_EXPECT_EQ(test, marked, 1U);
	faults_vector(test, f);
}

static int faults_do_delete_evtsets(struct faults *f)
{
	return kdtl_delete_evtsets(f->s, f->sets, FAULTS_SETS);
}

static int faults_do_getinfo(struct faults *f)
{
	struct kdtl_evtset_info info = { .id = 1, .cpu = -1 };

	return kdtl_getinfo_evtsets(f->s, &info, 1);
}

static int faults_do_write_config(struct faults *f)
{
	struct kdtl_config req = { .set = 1, .mask = KDTL_MASK_CEDE };

	return kdtl_write_config(f->s, &req, 1);
}

static int faults_do_write_counters(struct faults *f)
{
	struct kdtl_counter_req req = {
		.set		= 0,
		.counter	= KDTL_CTR_CEDE,
		.flags		= KDTL_COUNTER_NOTIFY | KDTL_COUNTER_RANDOM,
		.value		= -3ULL,
		.random_mask	= 0xff,
	};

	return kdtl_write_counters(f->s, &req, 1);
}

static int faults_do_read_counters(struct faults *f)
{
	struct kdtl_counter_req req = { .counter = KDTL_CTR_ENTRIES, .cpu = -1 };

	return kdtl_read_counters(f->s, &req, 1);
}

static int faults_do_read(struct faults *f)
{
	const void *span;
	struct kdtl_msg msg;
	ssize_t err;

	err = kdtl_read(f->s, &msg, sizeof(msg), true);
	if (err < 0 && err != -EAGAIN)
		return err;
	err = kdtl_aux_peek(f->s, 0, &span);
	return err < 0 ? err : kdtl_aux_consume(f->s, 0, err);
}

static int faults_do_merge(struct faults *f)
{
	f->m = kdtl_merge_create(f->s);
	if (IS_ERR(f->m))
		return PTR_ERR(f->m);
	kdtl_merge_sync(f->m);
	while (kdtl_merge_next(f->m))
		;
	return 0;
}

static void faults_undo_merge(struct kunit *test, struct faults *f)
{
	kdtl_merge_destroy(f->m);
	faults_close(test, f);
}

static void faults_no_pmu(struct kunit *test, struct faults *f)
{
	const struct kdtl_session_attr attr = { .pmu = FAULTS_OTHER, .aux_pages = 1 };

	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_create(&attr)), (long)-ENODEV);
}

static int faults_do_register(struct faults *f)
{
	faults_other = (struct kdtl_pmu){
		.pmu.module	= THIS_MODULE,
		.name		= FAULTS_OTHER,
		.tb_freq	= NSEC_PER_SEC,
	};
	return kdtl_pmu_register(&faults_other);
}

static void faults_unregister(struct kunit *test, struct faults *f)
{
	kdtl_pmu_unregister(&faults_other);
}

/* --------------------------------------------------------------------- cases */

static const struct faults_verb faults_create_verb = {
	.name		= "kdtl_session_create()",
	.call		= faults_do_create,
	.undo		= faults_close,
	.allocates	= true,
};

static void faults_create(struct kunit *test)
{
	faults_walk(test, &faults_create_verb);
}

static void faults_open(struct kunit *test)
{
	static const struct faults_verb v = {
		.name		= "kdtl_session_open()",
		.call		= faults_do_open,
		.undo		= faults_close,
		.allocates	= true,
	};

	faults_walk(test, &v);
}

static void faults_load(struct kunit *test)
{
	static const struct faults_verb v = {
		.name		= "kdtl_load()",
		.prepare	= faults_created,
		.call		= faults_do_load,
		.unchanged	= faults_not_loaded,
		.undo		= faults_close,
		.allocates	= true,
	};

	faults_walk(test, &v);
}

static void faults_reload(struct kunit *test)
{
	static const struct faults_verb v = {
		.name		= "kdtl_load() again",
		.prepare	= faults_unloaded,
		.call		= faults_do_load,
		.unchanged	= faults_not_loaded,
		.undo		= faults_close,
		.allocates	= true,
	};

	faults_walk(test, &v);
}

static void faults_create_evtsets(struct kunit *test)
{
	static const struct faults_verb v = {
		.name		= "kdtl_create_evtsets()",
		.prepare	= faults_with_vector,
		.call		= faults_do_create_evtsets,
		.unchanged	= faults_no_sets,
		.undo		= faults_close,
		.allocates	= true,
	};

	faults_walk(test, &v);
}

static void faults_merge(struct kunit *test)
{
	static const struct faults_verb v = {
		.name		= "kdtl_merge_create()",
		.prepare	= faults_started,
		.call		= faults_do_merge,
		.undo		= faults_undo_merge,
		.allocates	= true,
	};

	faults_walk(test, &v);
}

static void faults_register(struct kunit *test)
{
	static const struct faults_verb v = {
		.name		= "kdtl_pmu_register()",
		.call		= faults_do_register,
		.unchanged	= faults_no_pmu,
		.undo		= faults_unregister,
		.allocates	= true,
	};

	faults_walk(test, &v);
}

/* All other verbs need no memory, so a lack of memory cannot make them fail. */
static void faults_none(struct kunit *test)
{
	static const struct faults_verb verbs[] = {
		{ "kdtl_start()", faults_loaded, faults_do_start, NULL, faults_close },
		{ "kdtl_stop()", faults_started, faults_do_stop, NULL, faults_close },
		{ "kdtl_unload()", faults_started, faults_do_unload, NULL, faults_close },
		{ "kdtl_delete_evtsets()", faults_with_sets, faults_do_delete_evtsets,
		  NULL, faults_close },
		{ "kdtl_getinfo_evtsets()", faults_with_sets, faults_do_getinfo,
		  NULL, faults_close },
		{ "kdtl_write_config()", faults_with_sets, faults_do_write_config,
		  NULL, faults_close },
		{ "kdtl_write_counters()", faults_loaded, faults_do_write_counters,
		  NULL, faults_close },
		{ "kdtl_read_counters()", faults_started, faults_do_read_counters,
		  NULL, faults_close },
		{ "kdtl_read(), _peek(), _consume()", faults_started, faults_do_read,
		  NULL, faults_close },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		faults_walk(test, &verbs[i]);
}

static struct kunit_case faults_cases[] = {
	KUNIT_CASE(faults_create),
	KUNIT_CASE(faults_open),
	KUNIT_CASE(faults_load),
	KUNIT_CASE(faults_reload),
	KUNIT_CASE(faults_create_evtsets),
	KUNIT_CASE(faults_merge),
	KUNIT_CASE(faults_register),
	KUNIT_CASE(faults_none),
	{}
};

static int faults_suite_init(struct kunit_suite *suite)
{
	return kdtl_pmu_register(&faults_pmu);
}

static void faults_suite_exit(struct kunit_suite *suite)
{
	kdtl_pmu_unregister(&faults_pmu);
}

static struct kunit_suite kdtl_faults_suite = {
	.name		= "kdtl_faults",
	.suite_init	= faults_suite_init,
	.suite_exit	= faults_suite_exit,
	.init		= kapi_init,
	.test_cases	= faults_cases,
};

kunit_test_suites(&kdtl_faults_suite);

MODULE_DESCRIPTION("Tests of kdtl under fault injection");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
