// SPDX-License-Identifier: GPL-2.0
/*
 * A priority inversion, and a client of a server whose CPU another task has, which write down
 * what they saw
 *
 *	chain_load		prints lines, with times in ns:
 *
 *	high PID NS BY		was in pthread_mutex_lock() for so long, which BY had locked
 *	mid PID NS		had CPU 1 for so long meanwhile
 *	client PID NS BY	was in read() for so long, which BY ended
 *	hog PID NS		had CPU 1 for so long meanwhile
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "must.h"

#define MS	1000000ULL
#define HELD	(20 * MS)	/* low holds the mutex for, once mid has taken its time */
#define TAKEN	(200 * MS)	/* mid and the hog take */

/* What the processes share. */
static struct {
	pthread_mutex_t		mutex;
	int			ready[2];	/* pipes: a task is what it is to be */
	int			locked[2];	/* low has the mutex */
	int			begin[2];	/* mid, or the hog, may begin */
	int			request[2];
	int			reply[2];
	volatile uint64_t	took;		/* mid, or the hog */
	volatile pid_t		taker;
} *shared;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * (1000 * MS) + t.tv_nsec;
}

/* Have the CPU for so long. */
static void spin(uint64_t ns)
{
	const uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		;
}

static void become(const char *name, unsigned int cpu, int priority)
{
	const struct sched_param param = { .sched_priority = priority };
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	must(!prctl(PR_SET_NAME, name));
	must(!sched_setaffinity(0, sizeof(cpus), &cpus));
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

/* Take CPU 1 from whoever has it, once it is told to. */
static void take(const char *name)
{
	become(name, 1, 30);
	put(shared->ready);
	get(shared->begin);
	shared->taker = getpid();
	spin(TAKEN);
	shared->took = clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* However late whoever waits for this task is, mid or the hog takes the CPU before this ends. */
static void be_passed(void)
{
	while (!shared->taker)
		;
	spin(HELD);
}

static void low(void)
{
	become("inv_low", 1, 20);
	must(!pthread_mutex_lock(&shared->mutex));
	put(shared->locked);
	be_passed();
	must(!pthread_mutex_unlock(&shared->mutex));
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
	take("inv_mid");
}

static void hog(void)
{
	take("hog");
}

static void end(pid_t pid)
{
	int status;

	must(waitpid(pid, &status, 0) == pid && !status);
}

static void inversion(void)
{
	const pid_t taker = begin(mid);
	uint64_t ns;
	pid_t by;

	get(shared->ready);
	by = begin(low);
	get(shared->locked);
	put(shared->begin);
	ns = clock_ns(CLOCK_MONOTONIC);
	must(!pthread_mutex_lock(&shared->mutex));
	ns = clock_ns(CLOCK_MONOTONIC) - ns;
	must(!pthread_mutex_unlock(&shared->mutex));
	end(by);
	end(taker);
	printf("high %d %llu %d\nmid %d %llu\n", getpid(), (unsigned long long)ns, by,
	       shared->taker, (unsigned long long)shared->took);
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
}

int main(void)
{
	pthread_mutexattr_t attr;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	must(shared != MAP_FAILED);
	must(!pthread_mutexattr_init(&attr));
	must(!pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	must(!pthread_mutex_init(&shared->mutex, &attr));
	must(!pipe(shared->ready) && !pipe(shared->locked) && !pipe(shared->begin) &&
	     !pipe(shared->request) && !pipe(shared->reply));
	become("inv_high", 0, 40);
	inversion();
	must(!prctl(PR_SET_NAME, "client"));
	request();
	return 0;
}
