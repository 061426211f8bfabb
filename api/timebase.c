// SPDX-License-Identifier: GPL-2.0
/*
 * From a source's time base to the clocks of the kernel
 *
 * NTP and adjtimex() change the rates of CLOCK_MONOTONIC, BOOTTIME and REALTIME, but not of
 * a source's time base.  So a conversion by tb_freq alone drifts away, by seconds after some
 * days.  Here the clock and the time base are read at the same moment, again and again, and
 * the entries between two readings are converted by the rate between them.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/export.h>
#include <linux/irqflags.h>
#include <linux/kdtl_pmu.h>
#include <linux/kdtl_verbs.h>
#include <linux/ktime.h>

#include "../core/session.h"
#include "../core/source.h"
#include "request.h"

/* A rate over less time than this would mostly be the error of the readings. */
#define KDTL_TIMEBASE_SPAN	(10 * NSEC_PER_MSEC)

/* An interrupt of the hypervisor may come between two readings: take the closest ones. */
#define KDTL_TIMEBASE_TRIES	8

static void kdtl_timebase_read(struct kdtl_pmu *p, struct kdtl_timebase *tb)
{
	u64 before, mono, took, best = U64_MAX;
	unsigned long flags;
	unsigned int i;

	for (i = 0; i < KDTL_TIMEBASE_TRIES; i++) {
		local_irq_save(flags);
		before = kdtl_source_clock(p);
		mono = ktime_get_ns();
		took = kdtl_source_clock(p) - before;
		local_irq_restore(flags);
		if (took >= best)
			continue;
		best = took;
		tb->ticks = before + took / 2;
		tb->mono = mono;
	}
	tb->error = mul_u64_u64_shr(best / 2, tb->mult, 32);
	mono = tb->mono;
	tb->boot = ktime_to_ns(ktime_mono_to_any(ns_to_ktime(mono), TK_OFFS_BOOT)) - mono;
	tb->real = ktime_to_ns(ktime_mono_to_any(ns_to_ktime(mono), TK_OFFS_REAL)) - mono;
}

/* Set the rate since @from, unless the time base nearly stands still: it would not fit. */
static void kdtl_timebase_rate(struct kdtl_timebase *tb)
{
	const u64 ns = tb->mono - tb->from.mono, ticks = tb->ticks - tb->from.ticks;

	if (ns >= KDTL_TIMEBASE_SPAN && ns >> 32 < ticks)
		tb->mult = mul_u64_u64_div_u64(ns, 1ULL << 32, ticks);
}

static struct kdtl_timebase_point kdtl_timebase_point(const struct kdtl_timebase *tb)
{
	return (struct kdtl_timebase_point) {
		.ticks	= tb->ticks,
		.mono	= tb->mono,
		.error	= tb->error,
	};
}

/**
 * kdtl_timebase_sync() - compare a session's time base with the kernel's clocks
 * @s: the session
 * @tb: zeroes before the first call, then as the last call left it
 *
 * Call it before the entries to convert, and again each time that entries were read.
 * Then kdtl_entry_mono_ns() and the like are right to a microsecond plus
 * kdtl_timebase::error for entries between two calls, also while NTP slews the clock at a
 * steady rate.  If the rate changes by 1 ppm within a second between two calls, that adds up
 * to 1 us.  Entries before the first call are converted by kdtl_aux_info::tb_freq, and are
 * off by how far the clock was slewed since.  The times of kdtl_sched are those of
 * local_clock(), which is less even where the kernel does not trust the CPU's counter: there
 * it may lag by a tick or more, and so do the results.
 *
 * The offsets to BOOTTIME and REALTIME are those of the last call: entries that were
 * logged before the clock was set, or before the system was suspended, are converted as if
 * this had happened before them.
 *
 * Context: any but NMI.
 * Return: 0, -EINVAL: @s or @tb is NULL, or -EOPNOTSUPP: the session is raw.
 */
int kdtl_timebase_sync(struct kdtl_session *s, struct kdtl_timebase *tb)
{
	struct kdtl_timebase_point now;
	struct kdtl_timebase last;
	int err = kdtl_session_check(s) ?: kdtl_null_check(s, tb) ?:
		kdtl_entries_check(s, __func__);

	if (err)
		return err;

	last = *tb;
	if (!tb->mult)
		tb->mult = div64_u64((u64)NSEC_PER_SEC << 32, s->pmu->tb_freq);
	kdtl_timebase_read(s->pmu, tb);
	/* A rate over a suspend means nothing, so keep the rate from before. */
	if (!last.mult || tb->boot != last.boot) {
		tb->from = kdtl_timebase_point(tb);
		tb->mid = tb->from;
		return 0;
	}
	now = kdtl_timebase_point(tb);
	kdtl_timebase_rate(tb);
	tb->error = max(tb->error, tb->from.error);
	if (tb->mono - tb->mid.mono >= KDTL_TIMEBASE_SPAN) {
		tb->from = tb->mid;
		tb->mid = now;
	}
	return 0;
}
EXPORT_SYMBOL_NS_GPL(kdtl_timebase_sync, KDTL_NS);
