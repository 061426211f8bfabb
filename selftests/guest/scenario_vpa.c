// SPDX-License-Identifier: GPL-2.0
/*
 * A load that wants both virtual CPUs all the time, and writes down when it did not have them
 *
 *	scenario_vpa MS LEAST
 *
 * Reads the clock on CPU 1 for MS ms, and on CPU 0 from before that until after it.
 * Prints lines, with times in ns of CLOCK_MONOTONIC:
 *
 *	gap CPU FROM TO		the clock jumped by LEAST us or more
 *	load FROM TO STEAL	when the load ran on CPU 1, and by how many ns that CPU's steal
 *				in /proc/stat has grown meanwhile
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "must.h"
#include "pin.h"

#define GAPS	20000

static struct seen {
	unsigned int nr;
	struct {
		uint64_t from;
		uint64_t to;
	} gap[GAPS];
} *seen;	/* by CPU 0, and by CPU 1 */

static uint64_t *running, *end;		/* CPU 0's part runs; when it ends */

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Memory that this process and its child share. */
static void *shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	must(p != MAP_FAILED);
	return p;
}

static uint64_t steal(int cpu)
{
	unsigned long long ticks;
	char line[256];
	int n, found = 0;
	FILE *f = fopen("/proc/stat", "r");

	must(f);
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "cpu%d %*u %*u %*u %*u %*u %*u %*u %llu", &n, &ticks) == 2 &&
			n == cpu;
	fclose(f);
	must(found);
	return ticks * (1000000000ULL / sysconf(_SC_CLK_TCK));
}

/* Watches the clock until @to.  It prints nothing meanwhile, because a terminal takes time. */
static void watch_clock(struct seen *s, const uint64_t *to, uint64_t least)
{
	uint64_t last = now(), t;

	for (; last < __atomic_load_n(to, __ATOMIC_RELAXED); last = t) {
		t = now();
		if (t - last < least)
			continue;
		must(s->nr < GAPS);
		s->gap[s->nr].from = last;
		s->gap[s->nr++].to = t;
	}
}

static pid_t begin_other(uint64_t least)
{
	pid_t pid = fork();

	must(pid >= 0);
	if (!pid) {
		pin(0, 0);
		__atomic_store_n(running, 1, __ATOMIC_RELEASE);
		watch_clock(&seen[0], end, least);
		_exit(0);
	}
	while (!__atomic_load_n(running, __ATOMIC_ACQUIRE))
		usleep(1000);
	return pid;
}

static void print_gaps(int cpu)
{
	unsigned int i;

	for (i = 0; i < seen[cpu].nr; i++)
		printf("gap %d %llu %llu\n", cpu, (unsigned long long)seen[cpu].gap[i].from,
		       (unsigned long long)seen[cpu].gap[i].to);
}

int main(int argc, char **argv)
{
	uint64_t from, to, least, stolen;
	int status;
	pid_t pid;

	must(argc == 3);
	least = atoi(argv[2]) * 1000ULL;
	seen = shared(2 * sizeof(*seen));
	running = shared(sizeof(*running));
	end = shared(sizeof(*end));
	*end = UINT64_MAX;
	pin(0, 1);
	pid = begin_other(least);
	/* With this, other tasks of this machine hardly take CPU 1 away. */
	must(nice(-20) == -20);
	stolen = steal(1);
	from = now();
	to = from + atoi(argv[1]) * 1000000ULL;
	watch_clock(&seen[1], &to, least);
	to = now();
	stolen = steal(1) - stolen;
	__atomic_store_n(end, now(), __ATOMIC_RELAXED);
	must(waitpid(pid, &status, 0) == pid && !status);
	print_gaps(0);
	print_gaps(1);
	printf("load %llu %llu %llu\n", (unsigned long long)from, (unsigned long long)to,
	       (unsigned long long)stolen);
	return 0;
}
