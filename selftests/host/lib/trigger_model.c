// SPDX-License-Identifier: GPL-2.0
/*
 * Compare triggers with brute force: a total grows at random times, and is looked at then or later;
 * a list of how much it grew says when there must be an event, and when there may be one
 *
 *	trigger_model N		tries N schedules
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trigger.h"

#define LOOKS	2000

static struct {
	__u64	at;
	__u64	grown;
} list[LOOKS];

static unsigned int listed, failures, events;

static unsigned int draw(unsigned int n)
{
	return (unsigned int)random() % n;
}

static void fail(const char *what, unsigned int schedule, __u64 now)
{
	if (failures++ < 10)
		printf("schedule %u, time %llu: %s\n", schedule, now, what);
}

/* How much growth was seen less than @len ago. */
static __u64 within(__u64 now, __u64 len)
{
	unsigned int i;
	__u64 sum = 0;

	for (i = 0; i < listed; i++) {
		if (now - list[i].at < len)
			sum += list[i].grown;
	}
	return sum;
}

/* The time to the next look: mostly short, sometimes long. */
static __u64 pause(__u64 window)
{
	switch (draw(12)) {
	case 0:
		return draw(3 * window);
	case 1:
		return window;
	case 2:
		return 0;
	default:
		return draw(window / 8 + 2);
	}
}

static void one(unsigned int schedule)
{
	const __u64 window = 1 + draw(draw(2) ? 40 : 5000);
	const __u64 part = (window + TRIGGER_PARTS - 1) / TRIGGER_PARTS;
	__u64 now = draw(1000), total = draw(100), grown, last = 0;
	int must = 0, may = 0, told = 0, event;
	struct trigger t;
	unsigned int i;

	/* Whatever was in a trigger before, it begins anew. */
	memset(&t, 0xa5, sizeof(t));
	t.window = window;
	t.threshold = 1 + draw(draw(3) ? 300 : 3000);
	trigger_begin(&t, now, total);
	listed = 0;
	for (i = 0; i < LOOKS; i++) {
		now += pause(t.window);
		grown = draw(4) ? draw(40) : draw(20) ? 0 : draw(400);
		/* The total may be set to 0, and then grows from there. */
		if (!draw(50) && total > grown)
			total = 0;
		total += grown;
		list[listed].at = now;
		list[listed++].grown = grown;
		must |= within(now, t.window + 1) >= t.threshold;
		may |= within(now, (TRIGGER_PARTS + 1) * part) >= t.threshold;
		event = trigger_look(&t, now, total);
		if (told && now - last < t.window) {
			if (event)
				fail("two events in a window", schedule, now);
			continue;
		}
		if (must && !event)
			fail("no event", schedule, now);
		if (event && !may)
			fail("an event that was none", schedule, now);
		if (!event)
			continue;
		events++;
		told = 1;
		last = now;
		listed = 0;
		must = 0;
		may = 0;
	}
}

int main(int argc, char **argv)
{
	const unsigned int n = argc > 1 ? atoi(argv[1]) : 0;
	unsigned int i;

	if (!n)
		return 2;
	for (i = 0; i < n; i++) {
		srandom(i + 1);
		one(i);
	}
	printf("%u schedules, %u events, %u differences\n", n, events, failures);
	return failures || events < n;
}
