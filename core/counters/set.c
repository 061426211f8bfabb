// SPDX-License-Identifier: GPL-2.0
/*
 * Event sets: which one is active on a CPU, and what an overflow does
 *
 * Each CPU of a session has an active set of its own and switches by itself, so
 * CPUs share nothing here but the number of paused CPUs.  A switch changes the
 * sink's mask and the place where it counts, with interrupts off.  The sink stays
 * in the fan-out, so no entry that both sets want is lost.
 */
#include <linux/error-injection.h>
#include <linux/hrtimer.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>

#include "counter.h"
#include "../counting.h"
#include "../session.h"
#include "../trace.h"
#include "../writer.h"

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
	set->log.mask = KDTL_MASK_ALL;
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
 * @set: the set, in no list any more; may be NULL
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
 * kdtl_sets_alloc() - make event set 0 of a new session, and its queue of messages
 * @s: the session; the set logs what it says
 * @attr: the session's attributes
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int kdtl_sets_alloc(struct kdtl_session *s, const struct kdtl_session_attr *attr)
{
	struct kdtl_set *set = kdtl_set_alloc(0);

	if (!set)
		return -ENOMEM;
	set->log = s->log;
	list_add(&set->node, &s->sets);
	return kdtl_msgq_init(&s->msgs, attr->msg_pages, attr->msg_types,
			      attr->flags & KDTL_SESSION_PAUSE);
}

/**
 * kdtl_sets_free() - undo kdtl_sets_init() and kdtl_sets_alloc()
 * @s: the session
 *
 * Context: may sleep.
 */
void kdtl_sets_free(struct kdtl_session *s)
{
	struct kdtl_set *set, *next;

	list_for_each_entry_safe(set, next, &s->sets, node)
		kdtl_set_free(set);
	kdtl_msgq_free(&s->msgs);
}

/**
 * kdtl_session_set() - find an event set
 * @s: the session
 * @id: the set's id
 *
 * Context: under kdtl_session::lock.
 * Return: the set or NULL.
 */
struct kdtl_set *kdtl_session_set(struct kdtl_session *s, u16 id)
{
	struct kdtl_set *set;

	lockdep_assert_held(&s->lock);
	list_for_each_entry(set, &s->sets, node) {
		if (set->id == id)
			return set;
	}
	return NULL;
}

static struct kdtl_set *kdtl_set_after(struct kdtl_session *s,
				       struct kdtl_set *set)
{
	return list_is_last(&set->node, &s->sets) ?
		list_first_entry(&s->sets, struct kdtl_set, node) :
		list_next_entry(set, node);
}

/* Make @set the CPU's active one, from its beginning. */
static void kdtl_set_enter(struct kdtl_aux *aux, struct kdtl_set *set)
{
	struct kdtl_set_cpu *sc = kdtl_set_here(aux, set);

	WRITE_ONCE(aux->set, set);
	aux->counts = &sc->counts;
	kdtl_u64_set(&sc->runs, sc->runs + 1);
	kdtl_u64_set(&sc->remaining, set->timeout);
	sc->overflows = 0;
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

	/*
	 * This is the timer's CPU, with interrupts off: if the timer's function runs, it has called
	 * this, see kdtl_set_timer(), and the timer is not cancelled.  The set's time is then over,
	 * if it has one.
	 */
	if (hrtimer_try_to_cancel(&aux->set_timer) && sc->remaining)
		kdtl_u64_set(&sc->remaining,
			     max_t(s64, 1, ktime_to_ns(hrtimer_get_remaining(&aux->set_timer))));
	kdtl_u64_set(&aux->set_until, 0);
}

/**
 * kdtl_sets_load() - begin with the first set and the counters' start values
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
}

/**
 * kdtl_sets_rewind() - make the first set the CPU's active one
 * @aux: the CPU's area; no event was active since kdtl_unload()
 *
 * Context: under kdtl_session::lock.
 */
void kdtl_sets_rewind(struct kdtl_aux *aux)
{
	aux->set = list_first_entry(&aux->session->sets, struct kdtl_set, node);
	aux->counts = &kdtl_set_here(aux, aux->set)->counts;
}

/**
 * kdtl_counts_on() - have the active set count, for an event that becomes active
 * @aux: the CPU's area
 *
 * Context: on the CPU, interrupts off.
 */
void kdtl_counts_on(struct kdtl_aux *aux)
{
	kdtl_clocks_begin(aux);
	aux->ticking = true;
	kdtl_clocks_end(aux);
	kdtl_timer_start(aux);
}

/**
 * kdtl_counts_off() - stop the active set's timer and clocks with its event
 * @aux: the CPU's area
 *
 * Context: on the CPU, interrupts off.
 */
void kdtl_counts_off(struct kdtl_aux *aux)
{
	kdtl_timer_stop(aux);
	kdtl_clocks_begin(aux);
	aux->ticking = false;
	kdtl_clocks_end(aux);
}

/*
 * Have a polled source hand out what it has so far, which belongs to the CPU's sinks as they
 * are.  An entry may make a counter overflow, which may pause the CPU or switch its set.
 */
static void kdtl_set_poll(struct kdtl_aux *aux)
{
	lockdep_assert_irqs_disabled();
	/* The source is asked for what it delivers already, so a driver cannot refuse. */
	WARN_ON_ONCE(kdtl_fanout_update(aux->session->pmu));
}

/* Post a message, and wake the reader. */
static void kdtl_set_post(struct kdtl_aux *aux, struct kdtl_msg *msg)
{
	kdtl_msgq_put(&aux->session->msgs, msg);
	irq_work_queue(&aux->wake);
}

/* Go on with the active set, after a switch or a pause.  Returns 0, or the source's error. */
static int kdtl_set_resume(struct kdtl_aux *aux)
{
	kdtl_log_apply(aux, &aux->set->log);
	if (!aux->sink.linked)
		return 0;
	kdtl_timer_start(aux);
	return kdtl_fanout_update(aux->session->pmu);
}

/*
 * Switch to the next set.  The source has handed out what it has, or is just doing so.  Returns 0,
 * or the source's error, which is possible only if the source was off because of a pause.
 */
static int kdtl_set_switch(struct kdtl_aux *aux)
{
	struct kdtl_set *from = aux->set, *to = kdtl_set_after(aux->session, from);
	int err;
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
	/* The message wakes the reader for the entries so far; then a new period begins. */
	hrtimer_try_to_cancel(&aux->period_timer);
	err = kdtl_set_resume(aux);
	kdtl_set_post(aux, &msg);
	return err;
}

/* Log nothing on this CPU until kdtl_restart(). */
static void kdtl_set_pause(struct kdtl_aux *aux)
{
	kdtl_timer_stop(aux);
	kdtl_clocks_begin(aux);
	aux->paused = true;
	kdtl_clocks_end(aux);
	/* [msg.B] publishes this with the message, so its reader finds a paused CPU. */
	atomic_inc(&aux->session->nr_paused);
	kdtl_log_apply(aux, &aux->set->log);
	/* The source delivers less than before, so a driver cannot refuse. */
	WARN_ON_ONCE(kdtl_fanout_update(aux->session->pmu));
}

/**
 * kdtl_set_check() - look for counters that overflowed, and act on them
 * @aux: the CPU's area
 *
 * Counters that overflowed together make one overflow with one message.
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
		value = kdtl_counter_now(aux, set, c);
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

		/* Whoever gets the message may restart the CPU, so pause it first. */
		if (aux->session->msgs.pause) {
			aux->reset_due = reset;
			aux->switch_due = due;
			kdtl_set_pause(aux);
		}
		kdtl_set_post(aux, &msg);
		if (aux->session->msgs.pause)
			return;
	}
	kdtl_counters_reset(aux, reset, false);
	if (due)
		WARN_ON_ONCE(kdtl_set_switch(aux));
}

/**
 * kdtl_set_restart() - end the pause of a CPU
 * @aux: the CPU's area
 *
 * What the source has until now belongs to the pause, so this area does not get it.  If
 * the source was off meanwhile, it may refuse to be switched on.  Then the CPU stays paused.
 *
 * Context: on the CPU with interrupts off, or while no event is active there.
 * Return: 0, or the source's error.
 */
int kdtl_set_restart(struct kdtl_aux *aux)
{
	int err;

	if (!aux->paused)
		return 0;
	if (aux->sink.linked)
		kdtl_set_poll(aux);
	kdtl_counters_reset(aux, aux->reset_due, true);
	kdtl_clocks_begin(aux);
	aux->paused = false;
	kdtl_clocks_end(aux);
	atomic_dec(&aux->session->nr_paused);
	err = aux->switch_due ? kdtl_set_switch(aux) : kdtl_set_resume(aux);
	if (err) {
		aux->reset_due = 0;
		aux->switch_due = false;
		kdtl_set_pause(aux);
	}
	return err;
}

/**
 * kdtl_set_remaining() - read the time until the next set takes over
 * @aux: the CPU's area
 * @set: the set
 *
 * Context: any.
 * Return: ns; 0 if the set has no timeout.
 */
u64 kdtl_set_remaining(struct kdtl_aux *aux, struct kdtl_set *set)
{
	u64 until;

	if (READ_ONCE(aux->set) != set)
		return set->timeout;
	/* The timer belongs to its CPU; others read only when it will expire. */
	until = kdtl_u64_read(&aux->set_until);
	if (until)
		return max_t(s64, 0, until - ktime_get_ns());
	return kdtl_u64_read(&kdtl_set_here(aux, set)->remaining);
}

/* Switch sets when the active one's timeout has passed.  In hard irq. */
static enum hrtimer_restart kdtl_set_timer(struct hrtimer *timer)
{
	struct kdtl_aux *aux = container_of(timer, struct kdtl_aux, set_timer);

	/*
	 * On another CPU, this area must not be touched.  The timer may also expire in a pause: the
	 * switch below starts it again and then polls some sources, and if that pauses the CPU, it
	 * cannot cancel the timer from here.  Only kdtl_set_restart() ends a pause.
	 */
	if (smp_processor_id() != aux->cpu || !aux->sink.linked || aux->paused)
		return HRTIMER_NORESTART;
	/* An overflow does not switch away from a set with a timeout, but it may pause the CPU. */
	kdtl_set_poll(aux);
	if (aux->paused)
		aux->switch_due = true;
	else
		WARN_ON_ONCE(kdtl_set_switch(aux));
	/* If the next set has a timeout, it has started the timer again. */
	return HRTIMER_NORESTART;
}

/**
 * kdtl_counts_init() - prepare the counters of a new area
 * @aux: the area
 *
 * Context: any.
 */
void kdtl_counts_init(struct kdtl_aux *aux)
{
	prandom_seed_state(&aux->random, local_clock() + aux->cpu);
	seqcount_init(&aux->seq);
	hrtimer_setup(&aux->set_timer, kdtl_set_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
}
