// SPDX-License-Identifier: GPL-2.0
/*
 * Event sets: switching, counters, overflow, pausing
 *
 * Each CPU of a session has an active set of its own and switches by itself,
 * so nothing here is shared between CPUs.  Switching changes the sink's mask
 * and where it counts, with interrupts off: the sink stays in the fan-out, so
 * no entry that both sets want is lost.
 *
 * kdtl_aux::seq lets other CPUs read a counter while its base or its clocks
 * change; what is counted on the path of an entry is read without it.
 */
#include <linux/error-injection.h>
#include <linux/hrtimer.h>
#include <linux/prandom.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>

#include "aux.h"
#include "pmu.h"
#include "session.h"
#include "trace.h"

/* A timer that fires more often would leave no time for anything else. */
#define KDTL_MIN_PERIOD		(50 * NSEC_PER_USEC)

/**
 * kdtl_set_alloc() - make a set
 * @id: its id
 *
 * Context: may sleep.
 * Return: the set, or NULL.
 */
struct kdtl_set *kdtl_set_alloc(u16 id)
{
	struct kdtl_set *set;

	set = kzalloc(sizeof(*set), GFP_KERNEL);
	if (!set)
		return NULL;
	set->id = id;
	set->mask = KDTL_MASK_ALL;
	set->cpu = alloc_percpu(struct kdtl_set_cpu);
	if (!set->cpu) {
		kfree(set);
		return NULL;
	}
	return set;
}
ALLOW_ERROR_INJECTION(kdtl_set_alloc, NULL);

/**
 * kdtl_set_free() - undo kdtl_set_alloc()
 * @set: in no list any more; NULL is fine
 *
 * Context: may sleep.
 */
void kdtl_set_free(struct kdtl_set *set)
{
	if (!set)
		return;
	free_percpu(set->cpu);
	kfree(set);
}

/**
 * kdtl_set_config() - say what a set logs
 * @set: the set
 * @mask: KDTL_MASK_*, 0: all
 * @period: see struct kdtl_config
 *
 * Context: under kdtl_session::lock, the session not started.
 */
void kdtl_set_config(struct kdtl_set *set, u32 mask, u64 period)
{
	set->mask = mask ?: KDTL_MASK_ALL;
	/* Beyond what a timer takes it would go off at once, and always. */
	set->period = period ? clamp_t(u64, period, KDTL_MIN_PERIOD, KTIME_MAX / 2) : 0;
}

static struct kdtl_set_cpu *kdtl_set_here(struct kdtl_aux *aux,
					  struct kdtl_set *set)
{
	return per_cpu_ptr(set->cpu, aux->cpu);
}

/* ------------------------------------------------------------------ clocks */

/*
 * Add what has passed since the clocks were looked at last.  What decides how
 * they go on is changed before kdtl_clocks_end(): other CPUs see both or none.
 */
static void kdtl_clocks_begin(struct kdtl_aux *aux)
{
	const u64 now = local_clock();

	raw_write_seqcount_begin(&aux->seq);
	if (aux->ticking) {
		aux->enabled += now - aux->clock;
		if (!aux->paused)
			kdtl_set_here(aux, aux->set)->active += now - aux->clock;
	}
	aux->clock = now;
}

static void kdtl_clocks_end(struct kdtl_aux *aux)
{
	raw_write_seqcount_end(&aux->seq);
}

/* ---------------------------------------------------------------- counters */

static u64 kdtl_counts_entries(const struct kdtl_counts *c)
{
	u64 sum = 0;
	int kind;

	for (kind = 0; kind < KDTL_NR_KINDS; kind++)
		sum += kdtl_u64_read(&c->entries[kind]);
	return sum;
}

/* How far the set's clock is past what is in @stored, seen from any CPU. */
static u64 kdtl_set_clock(struct kdtl_aux *aux, u64 stored, bool runs)
{
	const s64 since = local_clock() - aux->clock;

	return stored + (runs && aux->ticking ? max_t(s64, since, 0) : 0);
}

/* What was counted, without the base. */
static u64 kdtl_counted(struct kdtl_aux *aux, struct kdtl_set *set,
			enum kdtl_counter c)
{
	struct kdtl_set_cpu *sc = kdtl_set_here(aux, set);
	const struct kdtl_counts *n = &sc->counts;

	switch (c) {
	case KDTL_CTR_ENTRIES:
		return kdtl_counts_entries(n);
	case KDTL_CTR_CEDE:
	case KDTL_CTR_PREEMPT:
	case KDTL_CTR_FAULT:
	case KDTL_CTR_UNKNOWN:
		return kdtl_u64_read(&n->entries[c - KDTL_CTR_CEDE]);
	case KDTL_CTR_QUEUED:
		return kdtl_u64_read(&n->queued);
	case KDTL_CTR_READY:
		return kdtl_u64_read(&n->ready);
	case KDTL_CTR_SLEPT:
		return kdtl_u64_read(&n->slept);
	case KDTL_CTR_BYTES:
		return (kdtl_counts_entries(n) - kdtl_u64_read(&n->lost)) * KDTL_ENTRY_SIZE +
		       kdtl_u64_read(&n->partial);
	case KDTL_CTR_LOST:
		return kdtl_u64_read(&n->lost);
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
 * kdtl_counter_read() - a counter's value on one CPU
 * @aux: the CPU's area
 * @set: the set
 * @c: the counter
 *
 * Context: task.
 * Return: the value; exact when no event is active on the CPU.
 */
u64 kdtl_counter_read(struct kdtl_aux *aux, struct kdtl_set *set,
		      enum kdtl_counter c)
{
	unsigned int seq;
	u64 value;

	do {
		seq = raw_read_seqcount_begin(&aux->seq);
		/*
		 * What changes meanwhile is read again. KCSAN knows that of such
		 * a section, but not any more if the task is preempted in it.
		 */
		value = data_race(kdtl_set_here(aux, set)->base[c] +
				  kdtl_counted(aux, set, c));
	} while (read_seqcount_retry(&aux->seq, seq));
	return value;
}

/**
 * kdtl_counter_write() - set a counter's value on one CPU
 * @aux: the CPU's area
 * @set: the set
 * @c: the counter
 * @value: from here on it counts
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

static void kdtl_counters_reset(struct kdtl_aux *aux, u32 which, bool full)
{
	struct kdtl_set *set = aux->set;
	const struct kdtl_counter_setup *setup;
	unsigned long bits = which;
	unsigned int c;
	u64 value;

	for_each_set_bit(c, &bits, KDTL_NR_COUNTERS) {
		setup = &set->setup[c];
		value = full ? setup->long_reset : setup->short_reset;
		if (setup->random_mask)
			value -= ((u64)prandom_u32_state(&aux->random) << 32 |
				  prandom_u32_state(&aux->random)) & setup->random_mask;
		kdtl_counter_write(aux, set, c, value);
	}
}

/* -------------------------------------------------------------------- sets */

static struct kdtl_set *kdtl_set_after(struct kdtl_session *s,
				       struct kdtl_set *set)
{
	return list_is_last(&set->node, &s->sets) ?
		list_first_entry(&s->sets, struct kdtl_set, node) :
		list_next_entry(set, node);
}

/* The set becomes the CPU's active one, from its beginning. */
static void kdtl_set_enter(struct kdtl_aux *aux, struct kdtl_set *set)
{
	struct kdtl_set_cpu *sc = kdtl_set_here(aux, set);

	WRITE_ONCE(aux->set, set);
	aux->sink.counts = &sc->counts;
	kdtl_u64_set(&sc->runs, sc->runs + 1);
	kdtl_u64_set(&sc->remaining, set->timeout);
	sc->overflows = 0;
}

/* Let the active set's settings act on the sink. */
static void kdtl_set_apply(struct kdtl_aux *aux)
{
	kdtl_sink_set_mask(&aux->sink, aux->paused ? 0 : aux->set->mask);
	aux->sink.period = aux->set->period;
	kdtl_aux_set_stop(aux);
}

static void kdtl_timer_start(struct kdtl_aux *aux)
{
	struct kdtl_set_cpu *sc = kdtl_set_here(aux, aux->set);

	if (!sc->remaining || aux->paused)
		return;
	hrtimer_start(&aux->set_timer, ns_to_ktime(sc->remaining),
		      HRTIMER_MODE_REL_PINNED_HARD);
	kdtl_u64_set(&aux->set_until, ktime_to_ns(hrtimer_get_expires(&aux->set_timer)));
}

static void kdtl_timer_stop(struct kdtl_aux *aux)
{
	struct kdtl_set_cpu *sc = kdtl_set_here(aux, aux->set);

	/* On the timer's CPU with interrupts off: it is not running. */
	if (hrtimer_try_to_cancel(&aux->set_timer) == 1)
		kdtl_u64_set(&sc->remaining,
			     max_t(s64, 1, ktime_to_ns(hrtimer_get_remaining(&aux->set_timer))));
	kdtl_u64_set(&aux->set_until, 0);
}

static void kdtl_period_start(struct kdtl_aux *aux)
{
	if (aux->sink.period)
		hrtimer_start(&aux->period_timer, ns_to_ktime(aux->sink.period),
			      HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * kdtl_sets_load() - begin with the first set, all counters at their start
 * @aux: the CPU's area; no event is active
 *
 * Context: any.
 */
void kdtl_sets_load(struct kdtl_aux *aux)
{
	struct kdtl_session *s = aux->session;
	struct kdtl_set *set;
	int c;

	aux->enabled = 0;
	aux->paused = false;
	list_for_each_entry(set, &s->sets, node) {
		memset(kdtl_set_here(aux, set), 0, sizeof(struct kdtl_set_cpu));
		for (c = 0; c < KDTL_NR_COUNTERS; c++)
			kdtl_counter_write(aux, set, c, set->setup[c].value);
	}
	kdtl_set_enter(aux, list_first_entry(&s->sets, struct kdtl_set, node));
	kdtl_set_apply(aux);
}

/**
 * kdtl_sets_rewind() - make the first set the CPU's active one
 * @aux: the CPU's area; no event is active, and none has been since unload
 *
 * Context: under kdtl_session::lock.
 */
void kdtl_sets_rewind(struct kdtl_aux *aux)
{
	aux->set = list_first_entry(&aux->session->sets, struct kdtl_set, node);
	aux->sink.counts = &kdtl_set_here(aux, aux->set)->counts;
}

/**
 * kdtl_set_on() - the CPU's event is about to become active
 * @aux: the CPU's area
 *
 * Context: on the CPU, interrupts off.
 */
void kdtl_set_on(struct kdtl_aux *aux)
{
	kdtl_clocks_begin(aux);
	aux->ticking = true;
	kdtl_clocks_end(aux);
	kdtl_set_apply(aux);
	kdtl_timer_start(aux);
	kdtl_period_start(aux);
}

/**
 * kdtl_set_off() - the CPU's event is active no more
 * @aux: the CPU's area
 *
 * Context: on the CPU, interrupts off.
 */
void kdtl_set_off(struct kdtl_aux *aux)
{
	kdtl_timer_stop(aux);
	hrtimer_try_to_cancel(&aux->period_timer);
	kdtl_clocks_begin(aux);
	aux->ticking = false;
	kdtl_clocks_end(aux);
}

/**
 * kdtl_set_switch() - the next set takes over
 * @aux: the CPU's area
 *
 * Context: on the CPU, interrupts off.
 * Return: 0, or what the source says: only if it was off, after an overflow.
 */
int kdtl_set_switch(struct kdtl_aux *aux)
{
	struct kdtl_set *from = aux->set, *to = kdtl_set_after(aux->session, from);
	int err = 0;
	struct kdtl_msg msg = {
		.type		= KDTL_MSG_SET_SWITCH,
		.cpu		= aux->cpu,
		.set		= to->id,
		.set_switch	= { .from = from->id },
	};

	trace_kdtl_set_switch(aux, from->id, to->id);
	kdtl_timer_stop(aux);
	kdtl_clocks_begin(aux);
	kdtl_set_enter(aux, to);
	kdtl_clocks_end(aux);
	kdtl_set_apply(aux);
	if (aux->sink.linked) {
		kdtl_timer_start(aux);
		kdtl_period_start(aux);
		err = kdtl_sink_update(aux->session->pmu);
	}
	kdtl_aux_post(aux, &msg);
	return err;
}

/* Capture stops on this CPU until kdtl_restart(). */
static void kdtl_set_pause(struct kdtl_aux *aux)
{
	kdtl_timer_stop(aux);
	kdtl_clocks_begin(aux);
	aux->paused = true;
	kdtl_clocks_end(aux);
	atomic_inc(&aux->session->nr_paused);
	kdtl_set_apply(aux);
	/* Less than it was: a driver cannot refuse that. */
	WARN_ON_ONCE(kdtl_sink_update(aux->session->pmu));
}

/**
 * kdtl_set_check() - look for overflows, and do what they ask for
 * @aux: the CPU's area
 *
 * All counters that overflowed at once are one overflow with one message.
 *
 * Context: on the CPU, interrupts off, maybe under the runqueue lock.
 */
void kdtl_set_check(struct kdtl_aux *aux)
{
	struct kdtl_set *set = aux->set;
	struct kdtl_set_cpu *sc = kdtl_set_here(aux, set);
	unsigned long watched = set->watched;
	u32 over = 0, reset = 0;
	unsigned int c;
	bool due;
	u64 value;

	if (aux->paused)
		return;
	for_each_set_bit(c, &watched, KDTL_NR_COUNTERS) {
		value = sc->base[c] + kdtl_counted(aux, set, c);
		if (value < sc->last[c]) {
			over |= BIT(c);
			reset |= BIT(c) | set->setup[c].resets;
		}
		sc->last[c] = value;
	}
	if (!over)
		return;

	trace_kdtl_overflow(aux, set->id, over);
	WRITE_ONCE(sc->overflowed, over);
	sc->overflows += hweight32(over);
	due = set->switch_overflows && sc->overflows >= set->switch_overflows;

	if (over & set->notify) {
		struct kdtl_msg msg = {
			.type		= KDTL_MSG_OVERFLOW,
			.cpu		= aux->cpu,
			.set		= set->id,
			.overflow	= { .counters = over },
		};

		kdtl_aux_post(aux, &msg);
		if (aux->session->pause) {
			aux->reset_due = reset;
			aux->switch_due = due;
			kdtl_set_pause(aux);
			return;
		}
	}
	kdtl_counters_reset(aux, reset, false);
	if (due)
		WARN_ON_ONCE(kdtl_set_switch(aux));
}

/**
 * kdtl_set_restart() - go on after an overflow that paused the CPU
 * @aux: the CPU's area
 *
 * The source may have been switched off, and refuse now: then the CPU stays
 * paused.
 *
 * Context: on the CPU with interrupts off, or while no event is active there.
 * Return: 0, or what the source says.
 */
int kdtl_set_restart(struct kdtl_aux *aux)
{
	int err = 0;

	if (!aux->paused)
		return 0;
	kdtl_counters_reset(aux, aux->reset_due, true);
	kdtl_clocks_begin(aux);
	aux->paused = false;
	kdtl_clocks_end(aux);
	atomic_dec(&aux->session->nr_paused);
	if (aux->switch_due) {
		err = kdtl_set_switch(aux);
	} else {
		kdtl_set_apply(aux);
		if (aux->sink.linked) {
			kdtl_timer_start(aux);
			err = kdtl_sink_update(aux->session->pmu);
		}
	}
	if (err) {
		aux->reset_due = 0;
		aux->switch_due = false;
		kdtl_set_pause(aux);
	}
	return err;
}

/**
 * kdtl_set_remaining() - time until the next set takes over
 * @aux: the CPU's area
 * @set: whose
 *
 * Context: any.
 * Return: ns; 0 if the set has no timeout.
 */
u64 kdtl_set_remaining(struct kdtl_aux *aux, struct kdtl_set *set)
{
	u64 until;

	if (READ_ONCE(aux->set) != set)
		return set->timeout;
	/* The timer belongs to the CPU: others do not ask whether it runs. */
	until = kdtl_u64_read(&aux->set_until);
	if (until)
		return max_t(s64, 0, until - ktime_get_ns());
	return kdtl_u64_read(&kdtl_set_here(aux, set)->remaining);
}

/**
 * kdtl_set_active() - time that a set was active
 * @aux: the CPU's area
 * @set: whose
 *
 * Context: task.
 * Return: ns since kdtl_load().
 */
u64 kdtl_set_active(struct kdtl_aux *aux, struct kdtl_set *set)
{
	unsigned int seq;
	u64 active;

	do {
		seq = raw_read_seqcount_begin(&aux->seq);
		/* As in kdtl_counter_read(). */
		active = data_race(kdtl_counted(aux, set, KDTL_CTR_RUNNING));
	} while (read_seqcount_retry(&aux->seq, seq));
	return active;
}
