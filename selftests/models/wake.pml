/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Waking the reader, and closing under him: api/wait.c, core/aux.c, api/session.c
 *
 * CPUS writers of ENTRIES each, whose watermark is one entry; WAITERS readers in
 * kdtl_wait(); someone else may complete the completion once; and close, which
 * comes either at any time or when everything has been read.
 *
 * Shown: nobody sleeps over entries, nor over stop and close; close returns; nothing of
 * the session is touched after it; no count piles up in the completion; nobody is
 * told of someone else's count that is not there.
 *
 * Each of these breaks it, and has to be found:
 *	BUG_IRQ		the irq_work is free again only when it is done
 *	BUG_QUEUE	a waiter looks, and goes on the queue afterwards
 *	BUG_COUNT	a count is added whether or not one is left
 *	BUG_OTHER	a waiter takes a count for someone else's without the lock
 *	BUG_STOP	a stop is a wake-up like any other
 *	BUG_CLOSE	close wakes nobody
 *	BUG_ORDER	close wakes before it says closing
 *	BUG_SYNC	close does not wait for the irq_work
 *	BUG_USERS	close does not wait for the verbs
 */
#ifndef CPUS
#define CPUS	2
#endif
#ifndef ENTRIES
#define ENTRIES	2
#endif
#ifndef WAITERS
#ifdef BUG_STOP
#define WAITERS	2		/* one alone has the wake-up */
#else
#define WAITERS	1
#endif
#endif

byte head[CPUS], tail[CPUS];
bool irq_pending[CPUS], irq_running[CPUS];
byte writers = CPUS;		/* not yet done */
bool stop;			/* the source is off */
byte stops;			/* times that kdtl_stop() was there */
byte waiting;			/* who went to wait before it, and still does */

bool wake_lock;			/* kdtl_session::wake_lock */
bool pending, own_wake;
byte done;			/* the completion's count */
byte others;			/* of it, added by someone else, at most */
bool queued[WAITERS], asleep[WAITERS];

bool closing, freed;
byte users = 1;			/* one until close */
byte returned;			/* waiters that were told of close */

#define all_read	(head[0] == tail[0] && head[CPUS - 1] == tail[CPUS - 1])
#define irq_idle	(!irq_pending[0] && !irq_running[0] && \
			 !irq_pending[CPUS - 1] && !irq_running[CPUS - 1])

/* Under the queue's lock: one of those who sleep. */
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

inline swake_up_all()
{
	d_step {
		queued[0] = false;
		asleep[0] = false;
#if WAITERS > 1
		queued[1] = false;
		asleep[1] = false
#endif
	}
}

/*
 * Between locking and unlocking, only the count may change under one's hands: so
 * a step ends where it has been looked at.
 */
inline session_wake()
{
	assert(!freed);
	atomic {
		!wake_lock ->
		wake_lock = true;
		pending = true;
		kept = done > 0			/* [wake.D] */
	};
#ifdef BUG_COUNT
	kept = false;
#endif
	atomic {
		if
		:: !kept || !own_wake ->
			done++;
			assert(done <= 1 + others);
			swake_up_one();
			own_wake = true
		:: else
		fi;
		kept = false;
		wake_lock = false;
		assert(!freed)
	}
}

/* Under the lock. */
inline take_pending(was)
{
	was = pending;
	pending = false;
	if
	:: was && own_wake ->
		own_wake = false;
		done = (done > 0 -> done - 1 : 0)
	:: else
	fi
}

inline take_wake(was)
{
	atomic {
		!wake_lock ->
		take_pending(was)
	}
}

/* Whose count is it? */
inline take_count(was, over)
{
	if
	:: done == 0
	:: done > 0 ->
#ifdef BUG_OTHER
		atomic {
			if
			:: done > 0 -> done--; over = true; assert(others > 0)
			:: else
			fi
		}
#else
		atomic {
			!wake_lock ->
			take_pending(was);
			over = was;
			if
			:: !was && done > 0 ->
				done--;
				over = true;
				assert(others > 0)
			:: else
			fi
		}
#endif
	fi
}

proctype writer(byte cpu)
{
	do
	:: !stop && head[cpu] < ENTRIES ->
		head[cpu]++;
		/* irq_work_queue(): one at most is under way */
		irq_pending[cpu] = true
	:: head[cpu] == ENTRIES || stop -> break
	od;
	writers--
}

proctype irq(byte cpu)
{
	bool kept;

	do
	:: atomic { irq_pending[cpu] -> irq_running[cpu] = true }
#ifndef BUG_IRQ
		irq_pending[cpu] = false;
#endif
		session_wake();
#ifdef BUG_IRQ
		irq_pending[cpu] = false;
#endif
		irq_running[cpu] = false
	:: stop && writers == 0 && !irq_pending[cpu] -> break
	od
}

/* Someone else's complete(), of a completion that is the caller's. */
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

inline read_all()
{
	d_step {
		assert(!freed);
		tail[0] = head[0];
		tail[CPUS - 1] = head[CPUS - 1]
	}
}

inline go_to_sleep()
{
	d_step { queued[me] = true; asleep[me] = true }	/* [wake.Q] */
}

proctype waiter(byte me)
{
	bool was, over;
	byte stops_before;

	do
	:: true ->
		/* kdtl_session_hold() */
		if
		:: closing || users == 0 -> break
		:: atomic { !closing && users > 0 -> users++ }
		fi;
		over = false;
		if
		:: !all_read -> take_wake(was)
		:: else ->
			atomic {
				stops_before = stops;
				if
				:: !stops -> waiting++
				:: else
				fi
			};
			do
			:: !over ->
				assert(!freed);
#ifndef BUG_QUEUE
				go_to_sleep();
#endif
				/* kdtl_wait_over() */
				if
				:: closing -> over = true
				:: else ->
					take_wake(was);
					if
					:: was || !all_read -> over = true
#ifndef BUG_STOP
					:: stops != stops_before -> over = true
#endif
					:: else -> take_count(was, over)
					fi
				fi;
#ifdef BUG_QUEUE
				if
				:: !over -> go_to_sleep()
				:: else
				fi;
#endif
				if
				:: !over -> !asleep[me]
				:: else
				fi
			:: else -> break
			od;
			atomic { queued[me] = false; asleep[me] = false };
			swake_up_one();
			if
			:: !stops_before -> waiting--
			:: else
			fi
		fi;
		if
		:: !closing -> read_all()
		:: else
		fi;
		assert(!freed);
		users--				/* [wake.U] */
	od;
	returned++
}

proctype closer()
{
	bool at_any_time, kept;

	if
	:: at_any_time = true
	:: at_any_time = false
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
	waiting == 0;
#ifdef BUG_ORDER
	session_wake();
	swake_up_all();
	closing = true;
#else
	closing = true;				/* [wake.K] */
#ifndef BUG_CLOSE
	session_wake();
	swake_up_all();
#endif
#endif
	users--;
#ifndef BUG_USERS
	users == 0;
#endif
	freed = true;
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
		run other();
		run closer()
	}
}
