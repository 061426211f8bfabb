// SPDX-License-Identifier: GPL-2.0
/*
 * Limits the rate of reports, but never withholds a wait that is clearly the worst
 *
 * The kernel's rate limit would also withhold a wait of ten seconds, after ten of half a
 * second.  Here a wait that is clearly worse than all that were reported before is always
 * reported.  Each such report raises the bar by a half, so there are few of them.
 */
#define pr_fmt(fmt) "kdtl_watch: " fmt

#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/printk.h>

#include "watch.h"

static bool limit_is_worse(u64 now, u64 worst)
{
	return 2 * now > 3 * worst;
}

static void limit_end(struct watch_limit *l)
{
	if (l->withheld)
		pr_warn("withheld %u %s in %u s, about waits of up to %llu ms\n", l->withheld,
			l->name, l->seconds, div_u64(l->longest, NSEC_PER_MSEC));
	l->passed = 0;
	l->withheld = 0;
	l->longest = 0;
	l->worst = 0;
	l->worst_percent = 0;
}

/**
 * watch_limit_end() - say how many reports were withheld, if the limit's time is over
 * @l: the limit
 *
 * Context: the watching thread.
 */
void watch_limit_end(struct watch_limit *l)
{
	const unsigned long jiffies_each = (unsigned long)min_t(u32, l->seconds, INT_MAX / HZ) * HZ;

	if (l->passed && time_after_eq(jiffies, l->since + jiffies_each))
		limit_end(l);
}

/**
 * watch_limit_exit() - say how many reports were withheld
 * @l: the limit; the thread has ended
 */
void watch_limit_exit(struct watch_limit *l)
{
	limit_end(l);
}

/**
 * watch_limit_pass() - may this wait be reported?
 * @l: the limit
 * @wait: how long it was, in ns
 * @threshold: the longest wait that is not reported, in ns
 *
 * It may if fewer than @l->burst waits were reported in @l->seconds, or if it is worse than
 * they were: longer by half, in ns or as a multiple of its threshold.
 *
 * Context: the watching thread.
 * Return: true if so; otherwise it is counted as withheld.
 */
bool watch_limit_pass(struct watch_limit *l, u64 wait, u64 threshold)
{
	const u64 percent = div64_u64(wait * 100, threshold);

	watch_limit_end(l);
	if (l->passed >= l->burst && !limit_is_worse(wait, l->worst) &&
	    !limit_is_worse(percent, l->worst_percent)) {
		l->withheld++;
		l->longest = max(l->longest, wait);
		return false;
	}
	if (!l->passed++)
		l->since = jiffies;
	l->worst = max(l->worst, wait);
	l->worst_percent = max(l->worst_percent, percent);
	return true;
}
