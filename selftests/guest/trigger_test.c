// SPDX-License-Identifier: GPL-2.0
/*
 * Triggers in PSI's way, for trigger.sh
 *
 *	trigger_test notice PID NR FILE TRIGGER...
 *		lets the stopped task PID go on, and waits until the first NR triggers have told of
 *		an event, each of them once.  Prints a line for each trigger: after how many ms it
 *		did, or "-"
 *	trigger_test write FILE TRIGGER...
 *		prints what each write to one open file returns, 0 or the errno, and then whether
 *		poll() has an error
 *	trigger_test user FILE TRIGGER...
 *		does as "write", without CAP_SYS_RESOURCE
 *	trigger_test many FILE TRIGGER NR
 *		without CAP_SYS_RESOURCE, opens up to NR files; prints how many get a trigger, and
 *		the errno of the next one
 *	trigger_test fault FILE LENGTH
 *		writes so many bytes from memory that is not there; prints what the write returns
 *	trigger_test close FILE TRIGGER NR
 *		NR times, closes a file that another thread polls; prints "woken" if the event woke
 *		a thread that slept there
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
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

/* In one window there is one event at most.  @since: before @trigger was set. */
static bool told_again(struct pollfd *fd, const char *trigger, uint64_t since)
{
	unsigned int window;

	must(sscanf(trigger, "%*s %*u %u", &window) == 1 && poll(fd, 1, 0) >= 0);
	return fd->revents & POLLPRI && now_ms() - since < window / 1000;
}

static void notice(pid_t pid, unsigned int nr, char **argv, unsigned int n)
{
	const uint64_t since = now_ms();
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
			must(!told_again(&fds[i], argv[2 * i + 1], since));
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

/* Writes memory that is not there. */
static void fault(const char *file, size_t len)
{
	int fd = open(file, O_WRONLY);

	must(fd >= 0);
	puts(strerrorname_np(write(fd, NULL, len) < 0 ? errno : 0));
}

static void open_many(const char *file, const char *trigger, int nr)
{
	int i, fd, err = 0;

	for (i = 0; i < nr && !err; i++) {
		fd = open(file, O_RDWR);
		must(fd >= 0);
		err = set(fd, trigger);
	}
	printf("%d %s\n", i - !!err, strerrorname_np(err));
}

static struct poller {
	int		fd;
	atomic_int	tid;
	atomic_bool	done;
	short		told;
} poller;

static void *poll_once(void *unused)
{
	struct pollfd fd = { .fd = poller.fd, .events = POLLPRI };

	atomic_store(&poller.tid, gettid());
	must(poll(&fd, 1, 120000) == 1);
	poller.told = fd.revents;
	atomic_store(&poller.done, true);
	return unused;
}

/* A thread that has exited meanwhile has no state, and does not sleep. */
static bool poller_sleeps(void)
{
	char path[64], state;
	bool sleeps;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", atomic_load(&poller.tid));
	f = fopen(path, "r");
	if (!f)
		return false;
	sleeps = fscanf(f, "%*d %*s %c", &state) == 1 && state == 'S';
	fclose(f);
	return sleeps;
}

/*
 * In every other round the file is closed at once, in the others when the thread sleeps in poll().
 * Then the event has to wake the thread, and poll() may say that the number is no file's any more.
 */
static void close_polled(const char *file, const char *trigger, int nr)
{
	pthread_t thread;
	int i, woken = 0;
	bool sleeps;

	for (i = 0; i < nr; i++) {
		poller = (struct poller){ .fd = open(file, O_RDWR) };
		must(poller.fd >= 0 && !set(poller.fd, trigger));
		must(!pthread_create(&thread, NULL, poll_once, NULL));
		sleeps = false;
		while (i % 2 && !sleeps && !atomic_load(&poller.done)) {
			sched_yield();
			sleeps = atomic_load(&poller.tid) && poller_sleeps();
		}
		must(!close(poller.fd));
		must(!pthread_join(thread, NULL));
		must(poller.told == POLLPRI || poller.told == POLLNVAL);
		woken += sleeps;
	}
	puts(woken ? "woken" : "-");
}

int main(int argc, char **argv)
{
	must(argc > 3);
	if (!strcmp(argv[1], "notice")) {
		must(argc > 5);
		notice(atoi(argv[2]), atoi(argv[3]), argv + 4, (argc - 4) / 2);
		return 0;
	}
	if (!strcmp(argv[1], "close")) {
		must(argc == 5);
		close_polled(argv[2], argv[3], atoi(argv[4]));
		return 0;
	}
	if (!strcmp(argv[1], "fault")) {
		fault(argv[2], atoi(argv[3]));
		return 0;
	}
	if (!strcmp(argv[1], "many")) {
		must(argc == 5);
		drop();
		open_many(argv[2], argv[3], atoi(argv[4]));
		return 0;
	}
	if (!strcmp(argv[1], "user"))
		drop();
	write_each(argv[2], argv + 3);
	return 0;
}
