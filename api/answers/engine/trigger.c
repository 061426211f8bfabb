// SPDX-License-Identifier: GPL-2.0
/* Tell when a total has grown by a threshold within a window, see trigger.h */
#ifdef __KERNEL__
#include <linux/string.h>
#else
#include <string.h>
#endif

#include "trigger.h"

/* Length of a part.  All parts together are as long as the window, or up to 15 units longer. */
static __u64 trigger_part(const struct trigger *t)
{
	return (t->window + TRIGGER_PARTS - 1) >> TRIGGER_BITS;
}

static void trigger_clear(struct trigger *t)
{
	memset(t->grown, 0, sizeof(t->grown));
	t->sum = 0;
}

/**
 * trigger_begin() - look at a total from now on
 * @t: with @threshold and @window, which are not 0
 * @now: the time
 * @total: the total; only what it grows from now on counts
 *
 * Context: any.  As with trigger_look(), the caller prevents concurrent calls.
 */
void trigger_begin(struct trigger *t, __u64 now, __u64 total)
{
	trigger_clear(t);
	t->total = total;
	t->end = now + trigger_part(t);
	t->quiet = 0;
	t->nr = 0;
	t->due = 0;
}

/* Begin as many parts as there were since the last look, and forget what is too old. */
static void trigger_move(struct trigger *t, __u64 now)
{
	const __u64 part = trigger_part(t);

	if (now < t->end)
		return;
	/* All parts are older than the window. */
	if (now - t->end >= t->window + part) {
		trigger_clear(t);
		t->end = now + part;
		return;
	}
	while (now >= t->end) {
		t->nr = t->nr == TRIGGER_PARTS ? 0 : t->nr + 1;
		t->sum -= t->grown[t->nr];
		t->grown[t->nr] = 0;
		t->end += part;
	}
}

/**
 * trigger_look() - has the total grown by the threshold within a window?
 * @t: the trigger
 * @now: the time, which does not go back
 * @total: the total.  If it is less than it was, it was set to 0 meanwhile
 *
 * There is at most one event in the time of a window; an event that comes earlier is put off.
 * Growth that was part of an event does not count for the next one.
 *
 * Context: any.
 * Return: 1 if there is an event, or 0.
 */
int trigger_look(struct trigger *t, __u64 now, __u64 total)
{
	const __u64 grown = total < t->total ? total : total - t->total;

	trigger_move(t, now);
	t->total = total;
	t->grown[t->nr] += grown;
	t->sum += grown;
	if (t->sum >= t->threshold)
		t->due = 1;
	if (!t->due || now < t->quiet)
		return 0;
	trigger_clear(t);
	t->due = 0;
	t->quiet = now + t->window;
	return 1;
}
