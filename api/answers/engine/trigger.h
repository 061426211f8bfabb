/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Triggers: tell when a total has grown by a threshold within a window of time
 *
 * Plain C: no kernel function is called, and nothing is allocated.
 *
 * The window has parts, each with the growth of the total in it.  The parts that count cover the
 * window and at most one part more.  So no event is missed, and no event is about growth that took
 * longer than they cover.
 */
#ifndef _KDTL_ENGINE_TRIGGER_H
#define _KDTL_ENGINE_TRIGGER_H

#include <linux/types.h>

#define TRIGGER_BITS	4
#define TRIGGER_PARTS	16	/* 2 to the power of that */

/**
 * struct trigger - by how much a total grew lately
 * @threshold: growth within @window that is an event
 * @window: length of the window
 * @total: the total at the last look
 * @end: end of the newest part
 * @quiet: no event before that time
 * @sum: sum of @grown
 * @nr: number of the newest part
 * @due: there is an event of which the caller has not been told
 * @grown: growth of the total in the newest part and those before it, without growth that was
 *	part of an event
 */
struct trigger {
	__u64	threshold;
	__u64	window;
	__u64	total;
	__u64	end;
	__u64	quiet;
	__u64	sum;
	__u32	nr;
	__u32	due;
	__u64	grown[TRIGGER_PARTS + 1];
};

void trigger_begin(struct trigger *t, __u64 now, __u64 total);
int trigger_look(struct trigger *t, __u64 now, __u64 total);

#endif /* _KDTL_ENGINE_TRIGGER_H */
