/* SPDX-License-Identifier: GPL-2.0 */
/*
 * KUnit, or what these tests use of it for kernels that have none
 *
 * Distributions' kernels come without CONFIG_KUNIT.  There, a module with
 * kunit_test_suites() runs them while it is loaded and writes KTAP to the kernel
 * log, as KUnit does.  It stays loaded whatever came out.
 *
 * The differences: a failed KUNIT_ASSERT_*() returns from the function that it
 * is in, so it belongs into functions without a result that are the last thing
 * a case does; and the parameter filter_glob is the test module's, not kunit's.
 */
#ifndef _KDTL_KUNIT_SHIM_H
#define _KDTL_KUNIT_SHIM_H

#include <linux/kconfig.h>
#include <linux/module.h>

#if IS_ENABLED(CONFIG_KUNIT)

#include <kunit/test.h>

#else

#include <linux/err.h>
#include <linux/glob.h>
#include <linux/printk.h>
#include <linux/sched.h>

struct kunit {
	void		*priv;
	const char	*name;
	bool		failed;
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

#define KUNIT_FAIL(test, fmt, ...) do {					\
	(test)->failed = true;						\
	pr_err("    # %s: FAILED at %s:%d: " fmt "\n", (test)->name,	\
	       __FILE__, __LINE__, ##__VA_ARGS__);			\
} while (0)

#define KUNIT_SHIM_BINARY(test, left, op, right, action, fmt, ...) do {	\
	const typeof(left) __left = (left);				\
	const typeof(right) __right = (right);				\
									\
	if (!(__left op __right)) {					\
		KUNIT_FAIL(test, "%s %s %s: %lld, %lld " fmt, #left,	\
			   #op, #right, (long long)__left,		\
			   (long long)__right, ##__VA_ARGS__);		\
		action;							\
	}								\
} while (0)

#define KUNIT_SHIM_TRUE(test, cond, want, action, fmt, ...) do {	\
	if (!!(cond) != (want)) {					\
		KUNIT_FAIL(test, "%s: not %s " fmt, #cond,		\
			   (want) ? "true" : "false", ##__VA_ARGS__);	\
		action;							\
	}								\
} while (0)

#define KUNIT_EXPECT_EQ(test, l, r)	KUNIT_SHIM_BINARY(test, l, ==, r, , "")
#define KUNIT_EXPECT_NE(test, l, r)	KUNIT_SHIM_BINARY(test, l, !=, r, , "")
#define KUNIT_EXPECT_LT(test, l, r)	KUNIT_SHIM_BINARY(test, l, <, r, , "")
#define KUNIT_EXPECT_LE(test, l, r)	KUNIT_SHIM_BINARY(test, l, <=, r, , "")
#define KUNIT_EXPECT_GT(test, l, r)	KUNIT_SHIM_BINARY(test, l, >, r, , "")
#define KUNIT_EXPECT_GE(test, l, r)	KUNIT_SHIM_BINARY(test, l, >=, r, , "")
#define KUNIT_EXPECT_PTR_EQ(test, l, r)	\
	KUNIT_SHIM_BINARY(test, (long)(l), ==, (long)(r), , "")
#define KUNIT_EXPECT_PTR_NE(test, l, r)	\
	KUNIT_SHIM_BINARY(test, (long)(l), !=, (long)(r), , "")
#define KUNIT_EXPECT_TRUE(test, c)	KUNIT_SHIM_TRUE(test, c, true, , "")
#define KUNIT_EXPECT_FALSE(test, c)	KUNIT_SHIM_TRUE(test, c, false, , "")

#define KUNIT_EXPECT_EQ_MSG(test, l, r, ...)	\
	KUNIT_SHIM_BINARY(test, l, ==, r, , __VA_ARGS__)
#define KUNIT_EXPECT_LE_MSG(test, l, r, ...)	\
	KUNIT_SHIM_BINARY(test, l, <=, r, , __VA_ARGS__)
#define KUNIT_EXPECT_GE_MSG(test, l, r, ...)	\
	KUNIT_SHIM_BINARY(test, l, >=, r, , __VA_ARGS__)
#define KUNIT_EXPECT_TRUE_MSG(test, c, ...)	\
	KUNIT_SHIM_TRUE(test, c, true, , __VA_ARGS__)
#define KUNIT_EXPECT_FALSE_MSG(test, c, ...)	\
	KUNIT_SHIM_TRUE(test, c, false, , __VA_ARGS__)

#define KUNIT_ASSERT_EQ(test, l, r)	KUNIT_SHIM_BINARY(test, l, ==, r, return, "")
#define KUNIT_ASSERT_GE(test, l, r)	KUNIT_SHIM_BINARY(test, l, >=, r, return, "")
#define KUNIT_ASSERT_GT(test, l, r)	KUNIT_SHIM_BINARY(test, l, >, r, return, "")
#define KUNIT_ASSERT_TRUE(test, c)	KUNIT_SHIM_TRUE(test, c, true, return, "")
#define KUNIT_ASSERT_FALSE(test, c)	KUNIT_SHIM_TRUE(test, c, false, return, "")
#define KUNIT_ASSERT_NOT_ERR_OR_NULL(test, p)	\
	KUNIT_SHIM_TRUE(test, IS_ERR_OR_NULL(p), false, return, "")

#define KUNIT_ASSERT_EQ_MSG(test, l, r, ...)	\
	KUNIT_SHIM_BINARY(test, l, ==, r, return, __VA_ARGS__)

static inline bool kunit_shim_wanted(const char *glob, const struct kunit_suite *suite,
				     const struct kunit_case *c)
{
	char full[128];

	snprintf(full, sizeof(full), "%s.%s", suite->name, c->name);
	return !glob || glob_match(glob, full);
}

static inline bool kunit_shim_case(struct kunit_suite *suite, struct kunit_case *c)
{
	struct kunit test = { .name = c->name };

	if (suite->init && suite->init(&test)) {
		KUNIT_FAIL(&test, "init");
		return false;
	}
	c->run_case(&test);
	if (suite->exit)
		suite->exit(&test);
	cond_resched();
	return !test.failed;
}

/* Returns how many cases failed; -1: the suite could not be set up. */
static inline int kunit_shim_suite(struct kunit_suite *suite, const char *glob)
{
	unsigned int nr = 0, failed = 0;
	struct kunit_case *c;
	bool ok;

	for (c = suite->test_cases; c->run_case; c++)
		nr += kunit_shim_wanted(glob, suite, c);
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
		ok = kunit_shim_case(suite, c);
		failed += !ok;
		pr_info("    %s %u %s\n", ok ? "ok" : "not ok", ++nr, c->name);
	}
	if (suite->suite_exit)
		suite->suite_exit(suite);
	pr_info("# %s: pass:%u fail:%u\n", suite->name, nr - failed, failed);
	return failed;
}

static inline void kunit_shim_run(struct kunit_suite * const *suites, unsigned int nr,
				  const char *glob)
{
	unsigned int i;
	bool ok;

	pr_info("KTAP version 1\n");
	pr_info("1..%u\n", nr);
	for (i = 0; i < nr; i++) {
		ok = !kunit_shim_suite(suites[i], glob);
		pr_info("%s %u %s\n", ok ? "ok" : "not ok", i + 1, suites[i]->name);
	}
}

#define kunit_test_suites(...)						\
	static char *filter_glob;					\
	module_param(filter_glob, charp, 0444);				\
	MODULE_PARM_DESC(filter_glob, "run only cases whose suite.case matches"); \
	static int __init kunit_shim_init(void)				\
	{								\
		static struct kunit_suite * const suites[] = { __VA_ARGS__ }; \
									\
		kunit_shim_run(suites, ARRAY_SIZE(suites), filter_glob);	\
		return 0;						\
	}								\
	static void __exit kunit_shim_exit(void)			\
	{								\
	}								\
	module_init(kunit_shim_init);					\
	module_exit(kunit_shim_exit)

#endif /* CONFIG_KUNIT */

#endif /* _KDTL_KUNIT_SHIM_H */
