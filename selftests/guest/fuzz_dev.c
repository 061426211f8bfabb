// SPDX-License-Identifier: GPL-2.0
/*
 * Random system calls on /dev/kdtl, by processes that die at any time
 *
 *	fuzz_dev SEED PROGRAMS [FIRST]
 *
 * Each program is a child whose seed decides its calls: open, ioctl, mmap, munmap,
 * read, poll, splice, dup, fork, exec and more in any order, with good and bad
 * arguments.  It ends by exit or by a signal, at any point.  Afterwards nothing may
 * hold the module or a session, and every errno must be an expected one.
 *
 * Run by fuzz.sh, as root.  Exit status 0: passed.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../api/include/uapi/linux/kdtl.h"
#include "must.h"

#define FDS		8	/* of /dev/kdtl, and duplicates */
#define MAPS		6
#define STEPS		150	/* of a process, at most */
#define FORKS		6	/* of a program, at most */
#define FIRST_FD	100	/* a program finds its files from here on after exec */
#define SHARED_FD	90	/* the file that all processes count in */
#define WAIT_MS		20000

#define CALLS		32	/* kinds of calls, at most */
#define ERRNOS		10

/* This is in memory that all processes of all programs share. */
static struct shared {
	unsigned long	called[CALLS];
	unsigned long	failed[CALLS];
	unsigned long	forks;
	unsigned long	bad;
} *shared;

static struct {
	uint64_t	rnd;
	unsigned long	seed;
	unsigned int	program;
	unsigned int	step;
	unsigned int	call;
	int		fds[FDS];
	int		pipe[2];
	int		null;
	struct {
		char	*at;
		size_t	len;
		int	prot;
	} maps[MAPS];
} my;

static size_t page;

/* xorshift*: good enough, and the same everywhere. */
static uint32_t rnd(void)
{
	my.rnd ^= my.rnd >> 12;
	my.rnd ^= my.rnd << 25;
	my.rnd ^= my.rnd >> 27;
	return (my.rnd * 0x2545f4914f6cdd1dULL) >> 32;
}

static uint32_t below(uint32_t end)
{
	return rnd() % end;
}

static int one_in(uint32_t n)
{
	return !below(n);
}

static void bad(const char *what, long value)
{
	/* Only the first few are reported. */
	if (__atomic_add_fetch(&shared->bad, 1, __ATOMIC_RELAXED) > 10)
		return;
	printf("# seed %lu, program %u, step %u: %s: %ld\n", my.seed, my.program, my.step,
	       what, value);
	fflush(stdout);
}

/**
 * struct call - a call that programs are made of
 * @name: for people
 * @weight: how often it is made, compared with the others
 * @make: makes it, on a place for a file of /dev/kdtl
 * @fd: make it only if there is a file in that place
 * @errnos: errors with which it may fail
 */
static const struct call {
	const char	*name;
	unsigned int	weight;
	void		(*make)(int *fd);
	int		fd;
	int		errnos[ERRNOS];
} calls[];

static void count(void)
{
	__atomic_add_fetch(&shared->called[my.call], 1, __ATOMIC_RELAXED);
}

/* Counts a call; if it failed, checks the errno. */
static long result(long ret)
{
	const int error = errno;
	unsigned int i;

	count();
	if (ret != -1)
		return ret;
	__atomic_add_fetch(&shared->failed[my.call], 1, __ATOMIC_RELAXED);
	for (i = 0; i < ERRNOS; i++) {
		if (calls[my.call].errnos[i] == error)
			return ret;
	}
	bad(calls[my.call].name, -error);
	return ret;
}

/* -------------------------------------------------------------------- calls */

/* Not every call uses its file. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static int *any_fd(void)
{
	return &my.fds[below(FDS)];
}

static void *wild(void)
{
	static void * const at[] = { NULL, (void *)1, (void *)-1, (void *)-4096UL,
				     (void *)0x8000000000000000UL };

	return at[below(ARRAY_SIZE(at))];
}

static void setup(int fd)
{
	static const char * const sources[] = { "", "", "kdtl_sched", "kdtl_sched",
						"no_such", "0123456789012345678901234567890" };
	struct kdtl_stream_attr attr = {
		.flags		= one_in(4),
		.aux_pages	= one_in(4) ? 0 : 1 << below(5),
		.watermark	= one_in(2) ? 0 : below(page),
		.mask		= below(32),
		.period		= one_in(2) ? 0 : below(5000000),
	};
	cpu_set_t set;

	if (!one_in(4)) {
		CPU_ZERO(&set);
		CPU_SET(below(4), &set);
		if (one_in(4))
			CPU_SET(below(CPU_SETSIZE), &set);
		attr.cpus = (uintptr_t)&set;
		attr.cpus_len = one_in(16) ? below(300) : sizeof(set);
	}
	snprintf(attr.source, sizeof(attr.source), "%s",
		 sources[one_in(8) ? below(6) : below(4)]);
	if (one_in(8))
		((uint32_t *)&attr)[below(sizeof(attr) / 4)] = rnd() << below(32);
	if (one_in(32))
		attr.period = -1;
	result(ioctl(fd, KDTL_IOC_SETUP, one_in(32) ? wild() : &attr));
}

static void do_open(int *fd)
{
	if (*fd >= 0)
		return;
	*fd = result(open("/dev/kdtl", (one_in(4) ? O_RDONLY : O_RDWR) |
				(one_in(8) ? 0 : O_NONBLOCK) | (one_in(2) ? O_CLOEXEC : 0)));
	/* If it is not set up here, its first use sets it up, for all CPUs. */
	if (*fd >= 0 && !one_in(4)) {
		my.call = 1;
		setup(*fd);
	}
}

static void do_setup(int *fd)
{
	setup(*fd);
}

static void do_start(int *fd)
{
	result(ioctl(*fd, KDTL_IOC_START));
}

static void do_stop(int *fd)
{
	result(ioctl(*fd, KDTL_IOC_STOP));
}

static void do_ioctl(int *fd)
{
	result(ioctl(*fd, one_in(2) ? rnd() : 0xdc00 + below(16), wild()));
}

static void do_seek(int *fd)
{
	result(lseek(*fd, rnd(), below(3)));
}

static void do_write(int *fd)
{
	result(write(*fd, &my, below(sizeof(my))));
}

static void do_info(int *fd)
{
	struct kdtl_stream_info info = { .cpu = one_in(4) ? (int)below(4) : -1 };

	if (one_in(16))
		info.cpu = rnd();
	if (result(ioctl(*fd, KDTL_IOC_INFO, one_in(32) ? wild() : &info)) < 0)
		return;
	if (info.produced != info.consumed + info.lost + info.unread)
		bad("produced is not consumed + lost + unread", info.produced);
}

static void do_clock(int *fd)
{
	struct kdtl_stream_clock c;

	result(ioctl(*fd, KDTL_IOC_CLOCK, one_in(32) ? wild() : &c));
}

static void do_tasks(int *fd)
{
	struct kdtl_task task[4];
	struct kdtl_stream_tasks req = {
		.seq	= one_in(4) ? 0 : one_in(8) ? -1ULL : rnd() >> below(32),
		.tasks	= one_in(32) ? (uintptr_t)wild() : (uintptr_t)task,
		.nr	= one_in(32) ? 0 : 1 + below(ARRAY_SIZE(task)),
		.reserved = one_in(64),
	};

	if (result(ioctl(*fd, KDTL_IOC_TASKS, one_in(32) ? wild() : &req)) < 0)
		return;
	if (req.nr > ARRAY_SIZE(task))
		bad("tasks: more than there is room for", req.nr);
}

static void do_cgroup(int *fd)
{
	char path[KDTL_CGROUP_LEN];
	struct kdtl_stream_cgroup req = {
		.id	= one_in(2) ? below(4) : rnd() >> below(32),
		.path	= one_in(32) ? (uintptr_t)wild() : (uintptr_t)path,
		.len	= one_in(4) ? below(4) : sizeof(path),
		.reserved = one_in(64),
	};

	result(ioctl(*fd, KDTL_IOC_CGROUP, one_in(32) ? wild() : &req));
}

static void do_waits(int *fd)
{
	struct kdtl_stream_wait wait[4];
	struct kdtl_stream_waits req = {
		.waits	= one_in(32) ? (uintptr_t)wild() : (uintptr_t)wait,
		.nr	= below(ARRAY_SIZE(wait) + 1),
		.flags	= one_in(64),
	};

	if (result(ioctl(*fd, KDTL_IOC_WAITS, one_in(32) ? wild() : &req)) < 0)
		return;
	if (req.flags & ~KDTL_WAITS_LATE)
		bad("waits: unknown flags", req.flags);
}

static void do_read(int *fd)
{
	static const size_t sizes[] = { 0, 1, sizeof(struct kdtl_entry) - 1,
					sizeof(struct kdtl_entry), 4096, 65536 };
	static char buf[65536];
	const size_t size = sizes[below(6)];
	long n;

	n = result(read(*fd, one_in(32) ? wild() : buf, one_in(32) ? (size_t)-1 : size));
	if (n > 0 && n % sizeof(struct kdtl_entry))
		bad("read: not whole entries", n);
}

static void do_poll(int *fd)
{
	struct pollfd p = { .fd = *fd, .events = rnd() };

	result(poll(&p, 1, below(3)));
}

static void do_mmap(int *fd)
{
	static const int prots[] = { PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE, PROT_READ,
				     PROT_NONE, PROT_READ | PROT_EXEC, PROT_WRITE };
	unsigned int i = below(MAPS);
	const int prot = prots[below(6)];
	size_t len = page, offset = 0;
	char *at;

	if (my.maps[i].at)
		return;
	switch (below(4)) {
	case 0:		/* a ring, or none */
	case 1:
		len = page * (1 + (one_in(2) ? 0 : 1 << below(4)));
		break;
	case 2:		/* an AUX area, as set in the ring's page */
		len = page << below(5);
		offset = page * (1 + below(4));
		for (i = 0; i < MAPS; i++) {
			struct perf_event_mmap_page *pc = (void *)my.maps[i].at;

			if (!pc || my.maps[i].prot != (PROT_READ | PROT_WRITE))
				continue;
			pc->aux_offset = offset;
			pc->aux_size = len;
			break;
		}
		for (i = 0; i < MAPS && my.maps[i].at; i++)
			;
		if (i == MAPS)
			return;
		break;
	default:
		len = page * below(40);
		offset = one_in(2) ? 0 : page * below(100);
		if (one_in(8))
			offset = (size_t)rnd() << 12 << below(20);
	}
	at = mmap(NULL, len, prot, one_in(16) ? MAP_PRIVATE : MAP_SHARED, *fd, offset);
	if (result(at == MAP_FAILED ? -1 : 0))
		return;
	my.maps[i].at = at;
	my.maps[i].len = len;
	my.maps[i].prot = prot;
}

/* Reads a mapping, and writes there what no reader should ever write. */
static void do_touch(int *fd)
{
	const unsigned int i = below(MAPS);
	volatile char *at = my.maps[i].at;
	size_t k;

	if (!at || my.maps[i].prot == PROT_NONE || my.maps[i].prot == PROT_WRITE)
		return;
	count();
	for (k = 0; k < my.maps[i].len; k += 64 + below(512))
		(void)at[k];
	if (!(my.maps[i].prot & PROT_WRITE))
		return;
	if (one_in(2)) {
		struct perf_event_mmap_page *pc = (void *)at;

		pc->data_tail = one_in(2) ? pc->data_head : rnd();
		pc->aux_tail = one_in(2) ? pc->aux_head : rnd();
		return;
	}
	for (k = 0; k < 16; k++)
		at[below(my.maps[i].len)] = rnd();
}

static void do_munmap(int *fd)
{
	const unsigned int i = below(MAPS);
	size_t len = my.maps[i].len;

	if (!my.maps[i].at)
		return;
	/* Sometimes unmap only a part: the rest stays, and is forgotten here. */
	if (one_in(4) && len > page)
		len = page * (1 + below(len / page - 1));
	result(munmap(my.maps[i].at, len));
	my.maps[i].at = NULL;
}

static void do_mprotect(int *fd)
{
	const unsigned int i = below(MAPS);

	if (!my.maps[i].at)
		return;
	if (!result(mprotect(my.maps[i].at, my.maps[i].len, PROT_READ)))
		my.maps[i].prot = PROT_READ;
}

static void do_mremap(int *fd)
{
	const unsigned int i = below(MAPS);
	char *at;

	if (!my.maps[i].at)
		return;
	at = mremap(my.maps[i].at, my.maps[i].len, my.maps[i].len * (1 + below(2)),
		    MREMAP_MAYMOVE);
	if (result(at == MAP_FAILED ? -1 : 0))
		return;
	/* The mapping may be longer now, but the new part has no pages: keep the old length. */
	my.maps[i].at = at;
}

static void do_splice(int *fd)
{
	if (my.pipe[0] < 0) {
		if (pipe2(my.pipe, O_NONBLOCK | (one_in(2) ? O_CLOEXEC : 0)))
			return;
	}
	if (one_in(3))
		result(splice(my.pipe[0], NULL, my.null, NULL, below(65536),
			      SPLICE_F_NONBLOCK));
	else
		result(splice(*fd, NULL, my.pipe[1], NULL, 1 + below(200000),
			      one_in(8) ? 0 : SPLICE_F_NONBLOCK));
	if (one_in(8)) {
		/* Close either end first. */
		const int first = below(2);

		close(my.pipe[first]);
		close(my.pipe[!first]);
		my.pipe[0] = -1;
		my.pipe[1] = -1;
	}
}

static void do_dup(int *fd)
{
	int *to = any_fd();

	if (*to < 0)
		*to = result(dup(*fd));
}

static void do_close(int *fd)
{
	if (*fd < 0)
		return;
	result(close(*fd));
	*fd = -1;
}

static void do_move(int *fd)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(below(4), &set);
	count();
	/* There may be fewer CPUs. */
	sched_setaffinity(0, sizeof(set), &set);
	usleep(below(200));
}

static void do_fork(int *fd)
{
	pid_t pid;

	if (__atomic_add_fetch(&shared->forks, 1, __ATOMIC_RELAXED) > FORKS)
		return;
	pid = result(fork());
	if (pid)
		return;
	/* A child does not inherit the mappings. */
	memset(my.maps, 0, sizeof(my.maps));
	my.rnd ^= 0x9e3779b97f4a7c15ULL * getpid();
	my.rnd |= 1;
	/* Nor the timer, without which a process that waits would never end. */
	setitimer(ITIMER_REAL, &(struct itimerval) { { 0, 20000 }, { 0, 20000 } }, NULL);
}

/* The program goes on in a new image, with the files that it inherits. */
static void do_exec(int *fd)
{
	char seed[32], state[32], program[32];
	unsigned int i;

	if (__atomic_add_fetch(&shared->forks, 1, __ATOMIC_RELAXED) > FORKS)
		return;
	for (i = 0; i < FDS; i++) {
		if (my.fds[i] >= 0)
			dup2(my.fds[i], FIRST_FD + i);
	}
	snprintf(seed, sizeof(seed), "%lu", my.seed);
	snprintf(program, sizeof(program), "%u", my.program);
	snprintf(state, sizeof(state), "%llu", (unsigned long long)my.rnd);
	count();
	execl("/proc/self/exe", "fuzz_dev", "--go-on", seed, program, state, NULL);
	bad("exec", -errno);
}

static void do_die(int *fd)
{
	static const int signals[] = { SIGKILL, SIGSEGV, SIGTERM, SIGBUS };

	count();
	if (one_in(3))
		exit(0);
	if (one_in(2))
		_exit(0);
	raise(signals[below(4)]);
	_exit(0);
}

#define SETS_UP		EBUSY, EINVAL, EPERM, ENOMEM, EINTR

static const struct call calls[] = {
	{ "open", 8, do_open, 0, { } },
	/* The second: see do_open(). */
	{ "KDTL_IOC_SETUP", 12, do_setup, 1, { SETS_UP, ENODEV, EFAULT, E2BIG } },
	{ "KDTL_IOC_START", 8, do_start, 1, { SETS_UP } },
	{ "KDTL_IOC_STOP", 4, do_stop, 1, { SETS_UP } },
	{ "KDTL_IOC_INFO", 8, do_info, 1, { SETS_UP, EFAULT } },
	{ "KDTL_IOC_CLOCK", 2, do_clock, 1, { SETS_UP, EFAULT } },
	{ "KDTL_IOC_TASKS", 4, do_tasks, 1, { SETS_UP, EFAULT } },
	{ "KDTL_IOC_CGROUP", 4, do_cgroup, 1, { SETS_UP, EFAULT, ENOENT, ERANGE } },
	{ "KDTL_IOC_WAITS", 2, do_waits, 1, { SETS_UP, EFAULT, EAGAIN } },
	{ "other ioctl", 2, do_ioctl, 1, { SETS_UP, ENOTTY, EFAULT, E2BIG } },
	{ "read", 10, do_read, 1, { SETS_UP, EAGAIN, EFAULT } },
	{ "poll", 6, do_poll, 1, { EINTR } },
	{ "mmap", 14, do_mmap, 1, { EINVAL, EPERM, EACCES, ENOMEM, EBUSY } },
	{ "access to a map", 10, do_touch, 0, { } },
	{ "munmap", 4, do_munmap, 0, { EINVAL } },
	{ "mprotect", 2, do_mprotect, 0, { EACCES, EINVAL, ENOMEM } },
	{ "mremap", 2, do_mremap, 0, { EFAULT, EINVAL, ENOMEM, EAGAIN, EPERM } },
	{ "splice", 10, do_splice, 1, { SETS_UP, EAGAIN, EPIPE } },
	{ "dup", 3, do_dup, 1, { } },
	{ "close", 5, do_close, 1, { } },
	{ "lseek", 1, do_seek, 1, { ESPIPE } },
	{ "write", 1, do_write, 1, { EINVAL, EBADF } },
	{ "fork", 2, do_fork, 0, { } },
	{ "exec", 1, do_exec, 0, { } },
	{ "sched_setaffinity", 4, do_move, 0, { } },
	{ "death", 1, do_die, 0, { } },
};

#define NR_CALLS	ARRAY_SIZE(calls)
static_assert(NR_CALLS <= CALLS, "make CALLS larger");

static void step(void)
{
	unsigned int at, sum = 0, call;
	int *fd = any_fd();

	for (call = 0; call < NR_CALLS; call++)
		sum += calls[call].weight;
	at = below(sum);
	for (call = 0; at >= calls[call].weight; call++)
		at -= calls[call].weight;
	/* Most calls need a file, so mostly open one if there is none. */
	if (*fd < 0 && (calls[call].fd || !one_in(4)))
		call = 0;
	my.call = call;
	calls[call].make(fd);
}

/* ----------------------------------------------------------------- processes */

static void nothing(int sig)
{
	(void)sig;
}

static void program(void)
{
	const struct sigaction sa = { .sa_handler = nothing };

	/* A call that waits is interrupted, not restarted. */
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &(struct itimerval) { { 0, 20000 }, { 0, 20000 } }, NULL);
	signal(SIGPIPE, SIG_IGN);
	my.null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	my.pipe[0] = -1;
	my.pipe[1] = -1;
	for (my.step = 0; my.step < STEPS; my.step++)
		step();
	_exit(0);
}

static long uses(void)
{
	char line[256];
	long nr = -1;
	FILE *f = fopen("/proc/modules", "r");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "kdtl_stream %*d %ld", &nr);
	if (f)
		fclose(f);
	return nr;
}

/* Waits until all processes of the program have ended, and nothing of theirs is left. */
static int clean(pid_t group)
{
	unsigned int ms;
	long nr = -1;

	for (ms = 0; ms < WAIT_MS; ms++) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		/* Again and again: a process may be forked too late for the last signal. */
		kill(-group, SIGKILL);
		nr = uses();
		if (!nr)
			return 1;
		usleep(1000);
	}
	bad("still holds the module", nr);
	return 0;
}

static void run(unsigned int nr)
{
	pid_t pid;
	int i;

	my.program = nr;
	my.rnd = (my.seed + 1) * 0x9e3779b97f4a7c15ULL ^ (nr + 1ULL) << 32;
	my.rnd |= 1;
	for (i = 0; i < FDS; i++)
		my.fds[i] = -1;
	for (i = 0; i < 8; i++)
		rnd();
	shared->forks = 0;
	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		bad("fork", -errno);
		return;
	}
	if (!pid) {
		setpgid(0, 0);
		program();
	}
	setpgid(pid, pid);
	waitpid(pid, NULL, 0);
	clean(pid);
}

static int map_shared(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, SHARED_FD, 0);
	return shared == MAP_FAILED ? -1 : 0;
}

/* The counters are in a file, so that they outlive exec. */
static int make_shared(void)
{
	int fd = memfd_create("fuzz_dev", 0);

	if (fd < 0 || ftruncate(fd, sizeof(*shared)) || dup2(fd, SHARED_FD) < 0)
		return -1;
	close(fd);
	return map_shared();
}

int main(int argc, char **argv)
{
	unsigned long first = 0, nr, i, made = 0;

	page = sysconf(_SC_PAGESIZE);
	if (argc == 5 && !strcmp(argv[1], "--go-on")) {
		my.seed = strtoul(argv[2], NULL, 0);
		my.program = strtoul(argv[3], NULL, 0);
		my.rnd = strtoull(argv[4], NULL, 0);
		if (map_shared())
			return 1;
		for (i = 0; i < FDS; i++)
			my.fds[i] = fcntl(FIRST_FD + i, F_GETFD) < 0 ? -1 : (int)(FIRST_FD + i);
		program();
	}
	if (argc < 3) {
		fprintf(stderr, "usage: fuzz_dev SEED PROGRAMS [FIRST]\n");
		return 2;
	}
	my.seed = strtoul(argv[1], NULL, 0);
	nr = strtoul(argv[2], NULL, 0);
	if (argc > 3)
		first = strtoul(argv[3], NULL, 0);
	/* This process has to wait for orphans. */
	if (make_shared() || prctl(PR_SET_CHILD_SUBREAPER, 1)) {
		perror("fuzz_dev");
		return 1;
	}
	for (i = 0; i < nr; i++)
		run(first + i);
	for (i = 0; i < NR_CALLS; i++) {
		printf("# %-18s %8lu calls %8lu failed\n", calls[i].name, shared->called[i],
		       shared->failed[i]);
		made += shared->called[i];
	}
	printf("# seed %lu: %lu programs, %lu calls, %lu wrong\n", my.seed, nr, made,
	       shared->bad);
	return !!shared->bad;
}
