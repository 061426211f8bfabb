/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session's queue of messages (core/counters/msgq.c): CPUs that post, and a reader
 *
 * CPUS CPUs post POSTS numbered messages each to a queue of SLOTS slots.  How a weak
 * memory may reorder what they do is left to litmus/msg-*.litmus.
 *
 * The model shows that each message is read whole, or counted as dropped; that each CPU's
 * messages keep their order; and that, where messages of a CPU are missing, the messages read
 * since the CPU's last one have told of at least as many dropped ones.
 *
 * Each of these mistakes breaks it, and has to be found:
 *	BUG_TAKE  the CPU that posts takes a slot, and then takes the count away
 *	BUG_LATE  the count is read after the slot was taken
 *	BUG_TELL  after a count that is older than the last one, drops are told twice
 *	BUG_FILL  the reader does not wait until the slot is filled
 */
#ifndef CPUS
#define CPUS	2
#endif
#ifndef POSTS
#define POSTS	3
#endif
#ifndef SLOTS
#define SLOTS	2
#endif
/* As with KDTL_MSGQ_KEPT there is a slot to spare: a slot is not filled again at once. */
#define RING	(SLOTS + 1)

byte head, tail, dropped, done;
bool there[RING];
byte who[RING], nr[RING], count[RING];

proctype cpu(byte me)
{
	byte n, seen, at, taken;

	for (n : 1 .. POSTS) {
retry:
		seen = dropped;
		taken = tail;				/* [msg.A] */
		at = head;
		if
		:: at - taken >= SLOTS ->
			dropped++			/* [msg.E] */
		:: else ->
			if
			:: d_step { head == at -> head++ }	/* [msg.F] */
			:: d_step { head != at -> skip }; goto retry
			fi;
#ifdef BUG_LATE
			seen = dropped;
#endif
#ifdef BUG_TAKE
			d_step { seen = dropped; dropped = 0 };
#endif
			d_step {
				who[at % RING] = me;
				nr[at % RING] = n;
				count[at % RING] = seen
			};
			there[at % RING] = true		/* [msg.B] */
		fi
	};
	done++
}

proctype reader()
{
	byte told, sum, got, i, new;
	byte last[CPUS], sum_then[CPUS];

	do
	:: head != tail ->
#ifndef BUG_FILL
		there[tail % RING];			/* [msg.C] */
#endif
		d_step {
			i = who[tail % RING];
			new = 0;
#ifdef BUG_TAKE
			new = count[tail % RING];
#else
			if
			:: count[tail % RING] > told ->
				new = count[tail % RING] - told;
				told = count[tail % RING]
			:: else ->
#ifdef BUG_TELL
				told = count[tail % RING]
#endif
				skip
			fi;
#endif
			sum = sum + new;
			assert(nr[tail % RING] > last[i]);
			assert(nr[tail % RING] - last[i] - 1 <= sum - sum_then[i]);
			last[i] = nr[tail % RING];
			sum_then[i] = sum;
			got++;
			there[tail % RING] = false;
			nr[tail % RING] = 0;
			count[tail % RING] = 0;
			who[tail % RING] = 0
		};
		tail++					/* [msg.D] */
	:: done == CPUS && head == tail -> break
	od;
#ifndef BUG_TAKE
	assert(sum <= dropped);
	assert(got + dropped == CPUS * POSTS)
#endif
}

init {
	byte c;

	atomic {
		for (c : 0 .. CPUS - 1) {
			run cpu(c)
		};
		run reader()
	}
}
