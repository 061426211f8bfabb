// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions and counting events that stay until SIGTERM, for idle.sh
 *
 *	idle sessions SOURCE NR NS	NR sessions with a period of NS ns, on all CPUs
 *	idle sessions SOURCE NR NS CPU	the same sessions, on CPU only
 *	idle reader SOURCE NS CPU	a session on CPU, whose reader runs there as idle_reader,
 *					and writes a line each time that it has read
 *	idle events PMU			perf events: one of each mask on each CPU
 *
 * Prints the CPUs on which they are active.  Except for the reader, it runs on CPU 0.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../api/include/uapi/linux/kdtl.h"
#include "must.h"
#include "pin.h"

static int nr_cpus;

static void print_active(const unsigned int *active)
{
	int cpu;

	printf("active:");
	for (cpu = 0; cpu < nr_cpus; cpu++)
		if (active[cpu])
			printf(" %d", cpu);
	printf("\n");
	fflush(stdout);
}

static int open_session(const char *source, uint64_t period, int cpu,
			unsigned int *active)
{
	struct kdtl_stream_attr attr = { .aux_pages = 16, .period = period };
	struct kdtl_stream_info info = { 0 };
	int fd = open("/dev/kdtl", O_RDWR | O_NONBLOCK);
	cpu_set_t set;

	must(fd >= 0);
	if (cpu >= 0) {
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		attr.cpus = (uintptr_t)&set;
		attr.cpus_len = sizeof(set);
	}
	strncpy(attr.source, source, KDTL_SOURCE_LEN - 1);
	must(!ioctl(fd, KDTL_IOC_SETUP, &attr));
	must(!ioctl(fd, KDTL_IOC_START));
	for (info.cpu = 0; info.cpu < nr_cpus; info.cpu++)
		if (!ioctl(fd, KDTL_IOC_INFO, &info) && info.state & KDTL_STREAM_ONLINE)
			active[info.cpu]++;
	return fd;
}

/* Reads for ever. */
static void read_on(int fd, int cpu)
{
	static char buf[1 << 16];

	prctl(PR_SET_NAME, "idle_reader");
	pin(0, cpu);
	must(!fcntl(fd, F_SETFL, 0));
	for (;;) {
		must(read(fd, buf, sizeof(buf)) > 0);
		puts("read");
		fflush(stdout);
	}
}

static void open_events(const char *pmu, unsigned int *active)
{
	static const unsigned int masks[] = {
		KDTL_MASK_ALL, KDTL_MASK_CEDE, KDTL_MASK_PREEMPT, KDTL_MASK_FAULT,
	};
	struct perf_event_attr attr = { .size = sizeof(attr) };
	unsigned int i;
	char path[200];
	int cpu;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	f = fopen(path, "r");
	must(f && fscanf(f, "%u", &attr.type) == 1);
	for (cpu = 0; cpu < nr_cpus; cpu++)
		for (i = 0; i < ARRAY_SIZE(masks); i++) {
			attr.config = masks[i];
			must(syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0) >= 0);
			active[cpu]++;
		}
}

int main(int argc, char **argv)
{
	unsigned int *active;
	int i;

	pin(0, 0);
	nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	active = calloc(nr_cpus, sizeof(*active));
	must(active);

	if (argc >= 5 && !strcmp(argv[1], "sessions")) {
		for (i = 0; i < atoi(argv[3]); i++)
			open_session(argv[2], strtoull(argv[4], NULL, 10),
				     argc > 5 ? atoi(argv[5]) : -1, active);
	} else if (argc == 5 && !strcmp(argv[1], "reader")) {
		i = open_session(argv[2], strtoull(argv[3], NULL, 10), atoi(argv[4]), active);
		print_active(active);
		read_on(i, atoi(argv[4]));
	} else if (argc == 3 && !strcmp(argv[1], "events")) {
		open_events(argv[2], active);
	} else {
		fprintf(stderr, "usage: idle sessions SOURCE NR NS [CPU] | idle reader SOURCE NS CPU | idle events PMU\n");
		return 2;
	}
	print_active(active);
	for (;;)
		pause();
}
