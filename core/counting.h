/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the core and the verbs call counters, event sets and messages
 *
 * Without CONFIG_KDTL_COUNTERS there are none, and this costs neither time nor memory: a
 * session logs what it was created for, and its reader waits for data.
 */
#ifndef _KDTL_COUNTING_H
#define _KDTL_COUNTING_H

#include "session.h"

#ifdef CONFIG_KDTL_COUNTERS

void kdtl_msg_post_data(struct kdtl_aux *aux);
void kdtl_msg_lost(struct kdtl_aux *aux);
void kdtl_msg_cpu(struct kdtl_session *s, int cpu, bool online, int err);
void kdtl_msg_end(struct kdtl_session *s);

/* Post that there is new data, if the reader asked for such messages. */
static inline void kdtl_msg_data(struct kdtl_aux *aux)
{
	if (kdtl_msgq_posts(&aux->session->msgs, KDTL_MSG_AUX))
		kdtl_msg_post_data(aux);
}

static inline void kdtl_msgs_reset(struct kdtl_session *s)
{
	kdtl_msgq_reset(&s->msgs);
}

static inline bool kdtl_msgs_empty(struct kdtl_session *s)
{
	return kdtl_msgq_empty(&s->msgs);
}

/* The session has no event set yet. */
static inline void kdtl_sets_init(struct kdtl_session *s)
{
	INIT_LIST_HEAD(&s->sets);
}

/* What the CPU logs now. */
static inline const struct kdtl_log *kdtl_aux_log(const struct kdtl_aux *aux)
{
	return &aux->set->log;
}

/* Does a counter's overflow mean something, so that each entry needs kdtl_set_check()? */
static inline bool kdtl_aux_watched(const struct kdtl_aux *aux)
{
	return aux->set->watched;
}

static inline bool kdtl_aux_paused(const struct kdtl_aux *aux)
{
	return READ_ONCE(aux->paused);
}

static inline bool kdtl_session_paused(const struct kdtl_session *s)
{
	return atomic_read(&s->nr_paused);
}

static inline void kdtl_counts_exit(struct kdtl_aux *aux)
{
	hrtimer_cancel(&aux->set_timer);
}

/* Count entries of unknown kinds that the source did not hand out. */
static inline void kdtl_count_unknown(struct kdtl_aux *aux, u64 nr)
{
	kdtl_u64_add(&aux->counts->tally[KDTL_KIND_UNKNOWN].sum[KDTL_SUM_ENTRIES], nr);
}

static inline void kdtl_count_lost(struct kdtl_aux *aux, u64 nr)
{
	kdtl_u64_add(&aux->counts->lost, nr);
}

static inline void kdtl_count_filtered(struct kdtl_aux *aux)
{
	kdtl_u64_add(&aux->counts->filtered, 1);
}

/* Count bytes that a driver has written. */
static inline void kdtl_count_bytes(struct kdtl_aux *aux, u64 size)
{
	/* While a set counts, the head stands for the bytes, see kdtl_counts_fold(). */
	if (!aux->ticking)
		kdtl_u64_add(&aux->counts->bytes, size);
}

static inline void kdtl_count_wakeup(struct kdtl_aux *aux)
{
	struct kdtl_set_cpu *sc = container_of(aux->counts, struct kdtl_set_cpu, counts);

	kdtl_u64_add(&sc->wakeups, 1);
}

#else

#define KDTL_MSG_TYPES	0

static inline void kdtl_msg_data(struct kdtl_aux *aux) {}
static inline void kdtl_msg_lost(struct kdtl_aux *aux) {}
static inline void kdtl_msg_cpu(struct kdtl_session *s, int cpu, bool online, int err) {}
static inline void kdtl_msg_end(struct kdtl_session *s) {}
static inline void kdtl_msgs_reset(struct kdtl_session *s) {}

static inline bool kdtl_msgs_empty(struct kdtl_session *s)
{
	return true;
}

static inline void kdtl_sets_init(struct kdtl_session *s) {}
static inline void kdtl_sets_free(struct kdtl_session *s) {}
static inline void kdtl_sets_load(struct kdtl_aux *aux) {}
static inline void kdtl_set_check(struct kdtl_aux *aux) {}

static inline int kdtl_sets_alloc(struct kdtl_session *s, const struct kdtl_session_attr *attr)
{
	return 0;
}

static inline const struct kdtl_log *kdtl_aux_log(const struct kdtl_aux *aux)
{
	return &aux->session->log;
}

static inline bool kdtl_aux_watched(const struct kdtl_aux *aux)
{
	return false;
}

static inline bool kdtl_aux_paused(const struct kdtl_aux *aux)
{
	return false;
}

static inline bool kdtl_session_paused(const struct kdtl_session *s)
{
	return false;
}

static inline void kdtl_counts_init(struct kdtl_aux *aux) {}
static inline void kdtl_counts_exit(struct kdtl_aux *aux) {}

static inline void kdtl_counts_on(struct kdtl_aux *aux)
{
	kdtl_sink_set_mask(&aux->sink, aux->session->log.mask);
}

static inline void kdtl_counts_off(struct kdtl_aux *aux) {}
static inline void kdtl_count_unknown(struct kdtl_aux *aux, u64 nr) {}
static inline void kdtl_count_lost(struct kdtl_aux *aux, u64 nr) {}
static inline void kdtl_count_filtered(struct kdtl_aux *aux) {}
static inline void kdtl_count_bytes(struct kdtl_aux *aux, u64 size) {}
static inline void kdtl_count_wakeup(struct kdtl_aux *aux) {}

#endif /* CONFIG_KDTL_COUNTERS */
#endif /* _KDTL_COUNTING_H */
