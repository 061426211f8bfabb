// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks that wait: in priority inversions, for a server whose CPU another task has, and for a disk.
 * They write down what they saw
 *
 *	chain_load [DEVICE]	prints lines, which begin with the task's name and PID:
 *
 *	inv_high PID NS BY	was in pthread_mutex_lock() for NS ns; BY had locked the mutex
 *	inv_mid PID NS		had CPU 1 for NS ns meanwhile
 *	pi_high PID NS BY	as inv_high, but the mutex's owner inherits its waiter's priority
 *	pi_over PID NS		had CPU 1 for NS ns meanwhile, by a priority above that one
 *	client PID NS BY	was in read() for NS ns; BY ended that
 *	hog PID NS		had CPU 1 for NS ns meanwhile
 *	reader PID NS 0		was in pread() of DEVICE for NS ns; an interrupt ended that
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "must.h"
#include "pin.h"

#define MS	1000000ULL
#define HELD	(20 * MS)	/* how long low still holds the mutex after mid has had its time */
#define TAKEN	(200 * MS)	/* how long mid and the hog have the CPU */

/* What the processes share. */
static struct {
	pthread_mutex_t		mutex;
	pthread_mutex_t		pi_mutex;
	int			ready[2];	/* pipes: a task is set up */
	int			locked[2];	/* low has the mutex */
	int			begin[2];	/* mid, or the hog, may begin */
	int			request[2];
	int			reply[2];
	volatile uint64_t	took;		/* ns that mid, or the hog, had the CPU */
	volatile pid_t		taker;
} *shared;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * (1000 * MS) + t.tv_nsec;
}

/* Uses @ns of CPU time. */
static void spin(uint64_t ns)
{
	const uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		;
}

static void become(const char *name, unsigned int cpu, int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	must(!prctl(PR_SET_NAME, name));
	pin(0, cpu);
	must(!sched_setscheduler(0, SCHED_FIFO, &param));
}

static void put(const int fd[2])
{
	must(write(fd[1], "", 1) == 1);
}

static void get(const int fd[2])
{
	char c;

	must(read(fd[0], &c, 1) == 1);
}

/* Takes CPU 1 from the task that has it, once it is told to begin. */
static void take(const char *name, int priority)
{
	become(name, 1, priority);
	put(shared->ready);
	get(shared->begin);
	shared->taker = getpid();
	spin(TAKEN);
	shared->took = clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Does not return before mid or the hog has had the CPU, however late these come. */
static void be_passed(void)
{
	while (!shared->taker)
		;
	spin(HELD);
}

static void hold(const char *name, pthread_mutex_t *mutex)
{
	become(name, 1, 20);
	must(!pthread_mutex_lock(mutex));
	put(shared->locked);
	be_passed();
	must(!pthread_mutex_unlock(mutex));
}

static void low(void)
{
	hold("inv_low", &shared->mutex);
}

/* This task soon has the priority of the one that waits for it. */
static void pi_low(void)
{
	hold("pi_low", &shared->pi_mutex);
}

static void server(void)
{
	become("server", 1, 20);
	put(shared->ready);
	get(shared->request);
	be_passed();
	put(shared->reply);
}

static pid_t begin(void (*function)(void))
{
	const pid_t pid = fork();

	must(pid >= 0);
	if (pid)
		return pid;
	function();
	fflush(stdout);
	_exit(0);
}

static void mid(void)
{
	take("inv_mid", 30);
}

static void pi_over(void)
{
	take("pi_over", 50);
}

static void hog(void)
{
	take("hog", 30);
}

static void end(pid_t pid)
{
	int status;

	must(waitpid(pid, &status, 0) == pid && !status);
}

static void inversion(const char *name, pthread_mutex_t *mutex, void (*holder)(void),
		      const char *taker_name, void (*take)(void))
{
	pid_t by, taker;
	uint64_t ns;

	must(!prctl(PR_SET_NAME, name));
	shared->taker = 0;
	taker = begin(take);
	get(shared->ready);
	by = begin(holder);
	get(shared->locked);
	put(shared->begin);
	ns = clock_ns(CLOCK_MONOTONIC);
	must(!pthread_mutex_lock(mutex));
	ns = clock_ns(CLOCK_MONOTONIC) - ns;
	must(!pthread_mutex_unlock(mutex));
	end(by);
	end(taker);
	printf("%s %d %llu %d\n%s %d %llu\n", name, getpid(), (unsigned long long)ns, by,
	       taker_name, shared->taker, (unsigned long long)shared->took);
	fflush(stdout);
}

static void request(void)
{
	const pid_t by = begin(server), taker = begin(hog);
	uint64_t ns;

	get(shared->ready);
	get(shared->ready);
	shared->taker = 0;
	ns = clock_ns(CLOCK_MONOTONIC);
	put(shared->request);
	put(shared->begin);
	get(shared->reply);
	ns = clock_ns(CLOCK_MONOTONIC) - ns;
	end(by);
	end(taker);
	printf("client %d %llu %d\nhog %d %llu\n", getpid(), (unsigned long long)ns, by,
	       shared->taker, (unsigned long long)shared->took);
	fflush(stdout);
}

/* This task's priority gives it the CPU as soon as it is woken. */
static void from_disk(const char *device)
{
	const int fd = open(device, O_RDONLY | O_DIRECT);
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t ns;

	must(fd >= 0 && page != MAP_FAILED);
	ns = clock_ns(CLOCK_MONOTONIC);
	must(pread(fd, page, 4096, 0) == 4096);
	ns = clock_ns(CLOCK_MONOTONIC) - ns;
	printf("reader %d %llu 0\n", getpid(), (unsigned long long)ns);
}

int main(int argc, char **argv)
{
	pthread_mutexattr_t attr;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	must(shared != MAP_FAILED);
	must(!pthread_mutexattr_init(&attr));
	must(!pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	must(!pthread_mutex_init(&shared->mutex, &attr));
	must(!pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT));
	must(!pthread_mutex_init(&shared->pi_mutex, &attr));
	must(!pipe(shared->ready) && !pipe(shared->locked) && !pipe(shared->begin) &&
	     !pipe(shared->request) && !pipe(shared->reply));
	become("inv_high", 0, 40);
	inversion("inv_high", &shared->mutex, low, "inv_mid", mid);
	inversion("pi_high", &shared->pi_mutex, pi_low, "pi_over", pi_over);
	must(!prctl(PR_SET_NAME, "client"));
	request();
	if (argc == 2) {
		must(!prctl(PR_SET_NAME, "reader"));
		from_disk(argv[1]);
	}
	return 0;
}
