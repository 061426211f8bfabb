/* SPDX-License-Identifier: GPL-2.0 */
/* A session, as the verbs in api/ and CPU hotplug see it. */
#ifndef _KDTL_SESSION_H
#define _KDTL_SESSION_H

#include <linux/bits.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>

#include "aux.h"
#include "compat.h"
#ifdef CONFIG_KDTL_COUNTERS
#include "counters/msgq.h"
#endif

struct kdtl_merge;
struct kdtl_runner;
struct module;

#define KDTL_OWNER_LEN	64	/* "function [module]" */

enum kdtl_state {
	KDTL_CREATED,
	KDTL_STOPPED,		/* loaded, not started */
	KDTL_STARTED,
};

/* What is left of the last wake-up. */
#define KDTL_PENDING_NEW	BIT(0)	/* no verb has taken it: its count is in the completion */
#define KDTL_PENDING_DATA	BIT(1)	/* no kdtl_wait() has, and it may have been for data */
#define KDTL_PENDING_ALL	(KDTL_PENDING_NEW | KDTL_PENDING_DATA)

/**
 * struct kdtl_area_ops - how to handle a session's areas and events, which are kdtl's own or, in
 *	a raw session, perf's.  The path of an entry does not use this
 * @entries: the areas hold entries, not just bytes
 * @alloc: make the area of a CPU; returns ERR_PTR in case of an error
 * @free: undo @alloc, when no event writes any more
 * @open: give a CPU that is online its event, and enable that if the session is started; may set
 *	@why to the reason of an error, for the log
 * @close: undo @open; the CPU goes offline, or the session is KDTL_CREATED
 * @enable: enable the event, or disable it
 * @settle: report everything that the event has written; it writes no more
 * @peek: kdtl_aux_peek() of a session whose areas do not hold entries; NULL for entries
 * @consume: kdtl_aux_consume() of such a session
 * @snapshot: kdtl_aux_snapshot() of such a session
 * @end: forget the session's source, when no area is left; may be NULL
 */
struct kdtl_area_ops {
	bool		entries;
	struct kdtl_aux	*(*alloc)(struct kdtl_session *s, int cpu);
	void		(*free)(struct kdtl_aux *aux);
	int		(*open)(struct kdtl_aux *aux, const char **why);
	void		(*close)(struct kdtl_aux *aux);
	void		(*enable)(struct kdtl_aux *aux, bool enable);
	void		(*settle)(struct kdtl_aux *aux);
	ssize_t		(*peek)(struct kdtl_aux *aux, const void **span);
	int		(*consume)(struct kdtl_aux *aux, size_t bytes);
	ssize_t		(*snapshot)(struct kdtl_aux *aux, void *buf, size_t len);
	void		(*end)(struct kdtl_session *s);
};

/**
 * struct kdtl_session - see kdtl_session_create()
 * @lock: serialises the verbs that change the session; protects @state,
 *	@loaded and the life of the areas.  Taken before the CPU hotplug lock
 * @state: written under @lock and the hotplug lock (read side)
 * @closing: kdtl_session_close() has begun, so every verb refuses
 * @users: number of verbs at work, plus one until kdtl_session_close()
 * @idle: completed by the last user
 * @pmu: the source
 * @ops: how to handle its areas and events
 * @used: the registered source that the session uses: @pmu or, in a raw session, the
 *	source whose data it reads; NULL: the data is of a driver that does not know kdtl
 * @cpus: CPUs where it may be loaded
 * @named: the caller named @cpus; if not, @cpus has all, and kdtl_load() leaves
 *	isolated ones out unless its caller names them
 * @loaded: CPUs where it is loaded
 * @reading: held while the reader that kdtl runs has a span, while a merge takes in entries, and
 *	while kdtl_load() drops them.  Taken before @lock; readers only try to take it
 * @loads: number of kdtl_load() calls, so that a merge notices new areas and positions
 * @starts: odd while events may write entries; changes before an event begins to, so that a
 *	merge notices it.  Written under the hotplug lock
 * @hotplug: in the list of sessions that follow CPU hotplug
 * @aux: areas by CPU; set once, freed by kdtl_session_close()
 * @layout: properties of all areas
 * @log: what is logged; with counters, what event set 0 begins with
 * @sets: event sets by id; set 0 always exists
 * @nr_paused: CPUs that wait for kdtl_restart()
 * @msgs: messages to the reader
 * @merge: the merge that reads the session, or NULL; under @lock
 * @runner: the reader that kdtl_session_open() runs, or NULL
 * @no_reader: kdtl_aux_peek() and kdtl_aux_consume() are refused, because @merge or
 *	@runner reads or the session is in overwrite mode, or go through @ops, because
 *	it is raw.  One flag for all, so that they test it once; written under @lock
 * @mem: bytes accounted to the session
 * @done: the completion that is completed on a wake-up: the caller's, or @own_done
 * @own_done: used if the caller has none
 * @pending: KDTL_PENDING_*; under the lock of @done's queue
 * @waited: a verb has waited, or looked, for a wake-up
 * @due: areas that may have enough unread data for a kdtl_wait(); under the same lock
 * @wake: the caller's function to call on a wake-up, under @wake_lock; may be NULL
 * @wake_data: the argument of @wake
 * @wake_lock: protects @wake while it is called.  Taken in hard irq; no other kdtl
 *	lock is taken inside
 * @stops: number of calls of kdtl_stop() and kdtl_unload(), each of which ends all
 *	waits; written under @lock
 * @module: the module that called kdtl_session_create(); NULL: the kernel itself
 * @owner: name of the function that called kdtl_session_create(), because an
 *	address in a module's init code soon means nothing
 * @id: number for people to read, from 1
 * @node: in the list of all sessions
 */
struct kdtl_session {
	struct mutex		lock;
	enum kdtl_state		state;
	bool			closing;
	refcount_t		users;
	struct completion	idle;

	struct kdtl_pmu		*pmu;
	const struct kdtl_area_ops *ops;
	struct kdtl_pmu		*used;
	cpumask_var_t		cpus;
	bool			named;
	cpumask_var_t		loaded;
	struct mutex		reading;
	u32			loads;
	u32			starts;
	struct hlist_node	hotplug;

	struct kdtl_aux * __percpu *aux;
	struct kdtl_aux_layout	layout;
	struct kdtl_log		log;
#ifdef CONFIG_KDTL_COUNTERS
	struct list_head	sets;
	atomic_t		nr_paused;
	struct kdtl_msgq	msgs;
#endif
	struct kdtl_merge	*merge;
	struct kdtl_runner	*runner;
	bool			no_reader;
	atomic64_t		mem;

	struct completion	*done;
	struct completion	own_done;
	u8			pending;
	bool			waited;
	struct hlist_head	due;
	void			(*wake)(void *data);
	void			*wake_data;
	raw_spinlock_t		wake_lock;
	unsigned int		stops;

	struct module		*module;
	char			owner[KDTL_OWNER_LEN];
	u32			id;
	struct list_head	node;
};

/* The CPU's area; NULL if the session was never loaded there. */
static inline struct kdtl_aux *kdtl_session_aux(struct kdtl_session *s, int cpu)
{
	return READ_ONCE(*per_cpu_ptr(s->aux, cpu));
}

int kdtl_session_refuse(const struct kdtl_session *s, const char *verb,
			unsigned long caller);
int kdtl_sleep_refuse(const char *owner, const char *verb);
int kdtl_null_refuse(const struct kdtl_session *s, const char *verb, const char *what);

/*
 * A verb's first checks: is there a session, and are the other pointers not NULL?  Each is 0,
 * or -EINVAL with a line in the log.
 */
#define kdtl_session_check(s)	\
	(IS_ERR_OR_NULL(s) ? kdtl_session_refuse(s, __func__, _RET_IP_) : 0)
#define kdtl_null_check(s, p)	((p) ? 0 : kdtl_null_refuse(s, __func__, #p))

/*
 * The first check of a verb that may sleep: to sleep in wake(), or in a timer's function, could
 * stop the machine.  @owner is kdtl_session::owner.  Returns 0 or -EDEADLK.
 */
static inline int kdtl_may_sleep(const char *owner, const char *verb)
{
	const bool atomic = kdtl_is_atomic();

	might_sleep_if(!atomic);
	return atomic ? kdtl_sleep_refuse(owner, verb) : 0;
}

/*
 * Every verb that may sleep holds the session, so that kdtl_session_close() waits for it.  Begin
 * and enter come first in a verb; enter and leave take the lock as well.
 */
int kdtl_session_hold(struct kdtl_session *s);
int kdtl_session_begin(struct kdtl_session *s, const char *verb,
		       unsigned long caller);
void kdtl_session_lock(struct kdtl_session *s);
int kdtl_session_lock_live(struct kdtl_session *s);
int kdtl_session_enter(struct kdtl_session *s, const char *verb,
		       unsigned long caller);
void kdtl_session_leave(struct kdtl_session *s);

/* Undo kdtl_session_hold(), in any context.  Inline, because each verb ends with it. */
static inline void kdtl_session_release(struct kdtl_session *s)
{
	if (refcount_dec_and_test(&s->users))
		complete(&s->idle);
}

/* core/late.c */
void kdtl_cpus_say_who(const char *owner);

/* core/cpus.c */
extern const struct kdtl_area_ops kdtl_own_areas;
int kdtl_cpus_init(void);
void kdtl_cpus_exit(void);
void kdtl_cpus_await(struct kdtl_session *s);
void kdtl_cpus_lock(struct kdtl_session *s);
int kdtl_cpus_load(struct kdtl_session *s);
void kdtl_cpus_unload(struct kdtl_session *s);
int kdtl_cpus_start(struct kdtl_session *s);
void kdtl_cpus_stop(struct kdtl_session *s);
bool kdtl_session_mem_allowed(struct kdtl_session *s, u64 more);

#endif /* _KDTL_SESSION_H */
