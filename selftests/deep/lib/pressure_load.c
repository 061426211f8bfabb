// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks of all kinds that want the CPUs at once, and write down what they got
 *
 *	pressure_load ROOT MS
 *
 * ROOT is where cgroup v2 is mounted.  Each task begins in its cgroup, so that all of its waits
 * count there, and all of them are over when this program ends.  Prints lines, with times in us:
 *
 *	task CGROUP DELAY RUNS AWAY HAD	for a task: the kernel's run_delay, and its number of
 *					dispatches; for how long it did not compute though it wanted
 *					to, by the clock that it reads all the time, which includes
 *					its waits; for how long it can have had a CPU at most
 *	switch US			how late the real-time task woke up, the median: this takes a
 *					timer, an interrupt and a switch
 *	took US				from the begin of the first task to the end of the last one
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "must.h"

#define US	1000ULL
#define MS	1000000ULL

/* In less time than this no task can leave its CPU and come back. */
#define GAP	(10 * US)

#define RUN	(3 * MS)
#define WAKES	4096	/* at most */

#define ANY	(-1)	/* a CPU: any of them */
#define EACH	(-2)	/* a CPU: each in turn */

struct kind;

static void spin(const struct kind *k);
static void work(const struct kind *k);

/**
 * struct kind - a task of the load
 * @cgroup: the cgroup that it is in
 * @cpu: where it may run
 * @what: what it does
 * @sleeps: for work(), which computes for RUN and then sleeps: for how long, in ns
 * @fifo: it is a real-time task
 * @deadline: if not 0, it is a deadline task, which may compute for RUN in each such period, in ns
 */
static const struct kind {
	const char	*cgroup;
	int		cpu;
	void		(*what)(const struct kind *k);
	uint64_t	sleeps;
	bool		fifo;
	uint64_t	deadline;
} kinds[] = {
	{ .cgroup = "mixed/quota", .cpu = 0, .what = spin },
	{ .cgroup = "mixed/quota", .cpu = 1, .what = spin },
	{ .cgroup = "mixed/free", .cpu = EACH, .what = spin },
	{ .cgroup = "mixed/free", .cpu = ANY, .what = work, .sleeps = 3 * MS },
	{ .cgroup = "other", .cpu = ANY, .what = spin },
	{ .cgroup = "other", .cpu = ANY, .what = spin },
	{ .cgroup = "other", .cpu = ANY, .what = spin },
	{ .cgroup = "other", .cpu = 3, .what = spin },
	{ .cgroup = "fifo", .cpu = ANY, .what = work, .sleeps = 15 * MS, .fifo = true },
	{ .cgroup = "deadline", .cpu = ANY, .what = spin, .deadline = 20 * MS },
};

/**
 * struct task - a task that runs
 * @pid: its PID
 * @began: when it was made, in ns
 * @looked: when it last read the clock, or wanted to wake up
 * @away: the sum of the gaps between two looks
 * @slept: the sum of the times from its last look to when it wanted to wake up
 * @late: how late it woke up, the median
 */
static struct task {
	pid_t		pid;
	uint64_t	began;
	uint64_t	looked;
	uint64_t	away;
	uint64_t	slept;
	uint64_t	late;
} *tasks, *self;

static uint64_t until;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * (1000 * MS) + t.tv_nsec;
}

/* Look at the clock.  Returns the time. */
static uint64_t look(void)
{
	const uint64_t time = now();

	if (time - self->looked > GAP)
		self->away += time - self->looked;
	self->looked = time;
	return time;
}

/*
 * Run on this CPU or, on a machine with fewer CPUs, on the one that stands for it; ANY: anywhere.
 */
static void bind_to(int cpu)
{
	const int cpus = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int i = 0; i < cpus; i++) {
		if (cpu < 0 || cpu % cpus == i)
			CPU_SET(i, &set);
	}
	must(!sched_setaffinity(0, sizeof(set), &set));
}

/* Computes all the time, and moves to another CPU each 30 ms if it may run on each in turn. */
static void spin(const struct kind *k)
{
	uint64_t time, next = 0;
	int cpu = 0;

	while ((time = look()) < until) {
		if (k->cpu != EACH || time < next)
			continue;
		bind_to(cpu++);
		next = time + 30 * MS;
	}
}

static int by_size(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void work(const struct kind *k)
{
	static uint64_t late[WAKES];
	struct timespec t;
	size_t woke = 0;
	uint64_t next;

	while (look() < until && woke < WAKES) {
		for (uint64_t end = look() + RUN; look() < end;)
			;
		next = self->looked + k->sleeps;
		self->slept += k->sleeps;
		/* Until then the task does not want to compute. */
		self->looked = next;
		t = (struct timespec){ next / (1000 * MS), next % (1000 * MS) };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		late[woke++] = look() - next;
	}
	qsort(late, woke, sizeof(*late), by_size);
	self->late = late[woke / 2];
}

static void be(const struct kind *k)
{
	const struct sched_param param = { .sched_priority = 10 };
	const struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t  nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} deadline = {
		sizeof(deadline), SCHED_DEADLINE, 0, 0, 0, RUN, k->deadline, k->deadline,
	};

	if (k->fifo)
		must(!sched_setscheduler(0, SCHED_FIFO, &param));
	if (k->deadline)
		must(!syscall(SYS_sched_setattr, 0, &deadline, 0));
	k->what(k);
}

static int cgroup_of(const char *root, const struct kind *k)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", root, k->cgroup);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		die("%s", path);
	return fd;
}

static void start(const char *root, const struct kind *k, struct task *t)
{
	struct clone_args args = {
		.flags		= CLONE_INTO_CGROUP,
		.exit_signal	= SIGCHLD,
		.cgroup		= cgroup_of(root, k),
	};
	pid_t pid;

	/* The task starts where it may run, so it never has to move there. */
	bind_to(k->cpu);
	t->began = t->looked = now();
	pid = syscall(SYS_clone3, &args, sizeof(args));
	must(pid >= 0);
	if (!pid) {
		self = t;
		be(k);
		_exit(0);
	}
	t->pid = pid;
	close(args.cgroup);
}

/* Print what the kernel has counted of a task that has exited. */
static void finish(const struct kind *k, struct task *t)
{
	unsigned long long delay, runs;
	siginfo_t info;
	char path[64];
	uint64_t lived;
	FILE *f;

	must(!waitid(P_PID, t->pid, &info, WEXITED | WNOWAIT));
	if (info.si_code != CLD_EXITED || info.si_status)
		die("a task of /%s ended with %d", k->cgroup, info.si_status);
	t->away += now() - t->looked;
	lived = now() - t->began;
	snprintf(path, sizeof(path), "/proc/%d/schedstat", t->pid);
	f = fopen(path, "r");
	must(f && fscanf(f, "%*u %llu %llu", &delay, &runs) == 2);
	fclose(f);
	must(waitpid(t->pid, NULL, 0) == t->pid);
	printf("task /%s %llu %llu %llu %llu\n", k->cgroup, delay / US, runs,
	       (unsigned long long)(t->away / US), (unsigned long long)((lived - t->slept - delay) / US));
	if (k->fifo)
		printf("switch %llu\n", (unsigned long long)(t->late / US));
}

int main(int argc, char **argv)
{
	/* This program's priority is above the load's, so that it sees at once when a task ends. */
	const struct sched_param param = { .sched_priority = 50 };
	uint64_t from;

	must(argc == 3);
	tasks = mmap(NULL, sizeof(*tasks) * ARRAY_SIZE(kinds), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(tasks != MAP_FAILED);
	must(!sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param));
	from = now();
	until = from + atoi(argv[2]) * MS;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		start(argv[1], &kinds[i], &tasks[i]);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		finish(&kinds[i], &tasks[i]);
	printf("took %llu\n", (unsigned long long)((now() - from) / US));
	return 0;
}
