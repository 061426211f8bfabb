// SPDX-License-Identifier: GPL-2.0
/*
 * A machine with two containers, a hog and a quota, which write down what they did
 *
 *	scenario_load ROOT
 *
 * ROOT is where cgroup v2 is mounted.  Prints lines:
 *
 *	service PID COUNT SUM WORST DAY	how often the service in /kdtl_web ran, how late in sum
 *					and at worst, in ns, and when its worst wait ended, in
 *					ns since 1970
 *	hog PID NS			for how long the hog in /kdtl_batch had CPU 1
 *	quota PID LEAST MOST HAD	for how many ns the quota of /kdtl_quota held a task back:
 *					at least what the kernel counted, at most all of the
 *					time without a CPU; and for how many it had a CPU
 *	task FROM TO PID COMM CGROUP	a task's name and cgroup from FROM to TO, in ns of
 *					CLOCK_MONOTONIC, between which it was dispatched.
 *					0 0: it was dispatched once, at any time
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "must.h"
#include "pin.h"

#define MS	1000000ULL
#define LATE	(20 * MS)	/* after more than this, the service begins anew */

static const char *root;
static volatile sig_atomic_t ended;

static uint64_t clock_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * (1000 * MS) + t.tv_nsec;
}

static uint64_t now(void)
{
	return clock_now(CLOCK_MONOTONIC);
}

static void sleep_until(uint64_t ns)
{
	const struct timespec t = { ns / (1000 * MS), ns % (1000 * MS) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void spin_until(uint64_t ns)
{
	while (now() < ns)
		;
}

static void put(const char *file, const char *format, const char *text)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", root, file);
	fd = open(path, O_WRONLY);
	if (fd < 0 || dprintf(fd, format, text) < 0 || close(fd))
		die("%s", path);
}

static void make(const char *cgroup)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", root, cgroup);
	must(!mkdir(path, 0755) || errno == EEXIST);
}

/* Names this task @name, and puts it into @cgroup and on @cpu, or on the last CPU there is. */
static void be(const char *name, const char *cgroup, int cpu)
{
	const int last = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	char procs[64];

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", cgroup);
	put(procs, "%s", "0");
	pin(0, cpu > last ? last : cpu);
	prctl(PR_SET_NAME, name);
}

/*
 * An entry has the name that its task had when it got the CPU, so get it once more.  A timer may
 * expire before the task sleeps.
 */
static void get_cpu_again(void)
{
	struct rusage before, now;

	must(!getrusage(RUSAGE_THREAD, &before));
	do {
		usleep(1000);
		must(!getrusage(RUSAGE_THREAD, &now));
	} while (now.ru_nvcsw == before.ru_nvcsw);
}

static void end(int sig)
{
	ended = sig;
}

/* Wants CPU 1 every 5 ms, and notes how late it gets the CPU. */
static void service(void)
{
	uint64_t next, late, looked, count = 0, sum = 0, worst = 0, day = 0;

	be("kdtl_service", "kdtl_web", 1);
	signal(SIGTERM, end);
	for (next = now();; next += 5 * MS) {
		sleep_until(next);
		if (ended)
			break;
		/* How late it is includes all that keeps it from looking. */
		looked = clock_now(CLOCK_REALTIME);
		late = now() - next;
		count++;
		sum += late;
		if (late > worst) {
			worst = late;
			day = looked;
		}
		if (late > LATE)
			next = now();
	}
	printf("service %d %llu %llu %llu %llu\n", getpid(), (unsigned long long)count,
	       (unsigned long long)sum, (unsigned long long)worst, (unsigned long long)day);
}

#define HOG_PRIORITY	50

/*
 * With PREEMPT_RT a thread of real-time priority 1 ends the sleeps of other tasks.  The service has
 * to wake up while the hog has the CPU, so that thread gets a priority above the hog's.
 */
static void let_sleeps_end(int cpu)
{
	const struct sched_param param = { .sched_priority = HOG_PRIORITY + 1 };
	char name[32], comm[32];
	glob_t found;
	FILE *f;

	snprintf(name, sizeof(name), "ktimers/%d\n", cpu);
	must(!glob("/proc/[0-9]*/comm", 0, NULL, &found));
	for (size_t i = 0; i < found.gl_pathc; i++) {
		f = fopen(found.gl_pathv[i], "r");
		if (!f)
			continue;
		if (fgets(comm, sizeof(comm), f) && !strcmp(comm, name))
			must(!sched_setscheduler(atoi(found.gl_pathv[i] + strlen("/proc/")),
						 SCHED_FIFO, &param));
		fclose(f);
	}
	globfree(&found);
}

static void hog(void)
{
	const struct sched_param param = { .sched_priority = HOG_PRIORITY };
	uint64_t from;

	be("kdtl_hog", "kdtl_batch", 1);
	must(!sched_setscheduler(0, SCHED_FIFO, &param));
	get_cpu_again();
	from = now();
	spin_until(from + 600 * MS);
	printf("hog %d %llu\n", getpid(), (unsigned long long)(now() - from));
}

static uint64_t throttled(void)
{
	unsigned long long us = 0;
	char path[PATH_MAX], line[80];
	FILE *f;

	snprintf(path, sizeof(path), "%s/kdtl_quota/cpu.stat", root);
	f = fopen(path, "r");
	must(f);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "throttled_usec %llu", &us);
	fclose(f);
	return us * 1000;
}

static void quota(void)
{
	/* The cgroup may be there from another run. */
	const uint64_t from = now(), before = throttled();
	uint64_t least, had;

	be("kdtl_quota", "kdtl_quota", 2);
	/* This waits for the kernel's count: a machine that stands still holds no task back. */
	while (throttled() - before < 800 * MS)
		spin_until(now() + 2 * MS);
	/* The kernel counts what has ended, so lift the quota before reading the count. */
	put("kdtl_quota/cpu.max", "%s", "max");
	least = throttled() - before;
	had = clock_now(CLOCK_PROCESS_CPUTIME_ID);
	printf("quota %d %llu %llu %llu\n", getpid(), (unsigned long long)least,
	       (unsigned long long)(now() - from - had), (unsigned long long)had);
}

/* The clocks of a virtual machine's CPUs may differ by 13 ms. */
#define MARGIN	(20 * MS)

/* Gets dispatched, and writes down what this task is. */
static void am(const char *name, const char *cgroup)
{
	const uint64_t from = now() + MARGIN;
	int i;

	for (i = 0; i < 10; i++)
		usleep(10000);
	printf("task %llu %llu %d %s /%s\n", (unsigned long long)from,
	       (unsigned long long)(now() - MARGIN), getpid(), name, cgroup);
}

/* Lives for a millisecond. */
static void brief(void)
{
	be("kdtl_brief", "kdtl_web", 2);
	get_cpu_again();
	spin_until(now() + MS);
	printf("task 0 0 %d kdtl_brief /kdtl_web\n", getpid());
}

static void first(void)
{
	be("kdtl_first", "kdtl_web", 2);
	am("kdtl_first", "kdtl_web");
}

static void second(void)
{
	be("kdtl_second", "kdtl_batch", 2);
	am("kdtl_second", "kdtl_batch");
}

static void mover(void)
{
	be("kdtl_mover", "kdtl_web", 2);
	am("kdtl_mover", "kdtl_web");
	be("kdtl_moved", "kdtl_batch", 2);
	am("kdtl_moved", "kdtl_batch");
}

/* Starts a process that does @what, with the free pid @pid; 0: any. */
static pid_t start(void (*what)(void), pid_t pid)
{
	struct clone_args args = {
		.exit_signal	= SIGCHLD,
		.set_tid	= pid ? (uintptr_t)&pid : 0,
		.set_tid_size	= !!pid,
	};

	fflush(stdout);
	pid = syscall(SYS_clone3, &args, sizeof(args));
	must(pid >= 0);
	if (pid)
		return pid;
	what();
	fflush(stdout);
	_exit(0);
}

static void finish(pid_t pid)
{
	int status;

	must(waitpid(pid, &status, 0) == pid && !status);
}

static pid_t run(void (*what)(void), pid_t pid)
{
	pid = start(what, pid);
	finish(pid);
	return pid;
}

int main(int argc, char **argv)
{
	pid_t waits, pid;

	must(argc == 2);
	root = argv[1];
	put("cgroup.subtree_control", "%s", "+cpu");
	make("kdtl_web");
	make("kdtl_batch");
	make("kdtl_quota");
	put("kdtl_quota/cpu.max", "%s", "10000 100000");

	let_sleeps_end(1);
	waits = start(service, 0);
	usleep(100000);
	run(hog, 0);
	usleep(100000);
	must(!kill(waits, SIGTERM));
	finish(waits);

	run(quota, 0);
	run(brief, 0);
	pid = run(first, 0);
	must(run(second, pid) == pid);
	run(mover, 0);
	return 0;
}
