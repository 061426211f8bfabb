/* SPDX-License-Identifier: GPL-2.0 */
/* Waiting for an amount of time that really passes. */
#ifndef _KDTL_KUNIT_PASS_H
#define _KDTL_KUNIT_PASS_H

#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/math64.h>

/*
 * msleep() counts ticks.  A virtual CPU that was away makes up for its ticks at once, so a sleep
 * that begins just then may be over in no time.
 */
static inline void pass_ms(unsigned int ms)
{
	const u64 end = ktime_get_ns() + (u64)ms * NSEC_PER_MSEC;
	u64 now;

	while ((now = ktime_get_ns()) < end)
		msleep(DIV_ROUND_UP_ULL(end - now, NSEC_PER_MSEC));
}

#endif /* _KDTL_KUNIT_PASS_H */
