// SPDX-License-Identifier: GPL-2.0
/*
 * tasks WHAT N - does something to tasks N times, after some rounds to warm up
 *
 * WHAT is fork (a child that exits at once, until it has been waited for), exec, rename (the name of
 * a thread) or renice.  Prints how many ticks of the time-stamp counter each takes: with QEMU's
 * -icount these are instructions.
 */
#define _GNU_SOURCE
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#define WARM_UP	200

static const char *self;

static void finish(pid_t pid)
{
	int status;

	if (pid < 0)
		err(1, "fork");
	if (waitpid(pid, &status, 0) != pid || status)
		errx(1, "a child failed");
}

static void do_fork(long n)
{
	pid_t pid;

	while (n--) {
		pid = fork();
		if (!pid)
			_exit(0);
		finish(pid);
	}
}

/* Programs that the child calls one after another; each has its number as argument. */
static void exec_from(long n)
{
	char left[24];

	if (!n)
		_exit(0);
	snprintf(left, sizeof(left), "%ld", n - 1);
	execl(self, self, "from", left, NULL);
	err(1, "%s", self);
}

static void do_exec(long n)
{
	const pid_t pid = fork();

	if (!pid)
		exec_from(n);
	finish(pid);
}

static void do_rename(long n)
{
	while (n--)
		if (prctl(PR_SET_NAME, n & 1 ? "one" : "other"))
			err(1, "prctl");
}

static void do_renice(long n)
{
	while (n--)
		if (setpriority(PRIO_PROCESS, 0, n & 1))
			err(1, "setpriority");
}

static const struct {
	const char *name;
	void (*run)(long n);
} whats[] = {
	{ "fork", do_fork },
	{ "exec", do_exec },
	{ "rename", do_rename },
	{ "renice", do_renice },
};

int main(int argc, char **argv)
{
	const long n = argc == 3 ? atol(argv[2]) : -1;
	unsigned long long ticks;
	size_t i;

	self = argv[0];
	if (n >= 0 && !strcmp(argv[1], "from"))
		exec_from(n);
	for (i = 0; i < sizeof(whats) / sizeof(*whats); i++) {
		if (n <= 0 || strcmp(argv[1], whats[i].name))
			continue;
		whats[i].run(WARM_UP);
		ticks = __rdtsc();
		whats[i].run(n);
		printf("%.1f\n", (double)(__rdtsc() - ticks) / n);
		return 0;
	}
	errx(1, "usage: tasks fork|exec|rename|renice N");
}
