// SPDX-License-Identifier: GPL-2.0
/* What a session logs, at each moment. */
#include <linux/math64.h>
#include <linux/minmax.h>

#include "session.h"
#include "writer.h"

/* A timer that fires more often would leave no time for other work. */
#define KDTL_MIN_PERIOD		(50 * NSEC_PER_USEC)

/**
 * kdtl_log_config() - say what is logged
 * @log: that of a set, or of a session
 * @mask: KDTL_MASK_*, 0: KDTL_MASK_ALL
 * @period: see &struct kdtl_session_attr.period
 * @min_wait: see &struct kdtl_session_attr.min_wait
 *
 * Context: under kdtl_session::lock, the session not started.
 */
void kdtl_log_config(struct kdtl_log *log, u32 mask, u64 period, u64 min_wait)
{
	log->mask = mask ?: KDTL_MASK_ALL;
	/* A timer whose expiry overflows would fire at once, again and again. */
	log->period = period ? clamp_t(u64, period, KDTL_MIN_PERIOD, KTIME_MAX / 2) : 0;
	log->min_wait = min_wait;
}

/*
 * @ns in ticks, rounded up.  A time base may be more than four times as fast as ns, so a
 * very long time would take more than 64 bits, and the division would trap on x86.  It is
 * shortened to one that is still longer than any wait in an entry.
 */
static u64 kdtl_ticks(const struct kdtl_pmu *p, u64 ns)
{
	u64 ticks;

	if (p->tb_freq == NSEC_PER_SEC || ns == U64_MAX)
		return ns;
	if (p->tb_freq > NSEC_PER_SEC)
		ns = min(ns, U64_MAX / 5);
	ticks = mul_u64_u32_div(ns, (u32)p->tb_freq, NSEC_PER_SEC);
	return ticks + (mul_u64_u32_div(ticks, NSEC_PER_SEC, (u32)p->tb_freq) < ns);
}

/**
 * kdtl_log_apply() - have the writer of an area follow what is logged
 * @aux: the area
 * @log: what is logged; the caller sets its mask
 *
 * Context: on the area's CPU with interrupts off, or while no event is active there.
 */
void kdtl_log_apply(struct kdtl_aux *aux, const struct kdtl_log *log)
{
	aux->sink.period = log->period;
	aux->min_wait = !aux->nr_pages ? U64_MAX :
			kdtl_ticks(aux->session->pmu, log->min_wait);
	kdtl_aux_set_stop(aux);
}
