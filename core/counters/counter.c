// SPDX-License-Identifier: GPL-2.0
/*
 * The clocks and counters of event sets, by CPU
 *
 * The CPU updates them with interrupts off.  kdtl_aux::seq lets other CPUs read
 * a counter while its base, its clocks or the active set change.
 *
 * The source counts entries, once for all its users (struct kdtl_pmu_cpu).  So a set
 * subtracts the source's counts from its own when it begins to count, and adds them when
 * it stops.  Whoever reads the set in between adds the source's present counts.
 */
#include <linux/prandom.h>
#include <linux/sched/clock.h>

#include "counter.h"
#include "../counting.h"
#include "../session.h"

/* The source's count on the area's CPU. */
static u64 kdtl_source_count(const struct kdtl_aux *aux, unsigned int kind, enum kdtl_sum what)
{
	struct kdtl_pmu_cpu *c = per_cpu_ptr(aux->session->pmu->cpu, aux->cpu);

	return kdtl_u64_read(&kdtl_pmu_tally(c, kind)->sum[what]);
}

/*
 * Add to the active set's counts, or subtract from them, the source's counts of the kinds that
 * the sink wants, and the area's head.
 */
static void kdtl_counts_fold(struct kdtl_aux *aux, bool add)
{
	unsigned int kind, i;
	u64 value;

	if (!aux->ticking)
		return;
	for (kind = 0; kind < KDTL_NR_KINDS; kind++) {
		for (i = 0; kdtl_sink_wants(&aux->sink, kind) && i < KDTL_NR_SUMS; i++) {
			value = kdtl_source_count(aux, kind, i);
			kdtl_u64_add(&aux->counts->tally[kind].sum[i], add ? value : -value);
		}
	}
	value = kdtl_u64_read(&aux->sink.at->head);
	kdtl_u64_add(&aux->counts->bytes, add ? value : -value);
}

/**
 * kdtl_clocks_begin() - bring clocks and counts up to date, before they stop or change
 * @aux: the CPU's area
 *
 * Everything that decides how the clocks go on, or what is counted where, must change
 * between this and kdtl_clocks_end(), so that other CPUs see all changes or none.
 *
 * Context: on the CPU, interrupts off.
 */
void kdtl_clocks_begin(struct kdtl_aux *aux)
{
	const u64 now = local_clock();

	raw_write_seqcount_begin(&aux->seq);
	kdtl_counts_fold(aux, true);
	if (aux->ticking) {
		aux->enabled += now - aux->clock;
		if (!aux->paused)
			kdtl_set_here(aux, aux->set)->active += now - aux->clock;
	}
	aux->clock = now;
}

/**
 * kdtl_clocks_end() - count the active set's kinds, and let other CPUs read again
 * @aux: the CPU's area
 *
 * Context: as kdtl_clocks_begin().
 */
void kdtl_clocks_end(struct kdtl_aux *aux)
{
	kdtl_sink_set_mask(&aux->sink, aux->paused ? 0 : aux->set->log.mask);
	kdtl_counts_fold(aux, false);
	raw_write_seqcount_end(&aux->seq);
}

/* The present value of a clock that stood at @stored when the clocks were updated last. */
static u64 kdtl_set_clock(struct kdtl_aux *aux, u64 stored, bool runs)
{
	const s64 since = local_clock() - aux->clock;

	return stored + (runs && aux->ticking ? max_t(s64, since, 0) : 0);
}

/* Does the set count?  If so, the source's counts and the area's head must be added to its own. */
static bool kdtl_set_counts(const struct kdtl_aux *aux, const struct kdtl_set *set)
{
	return aux->ticking && aux->set == set;
}

/* A sum of the entries of @kinds, 1 << &enum kdtl_kind. */
static u64 kdtl_summed(struct kdtl_aux *aux, struct kdtl_set *set, unsigned long kinds,
		       enum kdtl_sum what)
{
	const struct kdtl_counts *n = &kdtl_set_here(aux, set)->counts;
	const bool counts = kdtl_set_counts(aux, set);
	unsigned int kind;
	u64 sum = 0;

	for_each_set_bit(kind, &kinds, KDTL_NR_KINDS) {
		sum += kdtl_u64_read(&n->tally[kind].sum[what]);
		if (counts && kdtl_sink_wants(&aux->sink, kind))
			sum += kdtl_source_count(aux, kind, what);
	}
	return sum;
}

#define KDTL_KINDS_ALL		(BIT(KDTL_NR_KINDS) - 1)
#define KDTL_KINDS_THROTTLED	BIT(KDTL_KIND_THROTTLE)

/* The count since kdtl_load(), without the counter's base. */
static u64 kdtl_counted(struct kdtl_aux *aux, struct kdtl_set *set,
			enum kdtl_counter c)
{
	struct kdtl_set_cpu *sc = kdtl_set_here(aux, set);
	const struct kdtl_counts *n = &sc->counts;

	switch (c) {
	case KDTL_CTR_ENTRIES:
		return kdtl_summed(aux, set, KDTL_KINDS_ALL, KDTL_SUM_ENTRIES);
	case KDTL_CTR_CEDE:
	case KDTL_CTR_PREEMPT:
	case KDTL_CTR_FAULT:
	case KDTL_CTR_THROTTLE:
	case KDTL_CTR_IDLE:
	case KDTL_CTR_UNKNOWN:
		return kdtl_summed(aux, set, BIT(c - KDTL_CTR_CEDE), KDTL_SUM_ENTRIES);
	case KDTL_CTR_QUEUED:
		return kdtl_summed(aux, set, KDTL_KINDS_ALL, KDTL_SUM_QUEUED);
	case KDTL_CTR_READY:
		return kdtl_summed(aux, set, KDTL_KINDS_ALL & ~KDTL_KINDS_THROTTLED,
				   KDTL_SUM_READY);
	case KDTL_CTR_SLEPT:
		return kdtl_summed(aux, set, KDTL_KINDS_ALL, KDTL_SUM_SLEPT);
	case KDTL_CTR_THROTTLED:
		return kdtl_summed(aux, set, KDTL_KINDS_THROTTLED, KDTL_SUM_READY);
	case KDTL_CTR_BYTES:
		return kdtl_u64_read(&n->bytes) + (kdtl_set_counts(aux, set) ?
						   kdtl_u64_read(&aux->sink.at->head) : 0);
	case KDTL_CTR_LOST:
		return kdtl_u64_read(&n->lost);
	case KDTL_CTR_FILTERED:
		return kdtl_u64_read(&n->filtered);
	case KDTL_CTR_WAKEUPS:
		return kdtl_u64_read(&sc->wakeups);
	case KDTL_CTR_ENABLED:
		return kdtl_set_clock(aux, aux->enabled, true);
	case KDTL_CTR_RUNNING:
		return kdtl_set_clock(aux, sc->active,
				       aux->set == set && !aux->paused);
	case KDTL_NR_COUNTERS:
		break;
	}
	return 0;
}

/**
 * kdtl_counter_now() - read a counter on its own CPU
 * @aux: the CPU's area
 * @set: the set
 * @c: the counter
 *
 * Context: on the CPU, interrupts off.
 * Return: the value.
 */
u64 kdtl_counter_now(struct kdtl_aux *aux, struct kdtl_set *set,
		     enum kdtl_counter c)
{
	return kdtl_set_here(aux, set)->base[c] + kdtl_counted(aux, set, c);
}

/**
 * kdtl_counter_read() - read a counter of any CPU
 * @aux: the CPU's area
 * @set: the set
 * @c: the counter
 * @base: with the counter's base; if not, the count since kdtl_load()
 *
 * Context: task.
 * Return: the value; exact when no event is active on the CPU.
 */
u64 kdtl_counter_read(struct kdtl_aux *aux, struct kdtl_set *set,
		      enum kdtl_counter c, bool base)
{
	unsigned int seq;
	u64 value;

	do {
		seq = raw_read_seqcount_begin(&aux->seq);
		/*
		 * A value that changes meanwhile is read again.  KCSAN knows that of
		 * a seqcount section, but forgets it if the task is preempted there.
		 */
		value = data_race(base ? kdtl_counter_now(aux, set, c) :
				  kdtl_counted(aux, set, c));
	} while (read_seqcount_retry(&aux->seq, seq));
	return value;
}

/**
 * kdtl_counter_write() - set a counter of one CPU
 * @aux: the CPU's area
 * @set: the set
 * @c: the counter
 * @value: the value from which the counter goes on
 *
 * Context: on the CPU with interrupts off, or while no event is active there.
 */
void kdtl_counter_write(struct kdtl_aux *aux, struct kdtl_set *set,
			enum kdtl_counter c, u64 value)
{
	struct kdtl_set_cpu *sc = kdtl_set_here(aux, set);

	raw_write_seqcount_begin(&aux->seq);
	sc->base[c] = value - kdtl_counted(aux, set, c);
	sc->last[c] = value;
	raw_write_seqcount_end(&aux->seq);
}

/**
 * kdtl_counters_reset() - load the reset values of counters of the active set
 * @aux: the CPU's area
 * @which: the counters, 1 << counter
 * @long_reset: load the long reset values instead of the short ones
 *
 * Context: on the CPU with interrupts off, or while no event is active there.
 */
void kdtl_counters_reset(struct kdtl_aux *aux, u32 which, bool long_reset)
{
	struct kdtl_set *set = aux->set;
	const struct kdtl_counter_setup *setup;
	unsigned long bits = which;
	unsigned int c;
	u64 value;

	for_each_set_bit(c, &bits, KDTL_NR_COUNTERS) {
		setup = &set->setup[c];
		value = long_reset ? setup->long_reset : setup->short_reset;
		if (setup->random_mask)
			value -= ((u64)prandom_u32_state(&aux->random) << 32 |
				  prandom_u32_state(&aux->random)) & setup->random_mask;
		kdtl_counter_write(aux, set, c, value);
	}
}
