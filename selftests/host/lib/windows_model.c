// SPDX-License-Identifier: GPL-2.0
/*
 * Compare the sampler's windows with brute force: dispatches come at random times, some of them
 * late, as those of several CPUs do; a list of all says what is in each window
 *
 *	windows_model N		tries N schedules
 */
#include "reader_kernel.h"

/* reader_kernel.h has what is needed of this header. */
#define _KDTL_COMPAT_H
#include "clients/sampler/windows.c"

/* The list of these, more than windows have room for rows. */
#define MOST	3000

static struct sampler_wait list[MOST];
static unsigned int listed, failures;

void stats_count(struct sampler_counts *c, const struct sampler_wait *wait)
{
	c->dispatches++;
	kdtl_waits_add(&c->waits, wait->ns, wait->saturated);
}

void stats_merge_counts(struct sampler_counts *to, const struct sampler_counts *from)
{
	to->dispatches += from->dispatches;
	to->waits.sum += from->waits.sum;
}

static u64 draw(u64 n)
{
	return ((u64)random() << 31 | (u64)random()) % n;
}

/* The time to the next dispatch: mostly short, sometimes so long that a window is empty. */
static u64 pause(void)
{
	static const u64 most[] = { 1, 10, 1000, 3000, 20000, 90000 };

	return draw(most[draw(6)] * NSEC_PER_MSEC) + 1;
}

/* A wait of any length, or one that its entry cannot say. */
static struct sampler_wait a_wait(u64 time)
{
	struct sampler_wait w = {
		.time		= time,
		.known		= true,
		.saturated	= !draw(20),
		.ns		= draw(1ULL << draw(KDTL_HIST_MAX_BITS)),
	};

	w.bucket = kdtl_hist_bucket(w.ns);
	return w;
}

/* What is in a window at @now: the part that @now is in, and the WINDOW_PARTS before it. */
static void brute_force(unsigned int i, u64 now, struct sampler_stats *sum)
{
	const u64 part = windows_seconds[i] * 1000000000ULL / WINDOW_PARTS, nr = now / part;
	unsigned int k;

	for (k = 0; k < listed; k++) {
		if (list[k].time / part + WINDOW_PARTS < nr)
			continue;
		stats_count(&sum->counts, &list[k]);
		if (!list[k].saturated)
			sum->hist[list[k].bucket]++;
	}
}

static void compare(const struct sampler_windows *w, u64 now, unsigned int schedule)
{
	static struct sampler_stats is, should;
	unsigned int i;

	for (i = 0; i < WINDOWS; i++) {
		memset(&is, 0, sizeof(is));
		memset(&should, 0, sizeof(should));
		windows_sum(w, i, now, &is);
		brute_force(i, now, &should);
		if (is.counts.dispatches == should.counts.dispatches &&
		    is.counts.waits.sum == should.counts.waits.sum &&
		    !memcmp(is.hist, should.hist, sizeof(is.hist)))
			continue;
		if (failures++ < 10)
			printf("schedule %u, dispatch %u: %llu in the last %u s, not %llu\n",
			       schedule, listed, (unsigned long long)is.counts.dispatches,
			       windows_seconds[i], (unsigned long long)should.counts.dispatches);
	}
}

/* Before the newest dispatch by some ms, a part of a window, or more than all of them. */
static u64 late(u64 now)
{
	static const u64 most[] = { 5, 300, 3000, 100000 };
	const u64 by = draw(most[draw(4)] * NSEC_PER_MSEC);

	return now - min(now, by);
}

static void try(unsigned int schedule)
{
	struct sampler_windows *w = NULL;
	u64 now = draw(1ULL << draw(50));

	for (listed = 0; listed < MOST;) {
		now += pause();
		list[listed] = a_wait(draw(4) ? now : late(now));
		windows_add_to(&w, 0, &list[listed++]);
		if (!draw(20))
			compare(w, now + (draw(2) ? pause() : 0), schedule);
	}
	windows_free(&w);
}

int main(int argc, char **argv)
{
	const unsigned int nr = argc == 2 ? atoi(argv[1]) : 0;
	unsigned int i;

	for (i = 0; i < nr && !failures; i++) {
		srandom(i + 1);
		try(i);
	}
	printf("# %u schedules\n", i);
	return !i || failures;
}
