// SPDX-License-Identifier: GPL-2.0
/*
 * vpa_fixes PMU CASE - what patches of scripts/upstream/vpa-dtl mend
 *
 *	task		an event that follows a task, with CPU -1, is refused
 *	reenable	an event logs again after it was disabled
 *	killed		a program ends by a signal while its event is active
 *	period		PERF_EVENT_IOC_PERIOD of an active event
 *	second		a second event on the CPU is refused, and does no harm
 *	memory		without memory for the log, the next event still opens
 *	wrap		all entries, in order, while a small area is filled often
 *	full		what nobody has read stays as it is
 *	lapped		entries that the hypervisor has overwritten are told
 *	last		what is there when an event is read, or stopped, is copied
 *
 * kdtl_fake_hv plays the hypervisor, on CPU 0. Its entries carry a number, and a sum.
 * Exits with 0 if everything was right, and else prints what was not: "wrong: ...".
 */
#define _GNU_SOURCE
#include <endian.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../../api/include/uapi/linux/kdtl.h"
#include "../../guest/must.h"

#define DEVICES		"/sys/bus/event_source/devices/"
#define CTL		"/sys/kernel/debug/kdtl_fake_hv/ctl"
#define ENTRY		sizeof(struct kdtl_entry)
#define AUX_SIZE	0x10000
/* A log has 85 entries, all but one of which can be read. */
#define LOG		84
/* Two laps of an area, and a piece. */
#define MANY		3000
/* A poll takes a millisecond: this is for drivers that never do what they should. */
#define PATIENCE	10

static const char *pmu;
static long page;

/* Without patches, a program must not end while its event is active. */
static int active = -1;

static void disable_active(void)
{
	if (active >= 0)
		ioctl(active, PERF_EVENT_IOC_DISABLE, 0);
}

struct event {
	int		fd;
	struct perf_event_mmap_page *meta;
	__u8		*aux;
	__u64	data_tail;
	/* Of the AUX records read so far. */
	__u64	told;
	__u64	flags;
	bool		piece;
	/* Of the entries read so far. */
	__u64	read;
	__u64	next_seq;
	bool		begun;
};

#define wrong(...) do {							\
	printf("wrong: " __VA_ARGS__);					\
	printf("\n");							\
	exit(1);							\
} while (0)

/* ------------------------------------------------------------ the hypervisor */

static int write_to(const char *path, const char *words)
{
	int fd = open(path, O_WRONLY), err = 0;

	must(fd >= 0);
	if (write(fd, words, strlen(words)) < 0)
		err = errno;
	close(fd);
	return err;
}

static void hv_put(int n)
{
	char words[64];
	int err;

	snprintf(words, sizeof(words), "play 0 put=%d", n);
	err = write_to(CTL, words);
	if (err)
		wrong("there is no log to write to (%s)", strerror(err));
}

/* As fakehv_sum() computes it. */
static __u64 entry_sum(const struct kdtl_entry *e)
{
	__u64 sum = 0x6b64746c, word;
	int i;

	for (i = 0; i < 5; i++) {
		memcpy(&word, (const char *)e + 8 * i, 8);
		sum = (sum ^ word) * 0xff51afd7ed558ccdULL;
		sum = sum << 31 | sum >> 33;
	}
	return sum;
}

/* ------------------------------------------------------------------ an event */

static int event_open_period(pid_t pid, int cpu, __u64 ns)
{
	struct perf_event_attr attr = {
		.size		= sizeof(attr),
		.config		= 7,
		.sample_period	= ns,
		.disabled	= 1,
	};
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), DEVICES "%s/type", pmu);
	f = fopen(path, "r");
	must(f && fscanf(f, "%u", &attr.type) == 1);
	fclose(f);
	return syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int event_open(pid_t pid, int cpu)
{
	return event_open_period(pid, cpu, 1000000);
}

static struct event event_map(int fd)
{
	struct event e = { .fd = fd };
	size_t size = 17 * page;

	must(fd >= 0);
	e.meta = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(e.meta != MAP_FAILED);
	e.meta->aux_offset = size;
	e.meta->aux_size = AUX_SIZE;
	e.aux = mmap(NULL, AUX_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, size);
	must(e.aux != MAP_FAILED);
	return e;
}

static void enable(const struct event *e)
{
	active = e->fd;
	must(!ioctl(e->fd, PERF_EVENT_IOC_ENABLE, 0));
}

static __u64 aux_head(const struct event *e)
{
	return __atomic_load_n(&e->meta->aux_head, __ATOMIC_ACQUIRE);
}

/* The first entry carries the time base. */
static __u64 written(const struct event *e)
{
	__u64 n = aux_head(e) / ENTRY;

	return n ? n - 1 : 0;
}

static void wait_for(const struct event *e, __u64 entries, const char *what)
{
	time_t end = time(NULL) + PATIENCE;

	while (written(e) < entries) {
		if (time(NULL) > end)
			wrong("%s: %lu entries, not %lu", what, written(e), entries);
		usleep(1000);
	}
}

static void copy_out(const __u8 *ring, size_t size, __u64 pos, void *to, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		((__u8 *)to)[i] = ring[(pos + i) % size];
}

/* The AUX records that have come. */
static void read_records(struct event *e)
{
	__u64 head = __atomic_load_n(&e->meta->data_head, __ATOMIC_ACQUIRE);
	const __u8 *ring = (const __u8 *)e->meta + page;
	struct perf_event_header header;
	__u64 aux[3];

	while (e->data_tail < head) {
		copy_out(ring, 16 * page, e->data_tail, &header, sizeof(header));
		must(header.size);
		if (header.type == PERF_RECORD_LOST)
			wrong("perf has lost records");
		if (header.type == PERF_RECORD_AUX) {
			copy_out(ring, 16 * page, e->data_tail + sizeof(header), aux,
				 sizeof(aux));
			e->told += aux[1];
			e->flags |= aux[2];
			e->piece |= aux[1] % ENTRY != 0;
		}
		e->data_tail += header.size;
	}
	__atomic_store_n(&e->meta->data_tail, head, __ATOMIC_RELEASE);
}

static void check_entry(struct event *e, const struct kdtl_entry *entry, bool gaps)
{
	__u64 seq = be64toh(entry->srr0);

	if (be64toh(entry->srr1) != entry_sum(entry))
		wrong("entry %lu is not what the hypervisor wrote", e->read);
	if (seq != e->next_seq && !(gaps && seq > e->next_seq))
		wrong("entry %lu is the hypervisor's %lu, not its %lu", e->read, seq,
		      e->next_seq);
	e->next_seq = seq + 1;
	e->read++;
}

/* What has come since, as user space is told to read it; gaps: some may be missing. */
static void read_aux(struct event *e, bool gaps)
{
	__u64 head = aux_head(e), pos = e->meta->aux_tail;
	struct kdtl_entry entry;

	if (head - pos > AUX_SIZE)
		wrong("%lu bytes are said to be in an area of %d", head - pos, AUX_SIZE);
	if ((head - pos) % ENTRY)
		wrong("a piece of an entry: aux_head is %lu", head);
	for (; pos < head; pos += ENTRY) {
		copy_out(e->aux, AUX_SIZE, pos, &entry, ENTRY);
		if (e->begun)
			check_entry(e, &entry, gaps);
		e->begun = true;
	}
	__atomic_store_n(&e->meta->aux_tail, head, __ATOMIC_RELEASE);
}

static void logs(struct event *e, int n, const char *what)
{
	hv_put(n);
	wait_for(e, e->read + n, what);
	read_aux(e, false);
}

/* ------------------------------------------------------------------- the cases */

static void test_task(void)
{
	int fd = event_open(0, -1);

	if (fd >= 0 || errno != EINVAL)
		wrong("an event that follows a task: fd %d (%s)", fd, strerror(errno));
}

static void test_reenable(void)
{
	struct event e = event_map(event_open(-1, 0));

	enable(&e);
	logs(&e, 10, "enabled");
	must(!ioctl(e.fd, PERF_EVENT_IOC_DISABLE, 0));
	enable(&e);
	/* The hypervisor has the log anew, and numbers anew. */
	e.next_seq = 0;
	logs(&e, 10, "enabled again");
}

static void test_killed(void)
{
	int pipes[2], status;
	struct event e;
	pid_t pid;
	char c;

	must(!pipe(pipes));
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		e = event_map(event_open(-1, 0));
		enable(&e);
		logs(&e, 10, "enabled");
		must(write(pipes[1], "", 1) == 1);
		pause();
	}
	close(pipes[1]);
	if (read(pipes[0], &c, 1) != 1)
		wrong("the event did not log");
	must(!kill(pid, SIGKILL));
	must(waitpid(pid, &status, 0) == pid);

	/* All is released: the CPU can be logged again. */
	e = event_map(event_open(-1, 0));
	enable(&e);
	logs(&e, 10, "after another process was killed");
}

static void test_period(void)
{
	struct event e = event_map(event_open(-1, 0));
	__u64 ns = 2000000;

	enable(&e);
	logs(&e, 10, "enabled");
	must(!ioctl(e.fd, PERF_EVENT_IOC_PERIOD, &ns));
	logs(&e, 10, "with another period");
}

static void test_second(void)
{
	struct event e = event_map(event_open(-1, 0));
	int fd;

	enable(&e);
	logs(&e, 10, "enabled");
	fd = event_open(-1, 0);
	if (fd >= 0 || errno != EBUSY)
		wrong("a second event on the CPU: fd %d (%s)", fd, strerror(errno));
	hv_put(10);
	wait_for(&e, 20, "after a second event");
	read_aux(&e, false);
}

static void test_memory(void)
{
	struct event e;
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/sys/module/%s/parameters/no_memory", pmu);
	must(!write_to(path, "1"));
	fd = event_open(-1, 0);
	if (fd >= 0 || errno != ENOMEM)
		wrong("without memory: fd %d (%s)", fd, strerror(errno));
	must(!write_to(path, "0"));
	fd = event_open(-1, 0);
	if (fd < 0)
		wrong("after an event without memory: %s", strerror(errno));
	e = event_map(fd);
	enable(&e);
	logs(&e, 10, "after an event without memory");
}

static void test_wrap(void)
{
	struct event e = event_map(event_open(-1, 0));
	int n;

	enable(&e);
	for (n = 0; n < MANY; n += 60) {
		logs(&e, 60, "round the area");
		read_records(&e);
	}
	if (e.piece)
		wrong("an AUX record that ends within an entry");
	if (e.told != (e.read + 1) * ENTRY || e.flags)
		wrong("AUX records: %lu bytes, flags %#lx", e.told, e.flags);
}

static void test_full(void)
{
	struct event e = event_map(event_open(-1, 0));
	const __u64 room = AUX_SIZE / ENTRY - 1;
	__u8 before[AUX_SIZE / 2];
	__u64 n;

	enable(&e);
	for (n = 0; n + 60 < room; n += 60) {
		hv_put(60);
		wait_for(&e, n + 60, "not full yet");
	}
	memcpy(before, e.aux, sizeof(before));
	/* Less than a log's worth has no room, so nothing need be lost. */
	hv_put(80);
	wait_for(&e, room - 1, "full");
	hv_put(40);
	/* A hundred polls. */
	usleep(100000);
	if (memcmp(before, e.aux, sizeof(before)))
		wrong("what nobody has read was overwritten");
	if (written(&e) != room)
		wrong("%lu entries where %lu have room", written(&e), room);
	read_aux(&e, false);
	wait_for(&e, n + 120, "read");
	read_aux(&e, false);
	read_records(&e);
	if (e.flags)
		wrong("AUX records' flags are %#lx", e.flags);
}

static void test_lapped(void)
{
	struct event e = event_map(event_open(-1, 0));

	enable(&e);
	logs(&e, LOG, "enabled");
	read_records(&e);
	if (e.flags)
		wrong("nothing is missing, and AUX records' flags are %#lx", e.flags);
	hv_put(5 * LOG);
	wait_for(&e, 2 * LOG, "lapped");
	read_aux(&e, true);
	read_records(&e);
	if (!(e.flags & PERF_AUX_FLAG_PARTIAL))
		wrong("%lu entries are missing, and no AUX record says so",
		      e.next_seq - e.read);
	e.flags = 0;
	logs(&e, 10, "after the gap");
	read_records(&e);
	if (e.flags)
		wrong("nothing more is missing, and AUX records' flags are %#lx", e.flags);
}

/* The driver does not poll meanwhile. */
static void test_last(void)
{
	struct event e = event_map(event_open_period(-1, 0, 3600000000000));
	__u64 count;

	enable(&e);
	hv_put(10);
	must(read(e.fd, &count, sizeof(count)) == sizeof(count));
	if (written(&e) != 10)
		wrong("%lu entries after read(), not 10", written(&e));
	hv_put(7);
	must(!ioctl(e.fd, PERF_EVENT_IOC_DISABLE, 0));
	if (written(&e) != 17)
		wrong("%lu entries after it was disabled, not 17", written(&e));
	read_aux(&e, false);
	read_records(&e);
	if (e.flags)
		wrong("AUX records' flags are %#lx", e.flags);
}

static const struct {
	const char	*name;
	void		(*run)(void);
} cases[] = {
	{ "task", test_task },
	{ "reenable", test_reenable },
	{ "killed", test_killed },
	{ "period", test_period },
	{ "second", test_second },
	{ "memory", test_memory },
	{ "wrap", test_wrap },
	{ "full", test_full },
	{ "lapped", test_lapped },
	{ "last", test_last },
};

int main(int argc, char **argv)
{
	cpu_set_t cpus;
	size_t i;

	if (argc != 3) {
		fprintf(stderr, "usage: vpa_fixes PMU CASE\n");
		return 2;
	}
	pmu = argv[1];
	page = sysconf(_SC_PAGESIZE);
	setvbuf(stdout, NULL, _IOLBF, 0);
	must(!atexit(disable_active));
	/* CPU 0 is the one that is logged. */
	CPU_ZERO(&cpus);
	CPU_SET(1, &cpus);
	must(!sched_setaffinity(0, sizeof(cpus), &cpus));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!strcmp(cases[i].name, argv[2])) {
			cases[i].run();
			return 0;
		}
	}
	fprintf(stderr, "vpa_fixes: no such case: %s\n", argv[2]);
	return 2;
}
