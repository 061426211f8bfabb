/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kdtl_fuzz: random programs of kdtl's verbs
 *
 * The seed decides a program: how many threads it has, and which calls each thread
 * makes on a small pool of sessions, with good, edge and bad arguments.  In a
 * program of one thread a model follows each session's state, so it knows what
 * every call has to return.  With more threads a call may return anything that
 * its documentation lists.
 */
#ifndef _KDTL_FUZZ_H
#define _KDTL_FUZZ_H

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/kdtl_counters.h>
#include <linux/kdtl_pmu.h>
#include <linux/kdtl_verbs.h>
#include <linux/kthread.h>
#include <linux/mutex.h>
#include <linux/prandom.h>

#include "../../core/compat.h"

#ifndef __data_racy
/* v6.10, "kcsan, compiler_types: Introduce __data_racy type qualifier" */
#define __data_racy
#endif

#define FUZZ_PMU	"kdtl_fuzz"
#define FUZZ_SLOTS	3
#define FUZZ_THREADS	4
#define FUZZ_SETS	6	/* lower ids are used, and U16_MAX */
#define FUZZ_MASKS	(KDTL_MASK_ALL | KDTL_MASK_IDLE)

/* The errno with which kdtl_fuzz's source refuses; nothing else returns it. */
#define FUZZ_REFUSED	(-EXDEV)

enum fuzz_state {
	FUZZ_CREATED,
	FUZZ_STOPPED,
	FUZZ_STARTED,
};

/**
 * struct fuzz_slot - a place for a session
 * @lock: protects @s and @users
 * @s: the session; NULL: none, or one that is being closed
 * @users: calls that use @s
 * @verbs: serialises the calls that make or end the session
 * @reader: serialises its readers, also those that make or end a merge
 * @merge: reads the session, if not NULL
 * @time: time of the merge's last entry
 * @done: the session's completion, if @own_done
 * @own_done: the session was created with @done
 * @wakes: calls of the session's wake()
 * @cpus: the session's CPUs
 * @aux_pages: pages of each area; 0: the session only counts
 * @overwrite: the session has KDTL_SESSION_OVERWRITE
 * @pause: the session has KDTL_SESSION_PAUSE
 * @fuzz_pmu: the session logs this module's source
 * @state: the session's state, by the model
 * @sets: its event sets, by the model: 1 << id, bit FUZZ_SETS for U16_MAX
 */
struct fuzz_slot {
	spinlock_t		lock;	/* @s, @users */
	struct kdtl_session	*s;
	unsigned int		users;
	struct mutex		verbs;	/* create, close */
	struct mutex		reader;	/* @merge */
	struct kdtl_merge	*merge;
	u64			time;
	struct completion	done;
	bool			own_done;
	atomic_t		wakes;

	struct cpumask		cpus;
	unsigned int		aux_pages;
	bool			overwrite;
	bool			pause;
	bool			fuzz_pmu;
	/*
	 * With several threads these are guesses: only a thread that is alone
	 * checks against them.
	 */
	enum fuzz_state __data_racy state;
	u32 __data_racy sets;
};

/* Room for the longest vector of any request. */
union fuzz_requests {
	struct kdtl_config		config[KDTL_MAX_REQUESTS];
	struct kdtl_counter_req		counter[KDTL_MAX_REQUESTS];
	struct kdtl_evtset		evtset[KDTL_MAX_REQUESTS];
	struct kdtl_evtset_info		info[KDTL_MAX_REQUESTS];
	struct kdtl_entry		entry[KDTL_MAX_REQUESTS];
};

/**
 * struct fuzz_thread - a thread of a program
 * @task: the thread
 * @rnd: decides everything
 * @slots: the program's pool
 * @id: 0 and up
 * @solo: it is the program's only thread, so the model holds
 * @calls: how many calls it makes
 * @call: number of the current call
 * @verb: verb of the current call
 * @s: session of the current call
 * @sleeps: the slot in whose session it may sleep for ever
 * @over: it has made all its calls
 * @failures: how much went wrong in its calls
 * @req: requests for its calls
 * @mask: a CPU mask for its calls
 */
struct fuzz_thread {
	struct task_struct	*task;
	struct rnd_state	rnd;
	struct fuzz_slot	*slots;
	unsigned int		id;
	bool			solo;
	unsigned int		calls;
	unsigned int		call;
	const struct fuzz_verb	*verb;
	struct kdtl_session	*s;
	struct fuzz_slot	*sleeps;
	bool			over;
	unsigned int		failures;
	union fuzz_requests	req;
	struct cpumask		mask;
};

/* No call was made. */
#define FUZZ_NONE	LONG_MIN
/* The model does not know what a call will return. */
#define FUZZ_ANY	LONG_MAX

#define FUZZ_ERRNOS	8

/**
 * struct fuzz_verb - a call that programs are made of
 * @name: the function's name
 * @weight: how often it is called, compared with the others
 * @run: makes the call on fuzz_thread::s, a slot's session, and returns what the
 *	call returned, or FUZZ_NONE if it made no call. It sets @want to what the
 *	model expects, or to FUZZ_ANY
 * @create: @run looks at the slot itself, which need not have a session
 * @errnos: the errors that the call may return
 */
struct fuzz_verb {
	const char	*name;
	unsigned int	weight;
	long		(*run)(struct fuzz_thread *t, struct fuzz_slot *slot, long *want);
	bool		create;
	int		errnos[FUZZ_ERRNOS];
};

/* main.c */
__printf(2, 3) void fuzz_fail(struct fuzz_thread *t, const char *fmt, ...);

static inline u32 fuzz_below(struct fuzz_thread *t, u32 end)
{
	return prandom_u32_state(&t->rnd) % end;
}

/* True once in @n times, on average. */
static inline bool fuzz_one_in(struct fuzz_thread *t, u32 n)
{
	return !fuzz_below(t, n);
}

/* Picks one of the constants. */
#define FUZZ_PICK(t, type, ...)						\
({									\
	static const type __of[] = { __VA_ARGS__ };			\
	__of[fuzz_below(t, ARRAY_SIZE(__of))];				\
})

static inline u64 fuzz_u64(struct fuzz_thread *t)
{
	const u64 high = prandom_u32_state(&t->rnd);

	return high << 32 | prandom_u32_state(&t->rnd);
}

/* A length of time in ns. Most are shorter than the program. */
static inline u64 fuzz_ns(struct fuzz_thread *t)
{
	switch (fuzz_below(t, 4)) {
	case 0:
		return 0;
	case 1:
		return FUZZ_PICK(t, u64, 1, 49999, 50001, NSEC_PER_SEC, KTIME_MAX,
				 KTIME_MAX - 1, (u64)KTIME_MAX + 1, U64_MAX);
	default:
		return fuzz_below(t, 5 * NSEC_PER_MSEC);
	}
}

/* source.c */
extern bool fuzz_refuse_attach, fuzz_refuse_source;
int fuzz_source_init(void);
void fuzz_source_exit(void);
unsigned int fuzz_source_refusals(void);
bool fuzz_source_clean(void);
void fuzz_emit(int cpu, enum kdtl_kind kind, unsigned int nr, u32 time);
void fuzz_lose(int cpu, u64 nr);

/* session.c */
void fuzz_slot_close(struct fuzz_slot *slot, struct fuzz_thread *threads,
		     unsigned int nr);
bool fuzz_paused(struct fuzz_slot *slot, struct kdtl_session *s);
int fuzz_cpu(struct fuzz_thread *t, struct fuzz_slot *slot, bool *good);

/* The verbs that programs are made of. */
extern const struct fuzz_verb fuzz_session_verbs[], fuzz_vector_verbs[],
			      fuzz_reader_verbs[], fuzz_source_verbs[];

#endif /* _KDTL_FUZZ_H */
