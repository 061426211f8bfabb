// SPDX-License-Identifier: GPL-2.0
/* kdtl record: from /dev/kdtl to a file, a stream, or a ring in memory. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "record.h"

#define NSEC		1000000000ULL

/* The default limit on a ring's memory. */
#define RING_SIZE	(256ULL << 20)

/* The recording, and those beside it: of stolen time, of interrupts, and of wake-ups. */
#define for_each(each, r)							\
	for (struct record *(each) = (r); (each); (each) = (each)->beside)

static const int end_signals[] = { SIGINT, SIGTERM, SIGHUP };
static const int ring_signals[] = { SIGUSR2, SIGQUIT };

/* How long the reader of a stream may take nothing once a signal has come. */
#define PATIENCE_NS	500000000

static volatile sig_atomic_t end_signal;
static volatile sig_atomic_t nr_end_signals;
static volatile sig_atomic_t ring_signal;

static void on_end_signal(int sig)
{
	end_signal = sig;
	nr_end_signals++;
}

static void on_ring_signal(int sig)
{
	ring_signal = sig;
}

/* The signal mask before the ending signals were blocked. */
static sigset_t unblocked;

/* Does nothing: the signal only ends ppoll(). */
static void on_child(int sig)
{
	(void)sig;
}

static uint64_t parse_size(const char *option, const char *text)
{
	static const char units[] = "KMGT";
	const char *unit;
	char *end;
	const double size = strtod(text, &end);
	double factor = 1;

	unit = *end ? strchr(units, *end) : NULL;
	for (; unit && unit >= units; unit--)
		factor *= 1024;
	if (end == text || (*end && (factor == 1 || end[1])) || !(size * factor >= 1 << 16) ||
	    !(size * factor < 1e18))
		usage_error("%s %s: must be a size such as 100M, at least 64K", option, text);
	return size * factor;
}

static unsigned int parse_number(const char *option, const char *text)
{
	char *end;
	const unsigned long n = strtoul(text, &end, 10);

	if (end == text || *end || *text == '-' || !n || n > 9999)
		usage_error("%s %s: must be a number of files", option, text);
	return n;
}

static struct record parse(int argc, char **argv)
{
	enum { OPT_RING = OPT_OTHERS, OPT_ON_ALARM, OPT_MAX_SIZE, OPT_ROTATE, OPT_STEAL,
	       OPT_IRQ, OPT_WAKE };
	static const struct option names[] = {
		{ "ring", required_argument, NULL, OPT_RING },
		{ "on-alarm", no_argument, NULL, OPT_ON_ALARM },
		{ "max-size", required_argument, NULL, OPT_MAX_SIZE },
		{ "rotate", required_argument, NULL, OPT_ROTATE },
		{ "steal", no_argument, NULL, OPT_STEAL },
		{ "irq", no_argument, NULL, OPT_IRQ },
		{ "wake", no_argument, NULL, OPT_WAKE },
		OPTIONS_END
	};
	const char *beside = NULL;
	struct record r = { .path = "kdtl.data" };
	char *end;
	int opt;

	while ((opt = next_option(argc, argv, "+:ho:d:s:C:w:m:iq", names)) != -1) {
		switch (opt) {
		case 'o':
			r.path = optarg;
			break;
		case 'd':
			r.seconds = parse_duration("-d", optarg, NS_PER_S, 1, 0) / 1e9;
			break;
		case 's':
			if (strlen(optarg) >= sizeof(r.attr.source))
				usage_error("-s %s: too long", optarg);
			strcpy(r.attr.source, optarg);
			break;
		case 'C':
			r.cpus = parse_cpus("-C", optarg);
			r.attr.cpus = (uintptr_t)r.cpus;
			r.attr.cpus_len = CPU_ALLOC_SIZE(MAX_CPUS);
			break;
		case 'w':
			r.attr.min_wait = parse_duration("-w", optarg, NS_PER_MS, 1, 0);
			break;
		case 'm':
			r.attr.aux_pages = strtoul(optarg, &end, 0);
			if (*end || !r.attr.aux_pages || r.attr.aux_pages & (r.attr.aux_pages - 1))
				usage_error("-m %s: must be a power of two", optarg);
			break;
		case 'i':
			r.attr.mask = KDTL_MASK_ALL | KDTL_MASK_IDLE;
			break;
		case 'q':
			r.quiet = true;
			break;
		case OPT_RING:
			r.ring = parse_duration("--ring", optarg, NS_PER_S, 1, 0) / 1e9;
			break;
		case OPT_ON_ALARM:
			r.on_alarm = true;
			break;
		case OPT_MAX_SIZE:
			r.max_size = parse_size("--max-size", optarg);
			break;
		case OPT_ROTATE:
			r.rotate = parse_number("--rotate", optarg);
			break;
		case OPT_STEAL:
			r.wants_steal = true;
			beside = "--steal";
			break;
		case OPT_IRQ:
			r.wants_irq = true;
			beside = "--irq";
			break;
		case OPT_WAKE:
			r.wants_wake = true;
			beside = "--wake";
			break;
		}
	}
	if (r.attr.mask && r.attr.min_wait)
		usage_error("-i and -w: an idle CPU does not wait, so -w leaves out what -i asks for");
	if (record_is_stream(&r) && (r.ring || r.rotate))
		usage_error("-o -: --ring and --rotate are for files");
	if (beside && r.attr.source[0] && strcmp(r.attr.source, "kdtl_sched"))
		usage_error("-s %s: %s is for recordings of kdtl_sched", r.attr.source, beside);
	if (beside)
		strcpy(r.attr.source, "kdtl_sched");
	if (record_is_stream(&r) && beside)
		usage_error("-o -: %s writes a second file, so it needs a name", beside);
	if (record_is_stream(&r) && isatty(STDOUT_FILENO))
		usage_error("-o -: a recording is not for terminals");
	if (r.on_alarm && !r.ring)
		usage_error("--on-alarm: writes a ring, so it needs --ring TIME");
	if (argv[optind])
		r.command = argv + optind;
	if (r.ring) {
		r.max_size = r.max_size ?: RING_SIZE;
		/* Nobody looks at the entries as they come, so wake once for a part. */
		r.attr.period = r.ring < RING_PARTS - 1 ? r.ring * NSEC / (RING_PARTS - 1) : NSEC;
	}
	return r;
}

static void progress(struct record *r, bool last)
{
	const bool tty = isatty(STDERR_FILENO);
	const struct kdtl_stream_info info = device_info(r->dev);

	if (r->quiet || (!last && !tty))
		return;
	fprintf(stderr, "%s%s: %.1f s, %llu %s, %llu lost, %.1f MB%s",
		tty ? "\r" : "", r->side.path, (now_ns() - r->start) / 1e9,
		(unsigned long long)r->entries, record_unit(r),
		(unsigned long long)info.lost, r->side.size / 1e6, last ? "\n" : "   ");
	if (!last)
		return;
	if (r->full)
		fprintf(stderr, "kdtl: %s has reached the size that --max-size allows\n", r->side.path);
	if (r->attr.min_wait)
		fprintf(stderr, "kdtl: %llu more were left out: they waited less than -w requires\n",
			(unsigned long long)info.filtered);
	if (info.lost)
		fprintf(stderr, "kdtl: with more pages (-m) fewer would be lost\n");
	if (r->side.lost)
		fprintf(stderr, "kdtl: %llu records of tasks were lost: load kdtl_answers with a larger task_records=\n",
			(unsigned long long)r->side.lost);
}

/* The returned fd becomes readable when the clock is set, which a resume from suspend does too. */
static int watch_clock(int fd)
{
	const struct itimerspec never = { .it_value.tv_sec = INT32_MAX };

	if (fd < 0)
		fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	if (fd >= 0)
		timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
	return fd;
}

static void signals_in(sigset_t *set, const int *signals, size_t nr, void (*handler)(int))
{
	const struct sigaction act = { .sa_handler = handler };

	for (size_t i = 0; i < nr; i++) {
		sigaction(signals[i], &act, NULL);
		if (set)
			sigaddset(set, signals[i]);
	}
}

/*
 * Catch the signals that end a recording.  Only ppoll() unblocks them, so none is missed
 * between a check and a sleep.  @mask is set to what was blocked before.
 */
void record_catch_signals(sigset_t *mask)
{
	static const int child = SIGCHLD;
	sigset_t block;

	end_signal = 0;
	nr_end_signals = 0;
	sigemptyset(&block);
	signals_in(&block, end_signals, ARRAY_SIZE(end_signals), on_end_signal);
	signals_in(&block, &child, 1, on_child);
	sigprocmask(SIG_BLOCK, &block, mask);
	unblocked = *mask;
}

/*
 * Wait until @fd can be written to.  A signal ends the recording, but what was recorded is written
 * first, if the reader takes it.  One that does not is waited for no longer, and after a second
 * signal not at all: then this is false.
 */
static bool wait_for_reader(int fd)
{
	static const struct timespec none, patience = { .tv_nsec = PATIENCE_NS };
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int n;

	do {
		n = ppoll(&p, 1, !end_signal ? NULL : nr_end_signals > 1 ? &none : &patience, &unblocked);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		die("standard output");
	return n;
}

/* From now on these signals end the program, except one that came meanwhile. */
void record_release_signals(const sigset_t *mask)
{
	sigprocmask(SIG_SETMASK, mask, NULL);
	signals_in(NULL, end_signals, ARRAY_SIZE(end_signals), SIG_DFL);
}

static void catch_ring_signals(void)
{
	sigset_t block;

	sigemptyset(&block);
	signals_in(&block, ring_signals, ARRAY_SIZE(ring_signals), on_ring_signal);
	sigprocmask(SIG_BLOCK, &block, NULL);
}

/*
 * Record until the time is up, the command has ended, or the file is full, which is 0, or
 * until a signal comes, which is its number.
 */
int record_loop(struct record *r, const sigset_t *mask)
{
	struct pollfd p[] = {
		{ .fd = r->dev, .events = POLLIN },
		{ .fd = watch_clock(-1), .events = POLLIN },
		{ .fd = r->on_alarm ? ring_open_alarms() : -1, .events = POLLIN },
		{ .fd = -1, .events = POLLIN },
		{ .fd = -1, .events = POLLIN },
		{ .fd = -1, .events = POLLIN },
	};
	struct pollfd *beside = p + 3;
	uint64_t shown, now, wait, written = 0;
	bool alarm = false;

	r->start = shown = now_ns();
	for_each(each, r->beside) {
		each->start = r->start;
		(beside++)->fd = each->dev;
	}
	while (!end_signal && !r->full && !(r->command && workload_ended())) {
		now = now_ns();
		wait = NSEC;
		if (r->seconds) {
			if (now - r->start >= r->seconds * NSEC)
				break;
			if (r->seconds * NSEC - (now - r->start) < wait)
				wait = r->seconds * NSEC - (now - r->start);
		}
		if (ppoll(p, ARRAY_SIZE(p), &(struct timespec){ wait / NSEC, wait % NSEC },
			  mask) < 0) {
			if (errno != EINTR)
				die("/dev/kdtl");
			p[1].revents = p[2].revents = 0;
		}
		for_each(each, r)
			output_drain(each);
		if (r->rotate) {
			for_each(each, r->beside)
				output_next_look(each);
		}
		now = now_ns();
		if (p[1].revents) {
			watch_clock(p[1].fd);
			for_each(each, r)
				output_clock(each, true);
		}
		if (now - shown >= NSEC) {
			progress(r, false);
			for_each(each, r)
				output_clock(each, false);
			shown = now;
		}
		if (p[2].revents && ring_alarm_came(p[2].fd))
			alarm = true;
		/* Alarms that follow are in the next file, which begins where this one ends. */
		if (ring_signal || (alarm && now - written >= r->ring * NSEC)) {
			ring_signal = 0;
			alarm = false;
			output_ask(r);
			output_drain(r);
			for_each(each, r)
				ring_write(each);
			written = now;
		}
	}
	/* The other file descriptors belong to the sessions. */
	for (size_t i = 1; i < 3; i++) {
		if (p[i].fd >= 0)
			close(p[i].fd);
	}
	return end_signal;
}

/* Open the recordings beside this one, which add to the entries of tasks. */
static void open_beside(struct record *r)
{
	static const char *const suffix[] = { STEAL_SUFFIX, IRQ_SUFFIX, WAKE_SUFFIX };
	static char path[ARRAY_SIZE(suffix)][4096];
	static struct record steal, irq, wake;

	for (size_t i = 0; i < ARRAY_SIZE(suffix); i++) {
		if (snprintf(path[i], sizeof(path[i]), "%s%s", r->path, suffix[i]) >=
		    (int)sizeof(path[i]))
			usage_error("-o %s: too long", r->path);
	}
	if (r->wants_steal)
		session_open_steal(r, &steal, path[0], true);
	if (r->wants_irq)
		session_open_irq(r, &irq, path[1], true);
	if (r->wants_wake)
		session_open_wake(r, &wake, path[2], true);
}

static void begin(struct record *r)
{
	r->wait_for_reader = wait_for_reader;
	if (r->ring)
		ring_begin(r);
	else
		output_begin(r, record_is_stream(r) ? STDOUT_FILENO : output_create(r));
}

static void end(struct record *r)
{
	while (output_drain(r))
		;
	if (r->ring)
		ring_write(r);
	else
		output_end(r);
	if (!r->ring || r->side.lost)
		progress(r, true);
}

static int cmd_record(int argc, char **argv)
{
	struct record r = parse(argc, argv);
	sigset_t mask;
	int sig, status = 0, failed = 0;

	record_catch_signals(&mask);
	/* A reader that goes is an error like others. */
	signal(SIGPIPE, SIG_IGN);
	session_open(&r);
	open_beside(&r);
	if (r.ring)
		catch_ring_signals();
	for_each(each, &r)
		begin(each);
	/* Start these first, so that they cover each wait, and have each sleep's waker. */
	for_each(each, r.beside)
		session_start(each);
	session_start(&r);
	if (r.command)
		workload_start(r.command, &mask, r.ring);
	sig = record_loop(&r, &mask);

	/* A file that is full has asked already. */
	if (!r.full)
		output_ask(&r);
	for_each(each, &r)
		session_stop(each);
	for_each(each, &r)
		end(each);
	if (r.command)
		status = workload_end(sig ?: SIGTERM);
	for_each(each, &r)
		failed |= each->failed;
	return status ?: failed;
}

const struct verb verb_record = {
	.name = "record",
	.brief = "record until a command ends, or Ctrl-C",
	.usage =
	"record [OPTION]... [COMMAND [ARGUMENT]...]\n"
	"  -o FILE          write to FILE (default: kdtl.data); -: to standard output\n"
	"  -d TIME          record for so long; seconds, or 500ms, 2h\n"
	"  -s SOURCE        such as kdtl_sched (default: the best there is)\n"
	"  -C CPUS          record CPUS, such as 0-3,8 (default: all)\n"
	"  -w TIME          record only dispatches after such a wait or a longer one; ms,\n"
	"                   or 50us\n"
	"  -m PAGES         pages of log per CPU, a power of two\n"
	"  -i               record also when CPUs become idle\n"
	"  --steal          record what the hypervisor takes, too, into FILE.steal\n"
	"  --irq            record when interrupts had a CPU, too, into FILE.irq\n"
	"  --wake           record who woke whom, too, into FILE.wake\n"
	"  --ring TIME      keep the last seconds in memory, and write them to FILE at\n"
	"                   SIGUSR2, at Ctrl-\\, and at the end\n"
	"  --on-alarm       write them at each alarm of kdtl_watch, too\n"
	"  --max-size SIZE  stop when FILE has SIZE, such as 100M\n"
	"  --rotate NUMBER  keep so many old files, FILE.1 being the newest, and with\n"
	"                   --max-size go on in a new one instead\n"
	"  -q               print neither progress nor summary",
	.run = cmd_record,
};
