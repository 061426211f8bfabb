// SPDX-License-Identifier: GPL-2.0
/*
 * A load that writes down who woke whom
 *
 *	wake_load FILE [DEVICE]
 *
 * Each line of FILE is
 *
 *	woken PID BY SYSCALL TIMES ARG	PID slept TIMES times in SYSCALL until BY woke it
 *	moved PID BY FROM TO		BY moved PID, which waited for a CPU
 *	lock PID BY KIND SYSCALL TIMES	PID slept at least TIMES times for a lock that BY held
 *
 * where BY is a PID, or "irq", or "kworker", or "disk": the interrupt of DEVICE, a block device.
 * ARG is the call's first argument, in hex, or "any" if it is not always the same.
 * No task is woken before it sleeps and has left its CPU.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "must.h"
#include "pin.h"

#define ROUNDS	20
#define ANY	(~0UL)

static FILE *out;
static uint32_t *word;	/* shared by all */

/* How often a task has left its CPU to sleep. */
static long sleeps_of(pid_t pid)
{
	char path[64], text[256];
	long nr = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	must(f);
	while (fgets(text, sizeof(text), f) &&
	       sscanf(text, "voluntary_ctxt_switches: %ld", &nr) != 1)
		;
	fclose(f);
	return nr;
}

/* Returns the letter of a task's state. *@nr is the call that it is in; -1: none, or it runs. */
static char state_of(pid_t pid, long *nr)
{
	char path[64], text[256] = "", state;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	f = fopen(path, "r");
	must(f && fgets(text, sizeof(text), f));
	fclose(f);
	if (sscanf(text, "%ld", nr) != 1)
		*nr = -1;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	must(f && fgets(text, sizeof(text), f));
	fclose(f);
	must(sscanf(strrchr(text, ')'), ") %c", &state) == 1);
	return state;
}

/* A task is in state S before it leaves its CPU: it sleeps when it has also left it once more. */
static void until_asleep(pid_t pid, long in)
{
	static pid_t last;
	static long before;
	long nr = -1;

	if (pid != last)
		before = 0;
	last = pid;
	while (state_of(pid, &nr) != 'S' || nr != in || sleeps_of(pid) <= before)
		usleep(500);
	before = sleeps_of(pid);
}

static void told(pid_t pid)
{
	must(waitpid(pid, NULL, 0) == pid);
}

static void woken(pid_t pid, const char *by, long nr, int times, unsigned long arg)
{
	char text[32] = "any";

	if (arg != ANY)
		snprintf(text, sizeof(text), "%#lx", arg);
	must(fprintf(out, "woken %d %s %ld %d %s\n", pid, by, nr, times, text) > 0);
}

static const char *me(void)
{
	static char text[16];

	snprintf(text, sizeof(text), "%d", getpid());
	return text;
}

static void by_pipe(void)
{
	int ends[2];
	pid_t pid;
	char c = 0;

	must(!pipe(ends));
	pid = fork();
	if (!pid) {
		for (int i = 0; i < ROUNDS; i++)
			must(syscall(SYS_read, ends[0], &c, 1) == 1);
		_exit(0);
	}
	for (int i = 0; i < ROUNDS; i++) {
		until_asleep(pid, SYS_read);
		must(write(ends[1], &c, 1) == 1);
	}
	told(pid);
	woken(pid, me(), SYS_read, ROUNDS, ends[0]);
	close(ends[0]);
	close(ends[1]);
}

static void by_eventfd(void)
{
	int fd = eventfd(0, 0);
	uint64_t nr = 1;
	pid_t pid;

	must(fd >= 0);
	pid = fork();
	if (!pid) {
		for (int i = 0; i < ROUNDS; i++)
			must(syscall(SYS_read, fd, &nr, sizeof(nr)) == sizeof(nr));
		_exit(0);
	}
	for (int i = 0; i < ROUNDS; i++) {
		until_asleep(pid, SYS_read);
		must(write(fd, &nr, sizeof(nr)) == sizeof(nr));
	}
	told(pid);
	woken(pid, me(), SYS_read, ROUNDS, fd);
	close(fd);
}

static void by_futex(void)
{
	pid_t pid = fork();

	if (!pid) {
		for (uint32_t i = 0; i < ROUNDS; i++) {
			while (__atomic_load_n(word, __ATOMIC_SEQ_CST) <= i)
				syscall(SYS_futex, word, FUTEX_WAIT, i, NULL);
		}
		_exit(0);
	}
	for (int i = 0; i < ROUNDS; i++) {
		until_asleep(pid, SYS_futex);
		__atomic_add_fetch(word, 1, __ATOMIC_SEQ_CST);
		must(syscall(SYS_futex, word, FUTEX_WAKE, 1) == 1);
	}
	told(pid);
	woken(pid, me(), SYS_futex, ROUNDS, (uintptr_t)word);
}

/* The kernel knows which task holds such a futex: the futex has its PID. */
static void by_pi_futex(void)
{
	uint32_t *lock = word + 1;
	pid_t pid;

	for (int i = 0; i < ROUNDS; i++)
		lock[i] = getpid();
	pid = fork();
	if (!pid) {
		for (int i = 0; i < ROUNDS; i++)
			must(!syscall(SYS_futex, lock + i, FUTEX_LOCK_PI, 0, NULL));
		_exit(0);
	}
	for (int i = 0; i < ROUNDS; i++) {
		until_asleep(pid, SYS_futex);
		must(!syscall(SYS_futex, lock + i, FUTEX_UNLOCK_PI));
	}
	told(pid);
	woken(pid, me(), SYS_futex, ROUNDS, ANY);
}

/* If a host stops the machine, the time may be over before the task sleeps. */
static void by_timer(void)
{
	const struct timespec ts = { .tv_nsec = 3000000 };
	pid_t pid;
	long before;

	*word = 0;
	pid = fork();
	if (!pid) {
		for (int i = 0; i < ROUNDS; i++) {
			before = sleeps_of(getpid());
			must(!syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL));
			*word += sleeps_of(getpid()) != before;
		}
		_exit(0);
	}
	told(pid);
	woken(pid, "irq", SYS_clock_nanosleep, *word, CLOCK_MONOTONIC);
}

/* Here the read may be over before the task sleeps. */
static void by_disk(const char *device)
{
	pid_t pid;
	long before;

	*word = 0;
	pid = fork();
	if (!pid) {
		const int fd = open(device, O_RDONLY | O_DIRECT);
		void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0);

		must(fd >= 0 && page != MAP_FAILED);
		word[1] = fd;
		for (int i = 0; i < ROUNDS; i++) {
			before = sleeps_of(getpid());
			must(pread(fd, page, 4096, 4096 * i) == 4096);
			*word += sleeps_of(getpid()) != before;
		}
		_exit(0);
	}
	told(pid);
	must(*word > 0);
	woken(pid, "disk", SYS_pread64, *word, word[1]);
}

static void ignore(int sig)
{
	(void)sig;
}

static void by_signal(void)
{
	pid_t pid = fork();

	if (!pid) {
		signal(SIGUSR1, ignore);
		for (int i = 0; i < ROUNDS; i++)
			syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
		_exit(0);
	}
	for (int i = 0; i < ROUNDS; i++) {
		until_asleep(pid, SYS_ppoll);
		must(!kill(pid, SIGUSR1));
	}
	told(pid);
	woken(pid, me(), SYS_ppoll, ROUNDS, 0);
}

/* A child waits for its own child, which exits then. */
static void by_exit(void)
{
	pid_t pid = fork(), child;
	char by[16];

	if (!pid) {
		child = fork();
		if (!child) {
			until_asleep(getppid(), SYS_wait4);
			_exit(0);
		}
		*word = child;
		must(syscall(SYS_wait4, child, NULL, 0, NULL) == child);
		_exit(0);
	}
	told(pid);
	snprintf(by, sizeof(by), "%u", *word);
	woken(pid, by, SYS_wait4, 1, *word);
}

/*
 * A work item takes what is written to a terminal to its reader, later.  Until the reader has read,
 * its sleep is still the old one.
 */
static void by_kworker(void)
{
	int master, slave;
	pid_t pid;
	char c = '\n';

	if (openpty(&master, &slave, NULL, NULL, NULL))
		return;
	*word = 0;
	pid = fork();
	if (!pid) {
		for (int i = 0; i < ROUNDS; i++) {
			must(syscall(SYS_read, slave, &c, 1) == 1);
			__atomic_add_fetch(word, 1, __ATOMIC_SEQ_CST);
		}
		_exit(0);
	}
	for (uint32_t i = 0; i < ROUNDS; i++) {
		until_asleep(pid, SYS_read);
		must(write(master, "\n", 1) == 1);
		while (__atomic_load_n(word, __ATOMIC_SEQ_CST) <= i)
			usleep(500);
	}
	told(pid);
	woken(pid, "kworker", SYS_read, ROUNDS, slave);
}

/* GLOBAL_EXPEDITED calls each CPU that runs a registered program, and waits for its answer. */
static long membarrier(int cmd)
{
	return syscall(SYS_membarrier, cmd, 0, 0);
}

/*
 * Moves a task that waits behind a real-time one to the other CPU.  Returns false if the task has
 * run on the first CPU: if a host stops the machine for long enough, the real-time task has used up
 * its share.
 */
static bool moved(void)
{
	const struct sched_param fifo = { .sched_priority = 1 };
	pid_t hog, pid;
	char state;
	long nr;

	word[0] = word[1] = 0;
	pid = fork();
	if (!pid) {
		syscall(SYS_futex, word, FUTEX_WAIT, 0, NULL);
		word[1] = sched_getcpu();
		_exit(0);
	}
	until_asleep(pid, SYS_futex);
	pin(pid, 0);
	pin(0, 1);
	hog = fork();
	if (!hog) {
		pin(0, 0);
		must(!sched_setscheduler(0, SCHED_FIFO, &fifo));
		must(!membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED));
		for (*word = 1;; )
			;
	}
	while (!__atomic_load_n(word, __ATOMIC_SEQ_CST))
		usleep(500);
	must(syscall(SYS_futex, word, FUTEX_WAKE, 1) == 1);
	/*
	 * CPU 0 has to queue the woken task; before that, CPU 0 itself would move it.  The task may
	 * look runnable earlier, but a call of CPU 0 comes after the queueing, or together with it,
	 * and then the next call comes after it.
	 */
	while ((state = state_of(pid, &nr)) != 'R' && state != 'Z')
		usleep(500);
	for (int i = 0; i < 2; i++)
		must(!membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED));
	pin(pid, 1);
	told(pid);
	must(!kill(hog, SIGKILL));
	told(hog);
	if (word[1] != 1)
		return false;
	must(fprintf(out, "moved %d %d 0 1\n", pid, getpid()) > 0);
	return true;
}

/*
 * Two tasks on one CPU write to a file, so one is often preempted while it holds a lock: the mutex
 * of the file's position or, if each task has an open file of its own, the rwsem of the inode.
 */
static void by_lock(const char *kind, bool shared)
{
	static char data[4 << 20];
	const char path[] = "/tmp/wake_load.file";
	int fd = open(path, O_RDWR | O_CREAT, 0600), other;
	pid_t holder, pid;

	must(fd >= 0);
	other = shared ? dup(fd) : open(path, O_RDWR);
	must(other >= 0);
	holder = fork();
	if (!holder) {
		pin(0, 0);
		for (;;)
			must(write(fd, data, sizeof(data)) > 0 && lseek(fd, 0, SEEK_SET) == 0);
	}
	pid = fork();
	if (!pid) {
		pin(0, 0);
		usleep(20000);
		for (int i = 0; i < ROUNDS; i++) {
			must(write(other, data, 1) == 1);
			usleep(3000);
		}
		_exit(0);
	}
	told(pid);
	must(!kill(holder, SIGKILL));
	told(holder);
	close(fd);
	close(other);
	must(!unlink(path));
	must(fprintf(out, "lock %d %d %s %d 3\n", pid, holder, kind, SYS_write) > 0);
}

int main(int argc, char **argv)
{
	must(argc == 2 || argc == 3);
	out = fopen(argv[1], "w");
	must(out);
	setlinebuf(out);
	word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(word != MAP_FAILED);
	by_pipe();
	by_eventfd();
	by_futex();
	by_pi_futex();
	by_timer();
	if (argc == 3)
		by_disk(argv[2]);
	by_signal();
	by_exit();
	by_kworker();
	by_lock("mutex", true);
	by_lock("rwsem", false);
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		while (!moved())
			;
	return fclose(out);
}
