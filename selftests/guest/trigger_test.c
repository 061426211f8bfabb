// SPDX-License-Identifier: GPL-2.0
/*
 * Triggers in PSI's way, for trigger.sh
 *
 *	trigger_test notice PID NR FILE TRIGGER...	lets the stopped task PID go on, and waits
 *					until the first NR triggers have told of an event; a line
 *					for each: after how many ms, or - if it has not
 *	trigger_test write FILE TRIGGER...		what each write to one open file says: 0, or
 *					the errno; then whether poll() has an error
 *	trigger_test user FILE TRIGGER...		the same, without CAP_SYS_RESOURCE
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "must.h"

#define MOST	8

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000;
}

static int set(int fd, const char *trigger)
{
	return write(fd, trigger, strlen(trigger) + 1) < 0 ? errno : 0;
}

static void notice(pid_t pid, unsigned int nr, char **argv, unsigned int n)
{
	struct pollfd fds[MOST];
	uint64_t ms[MOST] = { 0 }, begin;
	unsigned int i, told = 0;

	must(n && n <= MOST);
	for (i = 0; i < n; i++) {
		fds[i].fd = open(argv[2 * i], O_RDWR);
		fds[i].events = POLLPRI;
		must(fds[i].fd >= 0 && !set(fds[i].fd, argv[2 * i + 1]));
	}
	begin = now_ms();
	must(!kill(pid, SIGCONT));
	while (told < nr) {
		must(poll(fds, n, 120000) > 0);
		for (i = 0; i < n; i++) {
			must(!(fds[i].revents & POLLERR));
			if (!(fds[i].revents & POLLPRI) || ms[i])
				continue;
			ms[i] = now_ms() - begin + 1;
			told += i < nr;
		}
	}
	for (i = 0; i < n; i++) {
		if (ms[i])
			printf("%llu\n", (unsigned long long)ms[i] - 1);
		else
			puts("-");
	}
}

static void drop(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	must(!syscall(SYS_capget, &head, data));
	data[0].effective &= ~(1U << CAP_SYS_RESOURCE);
	must(!syscall(SYS_capset, &head, data));
}

static void write_each(const char *file, char **triggers)
{
	struct pollfd fd = { .fd = open(file, O_RDWR), .events = POLLPRI };

	must(fd.fd >= 0);
	for (; *triggers; triggers++)
		printf("%s ", strerrorname_np(set(fd.fd, *triggers)));
	must(poll(&fd, 1, 0) >= 0);
	puts(fd.revents & POLLERR ? "error" : "waits");
}

int main(int argc, char **argv)
{
	must(argc > 3);
	if (!strcmp(argv[1], "notice")) {
		must(argc > 5);
		notice(atoi(argv[2]), atoi(argv[3]), argv + 4, (argc - 4) / 2);
		return 0;
	}
	if (!strcmp(argv[1], "user"))
		drop();
	write_each(argv[2], argv + 3);
	return 0;
}
