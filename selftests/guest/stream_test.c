// SPDX-License-Identifier: GPL-2.0
/*
 * Test what /dev/kdtl promises, see <uapi/linux/kdtl.h>: one test a run
 *
 *	stream_test NAME	exit status 0: passed
 *
 * Run by stream.sh, as root, on an otherwise idle machine.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../api/include/uapi/linux/kdtl.h"
#include "must.h"
#include "pin.h"

#define ENTRY		sizeof(struct kdtl_entry)
#define PAGES		16	/* of log per CPU */
#define MANY_PAGES	64	/* if nobody reads while other tasks also run */

static size_t page;

/* The call must fail with this errno. */
#define refused(call, error) do {					\
	errno = 0;							\
	if ((long)(call) != -1 || errno != (error))			\
		die("%s: not %s", #call, strerror(error));		\
} while (0)

static int open_dev(int flags)
{
	int fd = open("/dev/kdtl", O_RDWR | O_CLOEXEC | flags);

	must(fd >= 0);
	return fd;
}

/* Sets up the scheduler's log of @cpu, and moves there; -1: of all CPUs. */
static int setup_as(int cpu, struct kdtl_stream_attr attr)
{
	int fd = open_dev(O_NONBLOCK);
	cpu_set_t set;

	CPU_ZERO(&set);
	if (cpu >= 0) {
		CPU_SET(cpu, &set);
		must(!sched_setaffinity(0, sizeof(set), &set));
		attr.cpus = (uintptr_t)&set;
		attr.cpus_len = sizeof(set);
	}
	attr.aux_pages = attr.aux_pages ?: PAGES;
	strcpy(attr.source, "kdtl_sched");
	must(!ioctl(fd, KDTL_IOC_SETUP, &attr));
	return fd;
}

static int setup(int cpu)
{
	return setup_as(cpu, (struct kdtl_stream_attr) { });
}

static struct kdtl_stream_info info_of(int fd)
{
	struct kdtl_stream_info info = { .cpu = -1 };

	must(!ioctl(fd, KDTL_IOC_INFO, &info));
	must(info.produced == info.consumed + info.lost + info.unread);
	return info;
}

/* Gets dispatched @nr times. A sleep may be over before it began, so it counts switches. */
static void dispatches(int nr)
{
	struct rusage ru;
	long until;

	must(!getrusage(RUSAGE_THREAD, &ru));
	until = ru.ru_nvcsw + nr;
	while (ru.ru_nvcsw < until) {
		must(!usleep(1) || errno == EINTR);
		must(!getrusage(RUSAGE_THREAD, &ru));
	}
}

static int pid_of(const struct kdtl_entry *e)
{
	return be64toh(e->fault_addr) >> 32;
}

/*
 * Checks that the entries of each CPU are in the order of time.  Returns how many
 * are of this process.
 */
static unsigned int check_entries(const struct kdtl_entry *e, size_t len)
{
	static uint64_t last[CPU_SETSIZE];
	unsigned int ours = 0;

	must(len % ENTRY == 0);
	for (; len; len -= ENTRY, e++) {
		const unsigned int cpu = be16toh(e->processor_id);

		must(cpu < CPU_SETSIZE);
		if (be64toh(e->timebase) < last[cpu])
			die("CPU %u: time goes back", cpu);
		last[cpu] = be64toh(e->timebase);
		ours += pid_of(e) == getpid();
	}
	return ours;
}

/* Reads until there is no more; returns the number of bytes. */
static size_t drain(int fd, unsigned int *ours)
{
	struct kdtl_entry buf[100];
	size_t sum = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		*ours += check_entries(buf, n);
		sum += n;
	}
	must(n == 0 || errno == EAGAIN);
	return sum;
}

/* ------------------------------------------------------------ set up and read */

/* Tries sizes whose bytes overflow somewhere on the way, and times without end. */
static void test_edges(void)
{
	static const uint32_t pages[] = {
		(1 << 20) + 1, 1 << 21, 1 << 30, INT32_MAX, 1U << 31, UINT32_MAX,
	};
	static const uint32_t watermarks[] = {
		INT32_MAX, 1U << 31, UINT32_MAX - 1, UINT32_MAX,
	};
	static const uint64_t periods[] = {
		INT64_MAX / 2, INT64_MAX, 1ULL << 63, UINT64_MAX,
	};
	struct kdtl_stream_attr attr = { };
	struct kdtl_stream_info info = { };
	static unsigned char set[4096];
	unsigned int i;
	int fd = open_dev(0);

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		attr.aux_pages = pages[i];
		refused(ioctl(fd, KDTL_IOC_SETUP, &attr), EINVAL);
	}
	/* This is 4 GiB a CPU, more than the cap. */
	attr.aux_pages = 1 << 20;
	refused(ioctl(fd, KDTL_IOC_SETUP, &attr), ENOMEM);
	attr.aux_pages = 1;
	for (i = 0; i < ARRAY_SIZE(watermarks); i++) {
		attr.watermark = watermarks[i];
		refused(ioctl(fd, KDTL_IOC_SETUP, &attr), EINVAL);
	}
	attr.watermark = 0;
	/* If the set is longer, only the part for the kernel's CPUs is read. */
	attr.cpus = UINT64_MAX;
	attr.cpus_len = UINT32_MAX;
	refused(ioctl(fd, KDTL_IOC_SETUP, &attr), EFAULT);
	memset(set, 0xff, sizeof(set));
	attr.cpus = (uintptr_t)set;
	must(!ioctl(fd, KDTL_IOC_SETUP, &attr));
	info.cpu = INT32_MAX;
	refused(ioctl(fd, KDTL_IOC_INFO, &info), EINVAL);
	refused(ioctl(fd, KDTL_IOC_CLOCK, NULL), EFAULT);
	close(fd);

	/* A timer that went off at once would wake the reader for an entry. */
	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		struct pollfd p = { .events = POLLIN };

		p.fd = setup_as(0, (struct kdtl_stream_attr){ .period = periods[i] });
		must(!ioctl(p.fd, KDTL_IOC_START));
		dispatches(3);
		if (poll(&p, 1, 20))
			die("a period of %llu ns is over", (unsigned long long)periods[i]);
		close(p.fd);
	}
}

static void test_setup(void)
{
	const struct kdtl_stream_attr good = { .aux_pages = PAGES };
	struct { struct kdtl_stream_attr attr; uint64_t more; } longer = { .attr = good };
	struct kdtl_stream_attr attr;
	struct kdtl_stream_info info;
	cpu_set_t none;
	int fd = open_dev(0), fd2 = open_dev(0);

#define bad(field, value, error) do {					\
	attr = good;							\
	attr.field = value;						\
	refused(ioctl(fd, KDTL_IOC_SETUP, &attr), error);		\
} while (0)
	bad(flags, 0x2, EINVAL);
	bad(aux_pages, 3, EINVAL);
	bad(watermark, PAGES * page + 1, EINVAL);
	bad(mask, 0x20, EINVAL);
	bad(reserved, 1, EINVAL);
	bad(cpus, 1, EINVAL);
	bad(cpus_len, 8, EFAULT);
	CPU_ZERO(&none);
	attr = good;
	attr.cpus = (uintptr_t)&none;
	attr.cpus_len = sizeof(none);
	refused(ioctl(fd, KDTL_IOC_SETUP, &attr), EINVAL);
	attr = good;
	memset(attr.source, 'x', sizeof(attr.source));
	refused(ioctl(fd, KDTL_IOC_SETUP, &attr), EINVAL);
	attr.source[3] = '\0';
	refused(ioctl(fd, KDTL_IOC_SETUP, &attr), ENODEV);
	refused(ioctl(fd, KDTL_IOC_SETUP, NULL), EFAULT);
	refused(ioctl(fd, _IO(0xdc, 9)), ENOTTY);

	/* An older program's structures end before the newest fields. */
	must(!ioctl(fd2, _IOC(_IOC_WRITE, 0xdc, 0, offsetof(typeof(attr), min_wait)), &good));
	memset(&info, 0xff, sizeof(info));
	info.cpu = -1;
	must(!ioctl(fd2, _IOC(_IOC_READ | _IOC_WRITE, 0xdc, 3,
			      offsetof(typeof(info), filtered)), &info));
	must(info.aux_size == PAGES * page && info.filtered == UINT64_MAX);
	close(fd2);

	/* A newer and longer structure is accepted if its new part is zero. */
	longer.more = 1;
	refused(ioctl(fd, _IOW(0xdc, 0, typeof(longer)), &longer), E2BIG);
	longer.more = 0;
	must(!ioctl(fd, _IOW(0xdc, 0, typeof(longer)), &longer));
	refused(ioctl(fd, KDTL_IOC_SETUP, &good), EBUSY);

	info = info_of(fd);
	must(!(info.state & KDTL_STREAM_RUNNING) && info.aux_size == PAGES * page);
	must(info.watermark == PAGES * page / 2 && info.tb_freq);
	info.cpu = CPU_SETSIZE;
	refused(ioctl(fd, KDTL_IOC_INFO, &info), EINVAL);
	info.cpu = -2;
	refused(ioctl(fd, KDTL_IOC_INFO, &info), EINVAL);
}

static void test_read(void)
{
	unsigned int ours = 0;
	int fd = setup(0);
	char small[ENTRY - 1];
	struct kdtl_entry e;
	size_t sum = 0;
	ssize_t n;

	refused(read(fd, small, sizeof(small)), EINVAL);
	must(read(fd, &e, ENTRY) == 0);
	must(!ioctl(fd, KDTL_IOC_START) && !ioctl(fd, KDTL_IOC_START));
	must(info_of(fd).state == (KDTL_STREAM_ONLINE | KDTL_STREAM_RUNNING));
	for (int i = 0; i < 20; i++) {
		dispatches(50);
		sum += drain(fd, &ours);
	}
	must(!ioctl(fd, KDTL_IOC_STOP) && !ioctl(fd, KDTL_IOC_STOP));
	/* After a stop come the remaining entries, and then the end. */
	sum += drain(fd, &ours);
	must(read(fd, &e, ENTRY) == 0);
	refused(read(fd, NULL, 0), EINVAL);

	must(info_of(fd).consumed == sum / ENTRY && !info_of(fd).lost);
	printf("# %u entries of ours in %zu\n", ours, sum / ENTRY);
	must(ours >= 1000);

	/* After a start the log goes on. */
	must(!ioctl(fd, KDTL_IOC_START));
	dispatches(10);
	must(drain(fd, &ours) > 0);
	/* Another task may be dispatched after drain() has seen that there is nothing. */
	do
		n = read(fd, &e, ENTRY);
	while (n == ENTRY);
	must(n < 0 && errno == EAGAIN);
}

/* Without a set-up, all CPUs are logged from the first read on, which waits. */
static void test_defaults(void)
{
	struct kdtl_entry buf[1000];
	int fd = open_dev(0);
	ssize_t n;

	n = read(fd, buf, sizeof(buf));
	must(n > 0);
	check_entries(buf, n);
	must(info_of(fd).state & KDTL_STREAM_RUNNING);
	refused(ioctl(fd, KDTL_IOC_SETUP, &(struct kdtl_stream_attr) { }), EBUSY);
	close(fd);

	/* This is the same if the program has asked for numbers before. */
	fd = open_dev(0);
	must(!(info_of(fd).state & KDTL_STREAM_RUNNING));
	n = read(fd, buf, sizeof(buf));
	must(n > 0);
	check_entries(buf, n);
	close(fd);

	/* If the program stops before the first read, that read does not start the log. */
	fd = open_dev(0);
	must(!info_of(fd).produced);
	must(!ioctl(fd, KDTL_IOC_STOP));
	must(read(fd, buf, sizeof(buf)) == 0);
	close(fd);
}

/* The buffer has room for CPU 0's entries only: these are read, and the next CPU's are not. */
static void fault_of_next_cpu(void)
{
	const size_t size = PAGES * page;
	struct kdtl_stream_info first = { .cpu = 0 };
	int fd = setup(-1), cpu;
	uint64_t unread;
	char *p;

	must(!ioctl(fd, KDTL_IOC_START));
	for (cpu = 0; cpu < 2; cpu++) {
		pin(0, cpu);
		dispatches(20);
	}
	must(!ioctl(fd, KDTL_IOC_STOP));
	must(!ioctl(fd, KDTL_IOC_INFO, &first) && first.unread * ENTRY <= size);
	unread = info_of(fd).unread;
	must(unread > first.unread);
	p = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(p != MAP_FAILED && !munmap(p + size, page));
	p += size - first.unread * ENTRY;
	must(read(fd, p, unread * ENTRY) == (ssize_t)(first.unread * ENTRY));
	must(info_of(fd).unread == unread - first.unread);
}

static void test_fault(void)
{
	int fd = setup(0);
	uint64_t unread;
	char *p, *volatile nowhere = (char *)8;

	must(!ioctl(fd, KDTL_IOC_START));
	dispatches(100);
	must(!ioctl(fd, KDTL_IOC_STOP));
	unread = info_of(fd).unread;
	refused(read(fd, nowhere, 100 * ENTRY), EFAULT);
	must(info_of(fd).unread == unread);
	p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(p != MAP_FAILED && !munmap(p + page, page));
	refused(read(fd, p + page - ENTRY + 1, ENTRY), EFAULT);
	must(info_of(fd).unread == unread);
	must(read(fd, p + page - ENTRY, ENTRY) == (ssize_t)ENTRY);
	must(info_of(fd).unread == unread - 1);
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		fault_of_next_cpu();
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	must(!clock_gettime(id, &t));
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* All clocks must have been read between two readings of this test. */
static void test_clock(void)
{
	struct kdtl_stream_clock c;
	uint64_t mono, boot, real;
	int fd = open_dev(0), i;

	for (i = 0; i < 100; i++) {
		mono = clock_ns(CLOCK_MONOTONIC);
		boot = clock_ns(CLOCK_BOOTTIME);
		real = clock_ns(CLOCK_REALTIME);
		must(!ioctl(fd, KDTL_IOC_CLOCK, &c));
		must(c.monotonic >= mono && c.monotonic <= clock_ns(CLOCK_MONOTONIC));
		must(c.boottime >= boot && c.boottime <= clock_ns(CLOCK_BOOTTIME));
		must(c.realtime >= real && c.realtime <= clock_ns(CLOCK_REALTIME));
		must(c.ticks);
	}
}

/* Reads all records after *@seq; the last one of @pid goes to @last.  Returns their number. */
static unsigned int read_tasks(int fd, uint64_t *seq, pid_t pid, struct kdtl_task *last)
{
	struct kdtl_task task[5];
	struct kdtl_stream_tasks req;
	unsigned int sum = 0;

	for (;;) {
		req = (struct kdtl_stream_tasks){
			.seq = *seq, .tasks = (uintptr_t)task, .nr = ARRAY_SIZE(task),
			.lost = UINT64_MAX,
		};
		must(!ioctl(fd, KDTL_IOC_TASKS, &req));
		must(req.nr <= ARRAY_SIZE(task) && !req.lost && req.seq >= *seq);
		if (!req.nr)
			return sum;
		for (unsigned int i = 0; i < req.nr; i++) {
			must(task[i].seq > *seq);
			/* Here both are the same, but a task that is gone has no ns_pid. */
			must(!task[i].ns_pid || task[i].ns_pid == task[i].pid);
			*seq = task[i].seq;
			if ((pid_t)task[i].pid == pid)
				*last = task[i];
		}
		must(req.seq >= *seq);
		*seq = req.seq;
		sum += req.nr;
	}
}

static uint64_t ticks_of(int fd)
{
	struct kdtl_stream_clock c;

	must(!ioctl(fd, KDTL_IOC_CLOCK, &c));
	return c.ticks;
}

/* First come all tasks, then each change, in order, also of a task that is gone. */
static void test_tasks(void)
{
	const struct sched_param param = { .sched_priority = 0 };
	struct kdtl_task task = { }, init = { };
	uint64_t seq = 0, other = 0, before;
	int fd = setup(0), status;
	pid_t pid;

	must(read_tasks(fd, &other, 1, &init) > 10 && init.pid == 1 && init.tgid == 1);
	must(read_tasks(fd, &seq, getpid(), &task) > 10);
	must((pid_t)task.pid == getpid() && (pid_t)task.tgid == getpid());
	must(!strcmp(task.comm, "stream_test") && task.policy == SCHED_OTHER);
	must(!task.nice && !task.rt_priority);

	before = ticks_of(fd);
	must(!prctl(PR_SET_NAME, "a new name"));
	must(read_tasks(fd, &seq, getpid(), &task) >= 1 && !strcmp(task.comm, "a new name"));
	must(task.since >= before && task.since <= ticks_of(fd));

	pid = fork();
	must(pid >= 0);
	if (!pid) {
		must(!sched_setscheduler(0, SCHED_BATCH, &param));
		must(!prctl(PR_SET_NAME, "a child"));
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid && !status);
	must(read_tasks(fd, &seq, pid, &task) >= 2);
	must((pid_t)task.pid == pid && (pid_t)task.tgid == pid);
	must(!strcmp(task.comm, "a child") && task.policy == SCHED_BATCH);
}

/* A wrong request gets its errno, and takes no record away. */
static void test_tasks_misuse(void)
{
	const struct kdtl_stream_tasks none = { };
	struct { struct kdtl_stream_tasks req; uint64_t more; } longer = { };
	struct kdtl_task two[2], one;
	struct kdtl_stream_tasks req;
	int fd = setup(0);
	char *p;

	req = (struct kdtl_stream_tasks){ .tasks = (uintptr_t)two, .nr = 2 };
	must(!ioctl(fd, KDTL_IOC_TASKS, &req) && req.nr == 2 && req.seq == two[1].seq);
	must(two[0].seq < two[1].seq);
	req = (struct kdtl_stream_tasks){ .tasks = (uintptr_t)&one, .nr = 1, .seq = two[0].seq };
	must(!ioctl(fd, KDTL_IOC_TASKS, &req) && req.nr == 1 && one.seq == two[1].seq);

	refused(ioctl(fd, KDTL_IOC_TASKS, NULL), EFAULT);
	refused(ioctl(fd, KDTL_IOC_TASKS, &none), EINVAL);
	req = (struct kdtl_stream_tasks){ .tasks = (uintptr_t)two, .nr = 2, .reserved = 1 };
	refused(ioctl(fd, KDTL_IOC_TASKS, &req), EINVAL);
	req = (struct kdtl_stream_tasks){ .tasks = 8, .nr = 2 };
	refused(ioctl(fd, KDTL_IOC_TASKS, &req), EFAULT);
	must(!req.seq && req.nr == 2);
	req.tasks = UINT64_MAX;
	refused(ioctl(fd, KDTL_IOC_TASKS, &req), EFAULT);
	/* There is room for one record, but the request says more. */
	p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(p != MAP_FAILED && !munmap(p + page, page));
	req.tasks = (uintptr_t)p + page - sizeof(one);
	req.nr = UINT32_MAX;
	refused(ioctl(fd, KDTL_IOC_TASKS, &req), EFAULT);
	req.nr = 1;
	must(!ioctl(fd, KDTL_IOC_TASKS, &req) && req.nr == 1 && req.seq == two[0].seq);
	/* After the last one there is none, and none is lost. */
	for (uint64_t seq = UINT64_MAX; seq; seq = seq == UINT64_MAX ? seq >> 1 : 0) {
		req = (struct kdtl_stream_tasks){ .tasks = 8, .nr = UINT32_MAX, .seq = seq };
		must(!ioctl(fd, KDTL_IOC_TASKS, &req));
		must(!req.nr && !req.lost && req.seq == seq);
	}

	/* Try requests of other sizes. */
	longer.req = (struct kdtl_stream_tasks){ .tasks = (uintptr_t)two, .nr = 2 };
	longer.more = 1;
	refused(ioctl(fd, _IOWR(0xdc, 5, typeof(longer)), &longer), E2BIG);
	longer.more = 0;
	must(!ioctl(fd, _IOWR(0xdc, 5, typeof(longer)), &longer) && longer.req.nr == 2);
	req = (struct kdtl_stream_tasks){ .tasks = (uintptr_t)two, .nr = 2, .lost = 7 };
	must(!ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, 0xdc, 5,
			     offsetof(typeof(req), lost)), &req));
	must(req.nr == 2 && req.lost == 7);
	refused(ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, 0xdc, 5, 0), &req), EINVAL);
}

static void test_cgroup(void)
{
	struct { struct kdtl_stream_cgroup req; uint64_t more; } longer = { };
	const struct kdtl_stream_cgroup none = { };
	struct kdtl_stream_cgroup req;
	char path[KDTL_CGROUP_LEN];
	struct kdtl_task task = { };
	uint64_t seq = 0;
	int fd = setup(0);

	read_tasks(fd, &seq, getpid(), &task);
	req = (struct kdtl_stream_cgroup){ .path = (uintptr_t)path, .len = sizeof(path) };
	refused(ioctl(fd, KDTL_IOC_CGROUP, &req), ENOENT);
	req.id = UINT64_MAX;
	refused(ioctl(fd, KDTL_IOC_CGROUP, &req), ENOENT);
	refused(ioctl(fd, KDTL_IOC_CGROUP, NULL), EFAULT);
	refused(ioctl(fd, KDTL_IOC_CGROUP, &none), EINVAL);
	req.reserved = 1;
	refused(ioctl(fd, KDTL_IOC_CGROUP, &req), EINVAL);
	if (!task.cgroup) {
		printf("# a kernel without cgroups\n");
		return;
	}

	req = (struct kdtl_stream_cgroup){
		.id = task.cgroup, .path = (uintptr_t)path, .len = UINT32_MAX,
	};
	memset(path, 'x', sizeof(path));
	must(!ioctl(fd, KDTL_IOC_CGROUP, &req));
	must(path[0] == '/' && req.len == strnlen(path, sizeof(path)));
	/* Offer exactly enough room, and then one byte less. */
	req.len++;
	must(!ioctl(fd, KDTL_IOC_CGROUP, &req));
	refused(ioctl(fd, KDTL_IOC_CGROUP, &req), ERANGE);
	req.len = sizeof(path);
	req.path = 8;
	refused(ioctl(fd, KDTL_IOC_CGROUP, &req), EFAULT);

	req.path = (uintptr_t)path;
	longer.req = req;
	longer.more = 1;
	refused(ioctl(fd, _IOWR(0xdc, 6, typeof(longer)), &longer), E2BIG);
	longer.more = 0;
	must(!ioctl(fd, _IOWR(0xdc, 6, typeof(longer)), &longer));
}

static unsigned long pinned_kb(void)
{
	unsigned long kb = 0;
	char line[128];
	FILE *f = fopen("/proc/self/status", "r");

	must(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmPin: %lu", &kb) == 1)
			break;
	fclose(f);
	return kb;
}

/* stream.sh loads kdtl_fake, a source that neither names tasks nor tells when a CPU is idle. */
static void test_no_tasks(void)
{
	struct kdtl_stream_attr attr = { .aux_pages = 1, .source = "kdtl_fake" };
	struct kdtl_task task;
	struct kdtl_stream_tasks req = { .tasks = (uintptr_t)&task, .nr = 1 };
	struct kdtl_stream_cgroup cgroup = { .id = 1, .path = (uintptr_t)&task, .len = 1 };
	struct kdtl_stream_waits waits = { };
	int fd = open_dev(0);

	/* This is found out when the file has a session, of which nothing may stay. */
	attr.mask = KDTL_MASK_ALL | KDTL_MASK_IDLE;
	refused(ioctl(fd, KDTL_IOC_SETUP, &attr), EOPNOTSUPP);
	must(pinned_kb() == 0);
	attr.mask = KDTL_MASK_ALL;
	must(!ioctl(fd, KDTL_IOC_SETUP, &attr));
	refused(ioctl(fd, KDTL_IOC_TASKS, &req), EOPNOTSUPP);
	refused(ioctl(fd, KDTL_IOC_CGROUP, &cgroup), EOPNOTSUPP);
	refused(ioctl(fd, KDTL_IOC_WAITS, &waits), EOPNOTSUPP);
	req.nr = 0;
	refused(ioctl(fd, KDTL_IOC_TASKS, &req), EINVAL);
}

static void on_alarm(int sig)
{
	(void)sig;
}

static void test_signal(void)
{
	struct kdtl_stream_attr attr = {
		.period = 1000000000ULL * 3600,
		.watermark = PAGES * page,
	};
	struct sigaction act = { .sa_handler = on_alarm };
	int fd = setup_as(0, attr);
	struct kdtl_entry e;

	must(!fcntl(fd, F_SETFL, 0) && !sigaction(SIGALRM, &act, NULL));
	must(!ioctl(fd, KDTL_IOC_START));
	/* Let alarms come again and again: the first one may come before the read. */
	ualarm(200000, 200000);
	refused(read(fd, &e, ENTRY), EINTR);
}

/*
 * All entries are read, with room for @room bytes more: that answers the wake-up, so the next entry
 * makes nothing readable.  Other tasks may make entries meanwhile, so this tries until none does.
 */
static void poll_answers(int fd, size_t room)
{
	struct kdtl_entry *buf = malloc(PAGES * page + room);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	must(buf);
	for (int i = 0; i < 100; i++) {
		dispatches(100);
		must(poll(&p, 1, -1) == 1);
		must(read(fd, buf, info_of(fd).unread * ENTRY + room) > 0);
		/* Without room, a look at the empty log answers. */
		must(room || poll(&p, 1, 0) >= 0);
		dispatches(1);
		if (!poll(&p, 1, 0)) {
			free(buf);
			return;
		}
	}
	die("%zu bytes of room: an entry is readable at once", room);
}

static void test_poll(void)
{
	struct kdtl_stream_attr attr = {
		.period = 1000000000ULL * 3600, .watermark = 100 * ENTRY,
	};
	int fd = setup_as(0, attr);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	unsigned int ours = 0;
	uint64_t consumed;

	must(!ioctl(fd, KDTL_IOC_START));
	dispatches(10);
	/* Other tasks are also dispatched, so look at what is there. */
	must(poll(&p, 1, 0) == 0 || info_of(fd).unread >= 100);
	for (int i = 0; i < 5; i++) {
		dispatches(100);
		must(poll(&p, 1, -1) == 1 && p.revents == POLLIN);
		must(drain(fd, &ours) >= 100 * ENTRY);
		/*
		 * That wake-up has been answered.  The next one comes with the next hundredth
		 * entry, however many entries have been read.
		 */
		consumed = info_of(fd).consumed;
		dispatches(1);
		must(poll(&p, 1, 0) == 0 || info_of(fd).produced / 100 > consumed / 100);
	}
	poll_answers(fd, ENTRY);
	poll_answers(fd, 0);
	dispatches(1);
	must(!ioctl(fd, KDTL_IOC_STOP));
	must(poll(&p, 1, 0) == 1 && p.revents == POLLIN);
	drain(fd, &ours);
	must(poll(&p, 1, 0) == 1 && p.revents == POLLHUP);
}

/* The state of a process, by its file stat. */
static char state_of(pid_t pid)
{
	char name[32], state = '?';
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	f = fopen(name, "r");
	must(f && fscanf(f, "%*d (%*[^)]) %c", &state) == 1);
	fclose(f);
	return state;
}

static void await_state(pid_t pid, char state)
{
	while (state_of(pid) != state) {
		if (waitpid(pid, NULL, WNOHANG))
			die("it has not waited");
		usleep(1000);
	}
}

/* A process that sleeps must die if it is killed. */
static void must_die(pid_t pid, const char *what)
{
	int status, tries;

	must(!kill(pid, SIGKILL));
	for (tries = 0; waitpid(pid, &status, WNOHANG) != pid; tries++) {
		if (tries == 10000)
			die("%s cannot be killed", what);
		usleep(1000);
	}
	must(WIFSIGNALED(status));
}

static pid_t fork_dies(void)
{
	pid_t pid = fork();

	must(pid >= 0);
	/* If the test fails, its children must not stay, which may hold each other up. */
	if (!pid)
		must(!prctl(PR_SET_PDEATHSIG, SIGKILL));
	return pid;
}

/* Returns what the ioctl says about @pid; NULL: it does not wait. */
static const struct kdtl_stream_wait *wait_of(int fd, pid_t pid, uint64_t since,
					      struct kdtl_stream_wait *wait)
{
	struct kdtl_stream_waits req = { .waits = (uintptr_t)wait, .nr = 64 };
	uint64_t until;

	must(!ioctl(fd, KDTL_IOC_WAITS, &req) && req.nr <= 64 && !(req.flags & ~KDTL_WAITS_LATE));
	until = ticks_of(fd);
	for (unsigned int i = 0; i < req.nr; i++) {
		must(!wait[i].cpu && wait[i].since < wait[i].until && wait[i].until <= until);
		if ((pid_t)wait[i].pid != pid)
			continue;
		must(wait[i].since >= since && !wait[i].reserved);
		return &wait[i];
	}
	return NULL;
}

static void waits_misuse(int fd, struct kdtl_stream_wait *wait)
{
	struct { struct kdtl_stream_waits req; uint64_t more; } longer = { };
	struct kdtl_stream_waits req = { .waits = (uintptr_t)wait, .nr = 1, .flags = 1 };

	refused(ioctl(fd, KDTL_IOC_WAITS, &req), EINVAL);
	refused(ioctl(fd, KDTL_IOC_WAITS, NULL), EFAULT);
	longer.req = (struct kdtl_stream_waits){ .waits = (uintptr_t)wait, .nr = 64 };
	longer.more = 1;
	refused(ioctl(fd, _IOWR(0xdc, 7, typeof(longer)), &longer), E2BIG);
	longer.more = 0;
	must(!ioctl(fd, _IOWR(0xdc, 7, typeof(longer)), &longer));
}

/*
 * A task on CPU 0 is woken behind a real-time task that does not let go of the CPU.  Real-time
 * tasks have a limit, so the woken task may have run already, and then is woken again.
 */
static void test_waits(void)
{
	struct kdtl_stream_wait *wait = calloc(64, sizeof(*wait));
	struct kdtl_stream_waits req = { .waits = 8, .nr = 64 };
	int fd = setup(0), tells[2], begins[2];
	const struct kdtl_stream_wait *w;
	pid_t sleeper, hog;
	uint64_t since;
	char c;

	must(wait && !pipe(tells) && !pipe(begins));
	sleeper = fork_dies();
	while (!sleeper)
		must(read(tells[0], &c, 1) == 1);
	await_state(sleeper, 'S');
	hog = fork_dies();
	if (!hog) {
		must(!sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ 50 }));
		must(write(begins[1], "", 1) == 1);
		for (;;)
			;
	}
	pin(0, 1);
	must(read(begins[0], &c, 1) == 1);
	/* Before the start no task is said to wait. */
	must(!ioctl(fd, KDTL_IOC_WAITS, &req) && !req.nr && !req.flags);
	must(!ioctl(fd, KDTL_IOC_START));
	since = ticks_of(fd);
	do {
		must(write(tells[1], "", 1) == 1);
		w = wait_of(fd, sleeper, since, wait);
	} while (!w || (pid_t)w->running != hog);
	must(!w->held && !strcmp(w->comm, "stream_test"));
	/* Tasks for which there is no room are also counted. */
	do {
		must(write(tells[1], "", 1) == 1);
		req = (struct kdtl_stream_waits){ .waits = 8, .nr = 0 };
		must(!ioctl(fd, KDTL_IOC_WAITS, &req));
	} while (!req.nr);
	do {
		must(write(tells[1], "", 1) == 1);
		req = (struct kdtl_stream_waits){ .waits = 8, .nr = 1 };
	} while (!ioctl(fd, KDTL_IOC_WAITS, &req));
	must(errno == EFAULT && req.nr == 1);
	waits_misuse(fd, wait);
	must(!ioctl(fd, KDTL_IOC_STOP));
	req = (struct kdtl_stream_waits){ .waits = 8, .nr = 64 };
	must(!ioctl(fd, KDTL_IOC_WAITS, &req) && !req.nr);
	must_die(hog, "a hog");
	must_die(sleeper, "a task");
}

/*
 * A reader that waits for more is told that no more will come, also if nothing came at all.  A
 * kernel that can be preempted runs it as soon as it is woken, in the middle of the stop.
 */
static void test_stop(void)
{
	int fd = setup_as(0, (struct kdtl_stream_attr) { .min_wait = UINT64_MAX });
	int status, tries = 0;
	struct kdtl_entry e;
	pid_t pid;

	must(!fcntl(fd, F_SETFL, 0) && !ioctl(fd, KDTL_IOC_START));
	pid = fork_dies();
	if (!pid) {
		must(!sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ 1 }));
		_exit(read(fd, &e, ENTRY) != 0);
	}
	await_state(pid, 'S');
	must(!ioctl(fd, KDTL_IOC_STOP));
	while (waitpid(pid, &status, WNOHANG) != pid) {
		if (tries++ == 10000)
			die("the reader still waits");
		usleep(1000);
	}
	must(!status);
}

/* A page that is missing until some process fills it, which none does. */
static void *page_without_end(int tell)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	void *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(uffd >= 0 && p != MAP_FAILED && !ioctl(uffd, UFFDIO_API, &api));
	reg.range.start = (uintptr_t)p;
	reg.range.len = page;
	must(!ioctl(uffd, UFFDIO_REGISTER, &reg));
	must(write(tell, &uffd, sizeof(uffd)) == sizeof(uffd));
	return p;
}

/*
 * A reader whose buffer is such a page holds up all other users of the file.  Each of them can be
 * killed, and so can the reader.
 */
static void test_killable(void)
{
	/* A watermark that other tasks do not reach while this one gets ready. */
	struct kdtl_stream_attr attr = {
		.period = 1000000000ULL * 3600, .watermark = 1000 * ENTRY,
	};
	int fd = setup_as(0, attr), tell[2], uffd, pidfd;
	pid_t waits, reads, polls;
	struct uffd_msg msg;
	struct kdtl_entry e;
	unsigned int ours = 0;

	uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0 && errno == ENOSYS) {
		printf("# a kernel without userfaultfd\n");
		return;
	}
	close(uffd);
	must(!ioctl(fd, KDTL_IOC_START) && !fcntl(fd, F_SETFL, 0));
	waits = fork_dies();
	if (!waits)
		_exit(read(fd, &e, ENTRY) != ENTRY);
	await_state(waits, 'S');
	dispatches(10);
	must(!fcntl(fd, F_SETFL, O_NONBLOCK) && !pipe(tell));
	reads = fork_dies();
	if (!reads)
		_exit(read(fd, page_without_end(tell[1]), ENTRY) != ENTRY);
	must(read(tell[0], &uffd, sizeof(uffd)) == sizeof(uffd));
	pidfd = syscall(SYS_pidfd_open, reads, 0);
	must(pidfd >= 0);
	uffd = syscall(SYS_pidfd_getfd, pidfd, uffd, 0);
	must(uffd >= 0 && read(uffd, &msg, sizeof(msg)) == sizeof(msg));
	must(msg.event == UFFD_EVENT_PAGEFAULT);

	polls = fork_dies();
	if (!polls)
		_exit(poll(&(struct pollfd) { .fd = fd, .events = POLLIN }, 1, -1) != 1);
	await_state(polls, 'D');
	must_die(polls, "poll()");
	/* Wake the process that waits for entries. */
	dispatches(1000);
	must_die(waits, "a read() that was woken");
	must_die(reads, "a read() that waits for its memory");
	must(drain(fd, &ours) >= 100 * ENTRY);
}

/* Only tasks that waited long enough are logged, by what their entries say. */
static void test_min_wait(void)
{
	const struct kdtl_stream_attr attr = { .min_wait = UINT64_MAX };
	struct kdtl_stream_info info;
	struct kdtl_entry e;
	int fd = setup_as(0, attr), all = setup(0), some;

	some = setup_as(0, (struct kdtl_stream_attr){ .min_wait = 5000 });
	must(!ioctl(fd, KDTL_IOC_START) && !ioctl(some, KDTL_IOC_START) &&
	     !ioctl(all, KDTL_IOC_START));
	dispatches(50);
	must(!ioctl(all, KDTL_IOC_STOP) && !ioctl(some, KDTL_IOC_STOP) &&
	     !ioctl(fd, KDTL_IOC_STOP));
	info = info_of(fd);
	must(!info.produced && info.filtered >= 50 && info_of(all).filtered == 0);
	must(read(fd, &e, ENTRY) == 0);
	info = info_of(some);
	must(info.produced + info.filtered >= info_of(all).produced);
	for (; read(some, &e, ENTRY) == ENTRY; info.unread--)
		must((uint64_t)be32toh(e.enqueue_to_dispatch_time) +
		     be32toh(e.ready_to_enqueue_time) >= 5000);
	must(!info.unread);
	close(some);
	close(all);
	close(fd);
}

/* Entries that do not reach the watermark are told with the period. */
static void test_period(void)
{
	struct kdtl_stream_attr attr = { .period = 20000000 };
	int fd = setup_as(0, attr);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	must(!ioctl(fd, KDTL_IOC_START));
	dispatches(3);
	must(poll(&p, 1, 10000) == 1 && p.revents == POLLIN);
	must(info_of(fd).unread * ENTRY < info_of(fd).watermark);
}

/* While nobody reads, losses are counted; after a read the log goes on. */
static void test_lost(void)
{
	struct kdtl_stream_attr attr = { .aux_pages = 1 };
	int fd = setup_as(0, attr);
	unsigned int ours = 0;
	uint64_t lost;

	must(!ioctl(fd, KDTL_IOC_START));
	dispatches(2 * page / ENTRY);
	lost = info_of(fd).lost;
	must(lost > 0 && info_of(fd).unread == page / ENTRY);
	must(drain(fd, &ours) >= page / ENTRY * ENTRY);
	dispatches(10);
	must(drain(fd, &ours) > 0);
}

/* --------------------------------------------------------------------- splice */

static int stopped_with(int entries)
{
	int fd = setup_as(0, (struct kdtl_stream_attr) { .aux_pages = MANY_PAGES });

	must(!ioctl(fd, KDTL_IOC_START));
	dispatches(entries);
	must(!ioctl(fd, KDTL_IOC_STOP));
	must(info_of(fd).unread >= (unsigned int)entries && !info_of(fd).lost);
	return fd;
}

static size_t read_all(int fd, void *buf, size_t len)
{
	size_t sum = 0;
	ssize_t n;

	while (sum < len && (n = read(fd, (char *)buf + sum, len - sum)) > 0)
		sum += n;
	return sum;
}

/* The pipe holds the pages: the log gets them back when the pipe is read. */
static void test_splice(void)
{
	static struct kdtl_entry buf[2000];
	int fd = stopped_with(500), p[2], q[2], one[2];
	uint64_t unread = info_of(fd).unread;
	unsigned int ours = 0;
	ssize_t a, b, c;

	must(!pipe2(p, O_NONBLOCK) && !pipe2(q, O_NONBLOCK));
	refused(splice(fd, NULL, p[1], NULL, ENTRY - 1, 0), EINVAL);
	/* An entry may need two slots. */
	must(!pipe2(one, O_NONBLOCK) && fcntl(one[1], F_SETPIPE_SZ, page) == (int)page);
	refused(splice(fd, NULL, one[1], NULL, ENTRY, 0), EINVAL);
	a = splice(fd, NULL, p[1], NULL, 100 * ENTRY + 1, 0);
	must(a == 100 * (ssize_t)ENTRY);
	must(info_of(fd).consumed == 0);
	b = splice(fd, NULL, p[1], NULL, 50 * ENTRY, 0);
	must(b == 50 * (ssize_t)ENTRY);
	/* read() continues after them, and what it consumed waits for the pipe. */
	c = read(fd, buf, 10 * ENTRY);
	must(c == 10 * (ssize_t)ENTRY && info_of(fd).consumed == 0);

	/* A second pipe holds the same pages. */
	must(tee(p[0], q[1], a, 0) == a);
	must(read_all(p[0], buf, a) == (size_t)a && info_of(fd).consumed == 0);
	must(read_all(q[0], buf + 1000, a) == (size_t)a);
	must(!memcmp(buf, buf + 1000, a));
	ours += check_entries(buf, a);
	must(info_of(fd).consumed == 100);
	must(read_all(p[0], buf, b) == (size_t)b);
	ours += check_entries(buf, b);
	must(info_of(fd).consumed == 160);

	/* Read the rest, until the end. */
	while ((a = splice(fd, NULL, p[1], NULL, sizeof(buf), 0)) > 0) {
		must(read_all(p[0], buf, a) == (size_t)a);
		ours += check_entries(buf, a);
	}
	must(a == 0 && info_of(fd).consumed == unread);
	printf("# %u entries of ours in %llu\n", ours, (unsigned long long)unread);
	/* Ten were read, so that they did not come through the pipe. */
	must(ours >= 490);
}

/* A pipe with little room gets whole entries, and each CPU has its turn. */
static void test_splice_room(void)
{
	const int cpus[] = { 0, sysconf(_SC_NPROCESSORS_ONLN) - 1 };
	static struct kdtl_entry buf[2000];
	int fd = stopped_with(500), p[2];
	unsigned int ours = 0;
	ssize_t n;

	must(!pipe2(p, O_NONBLOCK) && fcntl(p[1], F_SETPIPE_SZ, 2 * page) == 2 * (int)page);
	/* The next entry begins inside a page. */
	must(read(fd, buf, ENTRY) == (ssize_t)ENTRY);
	n = splice(fd, NULL, p[1], NULL, sizeof(buf), 0);
	must(n > 0 && read_all(p[0], buf, n) == (size_t)n);
	check_entries(buf, n);
	close(fd);

	fd = setup_as(-1, (struct kdtl_stream_attr) { .aux_pages = MANY_PAGES });
	must(!ioctl(fd, KDTL_IOC_START));
	for (size_t i = 0; i < ARRAY_SIZE(cpus); i++) {
		pin(0, cpus[i]);
		dispatches(50);
	}
	must(!ioctl(fd, KDTL_IOC_STOP));
	while ((n = splice(fd, NULL, p[1], NULL, sizeof(buf), 0)) > 0) {
		must(read_all(p[0], buf, n) == (size_t)n);
		ours += check_entries(buf, n);
	}
	must(n == 0 && !info_of(fd).unread && ours >= 100);
	close(fd);
}

/* Entries in a pipe stay there when the file and the session are gone. */
static void test_splice_close(void)
{
	static struct kdtl_entry buf[100], copy[100];
	const ssize_t len = sizeof(buf);
	int fd = stopped_with(100), p[2], q[2];

	must(!pipe(p) && !pipe(q) && splice(fd, NULL, p[1], NULL, len, 0) == len);
	must(tee(p[0], q[1], len, 0) == len && read_all(q[0], copy, len) == (size_t)len);
	must(!close(fd));
	must(read_all(p[0], buf, len) == (size_t)len);
	must(!memcmp(buf, copy, len));
	check_entries(buf, len);
}

/*
 * A pipe without a reader takes nothing: entries that were in it when its reader went are consumed,
 * once, and the rest is not.  splice() refuses a pipe that has no reader, so the log comes to it
 * while it has one.
 */
static void test_splice_epipe(void)
{
	int fd = stopped_with(500), p[2], status;
	uint64_t unread = info_of(fd).unread, *in;
	unsigned int ours = 0;
	ssize_t n;
	pid_t pid;

	in = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(in != MAP_FAILED);
	must(!pipe(p) && fcntl(p[1], F_SETPIPE_SZ, 2 * page) > 0);
	pid = fork_dies();
	if (!pid) {
		must(!close(p[0]));
		signal(SIGPIPE, SIG_IGN);
		while ((n = splice(fd, NULL, p[1], NULL, 20 * ENTRY, 0)) > 0)
			*in += n / ENTRY;
		_exit(n != -1 || errno != EPIPE);
	}
	must(!close(p[1]));
	/* The child sleeps when it waits for room in the pipe. */
	await_state(pid, 'S');
	must(*in && *in < unread && info_of(fd).consumed == 0);
	must(!close(p[0]));
	must(waitpid(pid, &status, 0) == pid && !status);
	must(info_of(fd).consumed == *in);
	must(drain(fd, &ours) == (unread - *in) * ENTRY && info_of(fd).consumed == unread);
}

/* The way into a file is a pipe, because sendfile() wants a source that can seek. */
static void test_splice_file(void)
{
	int fd = stopped_with(500), file, p[2];
	uint64_t unread = info_of(fd).unread;
	/* There may be more in the file than there should. */
	struct kdtl_entry *buf = calloc(unread + 1, ENTRY);
	ssize_t n;

	file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	must(file >= 0 && !pipe(p));
	while ((n = splice(fd, NULL, p[1], NULL, 1 << 20, 0)) > 0)
		must(splice(p[0], NULL, file, NULL, n, 0) == n);
	must(n == 0 && info_of(fd).consumed == unread);
	must(lseek(file, 0, SEEK_SET) == 0);
	must(buf && read_all(file, buf, (unread + 1) * ENTRY) == unread * ENTRY);
	must(check_entries(buf, unread * ENTRY) >= 500);
	free(buf);
}

/*
 * A socket that nobody reads holds pages that no pipe has any more: in the end, what comes out of
 * it is what went in.  Returns the file, or -1 if @early: then the file is closed before that.
 */
static int through_socket(bool early)
{
	static struct kdtl_entry copy[100], sent[100];
	int fd = setup_as(0, (struct kdtl_stream_attr) { .aux_pages = 2 });
	const ssize_t len = sizeof(copy);
	int p[2], q[2], s[2];

	must(!pipe(p) && !pipe(q) && !socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	must(!ioctl(fd, KDTL_IOC_START));
	dispatches(100);
	must(splice(fd, NULL, p[1], NULL, len, 0) == len);
	must(tee(p[0], q[1], len, 0) == len && read_all(q[0], copy, len) == (size_t)len);
	must(splice(p[0], NULL, s[1], NULL, len, 0) == len);
	/* These are enough to go around several times. */
	dispatches(5 * 2 * page / ENTRY);
	printf("# %llu given back while the socket had them\n",
	       (unsigned long long)info_of(fd).consumed);
	if (early) {
		must(!close(fd));
		fd = -1;
	}
	must(read_all(s[0], sent, len) == (size_t)len);
	if (memcmp(sent, copy, len))
		die("the socket sent what was written later");
	return fd;
}

static void test_splice_socket(void)
{
	int fd = through_socket(false);
	unsigned int ours = 0;

	/* Entries that found no room were lost. The pages come back, and the log goes on. */
	must(info_of(fd).lost);
	while (info_of(fd).consumed < 100)
		usleep(1000);
	drain(fd, &ours);
	dispatches(50);
	must(drain(fd, &ours) >= 50 * ENTRY);
}

/* The session ends although a socket has its pages; stream.sh checks that its areas go. */
static void test_splice_socket_close(void)
{
	through_socket(true);
}

/* ----------------------------------------------------------------------- mmap */

static void *map(int fd, int prot, size_t pages, size_t at)
{
	return mmap(NULL, pages * page, prot, MAP_SHARED, fd, at * page);
}

#define RW	(PROT_READ | PROT_WRITE)

static void test_mmap_ring(void)
{
	int fd = setup(0), all = setup(-1), none = open_dev(0);
	struct perf_event_mmap_page *m, *again;

	refused(map(none, RW, 1, 0), EINVAL);
	if (sysconf(_SC_NPROCESSORS_CONF) > 1)
		refused(map(all, RW, 1, 0), EINVAL);
	refused(mmap(NULL, page, RW, MAP_PRIVATE, fd, 0), EINVAL);
	refused(map(fd, RW, 4, 0), EINVAL);
	refused(map(fd, RW, 1 + 3, 0), EINVAL);
	refused(map(fd, RW, PAGES, 1), EINVAL);

	/* A mapping may have no room for records. While it exists, no other size is allowed. */
	m = map(fd, RW, 1, 0);
	must(m != MAP_FAILED && m->data_size == 0 && m->data_offset == page);
	must(!ioctl(fd, KDTL_IOC_START));
	dispatches(100);
	must(!ioctl(fd, KDTL_IOC_STOP) && info_of(fd).produced && !m->data_head);
	refused(map(fd, RW, 1 + 1, 0), EINVAL);
	again = map(fd, RW, 1, 0);
	must(again != MAP_FAILED);
	m->data_tail = 47;
	must(again->data_tail == 47);
	must(!munmap(m, page));
	refused(map(fd, RW, 1 + 8, 0), EINVAL);
	must(!munmap(again, page));
	m = map(fd, RW, 1 + 8, 0);
	must(m != MAP_FAILED && m->data_size == 8 * page && !m->data_head && !m->data_tail);
	/* No part of it can go. */
	refused(munmap(m, page), EINVAL);
	must(!munmap(m, 9 * page));
}

static void test_mmap_aux(void)
{
	int fd = setup(0);
	struct perf_event_mmap_page *m = map(fd, RW, 1 + 2, 0);
	void *aux, *again;

	must(m != MAP_FAILED);
	/* The AUX area's place has not been set yet. */
	refused(map(fd, RW, PAGES, 3), EINVAL);
#define aux_refused(offset, size, pages, at) do {			\
	m->aux_offset = (offset) * page;				\
	m->aux_size = (size) * page;					\
	refused(map(fd, RW, pages, at), EINVAL);			\
} while (0)
	aux_refused(2, PAGES, PAGES, 2);		/* in the records */
	aux_refused(4, PAGES, PAGES, 3);		/* elsewhere */
	aux_refused(3, PAGES, PAGES / 2, 3);		/* another size */
	aux_refused(3, PAGES / 2, PAGES / 2, 3);	/* not the session's */
	aux_refused(3, PAGES + 1, PAGES + 1, 3);	/* no power of two */
	m->aux_offset = 4 * page;
	m->aux_size = PAGES * page;
	refused(map(fd, PROT_READ, PAGES, 4), EINVAL);
	aux = map(fd, RW, PAGES, 4);
	must(aux != MAP_FAILED);

	/* A second mapping must be the same. */
	aux_refused(5, PAGES, PAGES, 5);
	aux_refused(4, PAGES / 2, PAGES / 2, 4);
	m->aux_size = PAGES * page;
	again = map(fd, RW, PAGES, 4);
	must(again != MAP_FAILED && !munmap(again, PAGES * page));
	refused(munmap(aux, page), EINVAL);

	/* While it is mapped, read() is refused. */
	must(!ioctl(fd, KDTL_IOC_START));
	refused(read(fd, &(struct kdtl_entry) { }, ENTRY), EBUSY);
	again = mremap(aux, PAGES * page, PAGES * page, MREMAP_MAYMOVE | MREMAP_FIXED,
		       (char *)aux + (1 << 26));
	must(again != MAP_FAILED);
	/* The ring stays while the area is mapped. */
	must(!munmap(m, 3 * page));
	refused(map(fd, RW, 1 + 4, 0), EINVAL);
	must(!munmap(again, PAGES * page));
	must(read(fd, &(struct kdtl_entry) { }, ENTRY) != 0);
	m = map(fd, RW, 1 + 4, 0);
	must(m != MAP_FAILED);
}

/* While entries are in a pipe, nobody else moves the tail. */
static void test_splice_mmap(void)
{
	static struct kdtl_entry buf[100];
	int fd = stopped_with(100), p[2];
	struct perf_event_mmap_page *m;
	struct kdtl_stream_info info;
	void *aux;

	must(!pipe(p) && splice(fd, NULL, p[1], NULL, sizeof(buf), 0) == sizeof(buf));
	m = map(fd, RW, 1 + 1, 0);
	must(m != MAP_FAILED);
	m->aux_offset = 2 * page;
	m->aux_size = MANY_PAGES * page;
	refused(map(fd, RW, MANY_PAGES, 2), EBUSY);
	must(info_of(fd).consumed == 0);
	/* When the pipe is empty, the area can be mapped, and splice() is refused. */
	must(read_all(p[0], buf, sizeof(buf)) == sizeof(buf));
	must(info_of(fd).consumed == 100);
	aux = map(fd, RW, MANY_PAGES, 2);
	must(aux != MAP_FAILED);
	refused(splice(fd, NULL, p[1], NULL, sizeof(buf), 0), EBUSY);
	__atomic_store_n(&m->aux_tail, m->aux_head, __ATOMIC_RELEASE);
	info = info_of(fd);
	must(!info.unread && info.consumed == info.produced);
	must(!munmap(aux, MANY_PAGES * page));
	must(splice(fd, NULL, p[1], NULL, sizeof(buf), 0) == 0);
}

struct mapping {
	int				fd;
	struct perf_event_mmap_page	*m;
	char				*data;
	char				*aux;
};

static struct mapping map_all(struct kdtl_stream_attr attr, size_t records)
{
	struct mapping x = { .fd = setup_as(0, attr) };
	const size_t pages = attr.aux_pages ?: PAGES;

	x.m = map(x.fd, RW, 1 + records, 0);
	must(x.m != MAP_FAILED);
	x.data = (char *)x.m + page;
	x.m->aux_offset = (1 + records) * page;
	x.m->aux_size = pages * page;
	x.aux = map(x.fd, attr.flags ? PROT_READ : RW, pages, 1 + records);
	must(x.aux != MAP_FAILED);
	return x;
}

static struct kdtl_entry aux_entry(const struct mapping *x, uint64_t at)
{
	struct kdtl_entry e;

	for (size_t i = 0; i < ENTRY; i++)
		((char *)&e)[i] = x->aux[(at + i) % x->m->aux_size];
	return e;
}

/*
 * Consumes what is new in the AUX area; returns how many entries are of this
 * process.
 */
static unsigned int aux_drain(const struct mapping *x, uint64_t *seen)
{
	const uint64_t head = __atomic_load_n(&x->m->aux_head, __ATOMIC_ACQUIRE);
	uint64_t tail = x->m->aux_tail;
	unsigned int ours = 0;

	must((head - tail) % ENTRY == 0 && head - tail <= x->m->aux_size);
	for (; tail != head; tail += ENTRY, (*seen)++) {
		const struct kdtl_entry e = aux_entry(x, tail);

		ours += check_entries(&e, ENTRY);
	}
	__atomic_store_n(&x->m->aux_tail, tail, __ATOMIC_RELEASE);
	return ours;
}

/* Consumes the records, and adds up what they say. */
static void ring_drain(const struct mapping *x, uint64_t *bytes, uint64_t *lost,
		       uint64_t *dropped)
{
	const uint64_t head = __atomic_load_n(&x->m->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = x->m->data_tail, word[8];

	while (tail != head) {
		struct perf_event_header h;

		for (size_t i = 0; i < sizeof(word); i++)
			((char *)word)[i] = x->data[(tail + i) % x->m->data_size];
		memcpy(&h, word, sizeof(h));
		must(h.size && h.size <= sizeof(word) && h.size <= head - tail);
		switch (h.type) {
		case PERF_RECORD_AUX:
			*bytes += word[2];
			break;
		case PERF_RECORD_LOST_SAMPLES:
			*lost += word[1];
			break;
		case PERF_RECORD_LOST:
			*dropped += word[2];
			break;
		default:
			die("record of type %u", h.type);
		}
		tail += h.size;
	}
	__atomic_store_n(&x->m->data_tail, tail, __ATOMIC_RELEASE);
}

/* A reader by the rules goes around several times: everything arrives, and is accounted for. */
static void test_mmap_read(void)
{
	struct kdtl_stream_attr attr = { .aux_pages = 2 };
	struct mapping x = map_all(attr, 1);
	struct pollfd p = { .fd = x.fd, .events = POLLIN };
	uint64_t seen = 0, bytes = 0, lost = 0, dropped = 0;
	const unsigned int nr = 2 * page / ENTRY / 4;
	unsigned int ours = 0, asked = 0;
	struct kdtl_stream_info info;

	must(!ioctl(x.fd, KDTL_IOC_START));
	while (seen < 20 * 2 * page / ENTRY) {
		dispatches(nr);
		asked += nr;
		must(poll(&p, 1, 10000) == 1 && p.revents == POLLIN);
		ours += aux_drain(&x, &seen);
		ring_drain(&x, &bytes, &lost, &dropped);
	}
	must(!ioctl(x.fd, KDTL_IOC_STOP));
	ours += aux_drain(&x, &seen);
	ring_drain(&x, &bytes, &lost, &dropped);
	info = info_of(x.fd);
	printf("# %llu entries, %u of ours, %llu lost, records of %llu bytes\n",
	       (unsigned long long)seen, ours, (unsigned long long)info.lost,
	       (unsigned long long)bytes);
	must(info.consumed == seen && !info.unread && info.lost == lost);
	must(bytes == seen * ENTRY && !dropped);
	must(ours + info.lost >= asked);
}

/* A full area loses entries and says so in a record; after a read the log goes on. */
static void test_mmap_lost(void)
{
	struct kdtl_stream_attr attr = { .aux_pages = 1 };
	struct mapping x = map_all(attr, 1);
	uint64_t seen = 0, bytes = 0, lost = 0, dropped = 0;
	struct pollfd p = { .fd = x.fd, .events = POLLIN };
	int rounds;

	must(!ioctl(x.fd, KDTL_IOC_START));
	dispatches(2 * page / ENTRY);
	must(poll(&p, 1, 10000) == 1);
	aux_drain(&x, &seen);
	must(seen == page / ENTRY);
	/* There is room again once poll() has read the tail. */
	for (rounds = 0; rounds < 10; rounds++) {
		poll(&p, 1, 0);
		dispatches(page / ENTRY / 4);
		aux_drain(&x, &seen);
	}
	must(!ioctl(x.fd, KDTL_IOC_STOP));
	aux_drain(&x, &seen);
	ring_drain(&x, &bytes, &lost, &dropped);
	must(lost > 0 && info_of(x.fd).lost == lost);
	must(seen == bytes / ENTRY && info_of(x.fd).consumed == seen);
}

/* Records that nobody consumes are counted, and reported when there is room. */
static void test_mmap_ring_full(void)
{
	/* Each wake-up makes a record, and each entry a wake-up: that soon fills the ring. */
	struct kdtl_stream_attr attr = { .watermark = ENTRY };
	struct mapping x = map_all(attr, 1);
	uint64_t seen = 0, bytes = 0, lost = 0, dropped = 0;
	struct pollfd p = { .fd = x.fd, .events = POLLIN };

	must(!ioctl(x.fd, KDTL_IOC_START));
	while (seen < 10 * page / 32 || x.m->data_head <= page - 64) {
		must(seen < 1000 * page / 32);
		dispatches(20);
		poll(&p, 1, 0);
		aux_drain(&x, &seen);
	}
	must(x.m->data_head <= page);
	ring_drain(&x, &bytes, &lost, &dropped);
	must(!dropped);
	dispatches(20);
	must(!ioctl(x.fd, KDTL_IOC_STOP));
	ring_drain(&x, &bytes, &lost, &dropped);
	printf("# %llu records dropped\n", (unsigned long long)dropped);
	must(dropped > 0);

	/* Those were reported once, and now records come again. */
	must(!ioctl(x.fd, KDTL_IOC_START));
	dispatches(20);
	must(!ioctl(x.fd, KDTL_IOC_STOP));
	info_of(x.fd);
	bytes = 0;
	dropped = 0;
	ring_drain(&x, &bytes, &lost, &dropped);
	must(bytes && !dropped);
}

/* Garbage in the fields that a user may write harms nobody else. */
static void test_mmap_garbage(void)
{
	struct mapping x = map_all((struct kdtl_stream_attr) { }, 1);
	struct pollfd p = { .fd = x.fd, .events = POLLIN };
	uint64_t seen = 0, bytes = 0, lost = 0, dropped = 0, tail, at;
	uint32_t r = 1;

	must(!ioctl(x.fd, KDTL_IOC_START));
	dispatches(100);
	must(!ioctl(x.fd, KDTL_IOC_STOP));
	tail = x.m->aux_tail;
	x.m->aux_tail = x.m->aux_head + 1;
	must(info_of(x.fd).consumed == 0);
	x.m->aux_tail = tail - 1;
	must(info_of(x.fd).consumed == 0);
	/* An impossible tail of the records makes no room for more. */
	at = x.m->data_head;
	must(at > 0);
	x.m->data_tail = at + 1;
	must(!ioctl(x.fd, KDTL_IOC_START));
	dispatches(100);
	must(!ioctl(x.fd, KDTL_IOC_STOP));
	info_of(x.fd);
	must(x.m->data_head == at);
	x.m->data_tail = 0;
	/* The last byte is no whole entry, so it is not given back yet. */
	x.m->aux_tail = tail + ENTRY + 1;
	must(info_of(x.fd).consumed == 1);
	x.m->aux_tail = tail + 2 * ENTRY;
	must(info_of(x.fd).consumed == 2);

	must(!ioctl(x.fd, KDTL_IOC_START));
	for (int i = 0; i < 1000; i++) {
		r = r * 1664525 + 1013904223;
		x.m->aux_tail = i % 2 ? r : tail + r % 10000;
		x.m->data_tail = r;
		x.m->aux_head = r;
		x.m->aux_offset = x.m->aux_size = x.m->data_size = (uint64_t)r << 20;
		memset(x.aux, r, page);
		memset(x.data, r, page);
		dispatches(2);
		poll(&p, 1, 0);
		info_of(x.fd);
	}
	must(!ioctl(x.fd, KDTL_IOC_STOP));

	/* With good values the mapping can be used again. */
	x.m->aux_size = PAGES * page;
	x.m->data_size = page;
	info_of(x.fd);
	x.m->aux_tail = x.m->aux_head;
	info_of(x.fd);
	must(info_of(x.fd).unread == 0);
	x.m->data_tail = x.m->data_head;
	must(!ioctl(x.fd, KDTL_IOC_START));
	dispatches(50);
	must(!ioctl(x.fd, KDTL_IOC_STOP));
	must(aux_drain(&x, &seen) >= 50);
	ring_drain(&x, &bytes, &lost, &dropped);
	must(bytes >= 50 * ENTRY);
}

/* In overwrite mode nobody reads, and the newest entries are there. */
static void test_mmap_overwrite(void)
{
	struct kdtl_stream_attr attr = { .flags = KDTL_STREAM_OVERWRITE, .aux_pages = 2 };
	const unsigned int nr = 2 * page / ENTRY - 1;
	struct mapping x = map_all(attr, 1);
	struct kdtl_entry last;
	uint64_t at;

	refused(map(x.fd, RW, 2, 2), EINVAL);
	/* Nor can it be made writable later. */
	refused(mprotect(x.aux, 2 * page, RW), EACCES);
	refused(read(x.fd, &last, ENTRY), EINVAL);
	must(!ioctl(x.fd, KDTL_IOC_START));
	dispatches(5 * nr);
	must(!ioctl(x.fd, KDTL_IOC_STOP));
	must(info_of(x.fd).produced >= 5 * nr);
	for (at = x.m->aux_head - nr * ENTRY; at != x.m->aux_head; at += ENTRY) {
		const struct kdtl_entry e = aux_entry(&x, at);

		must(be16toh(e.processor_id) == 0);
		check_entries(&e, ENTRY);
	}
	must(info_of(x.fd).unread == nr && info_of(x.fd).lost > 3 * nr);
}

/* -------------------------------------------------------------- who may, how much */

static void caps(uint64_t keep)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2] = {
		{ .effective = keep, .permitted = keep },
		{ .effective = keep >> 32, .permitted = keep >> 32 },
	};

	must(!prctl(PR_SET_KEEPCAPS, 1));
	must(!setgroups(0, NULL) && !setresgid(65534, 65534, 65534));
	must(!setresuid(65534, 65534, 65534));
	must(!syscall(SYS_capset, &h, d));
}

static void test_nobody(void)
{
	int fd = setup(0);

	caps(0);
	refused(open("/dev/kdtl", O_RDWR), EACCES);
	/* What root opened keeps working. */
	must(!ioctl(fd, KDTL_IOC_START));
}

static void test_perfmon(void)
{
	caps(1ULL << CAP_PERFMON);
	setup(0);
}

/* Sets up one more session of CPU 0. Returns its file, or -1 and errno. */
static int one_more(struct kdtl_stream_attr attr)
{
	int fd = open_dev(O_NONBLOCK);
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	attr.cpus = (uintptr_t)&set;
	attr.cpus_len = sizeof(set);
	attr.aux_pages = 1;
	strcpy(attr.source, "kdtl_sched");
	if (!ioctl(fd, KDTL_IOC_SETUP, &attr))
		return fd;
	close(fd);
	return -1;
}

/* Sets up as many sessions as it gets, up to @most. */
static int many_more(int *fds, int most)
{
	int nr;

	for (nr = 0; nr < most; nr++) {
		fds[nr] = one_more((struct kdtl_stream_attr) { });
		if (fds[nr] < 0)
			break;
	}
	return nr;
}

/* Is dispatched on CPU 0 about once a millisecond. */
static void busy_on_first(void)
{
	pin(0, 0);
	for (;;)
		usleep(1000);
}

/*
 * A user who does not administrate the machine gets only a few sessions on a CPU, and none of them
 * wakes its reader all the time: stream.sh looks at its period.  root gets as many as it wants.
 */
static void test_budget(void)
{
	const struct kdtl_stream_attr hasty = { .period = 1, .watermark = ENTRY };
	struct kdtl_stream_attr nobodys = { .aux_pages = 1, .source = "kdtl_none" };
	const struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	struct kdtl_stream_waits waits;
	struct pollfd p = { .events = POLLIN };
	unsigned int ours = 0;
	int fds[40], nr, i;
	pid_t pid;

	must(!setrlimit(RLIMIT_MEMLOCK, &limit));
	must(many_more(fds, 40) == 40);
	for (i = 0; i < 40; i++)
		close(fds[i]);

	caps(1ULL << CAP_PERFMON);
	/* A session that fails does not count, even before its file is closed. */
	p.fd = open_dev(0);
	for (i = 0; i < 40; i++)
		refused(ioctl(p.fd, KDTL_IOC_SETUP, &nobodys), ENODEV);
	close(p.fd);
	nr = many_more(fds, 40);
	must(errno == EUSERS);
	printf("# %d sessions\n", nr);
	must(nr > 0 && nr <= 16);
	/* Another process of that user gets none either. */
	pid = fork();
	must(pid >= 0);
	if (!pid)
		_exit(one_more(hasty) >= 0 || errno != EUSERS);
	must(waitpid(pid, &i, 0) == pid && !i);
	/* After a close, one more is allowed; it wakes only for some entries, or after a while. */
	must(!close(fds[nr - 1]));
	p.fd = one_more(hasty);
	must(p.fd >= 0 && info_of(p.fd).watermark >= 2048);
	must(!ioctl(p.fd, KDTL_IOC_START));
	/* Entries that tell of the reader itself wake nobody. */
	if (!fork_dies())
		busy_on_first();
	for (i = 0; i < 20; i++) {
		must(poll(&p, 1, 10000) == 1 && p.revents == POLLIN);
		drain(p.fd, &ours);
	}
	/* KDTL_IOC_WAITS, which interrupts CPUs, is also limited. */
	do
		waits = (struct kdtl_stream_waits) { };
	while (!ioctl(p.fd, KDTL_IOC_WAITS, &waits));
	must(errno == EAGAIN);
}

/* Opens an event of kdtl_sched on CPU 0 by perf_event_open(). */
static int perf_one_more(void)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .config = 15 };
	FILE *f = fopen("/sys/bus/event_source/devices/kdtl_sched/type", "r");

	must(f && fscanf(f, "%u", &attr.type) == 1);
	fclose(f);
	return syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
}

static int perf_many_more(int *fds, int most)
{
	int nr;

	for (nr = 0; nr < most; nr++) {
		fds[nr] = perf_one_more();
		if (fds[nr] < 0)
			break;
	}
	return nr;
}

static void perf_budget(void)
{
	int fds[100], nr, i;

	caps(1ULL << CAP_PERFMON);
	nr = perf_many_more(fds, 100);
	must(errno == EUSERS);
	printf("# %d events\n", nr);
	must(nr == 64);
	must(!close(fds[nr - 1]));
	/* perf frees an event only after a grace period. */
	for (i = 0; i < 10000 && (fds[nr - 1] = perf_one_more()) < 0; i++) {
		must(errno == EUSERS);
		usleep(1000);
	}
	must(fds[nr - 1] >= 0);
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/* Root of a container has each capability in its own user namespace, which is not enough. */
static void test_container(void)
{
	if (unshare(CLONE_NEWUSER)) {
		must(errno == EINVAL || errno == EPERM);
		printf("# %s\n", errno == EPERM ? "no user namespace is made in a chroot" :
		       "a kernel without user namespaces");
		return;
	}
	write_text("/proc/self/setgroups", "deny");
	write_text("/proc/self/uid_map", "0 0 1");
	write_text("/proc/self/gid_map", "0 0 1");
	must(!getuid());
	refused(open("/dev/kdtl", O_RDWR), EACCES);
	must(perf_one_more() < 0 && (errno == EACCES || errno == EPERM));
}

/* A user without capabilities also gets only some of the events that perf_event_open() makes. */
static void test_perf_budget(void)
{
	static const char paranoid[] = "/proc/sys/kernel/perf_event_paranoid";
	int fds[100], level, status, i;
	FILE *f = fopen(paranoid, "r+");
	pid_t pid;

	must(perf_many_more(fds, 100) == 100);
	for (i = 0; i < 100; i++)
		close(fds[i]);
	/* Above 2, Debian's kernels refuse users without CAP_SYS_ADMIN. */
	must(f && fscanf(f, "%d", &level) == 1);
	rewind(f);
	must(fputs("2", f) > 0 && !fflush(f));
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		perf_budget();
		exit(0);
	}
	must(waitpid(pid, &status, 0) == pid);
	rewind(f);
	must(fprintf(f, "%d", level) > 0 && !fclose(f));
	must(!status);
}

/* Tries an attribute that every setup refuses, with a line in the log. */
static void refused_setup(int fd, unsigned int which)
{
	struct kdtl_stream_attr attr = { .aux_pages = PAGES };
	static unsigned long none;

	switch (which) {
	case 0:
		strcpy(attr.source, "x\nforged\033[2J");
		break;
	case 1:
		attr.aux_pages = 3;
		break;
	case 2:
		attr.aux_pages = 1 << 20;
		break;
	case 3:
		attr.watermark = UINT32_MAX;
		break;
	case 4:
		attr.mask = 1U << 31;
		break;
	case 5:
		attr.cpus = (uintptr_t)&none;
		attr.cpus_len = sizeof(none);
		break;
	}
	must(ioctl(fd, KDTL_IOC_SETUP, &attr) == -1);
}

/*
 * A user with CAP_PERFMON can neither forge a line of the log nor flood it.  Each of
 * the lines comes at most 10 times in 5 s, and then one says how many were left out.
 */
static void test_log(void)
{
	const unsigned int kinds = 6, tries = 300;
	const struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	int fd = open_dev(0);
	unsigned int lines = 0, most;
	struct timespec from, to;
	char line[8192];
	ssize_t len;

	must(log >= 0 && lseek(log, 0, SEEK_END) >= 0);
	must(!setrlimit(RLIMIT_MEMLOCK, &limit));
	caps(1ULL << CAP_PERFMON);
	must(!clock_gettime(CLOCK_MONOTONIC, &from));
	for (unsigned int i = 0; i < kinds * tries; i++)
		refused_setup(fd, i % kinds);
	must(!clock_gettime(CLOCK_MONOTONIC, &to));

	while ((len = read(log, line, sizeof(line) - 1)) > 0) {
		line[len] = '\0';
		if (!strstr(line, "kdtl"))
			continue;
		lines++;
		/* This is how /dev/kmsg shows control characters. */
		if (strstr(line, "\\x0a") || strstr(line, "\\x1b"))
			die("forged: %s", line);
	}
	must(errno == EAGAIN);
	most = kinds * 11 * ((to.tv_sec - from.tv_sec) / 5 + 2);
	if (!lines || lines > most)
		die("%u lines, at most %u should be there", lines, most);
}

static void test_memlock(void)
{
	const unsigned long kb = page / 1024;
	const struct rlimit limit = { (PAGES + 3) * page, (PAGES + 3) * page };
	struct kdtl_stream_attr attr = { .aux_pages = 2 * PAGES };
	cpu_set_t set;
	void *m;
	int fd;

	must(!setrlimit(RLIMIT_MEMLOCK, &limit));
	caps(1ULL << CAP_PERFMON);
	must(pinned_kb() == 0);
	fd = open_dev(0);
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	attr.cpus = (uintptr_t)&set;
	attr.cpus_len = sizeof(set);
	refused(ioctl(fd, KDTL_IOC_SETUP, &attr), EPERM);
	must(pinned_kb() == 0);
	/* If a setup fails after its memory was charged, the charge is given back. */
	attr.aux_pages = PAGES;
	strcpy(attr.source, "kdtl_none");
	refused(ioctl(fd, KDTL_IOC_SETUP, &attr), ENODEV);
	must(pinned_kb() == 0);
	fd = setup(0);
	must(pinned_kb() == PAGES * kb);
	/*
	 * A second session does not fit, nor does a ring of 1 + 4 pages. A ring of
	 * 1 + 2 pages does.
	 */
	refused(ioctl(open_dev(0), KDTL_IOC_START), EPERM);
	refused(map(fd, RW, 1 + 4, 0), EPERM);
	m = map(fd, RW, 1 + 2, 0);
	must(m != MAP_FAILED && pinned_kb() == (PAGES + 3) * kb);
	must(!munmap(m, 3 * page) && pinned_kb() == PAGES * kb);
	must(!close(fd) && pinned_kb() == 0);
}

/* A child does not inherit the mapping, and its death changes nothing. */
static void test_fork(void)
{
	struct mapping x = map_all((struct kdtl_stream_attr) { }, 1);
	uint64_t seen = 0;
	int status;
	pid_t pid;

	must(!ioctl(x.fd, KDTL_IOC_START));
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		*(volatile char *)x.aux = 1;
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid);
	must(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	dispatches(50);
	must(!ioctl(x.fd, KDTL_IOC_STOP));
	must(aux_drain(&x, &seen) >= 50);
}

/*
 * Older kernels let a process give its mappings to its children.  Then a child holds everything
 * as the process does, and harms nobody.
 */
static void test_dofork(void)
{
	struct mapping x = map_all((struct kdtl_stream_attr) { }, 1);
	uint64_t seen = 0;
	int status, go[2];
	pid_t pid;
	char c;

	if (madvise(x.aux, PAGES * page, MADV_DOFORK)) {
		must(errno == EINVAL);
		refused(madvise(x.m, 2 * page, MADV_DOFORK), EINVAL);
		return;
	}
	/* This is refused for a part, which would be a mapping of its own. */
	refused(madvise(x.aux, page, MADV_DONTFORK), EINVAL);
	must(!madvise(x.m, 2 * page, MADV_DOFORK));
	must(!pipe(go) && !ioctl(x.fd, KDTL_IOC_START));
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		/* Without this, the child would wait for itself if the parent dies. */
		close(go[1]);
		must(read(go[0], &c, 1) == 1);
		/* The parent's mappings are gone, and the child's go on. */
		dispatches(50);
		must(!ioctl(x.fd, KDTL_IOC_STOP));
		must(aux_drain(&x, &seen) >= 50);
		refused(map(x.fd, RW, 1 + 2, 0), EINVAL);
		must(!munmap(x.aux, PAGES * page) && !munmap(x.m, 2 * page));
		must(map(x.fd, RW, 1 + 2, 0) != MAP_FAILED);
		_exit(0);
	}
	must(!munmap(x.m, 2 * page) && !munmap(x.aux, PAGES * page) && !close(x.fd));
	must(write(go[1], "", 1) == 1);
	must(waitpid(pid, &status, 0) == pid && !status);
}

/* The sum of the numbers in the lines of a file that begin with this. */
static unsigned long long sum_of(const char *path, const char *begin)
{
	unsigned long long sum = 0;
	char line[256];
	FILE *f = fopen(path, "r");

	must(f);
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, begin, strlen(begin)))
			sum += strtoull(line + strcspn(line, " "), NULL, 10);
	}
	fclose(f);
	return sum;
}

/*
 * Nor may records for which others have left too little memory take all of it before they are
 * refused: the kernel would kill tasks meanwhile.  Take so much that a quarter is missing.
 */
static void test_huge_for_now(int fd)
{
	const size_t all = sysconf(_SC_PHYS_PAGES);
	size_t pages = 1, there, taken;
	unsigned long long allocated;
	void *hog;

	while (2 * pages < all)
		pages *= 2;
	there = sum_of("/proc/meminfo", "MemAvailable:") * 1024 / page;
	taken = there > pages / 4 * 3 ? there - pages / 4 * 3 : 1;
	hog = mmap(NULL, taken * page, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	must(hog != MAP_FAILED);
	allocated = sum_of("/proc/vmstat", "pgalloc_");
	refused(map(fd, RW, 1 + pages, 0), ENOMEM);
	allocated = sum_of("/proc/vmstat", "pgalloc_") - allocated;
	if (allocated > pages / 4)
		die("%zu pages were refused when %llu had been taken", pages, allocated);
	must(!munmap(hog, taken * page));
}

/* More records than the machine has memory for make an errno and a line, and no backtrace. */
static void test_huge(void)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	const struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	int fd = setup(0), lines = 0;
	size_t pages = 1;
	char line[8192];
	ssize_t len;

	must(log >= 0 && lseek(log, 0, SEEK_END) >= 0);
	must(!setrlimit(RLIMIT_MEMLOCK, &limit));
	while (pages < (size_t)sysconf(_SC_PHYS_PAGES))
		pages *= 2;
	refused(map(fd, RW, 1 + pages, 0), ENOMEM);
	test_huge_for_now(fd);
	must(map(fd, RW, 1 + 1, 0) != MAP_FAILED);
	while ((len = read(log, line, sizeof(line) - 1)) > 0) {
		line[len] = '\0';
		if (strstr(line, "kdtl_stream: no memory for "))
			lines++;
		else if (strstr(line, "vmalloc error") || strstr(line, "Call Trace") ||
			 strstr(line, "allocation failure") || strstr(line, "killed process"))
			die("a backtrace: %s", line);
	}
	must(errno == EAGAIN && lines);
}

/* A process that is killed with everything open leaves nothing; see stream.sh. */
static void test_killed(void)
{
	int ready[2], status;
	pid_t pid;
	char c;

	must(!pipe(ready));
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		struct mapping x = map_all((struct kdtl_stream_attr) { }, 8);
		int all = setup(-1), p[2];

		must(!pipe(p) && !ioctl(x.fd, KDTL_IOC_START) && !ioctl(all, KDTL_IOC_START));
		dispatches(100);
		must(splice(all, NULL, p[1], NULL, 1 << 16, 0) > 0);
		must(write(ready[1], "", 1) == 1);
		for (;;)
			pause();
	}
	/* Without this, the test would wait for itself if the child dies. */
	close(ready[1]);
	must(read(ready[0], &c, 1) == 1);
	must(!kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid);
	must(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static const struct {
	const char	*name;
	void		(*fn)(void);
} tests[] = {
	{ "setup", test_setup },
	{ "edges", test_edges },
	{ "read", test_read },
	{ "defaults", test_defaults },
	{ "fault", test_fault },
	{ "clock", test_clock },
	{ "tasks", test_tasks },
	{ "tasks_misuse", test_tasks_misuse },
	{ "cgroup", test_cgroup },
	{ "waits", test_waits },
	{ "signal", test_signal },
	{ "poll", test_poll },
	{ "stop", test_stop },
	{ "killable", test_killable },
	{ "period", test_period },
	{ "min_wait", test_min_wait },
	{ "lost", test_lost },
	{ "splice", test_splice },
	{ "splice_room", test_splice_room },
	{ "splice_close", test_splice_close },
	{ "splice_epipe", test_splice_epipe },
	{ "splice_file", test_splice_file },
	{ "splice_socket", test_splice_socket },
	{ "splice_socket_close", test_splice_socket_close },
	{ "splice_mmap", test_splice_mmap },
	{ "mmap_ring", test_mmap_ring },
	{ "mmap_aux", test_mmap_aux },
	{ "mmap_read", test_mmap_read },
	{ "mmap_lost", test_mmap_lost },
	{ "mmap_ring_full", test_mmap_ring_full },
	{ "mmap_garbage", test_mmap_garbage },
	{ "mmap_overwrite", test_mmap_overwrite },
	{ "nobody", test_nobody },
	{ "perfmon", test_perfmon },
	{ "container", test_container },
	{ "budget", test_budget },
	{ "perf_budget", test_perf_budget },
	{ "log", test_log },
	{ "memlock", test_memlock },
	{ "fork", test_fork },
	{ "dofork", test_dofork },
	{ "huge", test_huge },
	{ "killed", test_killed },
	{ "no_tasks", test_no_tasks },
};

int main(int argc, char **argv)
{
	page = sysconf(_SC_PAGESIZE);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		if (argc == 2 && !strcmp(argv[1], tests[i].name)) {
			tests[i].fn();
			return 0;
		}
		/* test_no_tasks is not listed, because kdtl_fake must be loaded for it. */
		if (argc < 2 && tests[i].fn != test_no_tasks)
			puts(tests[i].name);
	}
	return argc >= 2;
}
