// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions: what is refused, with which errno, and that nothing is left of it
 *
 * The source is one of this module.  Each session and each perf event on it holds the module, so
 * the module's use count shows what leaked.
 */
#include <linux/cpu.h>
#include <linux/log2.h>
#include <linux/module.h>

#include "kapi.h"

/* ------------------------------------------------------------------- source */

/* How the source answers, and what it was asked. */
static struct {
	int		attach_error;
	int		source_error;
	int		refusing_cpu;
	int		emitting_cpu;
	atomic_t	users;
	atomic_t	on;
	atomic_t	wrong;
	atomic_t	calls;
} session_src = { .emitting_cpu = -1 };

static DEFINE_PER_CPU(u32, session_mask);
static DEFINE_PER_CPU(u64, session_period);

static void session_emit(void *unused);

static int session_attach(struct kdtl_pmu *p)
{
	if (session_src.attach_error)
		return session_src.attach_error;
	atomic_inc(&session_src.users);
	return 0;
}

static void session_detach(struct kdtl_pmu *p)
{
	atomic_dec(&session_src.users);
}

static int session_source(struct kdtl_pmu *p, u32 mask, u64 period)
{
	const int cpu = raw_smp_processor_id();

	if (!irqs_disabled())
		atomic_inc(&session_src.wrong);
	atomic_inc(&session_src.calls);
	/* A source may refuse to deliver more, but not to go on delivering. */
	if (mask & ~this_cpu_read(session_mask) && session_src.source_error &&
	    cpu == session_src.refusing_cpu)
		return session_src.source_error;
	atomic_add(!!mask - !!this_cpu_read(session_mask), &session_src.on);
	this_cpu_write(session_mask, mask);
	this_cpu_write(session_period, period);
	if (mask && cpu == session_src.emitting_cpu)
		session_emit(NULL);
	return 0;
}

static struct kdtl_pmu session_pmu = {
	.pmu.module	= THIS_MODULE,
	.name		= "kdtl_fake_session",
	.mask		= KDTL_MASK_ALL,
	.rating		= UINT_MAX - 1,
	.tb_freq	= NSEC_PER_SEC,
	.attach		= session_attach,
	.detach		= session_detach,
	.source		= session_source,
};

/* ------------------------------------------------------------------- leaks */

static int session_refs;

static int session_init(struct kunit *test)
{
	session_refs = kapi_held();
	return kapi_init(test);
}

/* All must be as it was before the first session. */
static void session_nothing_left(struct kunit *test, const char *what)
{
	/* perf frees an event after a grace period. */
	KUNIT_EXPECT_TRUE_MSG(test, kapi_until(kapi_held() == session_refs),
			      "%s: %d uses more", what, kapi_held() - session_refs);
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&session_src.users), 0, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&session_src.on), 0, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&session_src.wrong), 0, "%s", what);
}

/* ------------------------------------------------------------------- create */

#define SESSION_PMU	"kdtl_fake_session"
#define SESSION_GOOD	.pmu = SESSION_PMU, .aux_pages = 1

static void *session_setup_aux(struct perf_event *event, void **pages, int nr_pages,
			       bool overwrite)
{
	return NULL;
}

static void session_free_aux(void *aux)
{
}

static int session_add(struct perf_event *event, int flags)
{
	return 0;
}

static void session_del(struct perf_event *event, int flags)
{
}

static void session_enable(struct pmu *pmu)
{
}

#define SESSION_SOURCE	.pmu.module = THIS_MODULE, .tb_freq = 1

static void session_bad_pmu(struct kunit *test)
{
	static const struct {
		const char	*what;
		int		err;
		struct kdtl_pmu	p;
	} bad[] = {
		{ "no name", -EINVAL, { SESSION_SOURCE } },
		{ "an empty name", -EINVAL, { SESSION_SOURCE, .name = "" } },
		{ "a digit first", -EINVAL, { SESSION_SOURCE, .name = "1" } },
		{ "a slash", -EINVAL, { SESSION_SOURCE, .name = "a/b" } },
		{ "a letter of Latin-1", -EINVAL, { SESSION_SOURCE, .name = "\xe4" } },
		{ "bytes that are no UTF-8", -EINVAL, { SESSION_SOURCE, .name = "a\xff" } },
		{ "a line of its own", -EINVAL, { SESSION_SOURCE, .name = "a\nb" } },
#ifdef MODULE
		{ "no module", -EINVAL, { .name = "kdtl_bad", .tb_freq = 1 } },
#endif
		{ "no tb_freq", -EINVAL, { .name = "kdtl_bad", .pmu.module = THIS_MODULE } },
		{ "2^32 Hz", -EINVAL,
		  { .name = "kdtl_bad", .pmu.module = THIS_MODULE, .tb_freq = 1ULL << 32 } },
		{ "a name that programs cannot say", -EINVAL,
		  { SESSION_SOURCE, .name = "a1234567890123456789012345678901" } },
		{ "unknown kinds", -EINVAL,
		  { SESSION_SOURCE, .name = "kdtl_bad", .mask = KDTL_MASK_IDLE << 1 } },
		{ "tasks at 1 Hz", -EINVAL, { SESSION_SOURCE, .name = "kdtl_bad", .tasks = true } },
		{ "tasks, and stolen time", -EINVAL,
		  { SESSION_SOURCE, .name = "kdtl_bad", .tasks = true, .stolen = true } },
		{ "setup_aux alone", -EINVAL,
		  { SESSION_SOURCE, .name = "kdtl_bad", .pmu.setup_aux = session_setup_aux } },
		{ "free_aux alone", -EINVAL,
		  { SESSION_SOURCE, .name = "kdtl_bad", .pmu.free_aux = session_free_aux } },
		{ "add alone", -EINVAL,
		  { SESSION_SOURCE, .name = "kdtl_bad", .pmu.add = session_add } },
		{ "no stop", -EINVAL,
		  { SESSION_SOURCE, .name = "kdtl_bad", .pmu.add = session_add,
		    .pmu.del = session_del, .pmu.start = session_del } },
		{ "del alone", -EINVAL,
		  { SESSION_SOURCE, .name = "kdtl_bad", .pmu.del = session_del } },
		{ "exclusive", -EINVAL,
		  { SESSION_SOURCE, .name = "kdtl_bad",
		    .pmu.capabilities = PERF_PMU_CAP_EXCLUSIVE } },
		{ "pmu_enable without add", -EINVAL,
		  { SESSION_SOURCE, .name = "kdtl_bad", .pmu.pmu_enable = session_enable } },
		{ "of nobody", -EINVAL, { SESSION_SOURCE, .name = "kdtl_bad", .of = "" } },
		{ "a name that is taken", -EEXIST, { SESSION_SOURCE, .name = SESSION_PMU } },
		{ "of another source", -EEXIST,
		  { SESSION_SOURCE, .name = "kdtl_bad", .of = SESSION_PMU } },
	};
	static struct kdtl_pmu p;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		memcpy(&p, &bad[i].p, sizeof(p));
		KUNIT_EXPECT_EQ_MSG(test, kdtl_pmu_register(&p), bad[i].err, "%s", bad[i].what);
	}
	session_nothing_left(test, "sources that are refused");
}

static int session_attach_unregisters(struct kdtl_pmu *p)
{
	kdtl_pmu_unregister(p);
	return 0;
}

/* To register a source again, or to unregister one that is in use, changes nothing. */
static void session_pmu_twice(struct kunit *test)
{
	const struct kdtl_session_attr twice = { .pmu = "kdtl_fake_twice", .aux_pages = 1 };
	const struct kdtl_session_attr attr = { SESSION_GOOD };
	struct kdtl_session *a = kapi_create(test, &attr), *b;
	static struct kdtl_pmu p;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, a);
	KUNIT_EXPECT_EQ(test, kdtl_pmu_register(&session_pmu), -EEXIST);
	session_pmu.name = "kdtl_fake_twice";
	KUNIT_EXPECT_EQ(test, kdtl_pmu_register(&session_pmu), -EEXIST);
	session_pmu.name = SESSION_PMU;
	b = kdtl_session_create(&attr);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(b), 0);
	/* The source was attached once. */
	KUNIT_EXPECT_EQ(test, atomic_read(&session_src.users), 1);
	kdtl_pmu_unregister(&session_pmu);
	kdtl_session_close(b);
	kdtl_pmu_unregister(&session_pmu);
	KUNIT_EXPECT_EQ(test, kapi_go(a), 0);
	kapi_close(test);

	p = (struct kdtl_pmu) { SESSION_SOURCE, .name = SESSION_PMU };
	kdtl_pmu_unregister(&p);
	KUNIT_EXPECT_EQ(test, kdtl_pmu_register(&p), -EEXIST);
	kdtl_pmu_unregister(&p);
	p.name = "kdtl_fake_twice";
	p.attach = session_attach_unregisters;
	KUNIT_EXPECT_EQ(test, kdtl_pmu_register(&p), 0);
	/* A session that is just being created holds the source before it is a user. */
	b = kdtl_session_create(&twice);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(b), 0);
	KUNIT_EXPECT_EQ(test, kdtl_pmu_register(&p), -EEXIST);
	kdtl_session_close(b);
	kdtl_pmu_unregister(&p);
	kdtl_pmu_unregister(&p);
	session_nothing_left(test, "sources that are registered twice, or not at all");
}

static void session_bad_attr(struct kunit *test)
{
	static const struct {
		const char			*what;
		int				err;
		struct kdtl_session_attr	attr;
	} bad[] = {
		{ "watermark above the default area", -EINVAL,
		  { .pmu = SESSION_PMU, .watermark = SZ_256K + 1 } },
		{ "3 pages", -EINVAL, { .pmu = SESSION_PMU, .aux_pages = 3 } },
		{ "2^20 + 1 pages", -EINVAL, { .pmu = SESSION_PMU, .aux_pages = (1 << 20) + 1 } },
		{ "2^21 pages", -EINVAL, { .pmu = SESSION_PMU, .aux_pages = 1 << 21 } },
		{ "2^31 pages", -EINVAL, { .pmu = SESSION_PMU, .aux_pages = 1U << 31 } },
		{ "-1 pages", -EINVAL, { .pmu = SESSION_PMU, .aux_pages = -1 } },
		{ "2^20 pages: over the cap", -ENOMEM,
		  { .pmu = SESSION_PMU, .aux_pages = 1 << 20 } },
		{ "3 message pages", -EINVAL, { SESSION_GOOD, .msg_pages = 3 } },
		{ "2^31 message pages", -EINVAL, { SESSION_GOOD, .msg_pages = 1U << 31 } },
		{ "2^20 message pages: over the cap", -ENOMEM,
		  { SESSION_GOOD, .msg_pages = 1 << 20 } },
		{ "mask 32", -EINVAL, { SESSION_GOOD, .mask = 32 } },
		{ "mask 2^31", -EINVAL, { SESSION_GOOD, .mask = 1U << 31 } },
		{ "flag 4", -EINVAL, { SESSION_GOOD, .flags = 4 } },
		{ "flag 16", -EINVAL, { SESSION_GOOD, .flags = 16 } },
		{ "flag 2^31", -EINVAL, { SESSION_GOOD, .flags = 1U << 31 } },
		{ "watermark", -EINVAL, { SESSION_GOOD, .watermark = PAGE_SIZE + 1 } },
		{ "no CPU", -EINVAL, { SESSION_GOOD, .cpus = cpu_none_mask } },
		{ "no such PMU", -ENODEV, { .pmu = "kdtl_nowhere", .aux_pages = 1 } },
		{ "PMU without a name", -ENODEV, { .pmu = "", .aux_pages = 1 } },
		{ "a PMU that is not ours", -ENODEV, { .pmu = "software", .aux_pages = 1 } },
	};
	struct kdtl_session *s;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		s = kdtl_session_create(&bad[i].attr);
		KUNIT_EXPECT_EQ_MSG(test, PTR_ERR(s), (long)bad[i].err, "%s", bad[i].what);
		kdtl_session_close(s);
		session_nothing_left(test, bad[i].what);
	}
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_create(NULL)), (long)-EINVAL);
	/* A caller may close a session that it did not get. */
	kdtl_session_close(NULL);
	kdtl_session_close(ERR_PTR(-ENOMEM));
}

/* The mask has only CPUs that are not possible. */
static void session_impossible_cpus(struct kunit *test)
{
	struct kdtl_session_attr attr = { SESSION_GOOD };
	struct kdtl_session *s;
	cpumask_var_t cpus;

	KUNIT_ASSERT_TRUE(test, zalloc_cpumask_var(&cpus, GFP_KERNEL));
	cpumask_andnot(cpus, cpu_all_mask, cpu_possible_mask);
	attr.cpus = cpus;
	s = kdtl_session_create(&attr);
	KUNIT_EXPECT_EQ(test, PTR_ERR(s), (long)-EINVAL);
	/* Beside a possible CPU they do no harm. */
	cpumask_set_cpu(0, cpus);
	s = kdtl_session_create(&attr);
	free_cpumask_var(cpus);
	test->priv = IS_ERR(s) ? NULL : s;
	KUNIT_ASSERT_FALSE(test, IS_ERR(s));
	KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), 0);
	kapi_close(test);
	session_nothing_left(test, "impossible CPUs");
}

/* The cap is on the sum over all CPUs: many small areas are as much as a large one. */
static void session_cap(struct kunit *test)
{
	const unsigned int pages = 1U << (30 - PAGE_SHIFT);
	struct kdtl_session_attr attr = { SESSION_GOOD };
	struct kdtl_session *s;

	/*
	 * A session needs other memory, too, so an area of the whole cap, which is 1 GiB, is too
	 * much.
	 */
	attr.aux_pages = pages;
	attr.cpus = cpumask_of(0);
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_create(&attr)), (long)-ENOMEM);
	attr.aux_pages = pages / roundup_pow_of_two(num_online_cpus());
	attr.cpus = NULL;
	if (is_power_of_2(num_online_cpus()))
		KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_create(&attr)), (long)-ENOMEM);
	session_nothing_left(test, "over the cap");

	/* Half of it is allowed; nothing is allocated before the load. */
	attr.aux_pages /= 2;
	s = kapi_create(test, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	kapi_close(test);
	session_nothing_left(test, "under the cap");
}

static void session_attach_fails(struct kunit *test)
{
	static const int errors[] = { -EBUSY, -EPERM, -ENODEV };
	static const int none[] = { 1, -MAX_ERRNO - 1, INT_MIN };
	const struct kdtl_session_attr attr = { SESSION_GOOD };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		session_src.attach_error = errors[i];
		KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_create(&attr)), (long)errors[i]);
		session_src.attach_error = 0;
		session_nothing_left(test, "attach");
	}
	for (i = 0; i < ARRAY_SIZE(none); i++) {
		session_src.attach_error = none[i];
		KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_create(&attr)), (long)-EINVAL);
		session_src.attach_error = 0;
		session_nothing_left(test, "attach without an errno");
	}
}

/*
 * A number that is no kind counts as unknown kind; entries of a source that is not registered are
 * dropped.
 */
static void session_bad_kind(struct kunit *test)
{
	static const int bad[] = { KDTL_NR_KINDS, -1, INT_MAX, INT_MIN };
	const struct kdtl_session_attr attr = { SESSION_GOOD, .mask = KDTL_MASK_CEDE };
	const struct kdtl_entry e = { .timebase = cpu_to_be64(1) };
	struct kdtl_session *s = kapi_create(test, &attr);
	static struct kdtl_pmu unknown;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	local_irq_disable();
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		kdtl_pmu_output(&session_pmu, &e, bad[i]);
	kdtl_pmu_output(&unknown, &e, KDTL_KIND_CEDE);
	kdtl_pmu_lost(&unknown, 1);
	local_irq_enable();
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_UNKNOWN, -1),
			(u64)ARRAY_SIZE(bad));
	KUNIT_EXPECT_EQ(test, kapi_conserved(test, s), (u64)ARRAY_SIZE(bad));
	kapi_close(test);
	session_nothing_left(test, "kinds that there are not");
}

/* Without a name, the source of the highest rating is used among those that log dispatches. */
static void session_any_pmu(struct kunit *test)
{
	static struct kdtl_pmu p;
	const struct kdtl_pmu others[] = {
		{ .name = "kdtl_no_interrupts", .interrupts = true },
		{ .name = "kdtl_no_wakes", .mask = KDTL_MASK_WAKE },
	};
	const struct kdtl_session_attr attr = { .aux_pages = 1 };
	struct kdtl_session *s;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		p = others[i];
		p.pmu.module = THIS_MODULE;
		p.rating = UINT_MAX;
		p.tb_freq = NSEC_PER_SEC;
		KUNIT_EXPECT_EQ(test, kdtl_pmu_register(&p), 0);
		s = kapi_create(test, &attr);
		KUNIT_EXPECT_EQ_MSG(test, atomic_read(&session_src.users), 1, "%s", p.name);
		if (s)
			kapi_close(test);
		kdtl_pmu_unregister(&p);
	}
	session_nothing_left(test, "any source");
}

/*
 * {} means: the best source, all CPUs, all kinds, the default area, and half of it as the
 * watermark.
 */
static void session_zeroed(struct kunit *test)
{
	const struct kdtl_session_attr attr = {};
	struct kdtl_session *s = kapi_create(test, &attr);
	struct kdtl_aux_info info;
	struct kdtl_msg msg;
	int cpu;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&session_src.on), (int)num_online_cpus());
	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
		KUNIT_EXPECT_TRUE(test, !strcmp(info.source, SESSION_PMU));
		KUNIT_EXPECT_EQ(test, info.size, (u64)SZ_256K);
		KUNIT_EXPECT_EQ(test, info.watermark, (u64)SZ_128K);
		KUNIT_EXPECT_TRUE(test, info.online);
	}
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true), (ssize_t)-EAGAIN);
	smp_call_function_single(0, session_emit, NULL, 1);
	KUNIT_EXPECT_EQ(test, kapi_conserved(test, s), 1ULL);
	kapi_close(test);
	session_nothing_left(test, "an attribute of zeroes");
}

#ifdef MODULE
/* While the best source's module is being unloaded, the next best source is used. */
static void session_pmu_goes(struct kunit *test)
{
	static struct module going = { .state = MODULE_STATE_GOING };
	static struct kdtl_pmu p;
	const struct kdtl_session_attr attr = { .aux_pages = 1 };
	const struct kdtl_session_attr named = { .pmu = "kdtl_going", .aux_pages = 1 };
	struct kdtl_session *s;

	p = (struct kdtl_pmu) {
		.pmu.module	= &going,
		.name		= "kdtl_going",
		.rating		= UINT_MAX,
		.tb_freq	= 1,
	};
	KUNIT_ASSERT_EQ(test, kdtl_pmu_register(&p), 0);
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_create(&named)), (long)-ENODEV);
	s = kapi_create(test, &attr);
	KUNIT_EXPECT_EQ(test, atomic_read(&session_src.users), 1);
	if (s)
		kapi_close(test);
	kdtl_pmu_unregister(&p);
	session_nothing_left(test, "a source that goes");
}
#endif

/* If no source is named, a source of dispatches is used, even if another one is rated higher. */
static void session_pmu_of_others(struct kunit *test)
{
	static struct kdtl_pmu p;
	static const struct kdtl_pmu others[] = {
		{ .interrupts = true },
		{ .mask = KDTL_MASK_WAKE },
	};
	const struct kdtl_session_attr attr = { .aux_pages = 1 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		p = others[i];
		p.pmu.module = THIS_MODULE;
		p.name = "kdtl_no_dispatches";
		p.rating = UINT_MAX;
		p.tb_freq = NSEC_PER_SEC;
		KUNIT_ASSERT_EQ(test, kdtl_pmu_register(&p), 0);
		if (kapi_create(test, &attr)) {
			KUNIT_EXPECT_EQ_MSG(test, atomic_read(&session_src.users), 1, "%u", i);
			kapi_close(test);
		}
		kdtl_pmu_unregister(&p);
	}
	session_nothing_left(test, "a source of something else");
}

/* --------------------------------------------------------- load, start, close */

static void session_bad_load(struct kunit *test)
{
	const struct kdtl_session_attr attr = { SESSION_GOOD, .cpus = cpumask_of(0) };
	const int other = kapi_other_cpu(0);
	struct kdtl_session *s = kapi_create(test, &attr);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_GT(test, other, 0);
	KUNIT_EXPECT_EQ(test, kdtl_load(s, cpu_none_mask), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_load(s, cpumask_of(other)), -EINVAL);
	/* Nor does it help if one of the CPUs is the session's. */
	KUNIT_EXPECT_EQ(test, kdtl_load(s, cpu_online_mask), -EINVAL);
	/* The session still works. */
	KUNIT_EXPECT_EQ(test, kdtl_start(s), -EINVAL);
	KUNIT_EXPECT_EQ(test, atomic_read(&session_src.calls), 0);
	KUNIT_EXPECT_EQ(test, kdtl_load(s, cpumask_of(0)), 0);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&session_src.on), 1);
	kapi_close(test);
	session_nothing_left(test, "load");
}

/* If the source refuses on one CPU, it is switched off on all CPUs, and start returns its error. */
static void session_start_fails(struct kunit *test)
{
	const struct kdtl_session_attr attr = { SESSION_GOOD };
	struct kdtl_session *s = kapi_create(test, &attr);
	struct kdtl_aux_info info;
	int cpu;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kdtl_load(s, NULL), 0);
	for_each_online_cpu(cpu) {
		session_src.refusing_cpu = cpu;
		session_src.source_error = -EXDEV;
		KUNIT_EXPECT_EQ_MSG(test, kdtl_start(s), -EXDEV, "CPU %d refuses", cpu);
		KUNIT_EXPECT_EQ_MSG(test, atomic_read(&session_src.on), 0, "CPU %d refuses", cpu);
		/* The session is loaded, but not started. */
		KUNIT_EXPECT_EQ(test, kdtl_write_config(s, NULL, 0), 0);
		/* The next start tries this CPU again. */
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
		KUNIT_EXPECT_TRUE(test, info.online);
		session_src.source_error = 0;
		KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&session_src.on), (int)num_online_cpus());
		KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&session_src.on), 0);
	}
	kapi_close(test);
	session_nothing_left(test, "start");
}

/* A refusal to one session does not affect the other one, whichever of them was loaded first. */
static void session_start_fails_alone(struct kunit *test)
{
	const struct kdtl_session_attr cede = { SESSION_GOOD, .mask = KDTL_MASK_CEDE };
	const struct kdtl_session_attr all = { SESSION_GOOD };
	struct kdtl_session *s, *refused;
	unsigned int last;

	for (last = 0; last < 2; last++) {
		s = kapi_create(test, &cede);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
		refused = kdtl_session_create(&all);
		KUNIT_ASSERT_FALSE(test, IS_ERR(refused));
		KUNIT_EXPECT_EQ(test, kdtl_load(last ? refused : s, NULL), 0);
		KUNIT_EXPECT_EQ(test, kdtl_load(last ? s : refused, NULL), 0);
		KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
		session_src.refusing_cpu = 0;
		session_src.source_error = -EXDEV;
		KUNIT_EXPECT_EQ(test, kdtl_start(refused), -EXDEV);
		session_src.source_error = 0;
		KUNIT_EXPECT_EQ(test, per_cpu(session_mask, 0), (u32)KDTL_MASK_CEDE);
		KUNIT_EXPECT_EQ(test, atomic_read(&session_src.on), (int)num_online_cpus());
		KUNIT_EXPECT_EQ(test, kdtl_start(refused), 0);
		KUNIT_EXPECT_EQ(test, per_cpu(session_mask, 0), (u32)KDTL_MASK_ALL);
		kdtl_session_close(refused);
		kapi_close(test);
		session_nothing_left(test, "start of one of two");
	}
}

static void session_emit(void *unused)
{
	const struct kdtl_entry e = { .processor_id = cpu_to_be16(raw_smp_processor_id()) };

	kdtl_pmu_output(&session_pmu, &e, KDTL_KIND_CEDE);
}

/*
 * The source is off while an overflow pauses the CPU, and refuses to be switched on again: the CPU
 * stays paused, whether or not a switch of sets was due.
 */
static void session_restart_fails(struct kunit *test)
{
	const struct kdtl_session_attr attr = {
		SESSION_GOOD, .msg_pages = 1, .flags = KDTL_SESSION_PAUSE,
	};
	struct kdtl_counter_req req = {
		.counter	= KDTL_CTR_ENTRIES,
		.flags		= KDTL_COUNTER_NOTIFY,
		.value		= -1,
		.long_reset	= -1,
	};
	struct kdtl_evtset sets[] = { { .overflows = 1 }, { .id = 1 } };
	const int cpus = num_online_cpus();
	struct kdtl_session *s;
	int due;

	for (due = 0; due < 2; due++) {
		s = kapi_create(test, &attr);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
		KUNIT_EXPECT_EQ(test, kdtl_create_evtsets(s, sets, 2 * due), 0);
		KUNIT_EXPECT_EQ(test, kdtl_write_counters(s, &req, 1), 0);
		KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
		smp_call_function_single(0, session_emit, NULL, 1);
		KUNIT_EXPECT_EQ(test, atomic_read(&session_src.on), cpus - 1);

		session_src.refusing_cpu = 0;
		session_src.source_error = -EXDEV;
		KUNIT_EXPECT_EQ(test, kdtl_restart(s), -EXDEV);
		KUNIT_EXPECT_EQ(test, atomic_read(&session_src.on), cpus - 1);
		KUNIT_EXPECT_EQ(test, kdtl_start(s), -EBUSY);
		session_src.source_error = 0;
		KUNIT_EXPECT_EQ(test, kdtl_restart(s), 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&session_src.on), cpus);
		KUNIT_EXPECT_EQ(test, kapi_info(test, s, due, 0).active_now, true);
		KUNIT_EXPECT_EQ(test, kdtl_restart(s), -EBUSY);
		kapi_close(test);
		session_nothing_left(test, "restart");
	}
}

/* Entries that a CPU logged before another CPU refused can still be read. */
static void session_start_fails_late(struct kunit *test)
{
	const struct kdtl_session_attr attr = { SESSION_GOOD, .msg_pages = 1 };
	struct kdtl_session *s = kapi_create(test, &attr);
	struct kdtl_aux_info info;
	struct kdtl_msg msg;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kdtl_load(s, NULL), 0);
	session_src.emitting_cpu = 0;
	session_src.refusing_cpu = kapi_other_cpu(0);
	session_src.source_error = -EXDEV;
	KUNIT_EXPECT_EQ(test, kdtl_start(s), session_src.refusing_cpu < 0 ? 0 : -EXDEV);
	session_src.emitting_cpu = -1;
	session_src.source_error = 0;
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	KUNIT_EXPECT_GE(test, info.unread, 1ULL);
	msg = kapi_msg(test, s);
	KUNIT_EXPECT_EQ(test, msg.type, KDTL_MSG_AUX);
	KUNIT_EXPECT_EQ(test, msg.cpu, 0);
	KUNIT_EXPECT_EQ(test, msg.aux.offset + msg.aux.size, info.head);
}

static void session_lose(void *nr)
{
	kdtl_pmu_lost(&session_pmu, *(u64 *)nr);
}

/* A driver reports that no entries were lost. */
static void session_lost_none(struct kunit *test)
{
	const struct kdtl_session_attr attr = { SESSION_GOOD, .msg_pages = 1 };
	struct kdtl_session *s = kapi_create(test, &attr);
	struct kdtl_msg msg;
	u64 nr = 0;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	smp_call_function_single(0, session_lose, &nr, 1);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true), (ssize_t)-EAGAIN);
	nr = 1;
	smp_call_function_single(0, session_lose, &nr, 1);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, KAPI_FOREVER), 1);
	KUNIT_EXPECT_EQ(test, kapi_msg(test, s).type, KDTL_MSG_AUX);
	KUNIT_EXPECT_EQ(test, kapi_msg(test, s).lost.count, 1ULL);
}

/* Close a session in each state, many times. */
static void session_close_leaves_nothing(struct kunit *test)
{
	const struct kdtl_session_attr attr = { SESSION_GOOD, .msg_pages = 1 };
	struct kdtl_session *s;
	unsigned int i;

	for (i = 0; i < 60; i++) {
		s = kapi_create(test, &attr);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
		if (i % 5 > 0)
			KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), 0);
		if (i % 5 > 1)
			KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
		if (i % 5 > 2)
			KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
		if (i % 5 > 3)
			KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
		if (session_refs >= 0)
			KUNIT_EXPECT_GT(test, kapi_held(), session_refs);
		kapi_close(test);
	}
	session_nothing_left(test, "close");
}

/* While two sessions use a source, it is on as long as either wants it. */
static void session_two(struct kunit *test)
{
	const struct kdtl_session_attr cede = { SESSION_GOOD, .mask = KDTL_MASK_CEDE };
	const struct kdtl_session_attr fault = { SESSION_GOOD, .mask = KDTL_MASK_FAULT };
	struct kdtl_session *a = kapi_create(test, &cede), *b;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, a);
	b = kdtl_session_create(&fault);
	KUNIT_ASSERT_FALSE(test, IS_ERR(b));
	KUNIT_EXPECT_EQ(test, atomic_read(&session_src.users), 1);
	KUNIT_EXPECT_EQ(test, kapi_go(a), 0);
	KUNIT_EXPECT_EQ(test, per_cpu(session_mask, 0), (u32)KDTL_MASK_CEDE);
	KUNIT_EXPECT_EQ(test, kapi_go(b), 0);
	KUNIT_EXPECT_EQ(test, per_cpu(session_mask, 0),
			(u32)(KDTL_MASK_CEDE | KDTL_MASK_FAULT));
	kapi_close(test);
	KUNIT_EXPECT_EQ(test, per_cpu(session_mask, 0), (u32)KDTL_MASK_FAULT);
	KUNIT_EXPECT_EQ(test, atomic_read(&session_src.users), 1);
	kdtl_session_close(b);
	session_nothing_left(test, "two");
}

/* The source gets the shortest period of all sessions, but none below 50 us. */
static void session_periods(struct kunit *test)
{
	static const u64 periods[][2] = {
		/* The period asked for, and the one that the source gets. */
		{ 0, 0 }, { 1, 50000 }, { 49999, 50000 }, { 50000, 50000 }, { 50001, 50001 },
		{ NSEC_PER_SEC, NSEC_PER_SEC },
	};
	struct kdtl_session_attr attr = { SESSION_GOOD };
	struct kdtl_session *a, *b;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		attr.period = periods[i][0];
		a = kapi_create(test, &attr);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, a);
		KUNIT_EXPECT_EQ(test, kapi_go(a), 0);
		KUNIT_EXPECT_EQ(test, per_cpu(session_period, 0), periods[i][1]);

		attr.period = 60000;
		b = kdtl_session_create(&attr);
		KUNIT_ASSERT_FALSE(test, IS_ERR(b));
		KUNIT_EXPECT_EQ(test, kapi_go(b), 0);
		KUNIT_EXPECT_EQ(test, per_cpu(session_period, 0),
				min(periods[i][1] ?: 60000, 60000ULL));
		kdtl_session_close(b);
		KUNIT_EXPECT_EQ(test, per_cpu(session_period, 0), periods[i][1]);
		kapi_close(test);
	}
	session_nothing_left(test, "periods");
}

static void session_exit(struct kunit *test)
{
	session_src.attach_error = 0;
	session_src.source_error = 0;
	session_src.emitting_cpu = -1;
	kapi_exit(test);
	atomic_set(&session_src.calls, 0);
}

static int session_suite_init(struct kunit_suite *suite)
{
	return kdtl_pmu_register(&session_pmu);
}

static void session_suite_exit(struct kunit_suite *suite)
{
	kdtl_pmu_unregister(&session_pmu);
}

static struct kunit_case session_cases[] = {
	KUNIT_CASE(session_bad_attr),
	KUNIT_CASE(session_bad_pmu),
	KUNIT_CASE(session_pmu_twice),
	KUNIT_CASE(session_impossible_cpus),
	KUNIT_CASE(session_cap),
	KUNIT_CASE(session_attach_fails),
	KUNIT_CASE(session_bad_kind),
	KUNIT_CASE(session_any_pmu),
	KUNIT_CASE(session_zeroed),
#ifdef MODULE
	KUNIT_CASE(session_pmu_goes),
#endif
	KUNIT_CASE(session_pmu_of_others),
	KUNIT_CASE(session_bad_load),
	KUNIT_CASE(session_start_fails),
	KUNIT_CASE(session_start_fails_alone),
	KUNIT_CASE(session_start_fails_late),
	KUNIT_CASE(session_restart_fails),
	KUNIT_CASE(session_lost_none),
	KUNIT_CASE(session_close_leaves_nothing),
	KUNIT_CASE(session_two),
	KUNIT_CASE(session_periods),
	{}
};

struct kunit_suite kdtl_session_suite = {
	.name		= "kdtl_session",
	.suite_init	= session_suite_init,
	.suite_exit	= session_suite_exit,
	.init		= session_init,
	.exit		= session_exit,
	.test_cases	= session_cases,
};
