/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Waking the reader, and closing the session under it: core/wake.c, api/wait.c,
 * core/writer.c, api/session.c
 *
 * There are CPUS writers of ENTRIES each, whose watermark is one entry, and WAITERS
 * readers in kdtl_wait(), which then read one entry or none.  Of several, the first one may time
 * out, and then does not come back.  Someone else may complete the completion once.  Close comes
 * either at any time or when everything has been read.  With OWN, the client itself sleeps in the
 * completion once, nobody else completes it, and close comes at any time.
 *
 * The model shows that no reader sleeps while there are entries, or after a stop or
 * a close; that close returns; that nothing of the session is touched after it; that
 * no counts pile up in the completion, nor are left there; that a reader which returns for
 * someone else's count has taken one; and that a close ends the client's own sleep.
 *
 * Each of these mistakes breaks it, and has to be found:
 *	BUG_IRQ		the irq_work is free again only when it is done
 *	BUG_QUEUE	a waiter looks, and goes on the queue afterwards
 *	BUG_COUNT	a wake-up adds a count although the last one's is still there
 *	BUG_DUE		a waiter takes a CPU out of the list although it has entries
 *	BUG_LIST	a wake-up puts no CPU into the list
 *	BUG_OTHER	a waiter takes a count for someone else's without the lock
 *	BUG_LATE	a waiter that times out looks first, and then leaves the queue
 *	BUG_STOP	a stop is a wake-up like any other
 *	BUG_CLOSE	close wakes nobody
 *	BUG_ORDER	close wakes before it sets closing
 *	BUG_SYNC	close does not wait for the irq_work
 *	BUG_USERS	close does not wait for the verbs
 *	BUG_LEFT	close leaves the last wake-up's count
 *	BUG_OWN		close takes that count away from the client
 */
#ifndef CPUS
#define CPUS	2
#endif
#ifndef ENTRIES
#define ENTRIES	2
#endif
#ifdef BUG_OWN
#define OWN
#endif
#ifdef BUG_STOP
#define MORE_WAITERS		/* a waiter alone would get the wake-up */
#endif
#ifdef BUG_LATE
#define MORE_WAITERS		/* a waiter alone takes the wake-up from nobody */
#endif
#ifndef WAITERS
#ifdef MORE_WAITERS
#define WAITERS	2
#else
#define WAITERS	1
#endif
#endif

byte head[CPUS], tail[CPUS];
bool irq_pending[CPUS], irq_running[CPUS];
byte writers = CPUS;		/* writers that are not done yet */
bool stop;			/* the source is off */
byte stops;			/* how often kdtl_stop() was called */
byte waiting;			/* waiters that began before the stop, and still wait */

/* The lock of the completion's queue is an atomic block. */
bool pending;
bool due[CPUS];			/* the area is in kdtl_session::due */
byte done;			/* the completion's count */
byte others;			/* at most so many of done's counts are someone else's */
bool queued[WAITERS], asleep[WAITERS];
bool own_queued, own_asleep;	/* the client itself */

bool closing, freed;
byte users = 1;			/* one is the session's own, until close */
byte returned;			/* waiters that have seen closing */

#define all_read	(head[0] == tail[0] && head[CPUS - 1] == tail[CPUS - 1])
#define irq_idle	(!irq_pending[0] && !irq_running[0] && \
			 !irq_pending[CPUS - 1] && !irq_running[CPUS - 1])

/* Under the queue's lock: wake one sleeper, as complete() does. */
inline swake_up_one()
{
	atomic {
		if
		:: queued[0] -> queued[0] = false; asleep[0] = false
#if WAITERS > 1
		:: queued[1] -> queued[1] = false; asleep[1] = false
#endif
		:: else
		fi
	}
}

/* Wake one that is on the queue and stays there, and may be awake already. */
inline wake_one()
{
	atomic {
		if
		:: queued[0] -> asleep[0] = false
#if WAITERS > 1
		:: queued[1] -> asleep[1] = false
#endif
		:: own_queued -> own_asleep = false
		:: else
		fi
	}
}

inline wake_all()
{
	d_step {
		own_asleep = false;
#if WAITERS > 1
		asleep[1] = false;
#endif
		asleep[0] = false
	}
}

/* Called under the lock. */
inline complete_locked()
{
	if
#ifndef BUG_COUNT
	:: pending && done > 0
#endif
	:: else -> done++
	fi;
	pending = true;
	assert(done <= 1 + others);
	wake_one()
}

inline session_wake()
{
	atomic {
		assert(!freed);
		complete_locked()
	}
}

inline session_wake_for(cpu)
{
	atomic {
		assert(!freed);
#ifndef BUG_LIST
		due[cpu] = true;
#endif
		complete_locked()
	}
}

/* The first look takes no lock. */
inline take_wake(was)
{
	was = false;
	if
	:: !pending
	:: else ->
		atomic {
			was = pending;
			pending = false;
			done = (was && done > 0 -> done - 1 : done);
			queued[me] = (was -> false : queued[me])
		}
	fi
}

/* Called under the lock. */
inline look_at(cpu, found)
{
	if
	:: !found && due[cpu] ->
		found = (head[cpu] != tail[cpu]);
#ifdef BUG_DUE
		due[cpu] = false
#else
		due[cpu] = found
#endif
	:: else
	fi
}

/* The first look takes no lock here either. */
inline readable(found)
{
	if
	:: !due[0] && !due[CPUS - 1]
	:: else ->
		atomic {
			look_at(0, found);
#if CPUS > 1
			look_at(1, found);
#endif
		}
	fi
}

/* Under the lock, a count without a wake-up is someone else's. */
inline take_foreign(over)
{
	atomic {
		if
#ifdef BUG_OTHER
		:: done > 0 ->
#else
		:: !pending && done > 0 ->
#endif
			done--;
			over = true;
			assert(others > 0)
		:: else
		fi
	}
}

proctype writer(byte cpu)
{
	do
	:: !stop && head[cpu] < ENTRIES ->
		head[cpu]++;
		/* irq_work_queue(): at most one is pending */
		irq_pending[cpu] = true
	:: head[cpu] == ENTRIES || stop -> break
	od;
	writers--
}

proctype irq(byte cpu)
{
	do
	:: atomic { irq_pending[cpu] -> irq_running[cpu] = true }
#ifndef BUG_IRQ
		irq_pending[cpu] = false;
#endif
		session_wake_for(cpu);
#ifdef BUG_IRQ
		irq_pending[cpu] = false;
#endif
		irq_running[cpu] = false
	:: stop && writers == 0 && !irq_pending[cpu] -> break
	od
}

/* The completion belongs to the caller, so someone else may complete it. */
proctype other()
{
	if
	:: true
	:: atomic {
		!closing ->
		others++;
		done++;
		swake_up_one()
	   }
	fi
}

/* The client's own wait_for_completion(). */
proctype own()
{
	if
	:: true
	:: atomic {
		!freed ->
		own_queued = (done == 0);
		own_asleep = own_queued;
		done = (done > 0 -> done - 1 : done)
	   };
	   do
	   :: !own_queued -> break
	   :: own_queued && !own_asleep ->
		atomic {
			own_queued = (done == 0);
			own_asleep = own_queued;
			done = (done > 0 -> done - 1 : done)
		}
	   od
	fi
}

inline read()
{
	atomic {
		assert(!freed);
		if
		:: tail[0] != head[0] -> tail[0]++
		:: tail[CPUS - 1] != head[CPUS - 1] -> tail[CPUS - 1]++
		:: skip
		fi
	}
}

inline go_to_sleep()
{
	d_step { queued[me] = true; asleep[me] = true }	/* [wake.Q] */
}

inline leave_queue()
{
	d_step { queued[me] = false; asleep[me] = false }
}

#define may_time_out	(WAITERS > 1 && me == 0)

inline wait_over()
{
	if
	:: closing -> over = true
	:: else ->
		take_wake(was);
		if
		:: was -> over = true
#ifndef BUG_STOP
		:: stops != stops_before -> over = true
#endif
		:: else ->
			readable(over);
			if
			:: !over -> take_foreign(over)
			:: else
			fi
		fi
	fi
}

proctype waiter(byte me)
{
	bool was, over, late;
	byte stops_before;

	do
	:: true ->
		/* kdtl_session_hold() */
		if
		:: closing || users == 0 -> break
		:: atomic { !closing && users > 0 -> users++ }
		fi;
		over = false;
		atomic {
			stops_before = stops;
			if
			:: !stops -> waiting++
			:: else
			fi
		};
		wait_over();
		do
		:: !over && !late ->
			assert(!freed);
			go_to_sleep();
#ifndef BUG_QUEUE
			wait_over();
#endif
			if
			:: !over ->
				if
				:: !asleep[me]
				:: may_time_out ->
					late = true;
#ifndef BUG_LATE
					leave_queue()
#endif
				fi;
				wait_over()
			:: else
			fi
		:: else -> break
		od;
		leave_queue();
		if
		:: over -> wake_all()
		:: else
		fi;
		if
		:: !stops_before -> waiting--
		:: else
		fi;
		if
		:: !closing -> read()
		:: else
		fi;
		assert(!freed);
		users--;			/* [wake.U] */
		if
		:: late -> break
		:: else
		fi
	od;
	returned++
}

proctype closer()
{
	bool at_any_time;

	if
#ifndef OWN
	:: at_any_time = false
#endif
	:: at_any_time = true
	fi;
	if
	:: at_any_time
	:: !at_any_time && writers == 0 && head[0] == ENTRIES &&
	   head[CPUS - 1] == ENTRIES && all_read
	fi;
	stop = true;
	writers == 0;
#ifndef BUG_SYNC
	irq_idle;				/* [wake.S] */
#endif
	stops++;
	session_wake();
	wake_all();
	waiting == 0;
#ifdef BUG_ORDER
	session_wake();
	wake_all();
	closing = true;
#else
	closing = true;				/* [wake.K] */
#ifndef BUG_CLOSE
	session_wake();
	wake_all();
#endif
#endif
	users--;
#ifndef BUG_USERS
	users == 0;
#endif
#ifndef BUG_LEFT
	atomic {
		if
#ifndef BUG_OWN
		:: own_queued -> complete_locked()
#endif
		:: else -> done = (pending && done > 0 -> done - 1 : done)
		fi;
		pending = false;
		assert(done <= (own_queued -> 1 : others));
		freed = true
	};
#else
	assert(done <= others);
	freed = true;
#endif
	returned == WAITERS
}

init {
	atomic {
		run writer(0);
		run irq(0);
#if CPUS > 1
		run writer(1);
		run irq(1);
#endif
		run waiter(0);
#if WAITERS > 1
		run waiter(1);
#endif
#ifdef OWN
		run own();
#else
		run other();
#endif
		run closer()
	}
}
