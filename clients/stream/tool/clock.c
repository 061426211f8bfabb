// SPDX-License-Identifier: GPL-2.0
/* The time base of a recording, and the time of day. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kdtl.h"

#define NSEC		1000000000ULL
#define DAY		(24 * 3600)
#define HALF_DAY	(12 * 3600)
#define REPEATED	(3 * 3600)	/* a change of a zone's offset sets clocks back by less */
#define MAX_DAYS	10000

/* If the kernel does not trust the CPU's counter, the time base may lag by some ticks. */
#define JITTER_NS	20000000

/* More would not help somebody who sets the clock all the time. */
#define STEPS_SHOWN	3

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC + ts.tv_nsec;
}

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
 * Convert ticks to ns since 1970.  Between two pairs the clock is taken for a straight line, as
 * when it is slewed; before the first pair, after the last one, and until it was set, it runs at
 * the rate of the time base.
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

/* The ticks of a time in ns since boot. */
uint64_t boot_ticks(const struct recording *r, uint64_t ns)
{
	const uint64_t freq = r->head.tb_freq;

	return r->head.tb_boot + ns / NSEC * freq + ns % NSEC * freq / NSEC;
}

/* The time of day of a time in ns since boot. */
uint64_t day_of(const struct recording *r, uint64_t ns)
{
	return time_of_day(r, boot_ticks(r, ns));
}

/* Times of day repeat, so each is shown with its offset from UTC. */
static bool offsets;

/* The recording lasts a day or more, so each time is shown with its date. */
static bool dates;

/*
 * Find out whether times of day repeat: whether the recording lasts a day, and whether the offset
 * from UTC changes during it, or so soon before or after it that times repeat.
 */
void repeats_check(const struct recording *r)
{
	const struct span span = recording_span(r);
	time_t s, end;
	struct tm tm;
	long offset;

	if (span.from > span.to)
		return;
	s = time_of_day(r, span.from) / NSEC - REPEATED;
	end = time_of_day(r, span.to) / NSEC + REPEATED;
	dates = end - s >= DAY + 2 * REPEATED;
	if (!localtime_r(&s, &tm))
		return;
	offset = tm.tm_gmtoff;
	/* No file has so many days, but it may say so. */
	for (unsigned int days = 0; s < end && days < MAX_DAYS && !offsets; days++) {
		s = end - s > DAY ? s + DAY : end;
		offsets = localtime_r(&s, &tm) && tm.tm_gmtoff != offset;
	}
}

/* Columns of a time of day with so many digits of the second. */
int time_width(unsigned int digits)
{
	return (dates ? strlen("YYYY-MM-DD ") : 0) + strlen("00:00:00") + (digits ? digits + 1 : 0) +
	       (offsets ? strlen("+00:00") : 0);
}

/* "+HH:MM", if it is needed. */
static void add_offset(char *to, size_t size, const struct tm *tm)
{
	const long minutes = labs(tm->tm_gmtoff) / 60;

	if (offsets)
		snprintf(to, size, "%c%02ld:%02ld", tm->tm_gmtoff < 0 ? '-' : '+', minutes / 60 % 100,
			 minutes % 60);
}

/*
 * Returns the local time, as strftime(3) formats it, and then up to nine digits of the second.  A
 * time of day has its date if the recording lasts a day or more, and its offset from UTC if that
 * changes.
 */
const char *time_text(char to[TIME_TEXT], uint64_t ns, const char *format, unsigned int digits)
{
	const time_t s = ns / NSEC;
	char fraction[16];
	struct tm tm = { 0 };
	size_t n;

	if (dates && !strcmp(format, "%H:%M:%S"))
		format = "%Y-%m-%d %H:%M:%S";
	n = localtime_r(&s, &tm) ? strftime(to, TIME_TEXT - sizeof(fraction), format, &tm) : 0;
	if (digits) {
		snprintf(fraction, sizeof(fraction), "%09u", (unsigned int)(ns % NSEC));
		n += snprintf(to + n, TIME_TEXT - n, ".%.*s", digits > 9 ? 9 : (int)digits, fraction);
	} else {
		to[n] = '\0';
	}
	if (strstr(format, "%H"))
		add_offset(to + n, TIME_TEXT - n, &tm);
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

/* "+HH:MM" or "+HHMM", east of UTC, or "Z", UTC. */
static bool parse_offset(const char *p, long *offset)
{
	unsigned int hours, minutes;
	int n = 0;

	*offset = 0;
	if (*p == 'Z')
		return !p[1];
	if (sscanf(p + 1, "%2u:%2u%n", &hours, &minutes, &n) != 2 &&
	    sscanf(p + 1, "%2u%2u%n", &hours, &minutes, &n) != 2)
		return false;
	*offset = (*p == '-' ? -1L : 1L) * (hours * 3600 + minutes * 60);
	return !p[1 + n] && isdigit((unsigned char)p[1]) && minutes < 60;
}

/* Does the date exist?  strptime(3) accepts the 31st of every month. */
static bool has_day(const struct tm *tm)
{
	struct tm day = { .tm_year = tm->tm_year, .tm_mon = tm->tm_mon, .tm_mday = tm->tm_mday };

	timegm(&day);
	return day.tm_mday == tm->tm_mday;
}

/* Convert local time.  Refuse a time over which clocks are set forward: no clock shows it. */
static time_t local_time(struct tm *tm, const char *text)
{
	const struct tm asked = *tm;
	time_t s;

	tm->tm_isdst = -1;
	s = mktime(tm);
	/* A second of 60 is the next minute. */
	if (asked.tm_sec < 60 && (tm->tm_hour != asked.tm_hour || tm->tm_min != asked.tm_min))
		usage_error("%s: there was no such time: clocks were set forward over it", text);
	return s;
}

/*
 * Find the times at which clocks show @tm, of which @s is one: usually the only one, but there are
 * two if clocks are set back between them.  Returns their number.
 */
static unsigned int repeated(const struct tm *tm, time_t s, time_t times[2])
{
	struct tm other;
	time_t t;

	times[0] = s;
	for (long by = -REPEATED; by <= REPEATED; by += 15 * 60) {
		t = s + by;
		if (!by || !localtime_r(&t, &other) || other.tm_hour != tm->tm_hour ||
		    other.tm_min != tm->tm_min || other.tm_sec != tm->tm_sec)
			continue;
		times[0] = by < 0 ? t : s;
		times[1] = by < 0 ? s : t;
		return 2;
	}
	return 1;
}

/*
 * "[YYYY-MM-DD ]HH:MM[:SS[.FRACTION]][OFFSET]", local time or that with the offset from UTC, to the
 * spans of ns since 1970 that it names: a second, or as much as its last digit says.  An hour that
 * comes twice has two.  Without a date the day is that on which the recording begins, or the next
 * one if the time would be half a day earlier.  Returns the number of spans; 0: it is no time.
 */
static unsigned int parse_time(const struct recording *r, const char *text, struct span span[2])
{
	const uint64_t begin = time_of_day(r, r->nr ? be64toh(r->entry[0]->timebase) :
						      r->head.tb_boot);
	time_t first = begin / NSEC, s, times[2];
	uint64_t ns = 0, unit = NSEC;
	struct tm tm, date;
	bool dated, zoned;
	char day[TIME_TEXT];
	unsigned int nr;
	long offset = 0;
	const char *p;

	/* Look for the offset after the time, not in the date. */
	p = strchr(text, ':');
	p = p ? strpbrk(p, "+-Z") : NULL;
	zoned = p;
	if (zoned && !parse_offset(p, &offset))
		return 0;
	first += offset;
	if (!(zoned ? gmtime_r(&first, &tm) : localtime_r(&first, &tm)))
		return 0;
	tm.tm_sec = 0;
	date = tm;
	p = strptime(text, "%Y-%m-%d", &date);
	dated = p;
	if (p && ((*p != ' ' && *p != 'T') || !has_day(&date)))
		return 0;
	if (p)
		tm = date;
	p = strptime(p ? p + 1 : text, "%H:%M", &tm);
	if (!p)
		return 0;
	if (*p == ':') {
		p = strptime(p, ":%S", &tm);
		if (!p)
			return 0;
		p = parse_fraction(p, &ns, &unit);
	} else {
		unit = 60 * NSEC;
	}
	if (*p && !(zoned && strchr("+-Z", *p)))
		return 0;
	s = zoned ? timegm(&tm) : local_time(&tm, text);
	if (!dated && s < first - HALF_DAY) {
		tm.tm_mday++;
		s = zoned ? timegm(&tm) : local_time(&tm, text);
	}
	s -= offset;
	if (s < 0)
		return 0;
	times[0] = s;
	nr = zoned ? 1 : repeated(&tm, s, times);
	if (!dated && dates)
		fprintf(stderr, "kdtl: %s is taken for that of %s: for another day, put its date before it\n",
			text, time_text(day, s * NSEC, "%Y-%m-%d", 0));
	for (unsigned int i = 0; i < nr; i++) {
		span[i].from = times[i] * NSEC + ns;
		span[i].to = span[i].from + unit;
	}
	return nr;
}

/* "-5s": so long before the end of the recording.  It is no span, but one moment. */
static bool parse_before_end(const struct recording *r, const char *text, struct span *span)
{
	const uint64_t end = time_of_day(r, recording_span(r).to);
	uint64_t ns;

	if (*text != '-' || !read_duration(text + 1, NSEC, &ns))
		return false;
	span->from = ns < end ? end - ns : 0;
	span->to = span->from + 1;
	return true;
}

/* What an option needs: parse_time(), or a time before the end. */
unsigned int parse_time_option(const struct recording *r, const char *option, const char *text,
			       struct span span[2])
{
	const unsigned int nr = parse_before_end(r, text, span) ? 1 : parse_time(r, text, span);

	if (!nr)
		usage_error("%s %s: must be a time such as 12:03:04.5, or -5s for 5 s before the end",
			    option, text);
	return nr;
}
