// SPDX-License-Identifier: GPL-2.0
/*
 * A task that tries to pass its record off as another task's, for forge.sh
 *
 *	forge			prints the pid of the victim
 *
 * When a task leaves a CPU, kdtl_sched notes that in a slot that the lower half of the pid chooses.
 * A user can choose a pid, and how often a task has run, which /proc/PID/schedstat tells.  The
 * forger's pid is the victim's plus a multiple of 2^16, and the forger sleeps for moments until its
 * pid plus its number of runs equals the sleeping victim's, modulo 2^22.  Then the victim is woken.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "must.h"
#include "pin.h"

#define AHEAD	(63 << 16)	/* how much higher the forger's pid is */
#define RUNS	(1 << 22)	/* the sums are compared modulo this */

/* How often a task has run. */
static long runs(pid_t pid)
{
	char path[64];
	FILE *f;
	long n;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	f = fopen(path, "r");
	must(f);
	must(fscanf(f, "%*s %*s %ld", &n) == 1);
	fclose(f);
	return n;
}

static void write_number(const char *path, int n)
{
	FILE *f = fopen(path, "w");

	must(f);
	fprintf(f, "%d", n);
	must(!fclose(f));
}

/* Sleeps until there is a byte, again and again. */
static void sleeper(int fd)
{
	char c;

	while (read(fd, &c, 1) == 1)
		;
	_exit(0);
}

static bool sleeps(pid_t pid)
{
	char path[64], state;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	must(f);
	must(fscanf(f, "%*d (%*[^)]) %c", &state) == 1);
	fclose(f);
	return state == 'S';
}

/* Lets a sleeper run once more, and waits until it sleeps again. */
static void poke(int fd, pid_t pid)
{
	const long before = runs(pid);

	must(write(fd, "", 1) == 1);
	while (runs(pid) == before || !sleeps(pid))
		usleep(1000);
}

/* Sleeps for a moment, as often as needed: a process on the same CPU wakes this one each time. */
static void run_until(long want)
{
	int there[2], back[2];
	char c = 0;

	must(!pipe(there) && !pipe(back));
	if (!fork()) {
		close(there[1]);
		while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
			;
		_exit(0);
	}
	close(there[0]);
	while (runs(getpid()) < want) {
		/* Reading the number of runs takes longer than a sleep. */
		for (long n = (want - runs(getpid())) / 2; n >= 0; n--)
			must(write(there[1], &c, 1) == 1 && read(back[0], &c, 1) == 1);
	}
	close(there[1]);
	must(wait(NULL) > 0);
}

int main(void)
{
	int to_victim[2], to_forger[2];
	pid_t victim, forger;
	long want;

	pin(0, 0);
	write_number("/proc/sys/kernel/pid_max", 1 << 22);
	must(!pipe(to_victim) && !pipe(to_forger));
	victim = fork();
	must(victim >= 0);
	if (!victim) {
		close(to_victim[1]);
		close(to_forger[1]);
		sleeper(to_victim[0]);
	}
	poke(to_victim[1], victim);
	want = runs(victim) + RUNS - AHEAD;

	write_number("/proc/sys/kernel/ns_last_pid", victim + AHEAD - 1);
	forger = fork();
	must(forger >= 0);
	if (!forger) {
		close(to_victim[1]);
		pin(0, 1);
		must(!setuid(1000));
		run_until(want);
		close(to_forger[1]);
		sleeper(to_forger[0]);
	}
	must(forger == victim + AHEAD);
	while (runs(forger) < want || !sleeps(forger))
		usleep(10000);
	/* The forger may have gone too far: the victim catches up, then the forger runs again. */
	while (runs(victim) + RUNS - AHEAD <= runs(forger))
		poke(to_victim[1], victim);
	poke(to_forger[1], forger);
	must(runs(victim) + RUNS - AHEAD == runs(forger));

	printf("%d\n", victim);
	fflush(stdout);
	poke(to_victim[1], victim);
	close(to_victim[1]);
	close(to_forger[1]);
	must(waitpid(victim, NULL, 0) == victim && waitpid(forger, NULL, 0) == forger);
	return 0;
}
