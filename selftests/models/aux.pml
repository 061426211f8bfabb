/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An AUX area: its writer (core/fanout.h, core/writer.c) and its reader (api/aux.c)
 *
 * The area has AREA words, no multiple of the ENTRY words of an entry, so that
 * entries straddle its end as 48 bytes do in 2^n pages.  Positions run freely and
 * wrap at WRAP, a multiple of AREA, as u64 does at 2^64.  Each word of an entry is
 * the entry's number.
 *
 * The model shows that the reader sees every entry that found room, once, whole
 * and in order; that nothing unread is overwritten; and that produced =
 * consumed + lost + unread.
 *
 * Each of these mistakes breaks it, and has to be found:
 *	BUG_A	 an entry is written before the tail is looked at
 *	BUG_B	 head is published with a plain store
 *	BUG_C	 the reader trusts what it loaded before head
 *	BUG_D	 the tail is published before the entry is read
 *	BUG_STOP the fast path goes one word too far
 *	BUG_LOST an entry that finds no room is not counted
 */
#ifndef AREA
#define AREA	5
#endif
#ifndef ENTRY
#define ENTRY	2
#endif
#ifndef ENTRIES
#define ENTRIES	6
#endif
#define WRAP	(6 * AREA)
#define START	(WRAP - AREA)

#define HEAD	AREA
#define TAIL	(AREA + 1)
#define PLACES	(AREA + 2)

#include "memory.pml"

#define DISTANCE(to, from)	(((to) - (from) + WRAP) % WRAP)
#define AT(pos)			((pos) % AREA)

byte produced, lost, consumed;

/* The writer's own view of head and of where the fast path ends. */
byte head = START, stop_at = START;

inline store_entry(seq)
{
	store(AT(head), seq);
	store(AT(head + 1), seq)
#if ENTRY > 2
	; store(AT(head + 2), seq)
#endif
}

inline publish()
{
	head = (head + ENTRY) % WRAP;
#ifdef BUG_B
	store(HEAD, head);
#else
	store_release(HEAD, head);		/* [aux.B] */
#endif
}

/* The tail moves on only after the entry has been read: all below the tail is free. */
inline look_at_tail()
{
	room = AREA - DISTANCE(head, mem[TAIL])	/* [aux.A] */
}

inline set_stop()
{
	look_at_tail();
#ifdef BUG_STOP
	room++;
#endif
	stop_at = (head + room + 1) % WRAP
}

proctype writer()
{
	byte room;

	do
	:: produced < ENTRIES ->
		produced++;
		if
		:: DISTANCE(stop_at, head) > ENTRY ->
			store_entry(produced);
			publish()
		:: else ->
#ifdef BUG_A
			store_entry(produced);
			look_at_tail();
#else
			look_at_tail();
#endif
			if
			:: room < ENTRY ->
#ifndef BUG_LOST
				lost++;
#endif
				skip
			:: else ->
#ifndef BUG_A
				store_entry(produced);
#endif
				publish()
			fi;
			set_stop()
		fi
	:: else -> break
	od;
	writer_done = true
}

/* Numbers grow. An entry may be missing; it is counted as lost then. */
inline check_entry(pos)
{
	load(AT(pos), word);
	seq = word;
	load(AT(pos + 1), word);
	assert(word == seq);
#if ENTRY > 2
	load(AT(pos + 2), word);
	assert(word == seq);
#endif
	assert(seq > last);
	last = seq
}

proctype reader()
{
	byte tail = START, to, seq, last, word, i;
	bool end;

	do
	:: !end ->
		end = writer_done && sb_used == 0;
		i = 0;
		do
		:: i + 1 < ENTRY -> i++
		:: break
		od;
		early(AT(tail + i));
		to = mem[HEAD];			/* [aux.C] */
#ifndef BUG_C
		refresh();
#endif
		do
		:: tail != to ->
			assert(DISTANCE(to, tail) <= AREA);
#ifdef BUG_D
			mem[TAIL] = (tail + ENTRY) % WRAP;
#endif
			check_entry(tail);
			refresh();
			consumed++;
			tail = (tail + ENTRY) % WRAP;
			mem[TAIL] = tail	/* [aux.D] */
		:: else -> break
		od
	:: else -> break
	od;
	assert(mem[HEAD] == tail);
	assert(produced == ENTRIES && produced == consumed + lost)
}

init {
	atomic {
		mem[HEAD] = START;
		mem[TAIL] = START;
		run memory();
		run writer();
		run reader()
	}
}
