// SPDX-License-Identifier: GPL-2.0
/*
 * Use /dev/kdtl and perf events on a kdtl source while allocations fail, or
 * kdtl's own functions do: the 1st of a call, the 2nd, ... until the call
 * succeeds without a fault
 *
 *	fault_test		prints the names of all calls
 *	fault_test NAME		lets each allocation fail; exit status 0: passed
 *	fault_test NAME calls	lets each function fail that fail_function knows
 *	fault_test load FILE	loads a module, without insmod's second try
 *
 * After each fault it checks the errno, that the call has left nothing, and that
 * the call succeeds then.  Run by faults.sh, as root; see
 * Documentation/fault-injection of the kernel.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../api/include/uapi/linux/kdtl.h"
#include "must.h"
#include "pin.h"

#define PAGES	16	/* of log */
#define MOST	5000

static size_t page;
static int nth_fd, dev = -1, event = -1, pipes[2];
static bool functions;
static void *ring, *aux;

/* ---------------------------------------------------------------------- faults */

#define FUNCTION	"/sys/kernel/debug/fail_function/"

static void put(const char *path, int value)
{
	FILE *f = fopen(path, "we");

	must(f && fprintf(f, "%d", value) > 0 && !fclose(f));
}

static int get(const char *path)
{
	FILE *f = fopen(path, "re");
	int value;

	must(f && fscanf(f, "%d", &value) == 1 && !fclose(f));
	return value;
}

/* No task filter is set: interrupts, and threads that work for this task, also count. */
static void arm_functions(int nth)
{
	put(FUNCTION "space", nth);
	put(FUNCTION "times", 1);
	put(FUNCTION "probability", nth ? 100 : 0);
}

static void arm(int nth)
{
	char buf[16];
	int len = snprintf(buf, sizeof(buf), "%d", nth);

	if (functions)
		arm_functions(nth);
	else
		must(pwrite(nth_fd, buf, len, 0) == len);
}

/* Returns whether the fault was met. */
static bool disarm(void)
{
	char buf[16] = "";
	bool met;

	if (functions) {
		met = !get(FUNCTION "times");
	} else {
		must(pread(nth_fd, buf, sizeof(buf) - 1, 0) > 0);
		met = !atoi(buf);
	}
	arm(0);
	return met;
}

/* ------------------------------------------------------------------------ state */

/* What this process has pinned, in KiB. */
static long pinned(void)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");
	long kib = -1;

	must(f);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "VmPin: %ld", &kib);
	fclose(f);
	must(kib >= 0);
	return kib;
}

/* How many sessions there are, of all processes. */
static int sessions(void)
{
	FILE *f = fopen("/sys/kernel/debug/kdtl/sessions", "re");
	int c, n = 0;

	must(f);
	while ((c = getc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

static int fds(void)
{
	const int fd = dup(0);

	must(fd >= 0);
	close(fd);
	return fd;
}

/* ------------------------------------------------------------------------ calls */

static int do_open(void)
{
	dev = open("/dev/kdtl", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	return dev < 0 ? -1 : 0;
}

static void undo_open(void)
{
	must(!close(dev));
	dev = -1;
}

static void prepare_setup(void)
{
	must(!do_open());
}

static int do_setup(void)
{
	struct kdtl_stream_attr attr = { .aux_pages = PAGES, .source = "kdtl_sched" };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	attr.cpus = (uintptr_t)&set;
	attr.cpus_len = sizeof(set);
	return ioctl(dev, KDTL_IOC_SETUP, &attr);
}

static void prepare_start(void)
{
	prepare_setup();
	must(!do_setup());
}

static int do_start(void)
{
	return ioctl(dev, KDTL_IOC_START);
}

static void prepare_started(void)
{
	struct kdtl_stream_info info = { .cpu = -1 };

	prepare_start();
	must(!do_start());
	/* Make something to read. A sleep may be over before it began, so look whether it did. */
	do {
		usleep(1);
		must(!ioctl(dev, KDTL_IOC_INFO, &info));
	} while (info.unread < 100);
}

static int do_stop(void)
{
	return ioctl(dev, KDTL_IOC_STOP);
}

static int do_info(void)
{
	struct kdtl_stream_info info = { .cpu = -1 };

	return ioctl(dev, KDTL_IOC_INFO, &info);
}

static int do_read(void)
{
	static struct kdtl_entry e[8];

	return read(dev, e, sizeof(e)) > 0 ? 0 : -1;
}

static int do_poll(void)
{
	struct pollfd pfd = { .fd = dev, .events = POLLIN };

	return poll(&pfd, 1, 0) < 0 ? -1 : 0;
}

/* A read of a file that was not set up begins to log by itself. */
static int do_begin(void)
{
	static struct kdtl_entry e;

	if (read(dev, &e, sizeof(e)) >= 0 || errno == EAGAIN)
		return 0;
	return -1;
}

static void prepare_splice(void)
{
	prepare_started();
	must(!pipe2(pipes, O_NONBLOCK | O_CLOEXEC));
}

static int do_splice(void)
{
	return splice(dev, NULL, pipes[1], NULL, 4096, SPLICE_F_NONBLOCK) > 0 ? 0 : -1;
}

static void undo_splice(void)
{
	close(pipes[0]);
	close(pipes[1]);
	undo_open();
}

static void *map(int fd, size_t pages, off_t at)
{
	return mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
}

static int do_map_ring(void)
{
	ring = map(dev, 5, 0);
	return ring == MAP_FAILED ? -1 : 0;
}

static void undo_map_ring(void)
{
	must(!munmap(ring, 5 * page));
	undo_open();
}

static void say_where_aux(struct perf_event_mmap_page *pg)
{
	pg->aux_offset = 8 * page;
	pg->aux_size = PAGES * page;
}

static void prepare_map_aux(void)
{
	prepare_start();
	must(!do_map_ring());
	say_where_aux(ring);
}

static int do_map_aux(void)
{
	aux = map(dev, PAGES, 8 * page);
	return aux == MAP_FAILED ? -1 : 0;
}

static void undo_map_aux(void)
{
	must(!munmap(aux, PAGES * page));
	undo_map_ring();
}

static int pmu_type(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/kdtl_sched/type", "re");
	int type;

	must(f && fscanf(f, "%d", &type) == 1);
	fclose(f);
	return type;
}

static struct perf_event_attr event_attr = {
	.size	= sizeof(event_attr),
	.config	= KDTL_MASK_ALL,
};

static int do_perf_open(void)
{
	event = syscall(SYS_perf_event_open, &event_attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return event < 0 ? -1 : 0;
}

static void prepare_perf_open(void)
{
	event_attr.type = pmu_type();
}

static void undo_perf_open(void)
{
	must(!close(event));
	event = -1;
}

static void prepare_perf_aux(void)
{
	prepare_perf_open();
	must(!do_perf_open());
	ring = map(event, 5, 0);
	must(ring != MAP_FAILED);
	say_where_aux(ring);
}

static int do_perf_aux(void)
{
	aux = map(event, PAGES, 8 * page);
	return aux == MAP_FAILED ? -1 : 0;
}

static void undo_perf_aux(void)
{
	must(!munmap(aux, PAGES * page));
	must(!munmap(ring, 5 * page));
	undo_perf_open();
}

static const struct call {
	const char	*name;
	void		(*prepare)(void);
	int		(*call)(void);
	void		(*undo)(void);
	int		also;		/* an errno besides ENOMEM and EIO */
	bool		keeps;		/* a call that fails may leave the session */
} calls[] = {
	{ "open", NULL, do_open, undo_open, 0, false },
	{ "setup", prepare_setup, do_setup, undo_open, ENODEV, false },
	{ "start", prepare_start, do_start, undo_open, 0, false },
	{ "stop", prepare_started, do_stop, undo_open, 0, false },
	{ "info", prepare_started, do_info, undo_open, 0, false },
	{ "begin", prepare_setup, do_begin, undo_open, ENODEV, true },
	{ "read", prepare_started, do_read, undo_open, 0, false },
	{ "poll", prepare_started, do_poll, undo_open, 0, false },
	{ "splice", prepare_splice, do_splice, undo_splice, 0, false },
	{ "map_ring", prepare_start, do_map_ring, undo_map_ring, 0, false },
	{ "map_aux", prepare_map_aux, do_map_aux, undo_map_aux, 0, false },
	{ "perf_open", prepare_perf_open, do_perf_open, undo_perf_open, 0, false },
	{ "perf_map_aux", prepare_perf_aux, do_perf_aux, undo_perf_aux, 0, false },
};

#define NR_CALLS ARRAY_SIZE(calls)

static void walk(const struct call *c)
{
	int nth, err, errors = 0;
	bool met = true;

	for (nth = 1; met && nth < MOST; nth++) {
		const int had_fds = fds(), had_sessions = sessions();
		const long had_pinned = pinned();
		int call_fds, call_sessions;
		long call_pinned;

		if (c->prepare)
			c->prepare();
		call_fds = fds();
		call_sessions = sessions();
		call_pinned = pinned();
		arm(nth);
		err = c->call() ? errno : 0;
		met = disarm();
		errno = err;
		if (err) {
			errors++;
			if (!met)
				die("%s: an error without a fault", c->name);
			if (err != ENOMEM && err != EIO && err != c->also)
				die("%s: fault %d: the wrong errno", c->name, nth);
			if (fds() != call_fds ||
			    (!c->keeps && (sessions() != call_sessions ||
					   pinned() != call_pinned)))
				die("%s: fault %d: left %d files, %d sessions, %ld KiB pinned",
				    c->name, nth, fds() - call_fds, sessions() - call_sessions,
				    pinned() - call_pinned);
			if (c->call())
				die("%s: does not succeed after fault %d", c->name, nth);
		}
		c->undo();
		if (fds() != had_fds || sessions() != had_sessions || pinned() != had_pinned)
			die("%s: fault %d: something is left at the end", c->name, nth);
	}
	if (met)
		die("%s: no end of faults", c->name);
	printf("# %s: %d %s failed, %d errors\n", c->name, nth - 2,
	       functions ? "functions" : "allocations", errors);
}

/* busybox's insmod does not do: if the file is refused, it loads the file's content. */
static int load(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	must(fd >= 0);
	if (!syscall(SYS_finit_module, fd, "", 0))
		return 0;
	printf("%s\n", strerror(errno));
	return 1;
}

int main(int argc, char **argv)
{
	size_t i;

	if (argc < 2) {
		for (i = 0; i < NR_CALLS; i++)
			printf("%s ", calls[i].name);
		puts("");
		return 0;
	}
	if (argc > 2 && !strcmp(argv[1], "load"))
		return load(argv[2]);
	functions = argc > 2;
	page = sysconf(_SC_PAGESIZE);
	/* CPU 0 is the one that is logged. */
	pin(0, 0);
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (nth_fd < 0) {
		printf("# no /proc/thread-self/fail-nth: CONFIG_FAULT_INJECTION\n");
		return 4;
	}
	/* A page fault of this process must not be what fails. */
	must(!mlockall(MCL_CURRENT));
	for (i = 0; i < NR_CALLS; i++) {
		if (strcmp(argv[1], calls[i].name))
			continue;
		walk(&calls[i]);
		return 0;
	}
	return 1;
}
