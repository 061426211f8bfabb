// SPDX-License-Identifier: GPL-2.0
/*
 * Compare the tasks that kdtl_sched calls throttled with the cgroup's own account:
 * one test a run
 *
 *	throttle_test NAME	exit status 0: passed; 4: cannot be tried here
 *
 * Run by throttle.sh, as root, on an otherwise idle machine with two CPUs or more.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../api/include/uapi/linux/kdtl.h"
#include "must.h"
#include "pin.h"

#define MS		1000000ULL
#define ROOT		"/tmp/kdtl-cgroup"
#define GROUP		ROOT "/kdtl"
#define NAME_LEN	64
#define LONG		(60 * MS)

#define NOTABLE		(20 * MS)

/* What the entries say about one task. */
struct sums {
	unsigned int	nr;
	unsigned int	nr_throttled;
	unsigned int	nr_left_throttled;	/* by the entries of the tasks after it */
	uint64_t	wait;
	uint64_t	longest_wait;
	unsigned int	long_waits;
	unsigned int	notable_waits;
	uint64_t	throttled;
	uint64_t	longest_throttled;
	uint64_t	slept;
	unsigned int	passed;		/* waits in which the test's last task got that CPU */
	unsigned int	unused;		/* waits over 5 ms that end with the CPU idle */
	unsigned int	followed;	/* how often it followed the test's last task */
};

static int dev = -1;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * (1000 * MS) + t.tv_nsec;
}

static uint64_t now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static void burn_for(uint64_t ns)
{
	const uint64_t begin = now();

	while (now() - begin < ns)
		;
}

/* ------------------------------------------------------------------- cgroup */

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die("%s to %s", text, path);
	close(fd);
}

static void put_group(const char *group, const char *file, const char *text)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", group, file);
	put(path, text);
}

static void make_group(const char *group, const char *max)
{
	mkdir(ROOT, 0755);
	if (access(ROOT "/cgroup.controllers", F_OK))
		must(!mount("none", ROOT, "cgroup2", 0, NULL));
	put(ROOT "/cgroup.subtree_control", "+cpu");
	/* A test that failed may have left the group, with tasks that are being killed. */
	rmdir(GROUP "/below");
	while (rmdir(group) && errno == EBUSY)
		usleep(1000);
	must(!mkdir(group, 0755));
	put_group(group, "cpu.max", max);
}

static void remove_group(const char *group)
{
	/* This fails until the last task has left the group. */
	while (rmdir(group)) {
		must(errno == EBUSY);
		usleep(1000);
	}
}

/* A number from the group's cpu.stat: how long or how often it was throttled, for example. */
static uint64_t group_stat(const char *group, const char *what)
{
	char path[PATH_MAX], name[NAME_LEN];
	unsigned long long n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/cpu.stat", group);
	f = fopen(path, "r");
	must(f);
	while (fscanf(f, "%63s %llu", name, &n) == 2) {
		if (!strcmp(name, what)) {
			fclose(f);
			return n;
		}
	}
	die("no %s in %s", what, path);
}

static void until_above(const char *what, uint64_t n)
{
	while (group_stat(GROUP, what) <= n)
		usleep(10000);
}

/* Waits until the group has run and been throttled so many times. */
static void until_throttled(unsigned int times)
{
	while (times--) {
		until_above("usage_usec", group_stat(GROUP, "usage_usec") + 5000);
		until_above("nr_throttled", group_stat(GROUP, "nr_throttled"));
	}
}

/* -------------------------------------------------------------------- tasks */

static void burn(void)
{
	for (;;)
		;
}

/* Sleeps nearly all the time, for 1 ms at a time. */
static void doze(void)
{
	for (;;)
		usleep(1000);
}

/* Does a little work between sleeps, so the quota often runs out while it sleeps. */
static void nibble(void)
{
	const struct timespec pause = { .tv_nsec = 50000 };
	volatile unsigned int i;

	for (;;) {
		for (i = 0; i < 20000; i++)
			;
		nanosleep(&pause, NULL);
	}
}

static pid_t tasks[8];
static unsigned int nr_tasks;

/* Called before exit: a real-time task may keep threads off the CPU that exit waits for. */
static void kill_tasks(void)
{
	while (nr_tasks)
		kill(tasks[--nr_tasks], SIGKILL);
}

/* Runs @fn in a process of its own, on @cpu, in @group (NULL: in none). */
static pid_t task(void (*fn)(void), int cpu, const char *group, int fifo)
{
	const struct sched_param param = { .sched_priority = fifo };
	char text[NAME_LEN];
	pid_t pid = fork();

	must(pid >= 0);
	if (pid) {
		/* The child stops itself, so it is in its group before it runs @fn. */
		tasks[nr_tasks++] = pid;
		must(waitpid(pid, NULL, WUNTRACED) == pid);
		if (group) {
			snprintf(text, sizeof(text), "%d", pid);
			put_group(group, "cgroup.procs", text);
		}
		must(!kill(pid, SIGCONT));
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(dev);
	pin(0, cpu);
	if (fifo)
		must(!sched_setscheduler(0, SCHED_FIFO, &param));
	raise(SIGSTOP);
	fn();
	_exit(0);
}

static void end(pid_t pid)
{
	unsigned int i = 0;

	must(!kill(pid, SIGKILL));
	must(waitpid(pid, NULL, 0) == pid);
	while (tasks[i] != pid)
		i++;
	tasks[i] = tasks[--nr_tasks];
}

/* The kernel's own account of a task, in the order of /proc/PID/schedstat. */
enum account { RAN, WAITED, DISPATCHED };

static uint64_t account(pid_t pid, enum account what)
{
	unsigned long long n[3];
	char path[NAME_LEN];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	f = fopen(path, "r");
	must(f && fscanf(f, "%llu %llu %llu", &n[0], &n[1], &n[2]) == 3);
	fclose(f);
	return n[what];
}

/*
 * On a host that stops the machine now and then, a task does little in a span of time.  So a test
 * waits until the kernel says that the task has waited, or was dispatched, as much as the test asks
 * of the log.
 */
static void until_account(pid_t pid, enum account what, uint64_t n)
{
	while (account(pid, what) < n)
		usleep(10000);
}

/* ---------------------------------------------------------------------- log */

static void log_open_of(unsigned int mask)
{
	struct kdtl_stream_attr attr = { .aux_pages = 256, .source = "kdtl_sched", .mask = mask };

	pin(0, 0);
	dev = open("/dev/kdtl", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	must(dev >= 0);
	must(!ioctl(dev, KDTL_IOC_SETUP, &attr));
}

static void log_open(void)
{
	log_open_of(0);
}

/*
 * How long the task has waited, except for one wait.  A host that stops the machine makes that as
 * long as it likes.
 */
static uint64_t waited(const struct sums *s)
{
	return s->wait - s->longest_wait;
}

static void log_start(void)
{
	must(!ioctl(dev, KDTL_IOC_START));
}

/* Stops the log, and reads it. */
static void log_read(const pid_t *pids, struct sums *sums, unsigned int nr)
{
	struct kdtl_stream_info info = { .cpu = -1 };
	/* When the test's last task was dispatched last, on each CPU. */
	static uint64_t passer[CPU_SETSIZE];
	struct kdtl_entry buf[256], *e;
	unsigned int i, cpu;
	uint64_t wait, time;
	ssize_t len;

	must(!ioctl(dev, KDTL_IOC_STOP));
	memset(sums, 0, nr * sizeof(*sums));
	while ((len = read(dev, buf, sizeof(buf))) > 0) {
		for (e = buf; (char *)e < (char *)buf + len; e++) {
			const uint64_t queued = be32toh(e->enqueue_to_dispatch_time),
				       ready = be32toh(e->ready_to_enqueue_time);
			const pid_t pid = be64toh(e->fault_addr) >> 32,
				    prev = be64toh(e->fault_addr);

			cpu = be16toh(e->processor_id);
			time = be64toh(e->timebase);
			must(cpu < CPU_SETSIZE);
			for (i = 0; i < nr; i++) {
				struct sums *s = &sums[i];

				if (prev == pids[i] &&
				    e->preempt_reason == KDTL_PREEMPT_THROTTLED)
					s->nr_left_throttled++;
				if (pid != pids[i])
					continue;
				s->nr++;
				if (e->dispatch_reason == KDTL_DISPATCH_THROTTLED) {
					s->nr_throttled++;
					s->throttled += ready;
					if (ready > s->longest_throttled)
						s->longest_throttled = ready;
					wait = queued;
				} else {
					wait = queued + ready;
				}
				s->slept += be32toh(e->waiting_to_ready_time);
				s->wait += wait;
				s->long_waits += wait > LONG;
				s->notable_waits += wait > NOTABLE;
				if (wait > s->longest_wait)
					s->longest_wait = wait;
				s->unused += wait > 5 * MS && !prev;
				s->followed += prev == pids[nr - 1];
				s->passed += wait > 5 * MS && time - wait < passer[cpu];
			}
			if (pid == pids[nr - 1])
				passer[cpu] = time;
		}
	}
	must(!len);
	must(!ioctl(dev, KDTL_IOC_INFO, &info) && !info.lost);
	for (i = 0; i < nr; i++) {
		printf("# %d: %u dispatches, waited %llu ms, longest %llu ms, %u times over 20 ms; throttled %u times, %llu ms; left so %u times; slept %llu ms\n",
		       i, sums[i].nr, (unsigned long long)(sums[i].wait / MS),
		       (unsigned long long)(sums[i].longest_wait / MS),
		       sums[i].notable_waits, sums[i].nr_throttled,
		       (unsigned long long)(sums[i].throttled / MS), sums[i].nr_left_throttled,
		       (unsigned long long)(sums[i].slept / MS));
	}
}

/* ------------------------------------------------------------------- cpu.max */

/* No other session may run meanwhile, or kdtl_sched looks at all tasks for that one. */
static void test_only(void)
{
	struct sums s;
	pid_t pid;

	make_group(GROUP, "5000 20000");
	log_open_of(KDTL_MASK_THROTTLE);
	pid = task(burn, 1, GROUP, 0);
	log_start();
	until_throttled(10);
	log_read(&pid, &s, 1);
	must(s.nr_throttled >= 8 && s.nr == s.nr_throttled);
	end(pid);
}

/* A task that is alone on its CPU never waits for it. */
static void test_alone(void)
{
	uint64_t throttled;
	struct sums s;
	pid_t pid;

	make_group(GROUP, "20000 100000");
	log_open();
	pid = task(burn, 1, GROUP, 0);
	until_throttled(1);
	log_start();
	throttled = group_stat(GROUP, "throttled_usec");
	until_throttled(20);
	throttled = (group_stat(GROUP, "throttled_usec") - throttled) * 1000;
	log_read(&pid, &s, 1);
	printf("# the group was throttled for %llu ms\n", (unsigned long long)(throttled / MS));
	/* The first throttling may have begun before the log, and the last one is not over yet. */
	must(s.nr_throttled);
	/* An entry has room for 4.29 s, and the host may stop the machine for longer. */
	must(s.throttled + s.longest_throttled > throttled * 9 / 10 ||
	     s.longest_throttled == UINT32_MAX);
	must(s.throttled < throttled * 11 / 10 + s.longest_throttled);
	must(waited(&s) < throttled / 5);
	end(pid);
}

/* Of two tasks, one is in the queue when the quota runs out, or wakes up later. */
static void pair_in_group(void (*other)(void), int other_cpu)
{
	struct sums s[2];
	pid_t pids[2];

	make_group(GROUP, "20000 200000");
	log_open();
	pids[0] = task(burn, 1, GROUP, 0);
	pids[1] = task(other, other_cpu, GROUP, 0);
	until_throttled(3);
	log_start();
	until_throttled(10);
	log_read(pids, s, 2);
	/*
	 * A wait for a CPU ends after a few time slices, throttling after up to 190 ms.
	 * An emulated machine may stand still now and then, which makes a wait long.
	 */
	for (int i = 0; i < 2; i++) {
		must(s[i].nr_throttled >= 2);
		must(s[i].long_waits <= s[i].nr_throttled / 2);
		must(s[i].throttled > 2 * LONG);
	}
	end(pids[0]);
	end(pids[1]);
}

static void test_queued(void)
{
	pair_in_group(burn, 1);
}

/*
 * When a CPU was idle for some ms, kdtl_sched looks closer anyway, for the sake of its clock.  Here
 * it never is.
 */
static void test_busy(void)
{
	pid_t pid = task(doze, 1, NULL, 0);

	pair_in_group(burn, 1);
	end(pid);
}

static void test_woken(void)
{
	pair_in_group(doze, 1);
}

static void test_sleepers(void)
{
	pair_in_group(nibble, 1);
}

/* The quota is used up on another CPU: the group is throttled when the task wakes up. */
static void test_elsewhere(void)
{
	pair_in_group(doze, 0);
}

/* The quota is that of the group above. */
static void test_nested(void)
{
	struct sums s;
	pid_t pid;

	make_group(GROUP, "20000 100000");
	put(GROUP "/cgroup.subtree_control", "+cpu");
	make_group(GROUP "/below", "max");
	log_open();
	pid = task(burn, 1, GROUP "/below", 0);
	until_throttled(1);
	log_start();
	until_throttled(10);
	log_read(&pid, &s, 1);
	must(s.nr_throttled);
	must(waited(&s) < s.throttled / 5);
	end(pid);
	remove_group(GROUP "/below");
}

/* Without a quota no task is throttled, and those that burn wait. */
static void test_contention(void)
{
	struct sums s[4];
	pid_t pids[4];

	make_group(GROUP, "max");
	make_group(GROUP "2", "max");
	log_open();
	log_start();
	pids[0] = task(burn, 1, GROUP, 0);
	pids[1] = task(burn, 1, GROUP "2", 0);
	pids[2] = task(nibble, 1, GROUP, 0);
	pids[3] = task(doze, 1, NULL, 0);
	sleep(3);
	for (int i = 0; i < 2; i++)
		until_account(pids[i], WAITED, 600 * MS);
	log_read(pids, s, 4);
	for (int i = 0; i < 4; i++) {
		must(!s[i].nr_throttled && !s[i].nr_left_throttled);
		end(pids[i]);
	}
	must(s[0].wait > 500 * MS && s[1].wait > 500 * MS);
	remove_group(GROUP "2");
}

/*
 * While one group is throttled, a task of another group waits as always, even if that group was
 * throttled before the task began to wait.
 */
static void test_beside(void)
{
	struct sums s[3];
	pid_t pids[3];

	make_group(GROUP, "20000 100000");
	make_group(GROUP "2", "20000 100000");
	log_open();
	pids[0] = task(burn, 1, GROUP, 0);
	pids[1] = task(burn, 1, GROUP "2", 0);
	pids[2] = task(doze, 1, GROUP "2", 0);
	log_start();
	while (group_stat(GROUP "2", "nr_throttled") < 3)
		usleep(10000);
	put_group(GROUP "2", "cpu.max", "max");
	until_throttled(3);
	log_read(pids, s, 3);
	log_start();
	until_throttled(10);
	log_read(pids, s, 3);
	must(s[0].nr_throttled);
	must(!s[1].nr_throttled && !s[2].nr_throttled);
	must(s[1].nr && s[1].wait && s[2].nr);
	for (int i = 0; i < 3; i++)
		end(pids[i]);
	remove_group(GROUP "2");
}

/* ---------------------------------------------------------------- real time */

/* The kernel keeps some time for other tasks, during which a real-time task is throttled. */
static void test_real_time(void)
{
	struct sums s[2];
	pid_t pids[2];

	make_group(GROUP, "max");
	log_open();
	pids[1] = task(burn, 1, NULL, 0);
	pids[0] = task(burn, 1, NULL, 10);
	log_start();
	/* Nearly each dispatch of the real-time task is after it was throttled. */
	until_account(pids[0], DISPATCHED, account(pids[0], DISPATCHED) + 6);
	until_account(pids[1], WAITED, 600 * MS);
	log_read(pids, s, 2);
	must(s[0].nr_throttled >= 2 && s[0].nr_left_throttled >= 2);
	/* kdtl_sched begins to look when the limit takes effect, so the first time is a wait. */
	must(waited(&s[0]) < s[0].throttled / 2);
	/* The other task waits for the CPU. */
	must(!s[1].nr_throttled && s[1].wait > 500 * MS);
	end(pids[0]);
	end(pids[1]);
}

static bool before_6_12(void)
{
	unsigned int major, minor;
	struct utsname u;

	must(!uname(&u) && sscanf(u.release, "%u.%u", &major, &minor) == 2);
	return major < 6 || (major == 6 && minor < 12);
}

/* The thread that moves tasks off @cpu. */
static pid_t stopper(int cpu)
{
	char name[NAME_LEN], want[NAME_LEN], path[NAME_LEN];
	FILE *f;

	snprintf(want, sizeof(want), "migration/%d\n", cpu);
	for (pid_t pid = 2; pid < 4096; pid++) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (!fgets(name, sizeof(name), f))
			name[0] = 0;
		fclose(f);
		if (!strcmp(name, want))
			return pid;
	}
	die("no migration/%d", cpu);
}

/*
 * No limit holds the stopper back: it moves a task off the CPU while real-time tasks are
 * throttled.  That it runs must not make them look as if they were not.
 */
static void test_stopper(void)
{
	uint64_t begin, moves, dozes;
	struct sums s[3];
	pid_t pids[3];

	make_group(GROUP, "max");
	log_open();
	pids[0] = stopper(1);
	pids[2] = task(burn, 1, NULL, 0);
	pids[1] = task(doze, 1, NULL, 11);
	task(burn, 1, NULL, 10);
	log_start();
	/* kdtl_sched begins to look when the limit takes effect for the first time. */
	begin = now();
	moves = account(pids[0], DISPATCHED) + 20;
	dozes = account(pids[1], DISPATCHED) + 200;
	do {
		pin(pids[2], 0);
		usleep(1000);
		pin(pids[2], 1);
		usleep(3000);
	} while (now() - begin < 8000 * MS || account(pids[0], DISPATCHED) < moves ||
		 account(pids[1], DISPATCHED) < dozes);
	log_read(pids, s, 3);
	kill_tasks();
	must(s[0].nr > 10);
	must(!s[0].nr_throttled && !s[0].nr_left_throttled);
	must(s[1].nr > 100);
	/* Since v6.12 the fair server takes the CPU; a task that wakes up then may not be told. */
	if (before_6_12()) {
		must(s[1].nr_throttled);
		/* It wakes up all the time, and the limit takes effect about once a second. */
		must(s[1].nr_throttled < s[1].nr / 4);
		/* On a busy host this CPU may stand still, but then the other does not get it. */
		must(s[1].passed <= 2);
	}
}

/* Works nearly all the time, so the limit often takes effect as it goes to sleep. */
static void strive(void)
{
	for (;;) {
		burn_for(2 * MS);
		usleep(100);
	}
}

/* The limit holds both real-time tasks back.  Apart from that they wait only for each other. */
static void test_asleep(void)
{
	struct sums s[3];
	pid_t pids[3];

	make_group(GROUP, "max");
	log_open();
	/* They take turns, so one of them is dispatched after the real-time task has woken up. */
	task(burn, 1, NULL, 0);
	pids[2] = task(burn, 1, NULL, 0);
	pids[0] = task(strive, 1, NULL, 11);
	pids[1] = task(burn, 1, NULL, 10);
	log_start();
	sleep(10);
	until_account(pids[2], WAITED, 600 * MS);
	log_read(pids, s, 3);
	kill_tasks();
	must(s[0].nr_throttled && s[1].nr_throttled);
	/* kdtl_sched begins to look when the limit takes effect for the first time. */
	printf("# a task of lower priority passed %u and %u times\n", s[0].passed, s[1].passed);
	must(s[0].passed <= 1 && s[1].passed <= 1);
	must(s[2].wait > 500 * MS);
}

/* ---------------------------------------------------------------- deadlines */

struct attr {
	uint32_t	size;
	uint32_t	policy;
	uint64_t	flags;
	int32_t		nice;
	uint32_t	priority;
	uint64_t	runtime;
	uint64_t	deadline;
	uint64_t	period;
};

#define RUNTIME	(10 * MS)

static void have_deadline(uint64_t deadline, uint64_t period)
{
	struct attr a = {
		.size		= sizeof(a),
		.policy		= 6,	/* SCHED_DEADLINE */
		.runtime	= RUNTIME,
		.deadline	= deadline,
		.period		= period,
	};
	cpu_set_t all;

	/* Such a task has to be allowed on all CPUs. */
	memset(&all, 0xff, sizeof(all));
	must(!sched_setaffinity(0, sizeof(all), &all));
	must(!syscall(SYS_sched_setattr, 0, &a, 0));
}

/*
 * How often a test's task has gone round, and how often that took long.  The processes share these.
 */
static unsigned int *rounds, *long_rounds;

static void until_rounds(unsigned int nr)
{
	while (__atomic_load_n(rounds, __ATOMIC_RELAXED) < nr)
		usleep(10000);
}

/* Wakes up after its deadline, but before the end of its period. */
static void late(void)
{
	have_deadline(20 * MS, 500 * MS);
	for (;; __atomic_add_fetch(rounds, 1, __ATOMIC_RELAXED))
		usleep(50000);
}

static void test_deadline(void)
{
	struct sums s;
	pid_t pid;

	make_group(GROUP, "max");
	log_open();
	pid = task(late, 1, NULL, 0);
	log_start();
	until_rounds(9);
	log_read(&pid, &s, 1);
	end(pid);
	must(s.nr_throttled >= 4);
	must(s.throttled > 1000 * MS);
	must(waited(&s) < s.throttled / 10);
}

/*
 * If a host stops the machine, that time counts as the task's, which may have used its time up
 * before it yields.  Then it is held back indeed.
 */
static void yield(void)
{
	uint64_t ran, before;

	have_deadline(100 * MS, 100 * MS);
	for (before = clock_ns(CLOCK_THREAD_CPUTIME_ID);; before = ran) {
		sched_yield();
		ran = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		if (ran - before > RUNTIME / 2)
			__atomic_add_fetch(long_rounds, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(rounds, 1, __ATOMIC_RELAXED);
	}
}

static void test_yield(void)
{
	struct sums s;
	pid_t pid;

	make_group(GROUP, "max");
	log_open();
	pid = task(yield, 1, NULL, 0);
	log_start();
	until_rounds(30);
	log_read(&pid, &s, 1);
	end(pid);
	must(s.nr >= 20);
	/* A long time may be half of one period's, and half of the next one's. */
	must(s.nr_throttled <= 2 * *long_rounds && s.nr_left_throttled <= 2 * *long_rounds);
	must(s.slept > 1500 * MS);
	must(waited(&s) < s.slept / 10);
}

/* -------------------------------------------------------------------- waits */

#define RT_LIMIT	"/proc/sys/kernel/sched_rt_runtime_us"

static char rt_limit[32], fair_server[80], fair_limit[32];

static bool get(const char *path, char *text, int len)
{
	FILE *f = fopen(path, "r");

	if (!f)
		return false;
	must(fgets(text, len, f));
	fclose(f);
	return true;
}

/* Lets neither the limit on real-time tasks nor the fair server take @cpu from such a task. */
static void unlimited(int cpu)
{
	snprintf(fair_server, sizeof(fair_server),
		 "/sys/kernel/debug/sched/fair_server/cpu%d/runtime", cpu);
	if (get(fair_server, fair_limit, sizeof(fair_limit)))
		put(fair_server, "0");
	must(get(RT_LIMIT, rt_limit, sizeof(rt_limit)));
	put(RT_LIMIT, "-1");
}

static void limited(void)
{
	put(RT_LIMIT, rt_limit);
	if (*fair_limit)
		put(fair_server, fair_limit);
}

static void have_policy(pid_t pid, int policy, int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	must(!sched_setscheduler(pid, policy, &param));
}

/*
 * A real-time task waits behind another one, which the limit holds back a few times.  Then that
 * one ceases to be a real-time task while it is held back, so that the first gets the CPU when the
 * limit ends.  It has been held back until then, and not until the time before.
 */
static void test_successor(void)
{
	unsigned long long nr;
	struct sums s[2];
	pid_t pids[2], hog;

	make_group(GROUP, "max");
	log_open();
	do {
		pids[1] = task(burn, 1, NULL, 0);
		pids[0] = task(burn, 1, NULL, 10);
		hog = task(burn, 1, NULL, 11);
		log_start();
		/* The limit lets other tasks have 50 ms of a second. */
		until_account(pids[1], RAN, account(pids[1], RAN) + 120 * MS);
		/* There is not much time from when the limit takes effect to when it ends. */
		nr = account(pids[1], DISPATCHED);
		while (account(pids[1], DISPATCHED) == nr)
			;
		have_policy(hog, SCHED_IDLE, 0);
		until_account(pids[0], DISPATCHED, account(pids[0], DISPATCHED) + 1);
		log_read(pids, s, 2);
		end(pids[0]);
		end(pids[1]);
		end(hog);
		/* If that was too late, the task follows the other one. */
	} while (s[0].nr != 1 || !s[0].followed);
	must(s[0].nr_throttled == 1 && s[0].throttled > 1000 * MS);
	must(s[0].wait < LONG);
}

/* ----------------------------------------------------------- core scheduling */

static pid_t relative;

/* All tasks that run on a core at the same time have the same cookie; this one has its own. */
static void apart(void)
{
	must(!prctl(PR_SCHED_CORE, PR_SCHED_CORE_CREATE, 0, 0, 0));
	burn();
}

/* Has its own cookie, and burns for 20 ms at a time. */
static void apart_at_times(void)
{
	must(!prctl(PR_SCHED_CORE, PR_SCHED_CORE_CREATE, 0, 0, 0));
	for (;;) {
		burn_for(20 * MS);
		usleep(20000);
	}
}

/* Shares the cookie of @relative. */
static void together(void)
{
	must(!prctl(PR_SCHED_CORE, PR_SCHED_CORE_SHARE_FROM, relative, 0, 0));
	burn();
}

static unsigned long cookie(pid_t pid)
{
	unsigned long id;

	return prctl(PR_SCHED_CORE, PR_SCHED_CORE_GET, pid, 0, &id) ? -1UL : id;
}

/* Finds two CPUs of a core, neither of which is the reader's; exits if there are none. */
static void siblings(int *one, int *other)
{
	char path[PATH_MAX], list[64], *next;

	if (cookie(0) == -1UL)
		exit(4);
	for (int cpu = 1; cpu < CPU_SETSIZE; cpu++) {
		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
		if (!get(path, list, sizeof(list)))
			break;
		*one = strtol(list, &next, 10);
		*other = *next == '-' || *next == ',' ? strtol(next + 1, NULL, 10) : 0;
		if (*one && *other)
			return;
	}
	exit(4);
}

/* While one of two tasks with cookies of their own runs, the other waits, its CPU idle. */
static void test_apart(void)
{
	struct sums s[2];
	pid_t pids[2];
	int cpus[2];

	siblings(&cpus[0], &cpus[1]);
	make_group(GROUP, "max");
	log_open();
	log_start();
	for (int i = 0; i < 2; i++)
		pids[i] = task(apart, cpus[i], NULL, 0);
	sleep(4);
	for (int i = 0; i < 2; i++)
		until_account(pids[i], WAITED, 600 * MS);
	log_read(pids, s, 2);
	kill_tasks();
	for (int i = 0; i < 2; i++) {
		printf("# %d: found the CPU idle %u times\n", i, s[i].unused);
		must(!s[i].nr_throttled && !s[i].nr_left_throttled);
		must(s[i].wait > 500 * MS);
		must(s[i].unused > 5);
	}
}

/*
 * A real-time task makes room for another one on its core, whose cookie lets a task of a lower
 * class pass meanwhile.  No limit holds the real-time task back.
 */
static void test_room(void)
{
	struct sums s[3];
	pid_t pids[3];
	int cpus[2];

	siblings(&cpus[0], &cpus[1]);
	make_group(GROUP, "max");
	unlimited(cpus[0]);
	log_open();
	pids[1] = relative = task(apart_at_times, cpus[1], NULL, 11);
	while (!cookie(relative))
		usleep(1000);
	pids[2] = task(together, cpus[0], NULL, 0);
	pids[0] = task(apart, cpus[0], NULL, 10);
	log_start();
	sleep(4);
	log_read(pids, s, 3);
	limited();
	kill_tasks();
	must(!s[0].nr_throttled && !s[0].nr_left_throttled);
	/* Each time that the third task was dispatched, it passed the first. */
	must(s[0].wait > 500 * MS && s[2].nr > 5);
}

/*
 * A new task waits for a CPU before its first dispatch.  This process keeps CPU 1 while the child
 * is queued there, and then has it moved.  The limit on real-time tasks is off, because it would
 * let the child run before that.
 */
static void test_new(void)
{
	const struct sched_param fifo = { .sched_priority = 1 }, other = { };
	char limit[32];
	struct sums s;
	pid_t pid;

	make_group(GROUP, "max");
	log_open();
	must(get(RT_LIMIT, limit, sizeof(limit)));
	put(RT_LIMIT, "-1");
	pin(0, 1);
	must(!sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &fifo));
	log_start();
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	tasks[nr_tasks++] = pid;
	burn_for(300 * MS);
	pin(pid, 0);
	must(!sched_setscheduler(0, SCHED_OTHER, &other));
	put(RT_LIMIT, limit);
	until_account(pid, DISPATCHED, 1);
	log_read(&pid, &s, 1);
	end(pid);
	must(s.nr);
	must(s.wait > 250 * MS);
}

/*
 * A real-time task takes the CPU while the group is throttled, and keeps it when that is over.
 * Neither the limit on real-time tasks nor the fair server ends that.
 */
static void test_starved(void)
{
	uint64_t throttled, begin, most;
	struct sums s;
	pid_t pid, hog;

	make_group(GROUP, "20000 200000");
	unlimited(1);
	log_open();
	pid = task(burn, 1, GROUP, 0);
	log_start();
	/* kdtl_sched begins to look when a task is throttled for the first time. */
	until_throttled(4);
	begin = now();
	hog = task(burn, 1, NULL, 10);
	sleep(2);
	end(hog);
	until_throttled(1);
	/* The task has run again. */
	most = now() - begin;
	throttled = group_stat(GROUP, "throttled_usec");
	log_read(&pid, &s, 1);
	limited();
	end(pid);
	printf("# the group was throttled for %llu ms; the wait was at most %llu ms\n",
	       (unsigned long long)(throttled / 1000), (unsigned long long)(most / MS));
	must(s.longest_wait > 1000 * MS && s.longest_wait < most);
	must(s.throttled < throttled * 1000 * 12 / 10);
}

static const struct {
	const char	*name;
	void		(*fn)(void);
} tests[] = {
	{ "only", test_only },
	{ "alone", test_alone },
	{ "queued", test_queued },
	{ "busy", test_busy },
	{ "woken", test_woken },
	{ "sleepers", test_sleepers },
	{ "elsewhere", test_elsewhere },
	{ "nested", test_nested },
	{ "contention", test_contention },
	{ "beside", test_beside },
	{ "real_time", test_real_time },
	{ "stopper", test_stopper },
	{ "asleep", test_asleep },
	{ "successor", test_successor },
	{ "deadline", test_deadline },
	{ "yield", test_yield },
	{ "starved", test_starved },
	{ "new", test_new },
	{ "apart", test_apart },
	{ "room", test_room },
};

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	must(!atexit(kill_tasks));
	rounds = mmap(NULL, 2 * sizeof(*rounds), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	must(rounds != MAP_FAILED);
	long_rounds = rounds + 1;
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		if (argc == 2 && !strcmp(argv[1], tests[i].name)) {
			tests[i].fn();
			remove_group(GROUP);
			return 0;
		}
		if (argc < 2)
			puts(tests[i].name);
	}
	return argc >= 2;
}
