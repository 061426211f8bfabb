// SPDX-License-Identifier: GPL-2.0
/*
 * vpa_fixes PMU CASE - shows what patches of scripts/upstream/vpa-dtl mend, and what they add
 *
 *	task		an event that follows a task, with CPU -1, is refused
 *	reenable	an event logs again after it was disabled
 *	killed		a program ends by a signal while its event is active
 *	period		PERF_EVENT_IOC_PERIOD of an active event
 *	second		a second event on the CPU does no harm, whether it is refused or not
 *	memory		without memory for the log, the next event still opens
 *	wrap		all entries, in order, while a small area is filled often
 *	full		data that nobody has read stays as it is
 *	lapped		entries that the hypervisor has overwritten are told
 *	last		entries that are there when an event is read, or stopped, are copied
 *	guest		a guest of KVM has the PMU, and the entries that KVM makes
 *	burst		a log as large as the hypervisor accepts it
 *	kept		a log that the hypervisor does not give back is not freed
 *	faster		the log is read more often while it fills fast, and only then
 *	several		events on one CPU, each of which gets what it wants
 *
 * kdtl_fake_hv plays the hypervisor, on CPU 0. Its entries carry a number and a checksum.
 * Only "guest" needs a real hypervisor.
 * Exits with 0 if everything was right; otherwise prints what was not: "wrong: ...". Other
 * lines begin with "note:".
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
#include "../../guest/pin.h"

#define DEVICES		"/sys/bus/event_source/devices/"
#define FAKE_HV		"/sys/kernel/debug/kdtl_fake_hv/"
#define CTL		FAKE_HV "ctl"
#define INFO		FAKE_HV "info"
#define ENTRY		sizeof(struct kdtl_entry)
#define AUX_SIZE	0x10000
#define LARGE_AUX_SIZE	0x400000
/* A log of 4096 bytes has 85 entries, all but one of which can be read. */
#define LOG		84
#define LOG_16K		340
/* An hour, so that the driver does not poll meanwhile. */
#define NEVER		3600000000000
/* Two times around an area, and a bit. */
#define MANY		3000
/* In seconds; a poll takes a millisecond, so this is for drivers that never do what they should. */
#define PATIENCE	10

static const char *pmu;
static long page;

/* Without the patches, a program must not end while its event is active. */
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
	size_t		aux_size;
	__u64	data_tail;
	/* Sums over the AUX records read so far. */
	__u64	records;
	__u64	told;
	__u64	flags;
	bool		piece;
	/* About the entries read so far. */
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

static void hv(const char *words)
{
	must(!write_to(CTL, words));
}

/* Returns what kdtl_fake_hv says about CPU 0, from the key on; valid until the next call. */
static const char *hv_says(const char *key)
{
	FILE *f = fopen(INFO, "r");
	static char line[512];
	char *at;

	must(f && fgets(line, sizeof(line), f));
	fclose(f);
	at = strstr(line, key);
	must(at);
	return at;
}

static unsigned long hv_info(const char *key)
{
	return strtoul(hv_says(key) + strlen(key), NULL, 0);
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

static int event_open_attr(pid_t pid, int cpu, __u64 config, __u64 ns)
{
	struct perf_event_attr attr = {
		.size		= sizeof(attr),
		.config		= config,
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

static int event_open_period(pid_t pid, int cpu, __u64 ns)
{
	return event_open_attr(pid, cpu, 7, ns);
}

static int event_open(pid_t pid, int cpu)
{
	return event_open_period(pid, cpu, 1000000);
}

static struct event event_map_size(int fd, size_t aux_size)
{
	struct event e = { .fd = fd, .aux_size = aux_size };
	size_t size = 17 * page;

	must(fd >= 0);
	e.meta = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(e.meta != MAP_FAILED);
	e.meta->aux_offset = size;
	e.meta->aux_size = aux_size;
	e.aux = mmap(NULL, aux_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, size);
	must(e.aux != MAP_FAILED);
	return e;
}

static struct event event_map(int fd)
{
	return event_map_size(fd, AUX_SIZE);
}

static void enable(const struct event *e)
{
	active = e->fd;
	must(!ioctl(e->fd, PERF_EVENT_IOC_ENABLE, 0));
}

static void disable(const struct event *e)
{
	must(!ioctl(e->fd, PERF_EVENT_IOC_DISABLE, 0));
}

/* After this, all entries so far are in the AUX area. */
static void update(const struct event *e)
{
	__u64 count;

	must(read(e->fd, &count, sizeof(count)) == sizeof(count));
}

static __u64 aux_head(const struct event *e)
{
	return __atomic_load_n(&e->meta->aux_head, __ATOMIC_ACQUIRE);
}

/* The first entry carries the time base, so it does not count. */
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

/* Read the AUX records that have come. */
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
			e->records++;
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

/* Read the entries that have come, as user space is told to; if @gaps, some may be missing. */
static void read_aux(struct event *e, bool gaps)
{
	__u64 head = aux_head(e), pos = e->meta->aux_tail;
	struct kdtl_entry entry;

	if (head - pos > e->aux_size)
		wrong("%lu bytes are said to be in an area of %zu", head - pos,
		      e->aux_size);
	if ((head - pos) % ENTRY)
		wrong("a piece of an entry: aux_head is %lu", head);
	for (; pos < head; pos += ENTRY) {
		copy_out(e->aux, e->aux_size, pos, &entry, ENTRY);
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
	disable(&e);
	enable(&e);
	/* The hypervisor gets the log anew, and numbers its entries anew. */
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

	/* All has been released: the CPU can be logged again. */
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
	if (fd < 0 && errno != EBUSY)
		wrong("a second event on the CPU: %s", strerror(errno));
	close(fd);
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
	/* There is no room for less than a log's worth, so nothing need be lost. */
	hv_put(80);
	wait_for(&e, room - 1, "full");
	hv_put(40);
	/* Wait for a hundred polls. */
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

	hv("limit 4096");
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

static void test_last(void)
{
	struct event e = event_map(event_open_period(-1, 0, NEVER));

	enable(&e);
	hv_put(10);
	update(&e);
	if (written(&e) != 10)
		wrong("%lu entries after read(), not 10", written(&e));
	hv_put(7);
	disable(&e);
	if (written(&e) != 17)
		wrong("%lu entries after it was disabled, not 17", written(&e));
	read_aux(&e, false);
	read_records(&e);
	if (e.flags)
		wrong("AUX records' flags are %#lx", e.flags);
}

/* ------------------------------------------------------- what the patches offer */

/* Give CPU 0 something to do, so that the virtual processors wait for each other. */
static void keep_busy(void)
{
	pid_t parent = getpid(), pid = fork();

	must(pid >= 0);
	if (pid)
		return;
	pin(0, 0);
	while (getppid() == parent)
		;
	_exit(0);
}

static void test_guest(void)
{
	__u64 head, pos, last = __builtin_ppc_get_timebase(), stolen = 0, time;
	struct kdtl_entry entry;
	struct event e;
	int config, fd;

	for (config = 1; config < 7; config *= 2) {
		fd = event_open_attr(-1, 0, config, 1000000);
		if (fd >= 0 || errno != EOPNOTSUPP)
			wrong("config %d, which KVM does not tell: fd %d (%s)", config, fd,
			      strerror(errno));
	}
	keep_busy();
	e = event_map(event_open(-1, 0));
	enable(&e);
	wait_for(&e, 50, "a busy guest of KVM");
	disable(&e);
	head = aux_head(&e);
	for (pos = ENTRY; pos < head && pos < AUX_SIZE - ENTRY; pos += ENTRY) {
		memcpy(&entry, e.aux + pos, ENTRY);
		time = be64toh(entry.timebase);
		if (time <= last || time > __builtin_ppc_get_timebase())
			wrong("an entry of %lu, after one of %lu", time, last);
		if (entry.dispatch_reason != 7 || entry.preempt_reason)
			wrong("reasons %d, %d", entry.dispatch_reason,
			      entry.preempt_reason);
		last = time;
		stolen += be32toh(entry.enqueue_to_dispatch_time);
	}
	if (!stolen)
		wrong("no time was stolen");
	printf("note: %lu entries, %lu ticks stolen\n", written(&e), stolen);
}

/* Write as many entries as fit the log at once; then one more. */
static void fits(struct event *e, int n)
{
	enable(e);
	/* The hypervisor gets the log anew, and numbers its entries anew. */
	e->next_seq = 0;
	hv_put(n);
	update(e);
	if (written(e) != e->read + n)
		wrong("%lu entries of %d in one go", written(e) - e->read, n);
	read_aux(e, false);
	read_records(e);
	if (e->flags)
		wrong("AUX records' flags are %#lx after %d entries", e->flags, n);
	hv_put(n + 1);
	update(e);
	read_aux(e, true);
	read_records(e);
	if (!(e->flags & PERF_AUX_FLAG_PARTIAL))
		wrong("%d entries fit the log", n + 1);
	e->flags = 0;
	disable(e);
}

static void test_burst(void)
{
	struct event e = event_map_size(event_open_period(-1, 0, NEVER), LARGE_AUX_SIZE);

	enable(&e);
	hv_put(800);
	update(&e);
	if (written(&e) != 800)
		wrong("%lu entries of 800 in one go", written(&e));
	read_aux(&e, false);
	disable(&e);
	fits(&e, 0x10000 / ENTRY - 1);
	hv("limit 16384");
	fits(&e, LOG_16K);
	hv("limit 4096");
	fits(&e, LOG);
}

static void test_kept(void)
{
	struct event e = event_map(event_open(-1, 0));
	const char *complaint;

	enable(&e);
	logs(&e, 10, "enabled");
	/* -2 is H_FUNCTION. */
	hv("refuse 0 -2");
	disable(&e);
	must(!munmap(e.aux, AUX_SIZE) && !munmap(e.meta, 17 * page));
	close(e.fd);
	active = -1;
	hv("refuse 0 0");
	complaint = hv_says("complaint=");
	if (!strstr(complaint, "complaint=none"))
		wrong("the log that was not given back: %s", complaint);

	/* The hypervisor still writes to the log. */
	hv_put(10);
	e = event_map(event_open(-1, 0));
	enable(&e);
	logs(&e, 10, "after the log was not given back");
	disable(&e);
	if (hv_info("registered="))
		wrong("the next event has not given it back");
}

static void sleep_ms(unsigned int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t))
		;
}

/* 6000 entries come in a period of the event. */
static void test_faster(void)
{
	struct event e = event_map_size(event_open_period(-1, 0, 200000000),
					LARGE_AUX_SIZE);
	__u64 first;
	int i;

	enable(&e);
	hv("run 0 0 1000000 30");
	sleep_ms(1000);
	/* The driver could not know that they would come. */
	read_aux(&e, true);
	read_records(&e);
	first = e.read;
	e.flags = 0;
	sleep_ms(1500);
	hv("halt 0");
	update(&e);
	read_aux(&e, false);
	read_records(&e);
	if (e.flags)
		wrong("AUX records' flags are %#lx", e.flags);
	if (e.read - first < 1000)
		wrong("%lu entries in 1.5 s", e.read - first);

	/* The driver goes back to the event's period. */
	sleep_ms(1000);
	read_records(&e);
	e.records = 0;
	for (i = 0; i < 200; i++) {
		hv_put(1);
		sleep_ms(5);
	}
	read_records(&e);
	if (e.records > 50)
		wrong("the log was read %lu times in a second, not 5 times", e.records);
}

/* The kinds of kdtl_fake_hv's entry number seq, by PAPR's names. */
static __u64 seq_kinds(__u64 seq)
{
	__u8 reason = seq + (seq >> 8);

	switch (reason) {
	case KDTL_PREEMPT_CEDE:
	case KDTL_PREEMPT_CONFER:
		return KDTL_MASK_CEDE;
	case KDTL_PREEMPT_TIME_SLICE:
		return KDTL_MASK_PREEMPT;
	case KDTL_PREEMPT_MIGRATION:
	case KDTL_PREEMPT_PAGE_FAULT:
		return KDTL_MASK_FAULT;
	default:
		return 7;
	}
}

/* The event must have the entries of its kinds from e->next_seq up to end, and no others. */
static void had_kinds(struct event *e, __u64 config, __u64 end)
{
	__u64 head = aux_head(e), pos = e->meta->aux_tail;
	struct kdtl_entry entry;

	for (; pos < head; pos += ENTRY) {
		copy_out(e->aux, e->aux_size, pos, &entry, ENTRY);
		if (e->begun) {
			while (!(seq_kinds(e->next_seq) & config))
				e->next_seq++;
			check_entry(e, &entry, false);
		}
		e->begun = true;
	}
	while (e->next_seq < end && !(seq_kinds(e->next_seq) & config))
		e->next_seq++;
	if (e->next_seq != end)
		wrong("config %lu has the entries up to %lu, not up to %lu", config,
		      e->next_seq, end);
	__atomic_store_n(&e->meta->aux_tail, head, __ATOMIC_RELEASE);
}

static void has_kinds(struct event *e, __u64 config, __u64 end)
{
	update(e);
	had_kinds(e, config, end);
}

static void mask_is(unsigned long mask)
{
	unsigned long is = hv_info("mask=");

	if (is != mask)
		wrong("the enable mask is %lu, not %lu", is, mask);
}

static void test_several(void)
{
	struct event cede = event_map(event_open_attr(-1, 0, KDTL_MASK_CEDE, NEVER));
	struct event fault, none = {}, all;
	__u64 before, seq, n = 0;
	int fd;

	enable(&cede);
	hv_put(40);
	fd = event_open_attr(-1, 0, KDTL_MASK_FAULT, NEVER);
	if (fd < 0)
		wrong("a second event: %s", strerror(errno));
	fault = event_map(fd);
	/*
	 * When an event is enabled, perf deletes the others, and adds all of them again: entries
	 * that are there then are copied, and the hypervisor gets the log anew, and numbers anew.
	 */
	enable(&fault);
	mask_is(KDTL_MASK_CEDE | KDTL_MASK_FAULT);
	had_kinds(&cede, KDTL_MASK_CEDE, 40);
	cede.next_seq = 0;
	hv_put(300);
	has_kinds(&cede, KDTL_MASK_CEDE, 300);
	has_kinds(&fault, KDTL_MASK_FAULT, 300);

	/* One more event has no AUX area, and a third one comes and goes. */
	none.fd = event_open_attr(-1, 0, 7, 1000000);
	enable(&none);
	all = event_map(event_open_attr(-1, 0, 7, 1000000));
	enable(&all);
	mask_is(7);
	cede.next_seq = 0;
	fault.next_seq = 0;
	hv_put(500);
	has_kinds(&all, 7, 500);
	disable(&all);
	hv_put(500);
	has_kinds(&cede, KDTL_MASK_CEDE, 1000);
	has_kinds(&fault, KDTL_MASK_FAULT, 1000);
	close(none.fd);
	mask_is(KDTL_MASK_CEDE | KDTL_MASK_FAULT);

	/* Two events write to one area. */
	fd = event_open_attr(-1, 0, KDTL_MASK_PREEMPT, NEVER);
	must(fd >= 0 && !ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, fault.fd));
	must(!ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	mask_is(7);
	before = aux_head(&fault);
	hv_put(256);
	must(!ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
	update(&fault);
	for (seq = 0; seq < 256; seq++) {
		n += !!(seq_kinds(seq) & KDTL_MASK_PREEMPT);
		n += !!(seq_kinds(seq) & KDTL_MASK_FAULT);
	}
	if (aux_head(&fault) - before != n * ENTRY)
		wrong("%lu bytes of two events in an area, not %lu",
		      aux_head(&fault) - before, n * ENTRY);
	close(fd);

	/* Each of them may be the last one to be disabled. */
	disable(&cede);
	mask_is(KDTL_MASK_FAULT);
	disable(&fault);
	mask_is(0);
	if (hv_info("registered="))
		wrong("nobody has given the log back");
	read_records(&cede);
	read_records(&fault);
	if (cede.flags || fault.flags)
		wrong("AUX records' flags are %#lx", cede.flags | fault.flags);
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
	{ "guest", test_guest },
	{ "burst", test_burst },
	{ "kept", test_kept },
	{ "faster", test_faster },
	{ "several", test_several },
};

int main(int argc, char **argv)
{
	size_t i;

	if (argc != 3) {
		fprintf(stderr, "usage: vpa_fixes PMU CASE\n");
		return 2;
	}
	pmu = argv[1];
	page = sysconf(_SC_PAGESIZE);
	setvbuf(stdout, NULL, _IOLBF, 0);
	must(!atexit(disable_active));
	/* A case that went wrong may have left this. */
	if (!access(CTL, W_OK)) {
		hv("halt 0");
		hv("refuse 0 0");
		hv("limit 0");
	}
	/* CPU 0 is logged, so the program runs on another one. */
	pin(0, 1);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!strcmp(cases[i].name, argv[2])) {
			cases[i].run();
			return 0;
		}
	}
	fprintf(stderr, "vpa_fixes: no such case: %s\n", argv[2]);
	return 2;
}
