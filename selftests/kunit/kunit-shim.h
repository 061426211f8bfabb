/* SPDX-License-Identifier: GPL-2.0 */
/*
 * KUnit itself or, for kernels without it, the parts of KUnit that these tests use
 *
 * Distributions' kernels come without CONFIG_KUNIT.  There, a module with kunit_test_suites() runs
 * its suites while it is loaded, each case in a thread of its own, and writes KTAP to the kernel
 * log as KUnit does.  The module stays loaded whatever the result.  The parameter filter_glob then
 * belongs to the module, not to kunit.
 */
#ifndef _KDTL_KUNIT_SHIM_H
#define _KDTL_KUNIT_SHIM_H

#include <linux/kconfig.h>
#include <linux/module.h>

#if IS_ENABLED(CONFIG_KUNIT)

#include <kunit/test.h>

#else

#include <linux/completion.h>
#include <linux/err.h>
#include <linux/glob.h>
#include <linux/kthread.h>
#include <linux/printk.h>

struct kunit_suite;

struct kunit {
	void			*priv;
	const char		*name;
	/* private: */
	struct kunit_suite	*suite;
	void			(*run_case)(struct kunit *test);
	unsigned int		failures;
	char			skipped[128];	/* the reason; empty if not skipped */
	struct completion	done;
};

struct kunit_case {
	void		(*run_case)(struct kunit *test);
	const char	*name;
};

struct kunit_suite {
	const char		name[256];
	int			(*suite_init)(struct kunit_suite *suite);
	void			(*suite_exit)(struct kunit_suite *suite);
	int			(*init)(struct kunit *test);
	void			(*exit)(struct kunit *test);
	struct kunit_case	*test_cases;
};

#define KUNIT_CASE(fn)		{ .run_case = (fn), .name = #fn }

#define kunit_info(test, fmt, ...)					\
	pr_info("    # %s: " fmt "\n", (test)->name, ##__VA_ARGS__)

/* At most so many failures are reported: a loop that fails must not flush the log. */
#define KUNIT_SHIM_REPORTED	10

static inline __printf(4, 5)
void kunit_shim_fail(struct kunit *test, const char *file, int line, const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	if (test->failures++ >= KUNIT_SHIM_REPORTED)
		return;
	va_start(args, fmt);
	vaf.va = &args;
	pr_err("    # %s: FAILED at %s:%d: %pV\n", test->name, kbasename(file), line, &vaf);
	va_end(args);
}

/* Ends the case; the suite's exit() still runs. */
static inline void __noreturn kunit_shim_abort(struct kunit *test)
{
	kthread_complete_and_exit(&test->done, 0);
}

#define kunit_skip(test, fmt, ...) do {					\
	struct kunit *__test = (test);					\
									\
	snprintf(__test->skipped, sizeof(__test->skipped), fmt, ##__VA_ARGS__); \
	kunit_shim_abort(__test);					\
} while (0)

#define KUNIT_SHIM_CHECK(test, passed, fatal, fmt, ...) do {		\
	struct kunit *__test = (test);					\
									\
	if (!(passed)) {						\
		kunit_shim_fail(__test, __FILE__, __LINE__, fmt, ##__VA_ARGS__); \
		if (fatal)						\
			kunit_shim_abort(__test);			\
	}								\
} while (0)

#define KUNIT_SHIM_BINARY(test, left, op, right, fatal, fmt, ...) do {	\
	const typeof(left) __left = (left);				\
	const typeof(right) __right = (right);				\
									\
	KUNIT_SHIM_CHECK(test, __left op __right, fatal,		\
			 "%s %s %s: %lld, %lld " fmt, #left, #op, #right, \
			 (long long)__left, (long long)__right, ##__VA_ARGS__); \
} while (0)

#define KUNIT_SHIM_TRUE(test, cond, fatal, fmt, ...)			\
	KUNIT_SHIM_CHECK(test, cond, fatal, "%s: false " fmt, #cond, ##__VA_ARGS__)
#define KUNIT_SHIM_FALSE(test, cond, fatal, fmt, ...)			\
	KUNIT_SHIM_CHECK(test, !(cond), fatal, "%s: true " fmt, #cond, ##__VA_ARGS__)

#define KUNIT_FAIL(test, fmt, ...)	\
	KUNIT_SHIM_CHECK(test, false, false, fmt, ##__VA_ARGS__)

#define KUNIT_EXPECT_EQ(test, l, r)	KUNIT_SHIM_BINARY(test, l, ==, r, false, "")
#define KUNIT_EXPECT_NE(test, l, r)	KUNIT_SHIM_BINARY(test, l, !=, r, false, "")
#define KUNIT_EXPECT_LT(test, l, r)	KUNIT_SHIM_BINARY(test, l, <, r, false, "")
#define KUNIT_EXPECT_LE(test, l, r)	KUNIT_SHIM_BINARY(test, l, <=, r, false, "")
#define KUNIT_EXPECT_GT(test, l, r)	KUNIT_SHIM_BINARY(test, l, >, r, false, "")
#define KUNIT_EXPECT_GE(test, l, r)	KUNIT_SHIM_BINARY(test, l, >=, r, false, "")
#define KUNIT_EXPECT_PTR_EQ(test, l, r)	\
	KUNIT_SHIM_BINARY(test, (long)(l), ==, (long)(r), false, "")
#define KUNIT_EXPECT_PTR_NE(test, l, r)	\
	KUNIT_SHIM_BINARY(test, (long)(l), !=, (long)(r), false, "")
#define KUNIT_EXPECT_TRUE(test, c)	KUNIT_SHIM_TRUE(test, c, false, "")
#define KUNIT_EXPECT_FALSE(test, c)	KUNIT_SHIM_FALSE(test, c, false, "")

#define KUNIT_EXPECT_EQ_MSG(test, l, r, ...)	\
	KUNIT_SHIM_BINARY(test, l, ==, r, false, __VA_ARGS__)
#define KUNIT_EXPECT_LE_MSG(test, l, r, ...)	\
	KUNIT_SHIM_BINARY(test, l, <=, r, false, __VA_ARGS__)
#define KUNIT_EXPECT_GE_MSG(test, l, r, ...)	\
	KUNIT_SHIM_BINARY(test, l, >=, r, false, __VA_ARGS__)
#define KUNIT_EXPECT_TRUE_MSG(test, c, ...)	\
	KUNIT_SHIM_TRUE(test, c, false, __VA_ARGS__)
#define KUNIT_EXPECT_FALSE_MSG(test, c, ...)	\
	KUNIT_SHIM_FALSE(test, c, false, __VA_ARGS__)

#define KUNIT_ASSERT_EQ(test, l, r)	KUNIT_SHIM_BINARY(test, l, ==, r, true, "")
#define KUNIT_ASSERT_LE(test, l, r)	KUNIT_SHIM_BINARY(test, l, <=, r, true, "")
#define KUNIT_ASSERT_GE(test, l, r)	KUNIT_SHIM_BINARY(test, l, >=, r, true, "")
#define KUNIT_ASSERT_GT(test, l, r)	KUNIT_SHIM_BINARY(test, l, >, r, true, "")
#define KUNIT_ASSERT_TRUE(test, c)	KUNIT_SHIM_TRUE(test, c, true, "")
#define KUNIT_ASSERT_FALSE(test, c)	KUNIT_SHIM_FALSE(test, c, true, "")
#define KUNIT_ASSERT_NOT_ERR_OR_NULL(test, p)	\
	KUNIT_SHIM_FALSE(test, IS_ERR_OR_NULL(p), true, "")

#define KUNIT_ASSERT_EQ_MSG(test, l, r, ...)	\
	KUNIT_SHIM_BINARY(test, l, ==, r, true, __VA_ARGS__)

static inline bool kunit_shim_wanted(const char *glob, const struct kunit_suite *suite,
				     const struct kunit_case *c)
{
	char full[384];

	snprintf(full, sizeof(full), "%s.%s", suite->name, c->name);
	return !glob || glob_match(glob, full);
}

static inline int kunit_shim_thread(void *arg)
{
	struct kunit *test = arg;

	if (test->suite->init && test->suite->init(test))
		kunit_shim_fail(test, __FILE__, __LINE__, "init");
	else
		test->run_case(test);
	kunit_shim_abort(test);
}

/* Runs a case and prints its line, with the number @nr. */
static inline bool kunit_shim_case(struct kunit_suite *suite, struct kunit_case *c,
				   unsigned int nr)
{
	struct kunit test = { .name = c->name, .suite = suite, .run_case = c->run_case };

	init_completion(&test.done);
	if (IS_ERR(kthread_run(kunit_shim_thread, &test, "kunit_shim"))) {
		kunit_shim_fail(&test, __FILE__, __LINE__, "no thread");
	} else {
		/* Wait as long as it takes, but do not look like a hung task. */
		while (!wait_for_completion_timeout(&test.done, HZ))
			;
		if (suite->exit)
			suite->exit(&test);
	}
	pr_info("    %s %u %s%s%s\n", test.failures ? "not ok" : "ok", nr, c->name,
		test.skipped[0] ? " # SKIP " : "", test.skipped);
	return !test.failures;
}

static inline unsigned int kunit_shim_count(const struct kunit_suite *suite,
					    const char *glob)
{
	const struct kunit_case *c;
	unsigned int nr = 0;

	for (c = suite->test_cases; c->run_case; c++)
		nr += kunit_shim_wanted(glob, suite, c);
	return nr;
}

/* Returns how many cases failed, or -1 if the suite could not be set up. */
static inline int kunit_shim_suite(struct kunit_suite *suite, const char *glob)
{
	unsigned int nr = kunit_shim_count(suite, glob), failed = 0;
	struct kunit_case *c;

	pr_info("    KTAP version 1\n");
	pr_info("    # Subtest: %s\n", suite->name);
	pr_info("    1..%u\n", nr);
	if (suite->suite_init && suite->suite_init(suite)) {
		pr_err("    # %s: failed to initialize\n", suite->name);
		return -1;
	}
	nr = 0;
	for (c = suite->test_cases; c->run_case; c++) {
		if (!kunit_shim_wanted(glob, suite, c))
			continue;
		failed += !kunit_shim_case(suite, c, ++nr);
	}
	if (suite->suite_exit)
		suite->suite_exit(suite);
	pr_info("# %s: pass:%u fail:%u\n", suite->name, nr - failed, failed);
	return failed;
}

/* kunit_test_suites() defines these, once in a module. */
extern struct kunit_suite * const kunit_shim_suites[];
extern const unsigned int kunit_shim_nr_suites;
extern char *kunit_shim_glob;

static inline int __init kunit_shim_init(void)
{
	unsigned int i, nr = 0;
	bool ok;

	/* As in KUnit, the plan does not count a suite of which no case is wanted. */
	for (i = 0; i < kunit_shim_nr_suites; i++)
		nr += !!kunit_shim_count(kunit_shim_suites[i], kunit_shim_glob);
	pr_info("KTAP version 1\n");
	pr_info("1..%u\n", nr);
	for (i = 0, nr = 0; i < kunit_shim_nr_suites; i++) {
		if (!kunit_shim_count(kunit_shim_suites[i], kunit_shim_glob))
			continue;
		ok = !kunit_shim_suite(kunit_shim_suites[i], kunit_shim_glob);
		pr_info("%s %u %s\n", ok ? "ok" : "not ok", ++nr,
			kunit_shim_suites[i]->name);
	}
	return 0;
}

static inline void __exit kunit_shim_exit(void)
{
}

#define kunit_test_suites(...)						\
struct kunit_suite * const kunit_shim_suites[] = { __VA_ARGS__ };	\
const unsigned int kunit_shim_nr_suites = ARRAY_SIZE(kunit_shim_suites); \
char *kunit_shim_glob;							\
module_param_named(filter_glob, kunit_shim_glob, charp, 0444);		\
MODULE_PARM_DESC(filter_glob, "run only cases whose suite.case matches"); \
module_init(kunit_shim_init);						\
module_exit(kunit_shim_exit)

#endif /* CONFIG_KUNIT */

#endif /* _KDTL_KUNIT_SHIM_H */
