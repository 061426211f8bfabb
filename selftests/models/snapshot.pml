/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An overwrite area and its snapshot: kdtl_snapshot_try() in api/aux.c against
 * entry after entry (core/fanout.h), and against a transaction that writes several
 * at once (api/output.c)
 *
 * As in aux.pml, each word of an entry is the entry's number.  The writer never
 * waits, so it may go on at any point of the copy.
 *
 * The model shows that each entry that a snapshot returns is whole, and was
 * written at the position that the snapshot says.
 *
 * Each of these mistakes breaks it, and has to be found:
 *	BUG_B		head is published with a plain store
 *	BUG_C		the reader trusts what it loaded before head
 *	BUG_O		an entry may be seen before the head of the last one
 *	BUG_S		head is looked at again before the copy is done
 *	BUG_E		a transaction may be seen to be over before its head is
 *	BUG_F		head is looked at again before the flag of open transactions
 *	BUG_AGAIN	head is not looked at again
 *	BUG_NEXT	the entry that is being written is forgotten
 *	BUG_OPEN	an open transaction is forgotten
 */
#ifndef AREA
#define AREA	5
#endif
#ifndef ENTRY
#define ENTRY	2
#endif
#ifndef ENTRIES
#define ENTRIES	4
#endif
#ifndef MANY
#define MANY	2		/* entries in a transaction */
#endif
#define MAX	((AREA / ENTRY - 1) * ENTRY)

#define HEAD	AREA
#define OPEN	(AREA + 1)
#define PLACES	(AREA + 2)

#include "memory.pml"

#define AT(pos)		((pos) % AREA)
#define ROUND_UP(n)	((((n) + ENTRY - 1) / ENTRY) * ENTRY)

inline store_word(pos)
{
	store(AT(pos), (pos) / ENTRY + 1)
}

inline store_entry(pos)
{
	store_word(pos);
	store_word(pos + 1)
#if ENTRY > 2
	; store_word(pos + 2)
#endif
}

inline publish()
{
#ifdef BUG_B
	store(HEAD, head);
#else
	store_release(HEAD, head);		/* [aux.B] */
#endif
}

inline order_old()
{
#ifdef BUG_O
	skip
#else
	write_barrier()				/* [aux.O] */
#endif
}

proctype writer()
{
	byte head, n, i;

	do
	:: n < ENTRIES ->
		order_old();
		store_entry(head);
		head = head + ENTRY;
		publish();
		n++
	:: n + MANY <= ENTRIES ->
#ifndef BUG_OPEN
		store(OPEN, true);
#endif
		order_old();
		i = 0;
		do
		:: i < MANY ->
			store_entry(head);
			head = head + ENTRY;
			i++
		:: else -> break
		od;
		publish();
#ifdef BUG_E
		store(OPEN, false);
#else
		store_release(OPEN, false);	/* [aux.E] */
#endif
		n = n + MANY
	:: n == ENTRIES -> break
	od;
	writer_done = true
}

/* Is a transaction open, and where is the writer now? */
inline look_again()
{
	early(HEAD);
	load(OPEN, open);
#ifndef BUG_F
	refresh();				/* [aux.F] */
#endif
#ifdef BUG_AGAIN
	again = head;
#else
	load(HEAD, again);
#endif
	refresh()
}

proctype reader()
{
	byte copy[MAX];
	byte head, from, size, again, stale, i;
	bool open, backward;

	/* Any one word may have been loaded before. */
	do
	:: i + 1 < AREA -> i++
	:: break
	od;
	early(AT(i));
	head = mem[HEAD];			/* [aux.C] */
#ifndef BUG_C
	refresh();
#endif
	size = (head < MAX -> head : MAX);
	from = head - size;
#ifdef BUG_S
	look_again();
#endif
	/* memcpy() may go in either direction. */
	if
	:: backward = false
	:: backward = true
	fi;
	i = 0;
	do
	:: i < size && !backward ->
		load(AT(from + i), copy[i]);
		i++
	:: i < size && backward ->
		load(AT(from + size - 1 - i), copy[size - 1 - i]);
		i++
	:: else -> break
	od;
#ifndef BUG_S
	refresh();				/* [aux.S] */
	look_again();
#endif
#ifndef BUG_NEXT
	again = again + ENTRY;
#endif
	if
	:: open -> stale = size
	:: !open && again > AREA + from -> stale = ROUND_UP(again - AREA - from)
	:: else
	fi;
	i = stale;
	do
	:: i < size ->
		assert(copy[i] == (from + i) / ENTRY + 1);
		i++
	:: else -> break
	od
}

init {
	atomic {
		run memory();
		run writer();
		run reader()
	}
}
