// SPDX-License-Identifier: GPL-2.0
/* kdtl record: from /dev/kdtl through a pipe to a file, without copying. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kdtl.h"

/* Capacity of a pipe. */
#define PIPE_BYTES	(1 << 16)

struct record {
	const char		*path;
	char			**command;
	double			seconds;
	bool			quiet;
	bool			idle_if_known;
	struct kdtl_stream_attr	attr;
	cpu_set_t		*cpus;

	int			dev;
	int			out;
	int			pipe[2];
	struct kdtl_file	head;
	uint64_t		bytes;
	struct side		side;
};

static volatile sig_atomic_t stop_signal;
static volatile sig_atomic_t child_gone;

static void on_signal(int sig)
{
	if (sig == SIGCHLD)
		child_gone = 1;
	else
		stop_signal = sig;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

double parse_seconds(const char *option, const char *text)
{
	char *end;
	const double seconds = strtod(text, &end);

	/* Up to 31 years: more would not fit into a time in ns. */
	if (end == text || *end || !(seconds > 0 && seconds < 1e9))
		usage_error("%s %s: must be a number of seconds", option, text);
	return seconds;
}

static struct record parse(int argc, char **argv)
{
	struct record r = { .path = "kdtl.data" };
	char *end;
	int opt;

	opterr = 0;
	while ((opt = getopt(argc, argv, "+o:d:s:C:w:m:iq")) != -1) {
		switch (opt) {
		case 'o':
			if (!strcmp(optarg, "-"))
				usage_error("-o -: must be a file, because its head is written last");
			r.path = optarg;
			break;
		case 'd':
			r.seconds = parse_seconds("-d", optarg);
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
			r.attr.min_wait = parse_ms("-w", optarg);
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
		default:
			usage_error("record -%c: no such option, or its value is missing", optopt);
		}
	}
	if (r.attr.mask && r.attr.min_wait)
		usage_error("-i and -w: an idle CPU does not wait, so -w leaves out what -i asks for");
	if (argv[optind])
		r.command = argv + optind;
	return r;
}

static struct kdtl_stream_info session_info(const struct record *r)
{
	struct kdtl_stream_info info = { .cpu = -1 };

	if (ioctl(r->dev, KDTL_IOC_INFO, &info))
		die("/dev/kdtl");
	return info;
}

static void write_head(struct record *r)
{
	if (pwrite(r->out, &r->head, sizeof(r->head), 0) != sizeof(r->head))
		die("%s", r->path);
}

/*
 * When the time base was tb_boot.  It is not slewed as the wall clock is, so this is only
 * right for entries of about now.
 */
static void set_boot_time(struct record *r)
{
	struct kdtl_stream_clock clock;
	uint64_t ticks;

	if (ioctl(r->dev, KDTL_IOC_CLOCK, &clock))
		die("/dev/kdtl");
	ticks = clock.ticks - be64toh(r->head.tb_boot);
	r->head.boot_time = htobe64(clock.realtime -
				    ticks_at_to_ns(be64toh(r->head.tb_freq), ticks));
}

/* The clock is slewed, or set, so its time is recorded again and again. */
static void save_clock(struct record *r)
{
	struct kdtl_stream_clock clock;
	struct clock_pair pair;

	if (ioctl(r->dev, KDTL_IOC_CLOCK, &clock))
		die("/dev/kdtl");
	pair = (struct clock_pair){ htobe64(clock.ticks), htobe64(clock.realtime) };
	write_chunk(r->out, r->path, KDTL_CHUNK_CLOCK, &pair, sizeof(pair));
}

static void open_output(struct record *r)
{
	r->out = open(r->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (r->out < 0)
		die("%s", r->path);
}

static void set_up(struct record *r)
{
	int err;

	r->dev = open_device();
	err = ioctl(r->dev, KDTL_IOC_SETUP, &r->attr);
	if (err && errno == EOPNOTSUPP && r->idle_if_known) {
		r->attr.mask = 0;
		err = ioctl(r->dev, KDTL_IOC_SETUP, &r->attr);
	}
	if (err) {
		if (errno == ENODEV)
			die("no source %s: see kdtl list", r->attr.source);
		if (errno == EOPNOTSUPP)
			die("-i: the source does not tell when a CPU becomes idle");
		if (errno == EPERM)
			die("the log would exceed RLIMIT_MEMLOCK: use fewer pages (-m) or CPUs (-C)");
		die("cannot set up the session; the kernel's log may say why");
	}
}

static void begin(struct record *r)
{
	const struct kdtl_stream_info info = session_info(r);
	struct utsname uts;

	if (pipe2(r->pipe, O_CLOEXEC))
		die("pipe");

	r->head = (struct kdtl_file){
		.magic = KDTL_FILE_MAGIC,
		.size = htobe32(sizeof(r->head)),
		.tb_freq = htobe64(info.tb_freq),
		.tb_boot = htobe64(info.tb_boot),
	};
	set_boot_time(r);
	strcpy(r->head.source, info.source);
	uname(&uts);
	snprintf(r->head.host, sizeof(r->head.host), "%.63s", uts.nodename);
	snprintf(r->head.release, sizeof(r->head.release), "%.63s", uts.release);
	write_head(r);
	if (lseek(r->out, sizeof(r->head), SEEK_SET) < 0)
		die("%s: must be a file", r->path);
	r->side = (struct side){ .dev = r->dev, .out = r->out, .path = r->path };
	save_clock(r);
}

/*
 * Move what there is to the file.  The number of rounds is limited, since new
 * entries may come as fast as they go.  Returns false when the session has been
 * stopped and all was moved.
 */
static bool drain(struct record *r)
{
	ssize_t n = -1, done;
	int rounds = 256;

	while (rounds-- && (n = splice(r->dev, NULL, r->pipe[1], NULL, PIPE_BYTES, SPLICE_F_NONBLOCK)) > 0) {
		r->bytes += n;
		/* These entries are not newer than the tasks that are saved here. */
		side_save(&r->side);
		write_chunk(r->out, r->path, KDTL_CHUNK_ENTRIES, NULL, n);
		for (; n; n -= done) {
			done = splice(r->pipe[0], NULL, r->out, NULL, n, 0);
			if (done <= 0)
				die("%s", r->path);
		}
	}
	if (n < 0 && errno != EAGAIN)
		die("/dev/kdtl");
	return n;
}

static void progress(const struct record *r, uint64_t start, bool last)
{
	const bool tty = isatty(STDERR_FILENO);
	const struct kdtl_stream_info info = session_info(r);

	if (r->quiet || (!last && !tty))
		return;
	fprintf(stderr, "%s%s: %.1f s, %llu %s, %llu lost, %.1f MB%s",
		tty ? "\r" : "", r->path, (now_ns(CLOCK_MONOTONIC) - start) / 1e9,
		(unsigned long long)(r->bytes / sizeof(struct kdtl_entry)),
		r->attr.mask & KDTL_MASK_IDLE ? "entries" : "dispatches",
		(unsigned long long)info.lost, lseek(r->out, 0, SEEK_CUR) / 1e6,
		last ? "\n" : "   ");
	if (last && r->attr.min_wait)
		fprintf(stderr, "kdtl: %llu more waited less than -w says\n",
			(unsigned long long)info.filtered);
	if (last && info.lost)
		fprintf(stderr, "kdtl: with more pages (-m) fewer would be lost\n");
	if (last && r->side.lost)
		fprintf(stderr, "kdtl: %llu records of tasks were lost: load kdtl with a larger task_records=\n",
			(unsigned long long)r->side.lost);
}

static pid_t run(char **command, const sigset_t *mask)
{
	const pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(command[0], command);
	fprintf(stderr, "kdtl: %s: %s\n", command[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* Record until the time is up, the command has ended, or a signal comes. */
static void record(struct record *r, const sigset_t *mask, uint64_t start)
{
	struct pollfd p = { .fd = r->dev, .events = POLLIN };
	uint64_t shown = start, now;
	uint64_t wait;

	while (!stop_signal && !child_gone) {
		now = now_ns(CLOCK_MONOTONIC);
		wait = 1000000000;
		if (r->seconds) {
			if (now - start >= r->seconds * 1e9)
				return;
			if (r->seconds * 1e9 - (now - start) < wait)
				wait = r->seconds * 1e9 - (now - start);
		}
		if (ppoll(&p, 1, &(struct timespec){ wait / 1000000000, wait % 1000000000 },
			  mask) < 0 && errno != EINTR)
			die("/dev/kdtl");
		drain(r);
		now = now_ns(CLOCK_MONOTONIC);
		if (now - shown >= 1000000000) {
			progress(r, start, false);
			save_clock(r);
			shown = now;
		}
	}
}

/* The session has been stopped: move the rest, and make the recording complete. */
static void end(struct record *r)
{
	while (drain(r))
		;
	save_clock(r);
	set_boot_time(r);
	r->head.lost = htobe64(session_info(r).lost);
	r->head.entries = htobe64(r->bytes / sizeof(struct kdtl_entry));
	r->head.tasks_lost = htobe64(r->side.lost);
	r->head.complete = htobe32(1);
	write_head(r);
}

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD };

/*
 * Catch the signals that end a recording.  Only ppoll() unblocks them, so none is missed
 * between a check and a sleep.  @mask is set to what was blocked before.
 */
static void catch_signals(sigset_t *mask)
{
	const struct sigaction act = { .sa_handler = on_signal };
	sigset_t block;

	sigemptyset(&block);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		sigaction(signals[i], &act, NULL);
		sigaddset(&block, signals[i]);
	}
	sigprocmask(SIG_BLOCK, &block, mask);
}

/* From now on they end the program, but not one that came meanwhile. */
static void release_signals(const sigset_t *mask)
{
	sigprocmask(SIG_SETMASK, mask, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		signal(signals[i], SIG_DFL);
}

static int cmd_record(int argc, char **argv)
{
	struct record r = parse(argc, argv);
	int status = 0;
	uint64_t start;
	sigset_t mask;
	pid_t pid = 0;

	catch_signals(&mask);
	set_up(&r);
	open_output(&r);
	begin(&r);
	start = now_ns(CLOCK_MONOTONIC);
	if (ioctl(r.dev, KDTL_IOC_START))
		die("cannot start recording");
	if (r.command)
		pid = run(r.command, &mask);
	record(&r, &mask, start);

	if (ioctl(r.dev, KDTL_IOC_STOP))
		die("cannot stop recording");
	end(&r);
	progress(&r, start, true);
	if (fsync(r.out) && errno != EINVAL)
		die("%s", r.path);

	if (pid) {
		if (!child_gone)
			kill(pid, stop_signal ? stop_signal : SIGTERM);
		waitpid(pid, &status, 0);
		return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	return 0;
}

/*
 * Record what all CPUs do for @seconds, or until Ctrl-C, into memory.  Returns the path of
 * the recording, for recording_open(); the next call closes it.
 */
const char *record_live(double seconds)
{
	struct record r = {
		.path = "the recording in memory", .seconds = seconds, .quiet = true,
		.idle_if_known = true,
		.attr.mask = KDTL_MASK_ALL | KDTL_MASK_IDLE,
	};
	static char path[32];
	static int out = -1;
	sigset_t mask;

	if (out >= 0)
		close(out);
	out = memfd_create("kdtl", MFD_CLOEXEC);
	if (out < 0)
		die("memfd_create");
	r.out = out;
	stop_signal = 0;
	catch_signals(&mask);
	set_up(&r);
	begin(&r);
	if (ioctl(r.dev, KDTL_IOC_START))
		die("cannot start recording");
	record(&r, &mask, now_ns(CLOCK_MONOTONIC));
	if (ioctl(r.dev, KDTL_IOC_STOP))
		die("cannot stop recording");
	end(&r);
	close(r.pipe[0]);
	close(r.pipe[1]);
	close(r.dev);
	tdestroy(r.side.cgroups, free);
	release_signals(&mask);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", out);
	return path;
}

/* The last record_live() ended early, since Ctrl-C or another signal came. */
bool record_live_interrupted(void)
{
	return stop_signal;
}

const struct verb verb_record = {
	.name = "record",
	.brief = "record until a command ends, or Ctrl-C",
	.usage =
	"record [OPTION]... [COMMAND [ARGUMENT]...]\n"
	"  -o FILE      write to FILE (default: kdtl.data)\n"
	"  -d SECONDS   record for SECONDS\n"
	"  -s SOURCE    kdtl_sched or kdtl_vpa (default: the best there is)\n"
	"  -C CPUS      record CPUS, such as 0-3,8 (default: all)\n"
	"  -w MS        record only dispatches after a wait of MS ms or longer\n"
	"  -m PAGES     pages of log per CPU, a power of two\n"
	"  -i           record also when CPUs become idle\n"
	"  -q           print neither progress nor summary",
	.run = cmd_record,
};
