// SPDX-License-Identifier: GPL-2.0
/* The time base of a recording, and the time of day. */
#define _XOPEN_SOURCE 700
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kdtl.h"

#define NSEC		1000000000ULL
#define HALF_DAY	(12 * 3600)

/* If the kernel does not trust the CPU's counter, the time base may lag by some ticks. */
#define JITTER_NS	20000000

/* Who sets the clock all the time knows it. */
#define STEPS_SHOWN	3

/* Saturates, so that a later time is never less, whatever is in a file. */
uint64_t ticks_at_to_ns(uint64_t freq, uint64_t ticks)
{
	uint64_t ns, rest = ticks % freq;

	if (__builtin_mul_overflow(ticks / freq, NSEC, &ns))
		return UINT64_MAX;
	/* No time base is so fast, but a file may say so. */
	for (; freq > UINT64_MAX / NSEC; freq >>= 1)
		rest >>= 1;
	if (__builtin_add_overflow(ns, rest * NSEC / freq, &ns))
		return UINT64_MAX;
	return ns;
}

uint64_t ticks_to_ns(const struct recording *r, uint64_t ticks)
{
	return ticks_at_to_ns(r->head.tb_freq, ticks);
}

/* From the first entry to the last one, in any order. */
struct span entries_span(const struct recording *r)
{
	struct span s = { UINT64_MAX, 0 };
	uint64_t t;

	for (size_t i = 0; i < r->nr; i++) {
		t = be64toh(r->entry[i]->timebase);
		s.from = t < s.from ? t : s.from;
		s.to = t > s.to ? t : s.to;
	}
	return s;
}

/*
 * From the first to the last moment of which the recording says something.  If few entries are
 * recorded, the pairs of clocks say more.
 */
struct span recording_span(const struct recording *r)
{
	struct span s = entries_span(r);
	uint64_t t;

	if (r->nr_clocks) {
		t = r->clock[0].ticks;
		s.from = t < s.from ? t : s.from;
		t = r->clock[r->nr_clocks - 1].ticks;
		s.to = t > s.to ? t : s.to;
	}
	return s;
}

/* The last pair at or before @ticks, or the first one. */
static size_t pair_before(const struct recording *r, uint64_t ticks)
{
	size_t from = 0, to = r->nr_clocks, i;

	while (to - from > 1) {
		i = from + (to - from) / 2;
		if (r->clock[i].ticks > ticks)
			to = i;
		else
			from = i;
	}
	return from;
}

/*
 * By how many ns the clock was set between two pairs, or how long the machine slept; 0: it
 * was slewed at most, which is 100.5 ms per second if adjtimex(2) does it.
 */
static int64_t step_after(const struct recording *r, size_t i)
{
	const struct clock_pair *c = &r->clock[i];
	const uint64_t ns = ticks_to_ns(r, c[1].ticks - c->ticks);
	const int64_t step = c[1].realtime - c->realtime - ns;
	const uint64_t away = step < 0 ? -(uint64_t)step : (uint64_t)step;

	return away > ns / 9 + JITTER_NS ? step : 0;
}

/* Say when the clock was set: the times around it do not fit together. */
void clock_check(const struct recording *r, const char *path)
{
	unsigned int shown = 0;
	char text[TIME_TEXT];
	int64_t step;

	for (size_t i = 0; i + 1 < r->nr_clocks && shown < STEPS_SHOWN; i++) {
		step = step_after(r, i);
		if (!step)
			continue;
		fprintf(stderr, "kdtl: %s: the clock was set by %+.3f s, or the machine slept, before %s\n",
			path, step / 1e9,
			time_text(text, r->clock[i + 1].realtime, "%H:%M:%S", 3));
		shown++;
	}
}

/*
 * ns since 1970 of a time in ticks.  Between two pairs the clock is a line, as one that
 * is slewed is; before the first one, after the last one, and until it was set, it has its
 * rate.
 */
uint64_t time_of_day(const struct recording *r, uint64_t ticks)
{
	const struct clock_pair *c;
	uint64_t ns, all;
	double slewed;
	size_t i;

	if (!r->nr_clocks)
		return r->head.boot_time + ticks_to_ns(r, ticks - r->head.tb_boot);
	i = pair_before(r, ticks);
	c = &r->clock[i];
	if (ticks < c->ticks)
		return c->realtime - ticks_to_ns(r, c->ticks - ticks);
	ns = ticks_to_ns(r, ticks - c->ticks);
	if (i + 1 == r->nr_clocks || step_after(r, i))
		return c->realtime + ns;
	/* What the clock gained is little, so a double has all its digits. */
	all = ticks_to_ns(r, c[1].ticks - c->ticks);
	slewed = all ? (double)(int64_t)(c[1].realtime - c->realtime - all) * ns / all : 0;
	return c->realtime + ns + (int64_t)slewed;
}

/* Local time, as strftime(3) formats it, and then up to nine digits of the second. */
const char *time_text(char to[TIME_TEXT], uint64_t ns, const char *format, unsigned int digits)
{
	const time_t s = ns / NSEC;
	char fraction[16];
	struct tm tm;
	size_t n;

	n = localtime_r(&s, &tm) ? strftime(to, TIME_TEXT - sizeof(fraction), format, &tm) : 0;
	if (digits) {
		snprintf(fraction, sizeof(fraction), "%09u", (unsigned int)(ns % NSEC));
		snprintf(to + n, TIME_TEXT - n, ".%.*s", digits > 9 ? 9 : (int)digits, fraction);
	} else {
		to[n] = '\0';
	}
	return to;
}

/* ".25" is 250 ms, told to 10 ms. */
static const char *parse_fraction(const char *p, uint64_t *ns, uint64_t *unit)
{
	if (*p != '.')
		return p;
	for (p++; isdigit((unsigned char)*p) && *unit > 1; p++) {
		*unit /= 10;
		*ns += (*p - '0') * *unit;
	}
	return p;
}

/*
 * "[YYYY-MM-DD ]HH:MM[:SS[.FRACTION]]", local time, to the span of ns since 1970 that it
 * names: a second, or as much as its last digit says.  Without a date the day is that on
 * which the recording begins, or the next one if the time would be half a day earlier.
 * Returns false if it is no time.
 */
bool parse_time(const struct recording *r, const char *text, uint64_t *from, uint64_t *to)
{
	const uint64_t begin = time_of_day(r, r->nr ? be64toh(r->entry[0]->timebase) :
						      r->head.tb_boot);
	const time_t first = begin / NSEC;
	uint64_t ns = 0, unit = NSEC;
	struct tm tm, date;
	const char *p;
	bool dated;
	time_t s;

	if (!localtime_r(&first, &tm))
		return false;
	tm.tm_sec = 0;
	date = tm;
	p = strptime(text, "%Y-%m-%d", &date);
	dated = p;
	if (p && *p != ' ' && *p != 'T')
		return false;
	if (p)
		tm = date;
	p = strptime(p ? p + 1 : text, "%H:%M", &tm);
	if (!p)
		return false;
	if (*p == ':') {
		p = strptime(p, ":%S", &tm);
		if (!p)
			return false;
		p = parse_fraction(p, &ns, &unit);
	} else {
		unit = 60 * NSEC;
	}
	if (*p)
		return false;
	tm.tm_isdst = -1;
	s = mktime(&tm);
	if (!dated && s < first - HALF_DAY) {
		tm.tm_mday++;
		tm.tm_isdst = -1;
		s = mktime(&tm);
	}
	if (s < 0)
		return false;
	*from = s * NSEC + ns;
	*to = *from + unit;
	return true;
}
