// SPDX-License-Identifier: GPL-2.0
/*
 * The host of a recording: who had the CPU while the hypervisor had it
 *
 * A virtual CPU is a task of the host, and each gap of the virtual CPU is a wait of that task,
 * which is as long.  The times of day of both recordings say to a second or two how far the
 * clocks are apart.  Each gap and each wait of the same length then vote for one distance
 * within that.  Nearly all true pairs vote for the same one, and the others do not.  After
 * that the gaps are followed one by one, because the clocks may drift.  Only a gap that fits
 * a wait is said to be behind someone on the host; of the rest this is not known.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "kdtl.h"

#define US		1000LL
#define MS		(1000 * US)
#define NSEC		(1000 * MS)

/* No clock says more, and four of these can be added, or taken from each other. */
#define MOST_NS		(INT64_MAX / 4)

/* Shorter gaps may be sums, and there are too many waits that are as long. */
#define LEAST_NS	MS

/* A gap and its wait differ less than that: by the emulation at worst, about 20 us. */
#define LENGTH_NS	(100 * US)

/* A gap is known once a timer fires, which is a little after its end. */
#define END_NS		(400 * US)

/* The times of day are not further apart, or --host-ahead has said so. */
#define SEARCH_NS	(2 * NSEC)

/* Two clocks that are calibrated apart drift less than 100 us per second. */
#define DRIFT(ns)	((ns) / 10000)

/* The gaps that vote: those within SEED_NS, but at least SEED_LEAST, at most SEED_MOST per CPU. */
#define SEED_NS		(10 * NSEC)
#define SEED_LEAST	64
#define SEED_MOST	1000

/* Candidates among the distances that are looked at closely. */
#define NR_PEAKS	16

/* Fewer gaps than that fit by chance. */
#define FITS_LEAST	10
#define FITS_PERCENT	60

/* To be ruled out, the next best distance must have at most this share, and so many votes less. */
#define NEXT_PERCENT	90
#define NEXT_LESS	8

/**
 * struct wait - a wait of a task of the host
 * @to: when it was over, in ns since the host's boot
 * @ns: its length
 * @pid: the task
 * @i: the number of its entry
 */
struct wait {
	int64_t	to;
	int64_t	ns;
	int	pid;
	size_t	i;
};

/**
 * struct vote - a gap and a wait that are equally long
 * @offset: the host's time is that of the guest and this
 * @cpu: the virtual CPU
 * @pid: the task that may be it
 */
struct vote {
	int64_t		offset;
	unsigned int	cpu;
	int		pid;
};

/**
 * struct search - what is being found out
 * @h: the result
 * @guest: the recording of the guest
 * @path: the host's recording
 * @guessed: the offset by the times of day
 * @offset: where the gaps that vote begin
 * @wait: the host's waits, in the order that is needed
 * @nr_waits: number of those
 * @gap: the numbers of the gaps that are long enough, in the order of time
 * @nr_gaps: number of those
 * @seed: the first of them that votes
 * @seed_end: the first one behind them
 * @vote: the votes, in the order of their offsets
 * @nr_votes: number of those
 * @window: votes for the same distance are not further apart
 * @pid: the task that is the virtual CPU of that number; 0: not known
 */
struct search {
	struct host		*h;
	const struct recording	*guest;
	const char		*path;
	int64_t			guessed;
	int64_t			offset;
	struct wait		*wait;
	size_t			nr_waits;
	size_t			*gap;
	size_t			nr_gaps;
	size_t			seed;
	size_t			seed_end;
	struct vote		*vote;
	size_t			nr_votes;
	int64_t			window;
	int			*pid;
};

/**
 * struct peak - many votes for one distance
 * @first: the number of its first vote
 * @nr: votes of the tasks that have most, of all virtual CPUs
 */
struct peak {
	size_t	first;
	size_t	nr;
};

static int compare(int64_t x, int64_t y)
{
	return x < y ? -1 : x > y;
}

static int by_length(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	return compare(x->ns, y->ns) ?: compare(x->i, y->i);
}

static int by_task(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	return compare(x->pid, y->pid) ?: compare(x->to, y->to) ?: compare(x->i, y->i);
}

static int by_offset(const void *a, const void *b)
{
	const struct vote *x = a, *y = b;

	return compare(x->offset, y->offset);
}

static int by_cpu_and_task(const void *a, const void *b)
{
	const struct vote *x = a, *y = b;

	return compare(x->cpu, y->cpu) ?: compare(x->pid, y->pid);
}

static int by_end(const void *a, const void *b, void *recording)
{
	const struct recording *r = recording;
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return compare(r->gap[x].to, r->gap[y].to) ?: compare(x, y);
}

static int64_t length(const struct gap *g)
{
	return g->to - g->from;
}

static const struct gap *gap_at(const struct search *s, size_t k)
{
	return &s->guest->gap[s->gap[k]];
}

static void refuse(const struct search *s, const char *why) __attribute__((noreturn));

static void refuse(const struct search *s, const char *why)
{
	errno = 0;
	die("--host %s: %s", s->path, why);
}

/* ns since 1970, at boot, by what the recording says of that entry. */
static int64_t boot_day(const struct recording *r)
{
	return time_of_day(r, be64toh(r->entry[0]->timebase)) - entry_time(r, r->entry[0]);
}

static bool is_sane(int64_t ns)
{
	return ns >= -MOST_NS && ns <= MOST_NS;
}

static bool is_sane_time(uint64_t ns)
{
	return ns <= MOST_NS;
}

/* How far the host's time is ahead of the guest's, by the times of day. */
static void guess(struct search *s, int64_t ahead)
{
	const int64_t guest = boot_day(s->guest), host = boot_day(&s->h->r);

	/* The option is at most 4e18. */
	if (is_sane(guest) && is_sane(host))
		s->guessed = guest - host + ahead;
	if (!is_sane(guest) || !is_sane(host) || !is_sane(s->guessed))
		refuse(s, "cannot be related: the times of day make no sense");
}

/* Entries whose times make no sense do not count. */
static void find_span(const struct recording *r, int64_t *from, int64_t *to)
{
	int64_t t;

	*from = INT64_MAX;
	*to = 0;
	for (size_t i = 0; i < r->nr; i++) {
		t = entry_time(r, r->entry[i]);
		if (!is_sane_time(t))
			continue;
		*from = t < *from ? t : *from;
		*to = t > *to ? t : *to;
	}
}

static void find_waits(struct search *s)
{
	const struct recording *r = &s->h->r;
	struct wait w;

	for (size_t i = 0; i < r->nr; i++) {
		w = (struct wait){ .to = entry_time(r, r->entry[i]), .i = i,
				   .ns = entry_wait(r, r->entry[i]),
				   .pid = entry_pid(r->entry[i]) };
		if (!is_sane_time(w.to) || !is_sane_time(w.ns))
			continue;
		if (w.ns < LEAST_NS - LENGTH_NS || entry_wait_saturated(r->entry[i]) ||
		    entry_is_idle(r->entry[i]))
			continue;
		grow(s->wait, s->nr_waits);
		s->wait[s->nr_waits++] = w;
	}
}

/* Find the gaps of which the host's recording may have the waits. */
static void find_gaps(struct search *s)
{
	const struct recording *r = s->guest, *h = &s->h->r;
	int64_t from, to, t;

	find_span(h, &from, &to);
	for (size_t i = 0; i < r->nr_gaps; i++) {
		if (!is_sane_time(r->gap[i].to))
			continue;
		t = (int64_t)r->gap[i].to + s->guessed;
		if (length(&r->gap[i]) < LEAST_NS || t < from - SEARCH_NS || t > to + SEARCH_NS)
			continue;
		grow(s->gap, s->nr_gaps);
		s->gap[s->nr_gaps++] = i;
	}
	if (s->nr_gaps < FITS_LEAST)
		refuse(s, "cannot be related: the guest has fewer than 10 gaps of 1 ms or longer at that time; record both at once and for longer, and if their times of day are 2 s apart, say so with --host-ahead");
	qsort_r(s->gap, s->nr_gaps, sizeof(*s->gap), by_end, (void *)r);

	/* At the beginning, one of the two may not have been recorded yet. */
	t = gap_at(s, 0)->to;
	if ((int64_t)gap_at(s, s->nr_gaps - 1)->to - t > 4 * SEARCH_NS)
		t += 2 * SEARCH_NS;
	while ((int64_t)gap_at(s, s->seed)->to < t)
		s->seed++;
	for (s->seed_end = s->seed; s->seed_end < s->nr_gaps; s->seed_end++) {
		if ((int64_t)gap_at(s, s->seed_end)->to - t > SEED_NS &&
		    s->seed_end - s->seed >= SEED_LEAST)
			break;
	}
	s->window = END_NS + DRIFT((int64_t)gap_at(s, s->seed_end - 1)->to - t);
}

/* The first wait that is not shorter; the waits are sorted by length. */
static size_t not_shorter(const struct search *s, int64_t ns)
{
	size_t from = 0, to = s->nr_waits, i;

	while (from < to) {
		i = from + (to - from) / 2;
		if (s->wait[i].ns < ns)
			from = i + 1;
		else
			to = i;
	}
	return from;
}

static void vote(struct search *s)
{
	const size_t step = (s->seed_end - s->seed) / SEED_MOST + 1;
	const struct gap *g;
	const struct wait *w;
	int64_t offset;

	if (s->nr_waits)
		qsort(s->wait, s->nr_waits, sizeof(*s->wait), by_length);
	for (size_t k = s->seed; k < s->seed_end; k += step) {
		g = gap_at(s, k);
		for (size_t i = not_shorter(s, length(g) - LENGTH_NS); i < s->nr_waits; i++) {
			w = &s->wait[i];
			if (w->ns > length(g) + LENGTH_NS)
				break;
			offset = w->to - (int64_t)g->to;
			if (offset < s->guessed - SEARCH_NS || offset > s->guessed + SEARCH_NS)
				continue;
			grow(s->vote, s->nr_votes);
			s->vote[s->nr_votes++] = (struct vote){ offset, g->cpu, w->pid };
		}
	}
	if (s->nr_votes)
		qsort(s->vote, s->nr_votes, sizeof(*s->vote), by_offset);
}

/*
 * For each virtual CPU, the votes of the task that has most, in the window that begins with
 * vote @first.  With @pid, say which tasks that are, if no other one comes near.
 */
static size_t count_window(const struct search *s, size_t first, int *pid)
{
	struct vote *v = NULL;
	size_t n = 0, all = 0, most, next, run;

	for (size_t i = first; i < s->nr_votes &&
	     s->vote[i].offset - s->vote[first].offset <= s->window; i++) {
		grow(v, n);
		v[n++] = s->vote[i];
	}
	qsort(v, n, sizeof(*v), by_cpu_and_task);
	for (size_t i = 0; i < n;) {
		const unsigned int cpu = v[i].cpu;
		int best = 0;

		for (most = next = 0; i < n && v[i].cpu == cpu; i += run) {
			for (run = 1; i + run < n && v[i + run].cpu == cpu &&
			     v[i + run].pid == v[i].pid; run++)
				;
			if (run > most) {
				next = most;
				most = run;
				best = v[i].pid;
			} else if (run > next) {
				next = run;
			}
		}
		all += most;
		if (pid && next * 100 <= most * NEXT_PERCENT)
			pid[cpu] = best;
	}
	free(v);
	return all;
}

/* The windows with most votes which are not the same peak. */
static size_t find_peaks(const struct search *s, struct peak peak[NR_PEAKS])
{
	size_t *votes = resized(NULL, s->nr_votes * sizeof(*votes));
	size_t nr = 0, best;
	int64_t at;

	for (size_t i = 0, end = 0; i < s->nr_votes; i++) {
		while (end < s->nr_votes && s->vote[end].offset - s->vote[i].offset <= s->window)
			end++;
		votes[i] = end - i;
	}
	while (nr < NR_PEAKS) {
		best = 0;
		for (size_t i = 0; i < s->nr_votes; i++) {
			if (votes[i] > votes[best])
				best = i;
		}
		if (!votes[best])
			break;
		peak[nr++] = (struct peak){ best, count_window(s, best, NULL) };
		at = s->vote[best].offset;
		for (size_t i = 0; i < s->nr_votes; i++) {
			if (s->vote[i].offset >= at - s->window - END_NS &&
			    s->vote[i].offset <= at + s->window + END_NS)
				votes[i] = 0;
		}
	}
	free(votes);
	return nr;
}

/* The one offset that most gaps agree on, and the tasks that are the virtual CPUs. */
static void find_offset(struct search *s)
{
	struct peak peak[NR_PEAKS], best = { 0 }, next = { 0 };
	size_t nr = s->nr_votes ? find_peaks(s, peak) : 0;

	for (size_t i = 0; i < nr; i++) {
		if (peak[i].nr > best.nr) {
			next = best;
			best = peak[i];
		} else if (peak[i].nr > next.nr) {
			next = peak[i];
		}
	}
	if (best.nr < FITS_LEAST)
		refuse(s, "cannot be related: the waits of no task there fit the guest's gaps; is it the host of this guest, recorded at the same time with all CPUs and without -w, and are the times of day less than 2 s apart (--host-ahead)?");
	if (next.nr * 100 > best.nr * NEXT_PERCENT || best.nr - next.nr < NEXT_LESS)
		refuse(s, "cannot be related: the guest's gaps fit at more than one distance of the clocks, because they are too much alike; record both for longer");
	count_window(s, best.first, s->pid);
	s->offset = s->vote[best.first].offset;
}

/* The wait of @pid that ended nearest to @to, by the order of by_task(); NULL: none did. */
static const struct wait *wait_near(const struct search *s, int pid, int64_t to)
{
	const struct wait *before, *after;
	size_t from = 0, end = s->nr_waits, i;

	while (from < end) {
		i = from + (end - from) / 2;
		if (s->wait[i].pid < pid || (s->wait[i].pid == pid && s->wait[i].to < to))
			from = i + 1;
		else
			end = i;
	}
	after = from < s->nr_waits && s->wait[from].pid == pid ? &s->wait[from] : NULL;
	before = from && s->wait[from - 1].pid == pid ? &s->wait[from - 1] : NULL;
	if (!before || (after && after->to - to < to - before->to))
		return after;
	return before;
}

static int64_t away(int64_t x)
{
	return x < 0 ? -x : x;
}

/**
 * struct track - how far the clocks are apart, gap by gap
 * @offset: the host's time is that of the guest and this
 * @at: the guest's time when this was known
 */
struct track {
	int64_t	offset;
	int64_t	at;
};

/* Is gap @k a wait of the task that is its virtual CPU?  Returns how exactly it fits; -1: no. */
static int64_t follow(struct search *s, struct track *t, size_t k, int64_t within)
{
	const struct gap *g = gap_at(s, k);
	const struct wait *w;
	int64_t error, longer;

	within += DRIFT(away((int64_t)g->to - t->at));
	if (within > 2 * END_NS)
		within = 2 * END_NS;
	w = wait_near(s, s->pid[g->cpu], (int64_t)g->to + t->offset);
	if (!w)
		return -1;
	error = w->to - (int64_t)g->to - t->offset;
	longer = away(w->ns - length(g));
	if (longer > LENGTH_NS || away(error) > within)
		return -1;
	s->h->fit[s->gap[k]] = w->i;
	t->offset += error / 4;
	t->at = g->to;
	return longer > away(error) ? longer : away(error);
}

/* The median of what the first gaps say: the window is wider than the truth. */
static int64_t offset_at_seed(const struct search *s)
{
	const int64_t begin = s->offset;
	const struct wait *w;
	const struct gap *g;
	int64_t at[15], x;
	size_t n = 0, i;

	for (size_t k = s->seed; k < s->seed_end && n < ARRAY_SIZE(at); k++) {
		g = gap_at(s, k);
		w = s->pid[g->cpu] ? wait_near(s, s->pid[g->cpu], (int64_t)g->to + begin +
					       s->window / 2) : NULL;
		if (!w || away(w->ns - length(g)) > LENGTH_NS)
			continue;
		x = w->to - (int64_t)g->to;
		if (x < begin || x > begin + s->window)
			continue;
		for (i = n++; i && at[i - 1] > x; i--)
			at[i] = at[i - 1];
		at[i] = x;
	}
	return n ? at[n / 2] : begin;
}

static int by_number(const void *a, const void *b)
{
	return compare(*(const int64_t *)a, *(const int64_t *)b);
}

/* Does the host's recording cover the time of the gap? */
static bool is_covered(const struct search *s, const struct gap *g, int64_t from, int64_t to)
{
	return (int64_t)g->from + s->offset >= from && (int64_t)g->to + s->offset <= to;
}

static const char *distance_text(char to[NS_TEXT + 16], int64_t ns)
{
	snprintf(to, NS_TEXT + 16, "%lld.%03lld ms %s", away(ns) / MS, away(ns) % MS / US,
		 ns < 0 ? "behind" : "ahead");
	return to;
}

/* Say how many gaps of @cpu fit, and how exactly, from @error.  Returns false if too few do. */
static bool tell_cpu(struct search *s, unsigned int cpu, int64_t *error, size_t fits, size_t all)
{
	const struct recording *r = &s->h->r;
	char task[TASK_TEXT], ns[NS_TEXT], ahead[NS_TEXT + 16];
	const struct wait *w;

	if (!all)
		return false;
	if (!s->pid[cpu] || fits < FITS_LEAST || fits * 100 < all * FITS_PERCENT) {
		fprintf(stderr, "kdtl: vCPU %u is not known in %s: %zu of its %zu gaps fit a task's waits\n",
			cpu, s->path, fits, all);
		for (size_t k = 0; k < s->nr_gaps; k++) {
			if (gap_at(s, k)->cpu == cpu)
				s->h->fit[s->gap[k]] = SIZE_MAX;
		}
		return false;
	}
	qsort(error, fits, sizeof(*error), by_number);
	/* A thread has its own name only after a while: what it is called last. */
	w = wait_near(s, s->pid[cpu], INT64_MAX);
	fprintf(stderr, "kdtl: vCPU %u is %s of %s: %zu of %zu gaps fit, 9 of 10 within %s; the host's clock is %s\n",
		cpu, task_text(task, sizeof(task), r, r->entry[w->i]), s->path, fits, all,
		short_ns(ns, error[(fits - 1) * 9 / 10]),
		distance_text(ahead, s->offset - s->guessed + s->h->ahead));
	return true;
}

/* Match each gap with its wait, going in both directions from the gaps that voted. */
static void fit_gaps(struct search *s)
{
	int64_t *error = resized(NULL, s->nr_gaps * sizeof(*error));
	int64_t *of_cpu = resized(NULL, s->nr_gaps * sizeof(*of_cpu));
	struct track track;
	int64_t from, to;
	unsigned int related = 0;

	qsort(s->wait, s->nr_waits, sizeof(*s->wait), by_task);
	s->offset = offset_at_seed(s);
	find_span(&s->h->r, &from, &to);
	track = (struct track){ s->offset, gap_at(s, s->seed)->to };
	for (size_t k = s->seed; k < s->nr_gaps; k++)
		error[k] = follow(s, &track, k, END_NS);
	track = (struct track){ s->offset, gap_at(s, s->seed)->to };
	for (size_t k = s->seed; k--;)
		error[k] = follow(s, &track, k, END_NS);
	for (unsigned int cpu = 0; cpu < MAX_CPUS; cpu++) {
		size_t fits = 0, all = 0;

		if (!s->h->has_gaps[cpu])
			continue;
		for (size_t k = 0; k < s->nr_gaps; k++) {
			if (gap_at(s, k)->cpu != cpu)
				continue;
			if (error[k] >= 0)
				of_cpu[fits++] = error[k];
			all += error[k] >= 0 || is_covered(s, gap_at(s, k), from, to);
		}
		related += tell_cpu(s, cpu, of_cpu, fits, all);
	}
	free(error);
	free(of_cpu);
	if (!related)
		refuse(s, "cannot be related: too few gaps of each virtual CPU fit the waits of a task");
}

/*
 * Find out which waits in the recording @path are the gaps of @guest.  The host's time of day
 * is @ahead ns ahead of the guest's, to 2 s.
 */
void host_open(struct host *h, const struct recording *guest, const char *path, int64_t ahead)
{
	struct search s = { .h = h, .guest = guest, .path = path };

	*h = (struct host){ .r = recording_open(path), .ahead = ahead };
	if (!h->r.sched)
		refuse(&s, "is no recording of kdtl_sched, so it names no tasks");
	if (!guest->steal)
		refuse(&s, "it is not known what the hypervisor took: use kdtl record --steal in the guest, or name a recording with --steal FILE2");
	if (!h->r.nr || !guest->nr)
		refuse(&s, "one of the recordings has no entries");
	recording_sort_by_cpu(&h->r);
	h->fit = resized(NULL, (guest->nr_gaps + 1) * sizeof(*h->fit));
	h->has_gaps = calloc(MAX_CPUS, sizeof(*h->has_gaps));
	s.pid = calloc(MAX_CPUS, sizeof(*s.pid));
	if (!h->has_gaps || !s.pid)
		die("no memory");
	for (size_t i = 0; i < guest->nr_gaps; i++) {
		h->fit[i] = SIZE_MAX;
		h->has_gaps[guest->gap[i].cpu] = true;
	}
	guess(&s, ahead);
	find_waits(&s);
	find_gaps(&s);
	vote(&s);
	find_offset(&s);
	fit_gaps(&s);
	free(s.wait);
	free(s.gap);
	free(s.vote);
	free(s.pid);
}

/* Add to @w who had the host's CPU while the guest's @cpu was stolen from @from until @to. */
static void add_gaps(const struct host *h, const struct recording *guest, unsigned int cpu,
		     uint64_t from, uint64_t to, struct who *w)
{
	const struct gap *g = gap_after(guest->gap, guest->nr_gaps, cpu, from);
	const struct gap *end = guest->gap + guest->nr_gaps;
	uint64_t begin, until, over;
	size_t i;

	for (; g < end && g->cpu == cpu && g->from < to; g++) {
		begin = g->from > from ? g->from : from;
		until = g->to < to ? g->to : to;
		i = h->fit[g - guest->gap];
		if (i == SIZE_MAX) {
			w->unknown += until - begin;
			continue;
		}
		over = entry_time(&h->r, h->r.entry[i]) - (g->to - until);
		who_add(&h->r, i, over, until - begin, w);
	}
}

/*
 * Add to @w who had the host's CPUs in the stolen part of the wait before entry @e of the guest,
 * as far as its task was in the queue of the CPU that it got.
 */
void host_behind(const struct host *h, const struct recording *guest, const struct kdtl_entry *e,
		 struct who *w)
{
	const uint64_t to = entry_time(guest, e), ns = entry_queued(guest, e);

	add_gaps(h, guest, entry_cpu(e), ns < to ? to - ns : 0, to, w);
	who_sort(&h->r, w);
}
