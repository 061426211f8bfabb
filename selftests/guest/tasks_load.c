// SPDX-License-Identifier: GPL-2.0
/*
 * A load that writes down what its tasks are, and when
 *
 *	tasks_load FILE [RECORDING]
 *
 * Each line of FILE describes a task, which was like this from one time to another, in ticks
 * of kdtl_sched, and had at least one dispatch meanwhile:
 *
 *	FROM TO PID TGID POLICY PRIORITY COMM CGROUP
 *
 * It runs as root on CPU 0, while the scheduler's log is recorded; see host/ctf.sh.  With
 * RECORDING, the file that its parent records to, it also stops the parent for a while, and
 * makes more records of tasks than a small table holds.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../api/include/uapi/linux/kdtl.h"
#include "must.h"
#include "pin.h"

#define ROOT	"/tmp/tasks-cgroup"
#define LONG	"/a-pod-with-a-name-that-is-too-long-for-a-line/container"

static int dev, out;
static const char *self;

/* All tasks are on one CPU, so these ticks and the entries' times are of one clock. */
static uint64_t ticks(void)
{
	struct kdtl_stream_clock c;

	must(!ioctl(dev, KDTL_IOC_CLOCK, &c));
	return c.ticks;
}

static void write_line(uint64_t from, pid_t pid, const char *policy, int priority,
		       const char *comm, const char *cgroup)
{
	const uint64_t to = ticks();

	must(dprintf(out, "%llu %llu %d %d %s %d %s %s\n", (unsigned long long)from,
		     (unsigned long long)to, pid, getpid(), policy, priority, comm, cgroup) > 0);
}

/* Gets dispatched, and writes down what this task is meanwhile. */
static void am(const char *policy, int priority, const char *comm, const char *cgroup)
{
	const uint64_t from = ticks();

	for (int i = 0; i < 3; i++)
		usleep(1000);
	write_line(from, gettid(), policy, priority, comm, cgroup);
}

static void move(pid_t pid, const char *cgroup)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), ROOT "%s/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY);
	must(fd >= 0 && dprintf(fd, "%d", pid) > 0 && !close(fd));
}

static void make(const char *cgroup)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), ROOT "%s", cgroup);
	must(!mkdir(path, 0755) || errno == EEXIST);
}

static void name(const char *comm)
{
	must(!prctl(PR_SET_NAME, comm));
}

static void reap(pid_t pid)
{
	int status;

	must(waitpid(pid, &status, 0) == pid && !status);
}

/* One task changes all that may change. */
static void changes(void)
{
	const struct sched_param fifo = { 7 }, other = { 0 };

	move(0, "/a");
	name("one");
	am("other", 0, "one", "/a");
	name("two");
	am("other", 0, "two", "/a");
	must(!setpriority(PRIO_PROCESS, 0, 5));
	am("other", 5, "two", "/a");
	move(0, "/b");
	am("other", 5, "two", "/b");
	must(!sched_setscheduler(0, SCHED_FIFO, &fifo));
	am("fifo", 7, "two", "/b");
	must(!sched_setscheduler(0, SCHED_BATCH, &other));
	am("batch", 5, "two", "/b");
	move(0, LONG);
	am("batch", 5, "two", LONG);
}

static void *thread(void *cgroup)
{
	name("thread");
	am("other", 0, "thread", cgroup);
	return NULL;
}

/* Threads are moved with their process, also if another process does it. */
static void threads(void)
{
	pthread_t t;
	pid_t pid;

	move(0, "/a");
	name("leader");
	must(!pthread_create(&t, NULL, thread, "/a") && !pthread_join(t, NULL));
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		move(getppid(), "/b");
		_exit(0);
	}
	reap(pid);
	must(!pthread_create(&t, NULL, thread, "/b"));
	am("other", 0, "leader", "/b");
	must(!pthread_join(t, NULL));
}

/* Three tasks have the same pid, one after the other. */
static void same_pid(void)
{
	static const char *const comms[] = { "first", "second", "third" };
	pid_t pid = fork();

	must(pid >= 0);
	if (!pid)
		_exit(0);
	reap(pid);
	for (unsigned int i = 0; i < ARRAY_SIZE(comms); i++) {
		struct clone_args args = {
			.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&pid, .set_tid_size = 1,
		};
		long ret = syscall(SYS_clone3, &args, sizeof(args));

		must(ret >= 0);
		if (!ret) {
			move(0, i % 2 ? "/a" : "/b");
			name(comms[i]);
			am("other", 0, comms[i], i % 2 ? "/a" : "/b");
			_exit(0);
		}
		reap(pid);
	}
}

/* Tasks live for a millisecond, and make no system call but exit. */
static void short_tasks(void)
{
	name("short");
	move(0, "/b");
	for (int i = 0; i < 50; i++) {
		const uint64_t from = ticks();
		pid_t pid = fork();
		uint64_t to;

		must(pid >= 0);
		if (!pid) {
			struct timespec now, end;

			must(!clock_gettime(CLOCK_MONOTONIC, &end));
			end.tv_nsec += 1000000;
			do {
				must(!clock_gettime(CLOCK_MONOTONIC, &now));
			} while ((now.tv_sec - end.tv_sec) * 1000000000 +
				 now.tv_nsec - end.tv_nsec < 0);
			_exit(0);
		}
		reap(pid);
		to = ticks();
		must(dprintf(out, "%llu %llu %d %d other 0 short /b\n",
			     (unsigned long long)from, (unsigned long long)to, pid, pid) > 0);
	}
}

/* Whether the recording has the name. */
static bool is_recorded(const char *recording, const char *comm)
{
	int fd = open(recording, O_RDONLY);
	struct stat st;
	bool found;
	void *p;

	must(fd >= 0 && !fstat(fd, &st));
	p = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	must(p != MAP_FAILED && !close(fd));
	found = memmem(p, st.st_size, comm, strlen(comm));
	munmap(p, st.st_size);
	return found;
}

/*
 * Before the recorder reads it, a record of what this task was for a while is forgotten, but
 * not those of what it was before and is later.
 */
static void storm(const char *recording)
{
	const pid_t recorder = getppid();
	pid_t pid;

	move(0, "/a");
	name("steady");
	do {
		am("other", 0, "steady", "/a");
	} while (!is_recorded(recording, "steady"));
	must(!kill(recorder, SIGSTOP));
	move(0, "/b");
	am("other", 0, "steady", "/b");
	move(0, LONG);
	am("other", 0, "steady", LONG);
	for (int i = 0; i < 400; i++) {
		pid = fork();
		must(pid >= 0);
		if (!pid)
			_exit(0);
		reap(pid);
	}
	must(!kill(recorder, SIGCONT));
	am("other", 0, "steady", LONG);
}

/* Changes the name by exec(), in a cgroup that is gone when the recording ends. */
static void program(void)
{
	char fds[2][12];

	make("/gone");
	move(0, "/gone");
	snprintf(fds[0], sizeof(fds[0]), "%d", dev);
	snprintf(fds[1], sizeof(fds[1]), "%d", out);
	execl(self, self, "exec", fds[0], fds[1], NULL);
	die("exec %s", self);
}

static void after_exec(char **fds)
{
	dev = atoi(fds[0]);
	out = atoi(fds[1]);
	am("other", 0, "tasks_load", "/gone");
}

int main(int argc, char **argv)
{
	static void (*const parts[])(void) = {
		changes, threads, same_pid, short_tasks, program,
	};
	struct kdtl_stream_attr attr = { .aux_pages = 1, .source = "kdtl_sched" };

	if (argc == 4) {
		after_exec(argv + 2);
		return 0;
	}
	must(argc == 2 || argc == 3);
	self = argv[0];
	pin(0, 0);
	dev = open("/dev/kdtl", O_RDWR);
	out = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
	must(dev >= 0 && out >= 0 && !ioctl(dev, KDTL_IOC_SETUP, &attr));
	mkdir(ROOT, 0755);
	if (access(ROOT "/cgroup.procs", F_OK))
		must(!mount("none", ROOT, "cgroup2", 0, NULL));
	make("/a");
	make("/b");
	make("/a-pod-with-a-name-that-is-too-long-for-a-line");
	make(LONG);
	if (argc == 3)
		storm(argv[2]);
	for (unsigned int i = 0; i < ARRAY_SIZE(parts); i++) {
		pid_t pid = fork();

		must(pid >= 0);
		if (!pid) {
			parts[i]();
			_exit(0);
		}
		reap(pid);
	}
	must(!rmdir(ROOT "/gone"));
	return 0;
}
