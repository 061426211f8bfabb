/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In this memory the writer's stores become visible late and in any order that its
 * barriers allow, and the reader's loads may have been made early.
 *
 * One process stores through a buffer; another one, memory(), makes the stores
 * visible.  A store waits for those before it if it is a release, if it goes to
 * the same place, or if a write barrier lies between them.
 *
 * The reader may have loaded a place before it comes to it (early()), and
 * then sees what was there unless a barrier tells it to look again (refresh()).
 */
#define BUFFER	6

byte mem[PLACES];

byte sb_place[BUFFER], sb_value[BUFFER], sb_epoch[BUFFER];
bool sb_release[BUFFER];
byte sb_used, sb_now;			/* stores waiting; barriers so far */
bool writer_done;

inline put(place, value, release)
{
	d_step {
		sb_used < BUFFER;
		sb_place[sb_used] = place;
		sb_value[sb_used] = value;
		sb_epoch[sb_used] = sb_now;
		sb_release[sb_used] = release;
		sb_used++
	}
}

#define store(place, value)		put(place, value, false)
#define store_release(place, value)	put(place, value, true)

/* Barriers count only between stores that wait, so the count begins anew when none waits. */
inline write_barrier()
{
	sb_now++
}

/* Make store I visible, if it need not wait. */
inline drain(i)
{
	d_step {
		k = 0;
		free = true;
		do
		:: k < i ->
			if
			:: sb_release[i] || sb_place[k] == sb_place[i] ||
			   sb_epoch[k] != sb_epoch[i] -> free = false
			:: else
			fi;
			k++
		:: else -> break
		od;
		if
		:: free ->
			mem[sb_place[i]] = sb_value[i];
			k = i;
			do
			:: k + 1 < sb_used ->
				sb_place[k] = sb_place[k + 1];
				sb_value[k] = sb_value[k + 1];
				sb_epoch[k] = sb_epoch[k + 1];
				sb_release[k] = sb_release[k + 1];
				k++
			:: else -> break
			od;
			sb_used--;
			sb_place[sb_used] = 0;
			sb_value[sb_used] = 0;
			sb_epoch[sb_used] = 0;
			sb_release[sb_used] = false;
			if
			:: sb_used == 0 -> sb_now = 0
			:: else
			fi
		:: else
		fi;
		k = 0;
		free = false
	}
}

proctype memory()
{
	byte k;
	bool free;

	do
	:: sb_used > 0 -> drain(0)
	:: sb_used > 1 -> drain(1)
	:: sb_used > 2 -> drain(2)
	:: sb_used > 3 -> drain(3)
	:: sb_used > 4 -> drain(4)
	:: sb_used > 5 -> drain(5)
	:: sb_used == 0 && writer_done -> break
	od
}

/* One place that the reader may have loaded before. */
byte was_place, was_value;
bool was;

inline early(place)
{
	if
	:: d_step { was = true; was_place = place; was_value = mem[place] }
	:: skip
	fi
}

inline refresh()
{
	d_step { was = false; was_place = 0; was_value = 0 }
}

inline load(place, to)
{
	d_step {
		if
		:: was && was_place == (place) -> to = was_value
		:: else -> to = mem[place]
		fi
	}
}
