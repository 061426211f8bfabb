// SPDX-License-Identifier: GPL-2.0
/*
 * A perf user of a kdtl source: it uses perf_event_open(), mmap of the metadata
 * page, the records and the AUX area, and poll, and checks every entry.
 *
 *	perf_mmap rules PMU	what mmap and perf_event_open() refuse
 *	perf_mmap count		kdtl_fake: read() and reset, in each state of an event
 *	perf_mmap exact		kdtl_sched: all of a child's dispatches come
 *	perf_mmap full		kdtl_sched: a full area, and one that is read again
 *	perf_mmap made [MASK]	kdtl_fake: all entries come that the drive module made
 *	perf_mmap gap		kdtl_fake: entries that the source itself loses are reported
 *	perf_mmap overwrite	kdtl_fake: a read-only area has the newest entries
 *	perf_mmap raw		kdtl_fake_raw: a driver that writes to the area itself
 *	perf_mmap garbage	kdtl_fake: writes nonsense into the metadata page until SIGTERM
 *	perf_mmap follow PMU	reads until SIGTERM
 *	perf_mmap irq IRQ	kdtl_handlers, an example: counts the runs of IRQ's handlers
 *				until SIGTERM
 *
 * Exits 0 if everything was right; prints what was not.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../api/include/uapi/linux/kdtl.h"

#define MAX_CPUS	256
#define ENTRY_SIZE	48
#define WAKE_SIZE	0x8000		/* bytes in an area that wake its reader */
#define DEVICES		"/sys/bus/event_source/devices/"
#define DRIVE		"/sys/kernel/debug/kdtl_fake/"

/* One CPU's event and its mapping, and what came from it. */
struct event {
	int		cpu;
	int		fd;
	size_t		data_size;
	size_t		aux_size;
	struct perf_event_mmap_page *meta;
	uint8_t		*aux;

	uint64_t	entries;	/* without those that carry the time base */
	uint64_t	timebases;
	uint64_t	last_time;
	uint64_t	last_seq;
	uint64_t	announced;	/* end of the data that PERF_RECORD_AUX told of */
	uint64_t	flags;
	uint64_t	records;
	uint64_t	of_pid;		/* entries of watched_pid */
	bool		lost;		/* records were lost */
	bool		gone;		/* its CPU is; it has no reader any more */
};

static struct event events[MAX_CPUS];
static int nr_events;
static long page;
static int wrong;
static pid_t watched_pid;
static bool self_validating;

static void __attribute__((format(printf, 1, 2))) complain(const char *fmt, ...)
{
	va_list args;

	/* Print the first ten complaints only. */
	if (wrong++ >= 10)
		return;
	printf("# ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
}

static void __attribute__((noreturn)) die(const char *what)
{
	printf("# %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ------------------------------------------------------------------ small files */

static long read_number(const char *path)
{
	FILE *f = fopen(path, "r");
	long n;

	if (!f || fscanf(f, "%ld", &n) != 1)
		die(path);
	fclose(f);
	return n;
}

static void write_file(const char *path, const char *fmt, ...)
{
	char text[100];
	va_list args;
	int fd, len;

	va_start(args, fmt);
	len = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, text, len) != len)
		die(path);
	close(fd);
}

static int pmu_type(const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), DEVICES "%s/type", name);
	return read_number(path);
}

/* ---------------------------------------------------------------- opening, mapping */

static int event_open(int type, uint64_t config, pid_t pid, int cpu, uint32_t watermark)
{
	struct perf_event_attr attr = {
		.type		= type,
		.size		= sizeof(attr),
		.config		= config,
		.disabled	= 1,
		.aux_watermark	= watermark,
	};

	return syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool event_map(struct event *e, int data_pages, int aux_pages, int aux_prot)
{
	e->data_size = data_pages * page;
	e->aux_size = aux_pages * page;
	e->meta = mmap(NULL, page + e->data_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		       e->fd, 0);
	if (e->meta == MAP_FAILED)
		return false;
	e->meta->aux_offset = page + e->data_size;
	e->meta->aux_size = e->aux_size;
	e->aux = mmap(NULL, e->aux_size, aux_prot, MAP_SHARED, e->fd, page + e->data_size);
	return e->aux != MAP_FAILED;
}

/* Opens an event on every online CPU, and maps it. */
static void open_all(const char *pmu, uint64_t config, int aux_pages, int aux_prot)
{
	const int nr = sysconf(_SC_NPROCESSORS_CONF), type = pmu_type(pmu);
	/* 0 means half an area. With large pages a test does not make as much, so take less. */
	const uint32_t watermark = aux_pages * page > 2 * WAKE_SIZE ? WAKE_SIZE : 0;
	struct event *e;
	int cpu;

	for (cpu = 0; cpu < nr && cpu < MAX_CPUS; cpu++) {
		e = &events[nr_events];
		e->cpu = cpu;
		e->fd = event_open(type, config, -1, cpu, watermark);
		if (e->fd < 0 && errno == ENODEV)
			continue;
		if (e->fd < 0)
			die("perf_event_open");
		if (!event_map(e, 8, aux_pages, aux_prot))
			die("mmap");
		nr_events++;
	}
}

static void all_ioctl(unsigned long what)
{
	int i;

	for (i = 0; i < nr_events; i++)
		if (ioctl(events[i].fd, what, 0) && !events[i].gone)
			die("ioctl");
}

/* --------------------------------------------------------------------- reading */

static void copy_from(void *to, const uint8_t *ring, size_t size, uint64_t pos, size_t len)
{
	size_t at = pos & (size - 1), first = len < size - at ? len : size - at;

	memcpy(to, ring + at, first);
	memcpy((char *)to + first, ring, len - first);
}

static void read_records(struct event *e)
{
	const uint64_t head = __atomic_load_n(&e->meta->data_head, __ATOMIC_ACQUIRE);
	const uint8_t *data = (uint8_t *)e->meta + page;
	uint64_t tail = e->meta->data_tail;
	struct perf_event_header header;
	struct {
		struct perf_event_header header;
		uint64_t offset, size, flags;
	} aux;

	while (tail != head) {
		copy_from(&header, data, e->data_size, tail, sizeof(header));
		if (!header.size || tail + header.size > head) {
			complain("CPU %d: record of %u bytes at the end of %llu", e->cpu,
				 header.size, (unsigned long long)(head - tail));
			break;
		}
		if (header.type == PERF_RECORD_AUX) {
			copy_from(&aux, data, e->data_size, tail, sizeof(aux));
			if (!(aux.flags & PERF_AUX_FLAG_OVERWRITE) && !e->lost &&
			    aux.offset != e->announced)
				complain("CPU %d: AUX record at %llu, not at %llu", e->cpu,
					 (unsigned long long)aux.offset,
					 (unsigned long long)e->announced);
			e->announced = aux.offset + aux.size;
			e->flags |= aux.flags;
			e->records++;
		} else if (header.type == PERF_RECORD_LOST) {
			e->lost = true;
		}
		tail += header.size;
	}
	__atomic_store_n(&e->meta->data_tail, tail, __ATOMIC_RELEASE);
}

/* Computes the hash as kdtl_fake_hash() does. */
static uint64_t entry_hash(const struct kdtl_entry *entry)
{
	uint64_t hash = 0xcbf29ce484222325ULL, word;
	int i;

	for (i = 0; i < 5; i++) {
		memcpy(&word, (const char *)entry + 8 * i, 8);
		hash = (hash ^ word) * 0x100000001b3ULL;
		hash ^= hash >> 32;
	}
	return hash;
}

static void see_entry(struct event *e, const struct kdtl_entry *entry)
{
	const uint64_t time = be64toh(entry->timebase), seq = be64toh(entry->srr0);

	/* The time base has an entry of its own, in the machine's byte order. */
	if (!entry->timebase) {
		uint64_t freq;

		memcpy(&freq, (const char *)entry + 8, 8);
		if (!freq)
			complain("CPU %d: the time base has no frequency", e->cpu);
		if (e->entries)
			complain("CPU %d: the time base comes late", e->cpu);
		e->timebases++;
		return;
	}
	if (be16toh(entry->processor_id) != e->cpu)
		complain("CPU %d: entry of CPU %d", e->cpu, be16toh(entry->processor_id));
	if (time < e->last_time)
		complain("CPU %d: time goes back", e->cpu);
	if (self_validating && be64toh(entry->srr1) != entry_hash(entry))
		complain("CPU %d: a torn entry after %llu", e->cpu,
			 (unsigned long long)e->last_seq);
	if (self_validating && seq <= e->last_seq)
		complain("CPU %d: entry %llu after %llu", e->cpu, (unsigned long long)seq,
			 (unsigned long long)e->last_seq);
	e->last_time = time;
	e->last_seq = seq;
	e->of_pid += be64toh(entry->fault_addr) >> 32 == (uint64_t)watched_pid;
	e->entries++;
}

static void read_aux(struct event *e)
{
	const uint64_t head = __atomic_load_n(&e->meta->aux_head, __ATOMIC_ACQUIRE);
	uint64_t tail = e->meta->aux_tail;
	struct kdtl_entry entry;

	for (; head - tail >= ENTRY_SIZE; tail += ENTRY_SIZE) {
		copy_from(&entry, e->aux, e->aux_size, tail, ENTRY_SIZE);
		see_entry(e, &entry);
	}
	if (tail != head)
		complain("CPU %d: %llu bytes are no entry", e->cpu,
			 (unsigned long long)(head - tail));
	__atomic_store_n(&e->meta->aux_tail, tail, __ATOMIC_RELEASE);
}

static void drain(void)
{
	int i;

	for (i = 0; i < nr_events; i++) {
		read_aux(&events[i]);
		read_records(&events[i]);
	}
}

/* Sleeps until there is something to read, as perf does; false: nothing came. */
static bool wait_for_data(int ms)
{
	struct pollfd fds[MAX_CPUS];
	int i, n;

	/* POLLHUP: the event has no reader any more, and never will. */
	for (i = 0; i < nr_events; i++) {
		fds[i].fd = events[i].gone ? -1 : events[i].fd;
		fds[i].events = POLLIN;
	}
	n = poll(fds, nr_events, ms);
	for (i = 0; i < nr_events; i++)
		if (!events[i].gone && fds[i].revents & POLLHUP)
			events[i].gone = true;
	return n > 0;
}

/* perf's own count of an event: how many entries the source made for it. */
static uint64_t event_count(struct event *e)
{
	uint64_t count = 0;

	if (read(e->fd, &count, sizeof(count)) != sizeof(count))
		die("read");
	return count;
}

/* -------------------------------------------------------------------- counting */

static void expect_count(const char *when, uint64_t got, uint64_t want)
{
	if (got != want)
		complain("%s: %llu counted, not %llu", when, (unsigned long long)got,
			 (unsigned long long)want);
}

static void burst(unsigned int nr)
{
	write_file(DRIVE "do", "burst 0 %u", nr);
}

/* An event that only counts, in every state. */
static void count_states(struct event *e)
{
	int other;

	ioctl(e->fd, PERF_EVENT_IOC_ENABLE, 0);
	burst(10);
	expect_count("active", event_count(e), 10);
	burst(200);
	expect_count("more than are staged", event_count(e), 210);
	ioctl(e->fd, PERF_EVENT_IOC_RESET, 0);
	expect_count("reset", event_count(e), 0);
	burst(7);
	expect_count("after a reset", event_count(e), 7);
	write_file(DRIVE "do", "lost 0 5");
	expect_count("lost by the source", event_count(e), 7);

	/* perf deletes and adds the events of a CPU when another one joins. */
	other = event_open(pmu_type("kdtl_fake"), 1, -1, 0, 0);
	ioctl(other, PERF_EVENT_IOC_ENABLE, 0);
	burst(3);
	expect_count("beside another", event_count(e), 10);
	close(other);
	expect_count("alone again", event_count(e), 10);

	ioctl(e->fd, PERF_EVENT_IOC_DISABLE, 0);
	expect_count("disabled", event_count(e), 10);
	burst(5);
	expect_count("while disabled", event_count(e), 10);
	ioctl(e->fd, PERF_EVENT_IOC_RESET, 0);
	expect_count("reset while disabled", event_count(e), 0);
	ioctl(e->fd, PERF_EVENT_IOC_ENABLE, 0);
	burst(2);
	expect_count("enabled again", event_count(e), 2);
}

/* All events of a group are read at once. */
static void count_group(void)
{
	struct perf_event_attr attr = {
		.type		= pmu_type("kdtl_fake"),
		.size		= sizeof(attr),
		.config		= 7,
		.read_format	= PERF_FORMAT_GROUP,
	};
	uint64_t got[4] = { 0 };
	int leader, cede, fault;

	leader = syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0);
	attr.config = 1;
	cede = syscall(SYS_perf_event_open, &attr, -1, 0, leader, 0);
	attr.config = 4;
	fault = syscall(SYS_perf_event_open, &attr, -1, 0, leader, 0);
	burst(11);
	if (read(leader, got, sizeof(got)) != sizeof(got) || got[0] != 3)
		die("read of a group");
	expect_count("group: all", got[1], 11);
	expect_count("group: cede", got[2], 11);
	expect_count("group: fault", got[3], 0);
	close(fault);
	close(cede);
	close(leader);
}

/* Nobody reads the area. Entries that find no room in it also count. */
static void count_full(void)
{
	struct event *e = &events[nr_events++];
	uint64_t head;

	e->fd = event_open(pmu_type("kdtl_fake"), 15, -1, 0, 0);
	if (e->fd < 0 || !event_map(e, 8, 4, PROT_READ | PROT_WRITE))
		die("an event with an area");
	self_validating = true;
	ioctl(e->fd, PERF_EVENT_IOC_ENABLE, 0);
	burst(100);
	expect_count("with an area", event_count(e), 100);
	burst(1000);
	expect_count("full area", event_count(e), 1100);
	/* perf may have disabled it already, or does it at the next entry. */
	ioctl(e->fd, PERF_EVENT_IOC_DISABLE, 0);
	expect_count("full area, disabled", event_count(e), 1100);
	drain();
	head = e->entries;
	ioctl(e->fd, PERF_EVENT_IOC_ENABLE, 0);
	burst(10);
	expect_count("read area", event_count(e), 1110);
	ioctl(e->fd, PERF_EVENT_IOC_DISABLE, 0);
	drain();
	expect_count("read area: entries in it", e->entries, head + 10);
}

static int count(void)
{
	struct event e = { .fd = event_open(pmu_type("kdtl_fake"), 15, -1, 0, 0) };

	if (e.fd < 0)
		die("perf_event_open");
	count_states(&e);
	count_group();
	count_full();
	return wrong != 0;
}

/* ---------------------------------------------------------------------- rules */

static void expect_errno(const char *what, long got, int want)
{
	const int err = got < 0 ? errno : 0;

	if (err != want)
		complain("%s: %s, should be: %s", what, strerror(err), strerror(want));
}

static void *map(int fd, size_t pages, int prot, size_t offset_pages)
{
	return mmap(NULL, pages * page, prot, MAP_SHARED, fd, offset_pages * page);
}

static void expect_map(const char *what, void *at, int want)
{
	expect_errno(what, at == MAP_FAILED ? -1 : 0, want);
}

static void refuse_event(const char *what, int type, uint64_t config, pid_t pid, int cpu,
			 int want)
{
	int fd = event_open(type, config, pid, cpu, 0);

	expect_errno(what, fd, want);
	if (fd >= 0)
		close(fd);
}

static int rules(const char *pmu)
{
	const int rw = PROT_READ | PROT_WRITE, type = pmu_type(pmu);
	struct perf_event_mmap_page *meta;
	void *aux, *again;
	int fd;

	refuse_event("no dispatch asked for", type, 0, -1, 0, EINVAL);
	refuse_event("an unknown dispatch", type, 32, -1, 0, EINVAL);
	refuse_event("all dispatches and an unknown", type, 1ULL << 40 | 7, -1, 0, EINVAL);
	refuse_event("a task", type, 7, 0, -1, EOPNOTSUPP);
	refuse_event("a task on a CPU", type, 7, 0, 0, EOPNOTSUPP);
	refuse_event("a CPU that is not there", type, 7, -1, 100000, EINVAL);

	fd = event_open(type, 7, -1, 0, 0);
	if (fd < 0)
		die("perf_event_open");
	expect_map("AUX before the records", map(fd, 4, rw, 9), EINVAL);
	expect_map("1 + 3 pages", map(fd, 4, rw, 0), EINVAL);
	expect_map("2 + 4 pages", map(fd, 6, rw, 0), EINVAL);

	/* The metadata page alone will do. */
	meta = map(fd, 1, rw, 0);
	expect_map("the metadata page alone", meta, 0);
	munmap(meta, page);
	/* After all mappings are gone, another size is allowed. */
	meta = map(fd, 9, rw, 0);
	expect_map("1 + 8 pages", meta, 0);
	if (meta == MAP_FAILED)
		return 1;
	again = map(fd, 9, rw, 0);
	expect_map("the same again", again, 0);
	munmap(again, 9 * page);
	expect_map("another size at once", map(fd, 5, rw, 0), EINVAL);

	expect_map("AUX without aux_offset", map(fd, 4, rw, 9), EINVAL);
	meta->aux_offset = 8 * page;
	meta->aux_size = 4 * page;
	expect_map("AUX over the records", map(fd, 4, rw, 8), EINVAL);
	meta->aux_offset = 9 * page;
	expect_map("AUX not at aux_offset", map(fd, 4, rw, 10), EINVAL);
	expect_map("AUX of another size than aux_size", map(fd, 8, rw, 9), EINVAL);
	meta->aux_size = 3 * page;
	expect_map("AUX of 3 pages", map(fd, 3, rw, 9), EINVAL);
	meta->aux_size = 4 * page;
	aux = map(fd, 4, rw, 9);
	expect_map("AUX of 4 pages", aux, 0);
	again = map(fd, 4, rw, 9);
	expect_map("the same AUX again", again, 0);
	munmap(again, 4 * page);
	meta->aux_size = 8 * page;
	expect_map("AUX of another size at once", map(fd, 8, rw, 9), EINVAL);
	munmap(aux, 4 * page);
	aux = map(fd, 8, rw, 9);
	expect_map("AUX of another size, after", aux, 0);
	munmap(aux, 8 * page);
	munmap(meta, 9 * page);
	close(fd);
	return wrong != 0;
}

/* ----------------------------------------------------- a child and its dispatches */

/* Times that a task left a CPU, or -1 while it is not asleep. */
static long switches(pid_t pid)
{
	char path[64], line[200], state = 0;
	long n, sum = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	if (!f)
		die(path);
	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "State: %c", &state);
		if (sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %ld", &n) == 1)
			sum += n;
	}
	fclose(f);
	return state == 'S' ? sum : -1;
}

/* As switches(), but only if the task really has left its CPU; otherwise -1. */
static long asleep(pid_t pid)
{
	long n = switches(pid);

	if (n < 0)
		return -1;
	usleep(20000);
	return switches(pid) == n ? n : -1;
}

/*
 * Starts a child that sleeps until it is told to go, and then is woken by a
 * process of its own, @trips times; the scheduler chooses its CPU.
 */
static pid_t start_child(int go, int back, int trips)
{
	int ping[2], pong[2], i;
	pid_t pid = fork();
	char c;

	if (pid)
		return pid;
	if (pipe(ping) || pipe(pong))
		exit(1);
	if (!fork()) {
		close(ping[1]);
		while (read(ping[0], &c, 1) == 1 && write(pong[1], &c, 1) == 1)
			;
		exit(0);
	}
	close(ping[0]);
	while (read(go, &c, 1) == 1) {
		for (i = 0; i < trips; i++)
			if (write(ping[1], "x", 1) != 1 || read(pong[0], &c, 1) != 1)
				exit(1);
		if (write(back, "x", 1) != 1)
			break;
	}
	exit(0);
}

struct child {
	pid_t	pid;
	int	go;
	int	back;
};

static void child_start(struct child *c, int trips)
{
	int go[2], back[2];

	if (pipe(go) || pipe2(back, O_NONBLOCK))
		die("pipe");
	c->pid = start_child(go[0], back[1], trips);
	if (c->pid < 0)
		die("fork");
	c->go = go[1];
	c->back = back[0];
	watched_pid = c->pid;
}

static long child_asleep(struct child *c)
{
	long n;

	while ((n = asleep(c->pid)) < 0)
		;
	return n;
}

static void child_end(struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
}

static uint64_t sum_of_pid(void)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < nr_events; i++)
		sum += events[i].of_pid;
	return sum;
}

/* Checks that all entries that perf counted were read, and returns how many. */
static uint64_t expect_all_read(void)
{
	uint64_t all = 0;
	int i;

	for (i = 0; i < nr_events; i++) {
		struct event *e = &events[i];

		if (event_count(e) != e->entries)
			complain("CPU %d: %llu entries counted, %llu read", e->cpu,
				 (unsigned long long)event_count(e),
				 (unsigned long long)e->entries);
		if (e->announced != e->meta->aux_head)
			complain("CPU %d: announced up to %llu, written up to %llu", e->cpu,
				 (unsigned long long)e->announced,
				 (unsigned long long)e->meta->aux_head);
		if (e->entries && e->timebases != 1)
			complain("CPU %d: %llu time bases", e->cpu,
				 (unsigned long long)e->timebases);
		if (e->lost)
			complain("CPU %d: PERF_RECORD_LOST", e->cpu);
		if (e->flags)
			complain("CPU %d: AUX flags %#llx", e->cpu,
				 (unsigned long long)e->flags);
		all += e->entries;
	}
	return all;
}

/*
 * The scheduler's own count of a task's switches says how many entries there must be.  The child
 * waits for this task again and again, because this task may be without a CPU for longer than it
 * takes to fill an area.
 */
static int exact(void)
{
	struct child c;
	long before, after;
	uint64_t all;
	char done;
	int wakeups = 0, i;

	child_start(&c, 200);
	open_all("kdtl_sched", 15, 16, PROT_READ | PROT_WRITE);
	before = child_asleep(&c);
	all_ioctl(PERF_EVENT_IOC_ENABLE);
	for (i = 0; i < 25; i++) {
		if (write(c.go, "x", 1) != 1)
			die("write");
		while (read(c.back, &done, 1) != 1) {
			wakeups += wait_for_data(20);
			drain();
		}
		drain();
	}
	after = child_asleep(&c);
	all_ioctl(PERF_EVENT_IOC_DISABLE);
	drain();
	all = expect_all_read();
	printf("# %llu entries on %d CPUs, %d wake-ups; the child's: %llu of %ld\n",
	       (unsigned long long)all, nr_events, wakeups,
	       (unsigned long long)sum_of_pid(), after - before);
	if (sum_of_pid() != (uint64_t)(after - before))
		complain("%llu entries of a task that was dispatched %ld times",
			 (unsigned long long)sum_of_pid(), after - before);
	if (after - before < 1000)
		complain("only %ld dispatches", after - before);
	if (!wakeups)
		complain("poll() never woke");
	child_end(&c);
	return wrong != 0;
}

/*
 * While nobody reads, the entries stay and the loss is reported. After a read,
 * the log goes on.
 */
static int full(void)
{
	uint64_t dropped = 0, flags = 0, before;
	struct child c;
	char done;
	int i;

	child_start(&c, 2000);
	open_all("kdtl_sched", 15, 1, PROT_READ | PROT_WRITE);
	child_asleep(&c);
	all_ioctl(PERF_EVENT_IOC_ENABLE);
	if (write(c.go, "x", 1) != 1)
		die("write");
	while (read(c.back, &done, 1) != 1)
		usleep(1000);
	all_ioctl(PERF_EVENT_IOC_DISABLE);
	drain();
	for (i = 0; i < nr_events; i++) {
		struct event *e = &events[i];

		if (e->meta->aux_head > e->aux_size)
			complain("CPU %d: %llu bytes in an area of %zu", e->cpu,
				 (unsigned long long)e->meta->aux_head, e->aux_size);
		dropped += event_count(e) - e->entries;
		flags |= e->flags;
		e->flags = 0;
	}
	if (!dropped)
		complain("nothing was dropped");
	if (!(flags & (PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_TRUNCATED)))
		complain("no AUX record says so");
	printf("# %llu entries dropped, AUX flags %#llx\n", (unsigned long long)dropped,
	       (unsigned long long)flags);

	/* Now that there is room again, the log goes on as before. */
	before = sum_of_pid();
	child_asleep(&c);
	all_ioctl(PERF_EVENT_IOC_ENABLE);
	if (write(c.go, "x", 1) != 1)
		die("write");
	while (read(c.back, &done, 1) != 1)
		drain();
	all_ioctl(PERF_EVENT_IOC_DISABLE);
	drain();
	if (sum_of_pid() == before)
		complain("nothing came after reading");
	child_end(&c);
	return wrong != 0;
}

/* ----------------------------------------------------------- what the drive made */

/* How many entries the test's own source made on a CPU that a mask wants. */
static uint64_t made_for(int cpu, unsigned int mask)
{
	unsigned long long n[6];
	FILE *f = fopen(DRIVE "made", "r");
	int at;

	if (!f)
		die(DRIVE "made");
	while (fscanf(f, "%d %llu %llu %llu %llu %llu %llu", &at, &n[0], &n[1], &n[2], &n[3],
		      &n[4], &n[5]) == 7) {
		if (at != cpu)
			continue;
		fclose(f);
		return (mask & 1 ? n[0] : 0) + (mask & 2 ? n[1] : 0) +
			(mask & 4 ? n[2] : 0) + (mask & 8 ? n[3] : 0) +
			(mask & 16 ? n[4] : 0) + n[5];
	}
	errno = ENOENT;
	die(DRIVE "made");
}

static uint64_t started_at[MAX_CPUS];

static void drive_start(unsigned int mask)
{
	int i;

	self_validating = true;
	for (i = 0; i < nr_events; i++)
		started_at[i] = made_for(events[i].cpu, mask);
	all_ioctl(PERF_EVENT_IOC_ENABLE);
	write_file(DRIVE "load", "1000000 16");
}

static int made(unsigned int mask)
{
	uint64_t all;
	int i;

	/* There is room for a third of a second, in which a slow machine has to read once. */
	open_all("kdtl_fake", mask, 64, PROT_READ | PROT_WRITE);
	drive_start(mask);
	while (made_for(events[0].cpu, mask) - started_at[0] < 20000) {
		wait_for_data(20);
		drain();
	}
	write_file(DRIVE "load", "0");
	all_ioctl(PERF_EVENT_IOC_DISABLE);
	drain();
	all = expect_all_read();
	for (i = 0; i < nr_events; i++) {
		const uint64_t want = made_for(events[i].cpu, mask) - started_at[i];

		if (events[i].entries != want)
			complain("CPU %d: %llu entries made, %llu read", events[i].cpu,
				 (unsigned long long)want,
				 (unsigned long long)events[i].entries);
	}
	printf("# %llu entries\n", (unsigned long long)all);
	return wrong != 0;
}

/* Gives the driver a command for CPU 0; the data that comes must have these flags. */
static void gap_step(const char *todo, uint64_t flags)
{
	struct event *e = &events[0];

	e->flags = 0;
	all_ioctl(PERF_EVENT_IOC_ENABLE);
	write_file(DRIVE "do", "%s", todo);
	all_ioctl(PERF_EVENT_IOC_DISABLE);
	drain();
	if (e->flags != flags)
		complain("%s: AUX flags %#llx, not %#llx", todo,
			 (unsigned long long)e->flags, (unsigned long long)flags);
}

/* A loss is reported once, also if no entry follows. */
static int gap(void)
{
	self_validating = true;
	open_all("kdtl_fake", 15, 4, PROT_READ | PROT_WRITE);
	gap_step("burst 0 10", 0);
	gap_step("lost 0 5", PERF_AUX_FLAG_PARTIAL);
	gap_step("burst 0 10", 0);
	if (events[0].entries != 20)
		complain("%llu entries, not 20", (unsigned long long)events[0].entries);
	return wrong != 0;
}

/*
 * In a read-only area the writer does not wait. At the end the newest entries
 * are there, in a row.
 */
static int overwrite(void)
{
	const unsigned int per_area = 4 * page / ENTRY_SIZE;
	int i;

	open_all("kdtl_fake", 31, 4, PROT_READ);
	drive_start(31);
	while (made_for(events[0].cpu, 31) - started_at[0] < 10 * per_area)
		usleep(10000);
	write_file(DRIVE "load", "0");
	all_ioctl(PERF_EVENT_IOC_DISABLE);
	for (i = 0; i < nr_events; i++) {
		struct event *e = &events[i];
		const uint64_t want = made_for(e->cpu, 31) - started_at[i];
		const uint64_t head = e->meta->aux_head;
		uint64_t pos = head - per_area * ENTRY_SIZE, last = 0, seq;
		struct kdtl_entry entry;

		if (head != (want + 1) * ENTRY_SIZE)
			complain("CPU %d: %llu bytes for %llu entries", e->cpu,
				 (unsigned long long)head, (unsigned long long)want);
		for (; pos != head; pos += ENTRY_SIZE) {
			copy_from(&entry, e->aux, e->aux_size, pos, ENTRY_SIZE);
			seq = be64toh(entry.srr0);
			if (be64toh(entry.srr1) != entry_hash(&entry) ||
			    (last && seq != last + 1))
				complain("CPU %d: entry %llu after %llu", e->cpu,
					 (unsigned long long)seq, (unsigned long long)last);
			last = seq;
		}
		read_records(e);
		if (e->flags & ~(uint64_t)PERF_AUX_FLAG_OVERWRITE || !e->flags)
			complain("CPU %d: AUX flags %#llx", e->cpu,
				 (unsigned long long)e->flags);
	}
	return wrong != 0;
}

/*
 * The data of a driver with its own add(), which writes to the area itself,
 * reaches perf.
 */
static int raw(void)
{
	uint64_t head;
	int i, round;

	open_all("kdtl_fake_raw", 7, 4, PROT_READ | PROT_WRITE);
	self_validating = true;
	all_ioctl(PERF_EVENT_IOC_ENABLE);
	for (round = 1; round <= 50; round++)
		for (i = 0; i < nr_events; i++) {
			write_file(DRIVE "do", "raw %d 100", events[i].cpu);
			drain();
			if (events[i].entries != round * 100ULL)
				complain("CPU %d: %llu entries of %d", events[i].cpu,
					 (unsigned long long)events[i].entries, round * 100);
		}
	/* Make short writes until they add up to an entry. */
	head = events[0].meta->aux_head;
	for (i = 1; i <= 6; i++) {
		write_file(DRIVE "do", "short %d 8", events[0].cpu);
		if (events[0].meta->aux_head != head + 8ULL * i)
			complain("%d writes of 8 bytes make %llu", i,
				 (unsigned long long)(events[0].meta->aux_head - head));
	}
	/* Write more than fits: the driver gets the room there is, and stops. */
	events[0].meta->aux_tail = events[0].meta->aux_head;
	write_file(DRIVE "do", "raw %d %zu", events[0].cpu, events[0].aux_size / ENTRY_SIZE + 100);
	head = events[0].meta->aux_head - events[0].meta->aux_tail;
	if (head >= events[0].aux_size || head < events[0].aux_size - ENTRY_SIZE - 1)
		complain("a full area of %zu bytes has %llu", events[0].aux_size,
			 (unsigned long long)head);
	return wrong != 0;
}

/* --------------------------------------------------------------------- follow */

static volatile sig_atomic_t ended;

static void end(int sig)
{
	(void)sig;
	ended = 1;
}

/*
 * Entries from before a CPU went are there. Those that were made while tasks
 * were frozen may not have fitted.
 */
static int follow(const char *pmu)
{
	uint64_t all = 0;
	int i, whole = 0;

	signal(SIGTERM, end);
	/* At 16 entries a millisecond, there is room for more than a second. */
	open_all(pmu, 7, 256, PROT_READ | PROT_WRITE);
	all_ioctl(PERF_EVENT_IOC_ENABLE);
	printf("# following %d CPUs\n", nr_events);
	fflush(stdout);
	while (!ended) {
		wait_for_data(50);
		drain();
	}
	for (i = 0; i < nr_events; i++) {
		struct event *e = &events[i];

		ioctl(e->fd, PERF_EVENT_IOC_DISABLE, 0);
		read_aux(e);
		read_records(e);
		all += e->entries;
		if (e->lost || e->flags)
			continue;
		whole++;
		if (event_count(e) != e->entries)
			complain("CPU %d: %llu entries counted, %llu read", e->cpu,
				 (unsigned long long)event_count(e),
				 (unsigned long long)e->entries);
	}
	printf("# %llu entries, %d CPUs whole\n", (unsigned long long)all, whole);
	if (!all)
		complain("no entries");
	return wrong != 0;
}

/* Reads records, struct irq_record of clients/examples/irq.h: whole, and in order of time. */
static uint64_t read_irqs(struct event *e, uint32_t irq)
{
	const uint64_t head = __atomic_load_n(&e->meta->aux_head, __ATOMIC_ACQUIRE);
	struct {
		uint64_t time;
		uint32_t irq, ns;
	} run;
	uint64_t tail = e->meta->aux_tail, runs = 0;

	for (; head - tail >= sizeof(run); tail += sizeof(run)) {
		copy_from(&run, e->aux, e->aux_size, tail, sizeof(run));
		if (run.time < e->last_time)
			complain("CPU %d: an interrupt before the last one", e->cpu);
		e->last_time = run.time;
		runs += run.irq == irq;
	}
	if (tail != head)
		complain("CPU %d: %llu bytes are no record", e->cpu,
			 (unsigned long long)(head - tail));
	__atomic_store_n(&e->meta->aux_tail, tail, __ATOMIC_RELEASE);
	read_records(e);
	return runs;
}

static int irqs(uint32_t irq)
{
	uint64_t runs = 0;
	int i;

	signal(SIGTERM, end);
	open_all("kdtl_handlers", 7, 4, PROT_READ | PROT_WRITE);
	all_ioctl(PERF_EVENT_IOC_ENABLE);
	printf("# following %d CPUs\n", nr_events);
	fflush(stdout);
	while (!ended) {
		wait_for_data(50);
		for (i = 0; i < nr_events; i++)
			runs += read_irqs(&events[i], irq);
	}
	all_ioctl(PERF_EVENT_IOC_DISABLE);
	for (i = 0; i < nr_events; i++)
		runs += read_irqs(&events[i], irq);
	printf("runs %llu\n", (unsigned long long)runs);
	return wrong != 0;
}

/* M.3: nonsense in the fields that a reader may write harms nobody but that reader. */
static int garbage(void)
{
	uint64_t random = 1;
	int i;

	signal(SIGTERM, end);
	open_all("kdtl_fake", 15, 4, PROT_READ | PROT_WRITE);
	all_ioctl(PERF_EVENT_IOC_ENABLE);
	printf("# following %d CPUs\n", nr_events);
	fflush(stdout);
	while (!ended) {
		for (i = 0; i < nr_events; i++) {
			struct perf_event_mmap_page *meta = events[i].meta;

			random = random * 6364136223846793005ULL + 1442695040888963407ULL;
			meta->aux_tail = random % 3 ? meta->aux_head - random % 99999 : random;
			meta->data_tail = random >> 7;
			meta->aux_head ^= random % 5 ? 0 : random;
			meta->data_head ^= random % 7 ? 0 : random;
			meta->aux_offset = random >> 20;
			meta->aux_size = random >> 3;
			/* perf may have switched the event off because it found no room. */
			ioctl(events[i].fd, PERF_EVENT_IOC_ENABLE, 0);
		}
		usleep(500);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *arg = argc > 2 ? argv[2] : NULL;

	page = sysconf(_SC_PAGESIZE);
	if (!strcmp(what, "rules"))
		return rules(arg ?: "kdtl_sched");
	if (!strcmp(what, "count"))
		return count();
	if (!strcmp(what, "exact"))
		return exact();
	if (!strcmp(what, "full"))
		return full();
	if (!strcmp(what, "made"))
		return made(arg ? atoi(arg) : 7);
	if (!strcmp(what, "gap"))
		return gap();
	if (!strcmp(what, "overwrite"))
		return overwrite();
	if (!strcmp(what, "raw"))
		return raw();
	if (!strcmp(what, "garbage"))
		return garbage();
	if (!strcmp(what, "follow"))
		return follow(arg ?: "kdtl_sched");
	if (!strcmp(what, "irq") && arg)
		return irqs(atoi(arg));
	fprintf(stderr,
		"usage: perf_mmap rules|count|exact|full|made|gap|overwrite|raw|garbage|follow|irq [ARGUMENT]\n");
	return 2;
}
