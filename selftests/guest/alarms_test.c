// SPDX-License-Identifier: GPL-2.0
/*
 * A load that writes down what it does, for alarms.sh
 *
 *	alarms_test wait NAME CPU MS	wants the CPU all the time, and prints a line for
 *					each time of MS or more without it:
 *					"HH:MM:SS.uuuuuu MS"
 *	alarms_test hog NAME CPU MS [PROCS]	wants the CPU for MS, as a real-time task, and
 *					prints how long it had it.  With PROCS, a file
 *					cgroup.procs, it gets the CPU as alarms_test, and
 *					joins the cgroup and takes its name only then
 *	alarms_test move NAME CPU MS PID	is a hog that takes the task PID to CPU, and when MS
 *					are over to CPU 0, which another hog has for MS / 2
 *	alarms_test exec NAME CPU MS	is a hog by way of a thread that gets the CPU, and then
 *					calls exec(), which gives it the PID of its process's
 *					leader
 *
 * NAME is the name of the task.  Times of day are in UTC.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "must.h"
#include "pin.h"

#define MS	1000000ULL

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * (1000 * MS) + t.tv_nsec;
}

static void tell(uint64_t real, uint64_t len)
{
	const time_t seconds = real / (1000 * MS);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	printf("%02d:%02d:%02d.%06u %llu\n", tm.tm_hour, tm.tm_min, tm.tm_sec,
	       (unsigned int)(real / 1000 % 1000000), (unsigned long long)(len / MS));
}

/* The time of day at @at of the monotonic clock. Others may take the CPU between two readings. */
static uint64_t real_at(uint64_t at)
{
	uint64_t before, real, after;

	do {
		before = now(CLOCK_MONOTONIC);
		real = now(CLOCK_REALTIME);
		after = now(CLOCK_MONOTONIC);
	} while (after - before > MS / 2);
	return real - (before - at);
}

static void wait_for_cpu(uint64_t least)
{
	uint64_t last = now(CLOCK_MONOTONIC), t;

	for (;;) {
		t = now(CLOCK_MONOTONIC);
		if (t - last >= least) {
			tell(real_at(last), t - last);
			t = now(CLOCK_MONOTONIC);
		}
		last = t;
	}
}

static void join(const char *procs)
{
	const int fd = open(procs, O_WRONLY);

	must(fd >= 0 && write(fd, "0", 1) == 1 && !close(fd));
}

static void be_real_time(void)
{
	const struct sched_param param = { .sched_priority = 1 };

	must(!sched_setscheduler(0, SCHED_FIFO, &param));
}

static void hog(uint64_t len, const char *name, const char *procs)
{
	uint64_t from, had;

	be_real_time();
	if (procs)
		join(procs);
	prctl(PR_SET_NAME, name);
	/* With PREEMPT_RT, kernel threads also have the CPU meanwhile. */
	had = now(CLOCK_THREAD_CPUTIME_ID);
	from = now(CLOCK_MONOTONIC);
	while (now(CLOCK_MONOTONIC) - from < len)
		;
	had = now(CLOCK_THREAD_CPUTIME_ID) - had;
	printf("%llu\n", (unsigned long long)(had / MS));
}

/*
 * The task is moved while this one has the CPU, however slow the machine is, to where the second hog
 * already has it.
 */
static void move(uint64_t len, const char *name, int cpu, pid_t pid)
{
	volatile bool *begun = mmap(NULL, sizeof(*begun), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t second;

	must(begun != MAP_FAILED);
	be_real_time();
	pin(pid, cpu);
	hog(len, name, NULL);
	second = fork();
	must(second >= 0);
	if (!second) {
		*begun = true;
		hog(len / 2, name, NULL);
		exit(0);
	}
	pin(second, 0);
	while (!*begun)
		;
	pin(pid, 0);
	must(waitpid(second, NULL, 0) == second);
}

static void *exec_hog(void *args)
{
	char **argv = args;

	be_real_time();
	execl("/proc/self/exe", argv[0], "hog", argv[2], argv[3], argv[4], NULL);
	must(!"exec");
	return NULL;
}

static void exec_in_thread(char **argv)
{
	pthread_t thread;

	must(!pthread_create(&thread, NULL, exec_hog, argv));
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	bool moves;

	must(argc == 5 || argc == 6);
	moves = !strcmp(argv[1], "move");
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 5 || moves)
		prctl(PR_SET_NAME, argv[2]);
	pin(0, atoi(argv[3]));
	if (moves)
		move(atoi(argv[4]) * MS, argv[2], atoi(argv[3]), atoi(argv[5]));
	else if (!strcmp(argv[1], "exec"))
		exec_in_thread(argv);
	else if (!strcmp(argv[1], "wait"))
		wait_for_cpu(atoi(argv[4]) * MS);
	else
		hog(atoi(argv[4]) * MS, argv[2], argv[5]);
	return 0;
}
