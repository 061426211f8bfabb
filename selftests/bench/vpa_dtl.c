// SPDX-License-Identifier: GPL-2.0
/*
 * vpa_dtl PERIOD COMMAND... - run COMMAND under Linux's own vpa_dtl PMU
 *
 * The PMU runs on CPU 0, is polled every PERIOD ns, and has an AUX area that holds everything.
 * Prints to stderr how many entries got there.
 */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "spawn.h"

#define TYPE		"/sys/bus/event_source/devices/vpa_dtl/type"
#define ENTRY_SIZE	48
#define DATA_PAGES	16UL
#define AUX_SIZE	(32UL << 20)
#define DTL_ALL		7

static unsigned int pmu_type(void)
{
	unsigned int type;
	FILE *f = fopen(TYPE, "r");

	if (!f || fscanf(f, "%u", &type) != 1)
		err(1, "%s", TYPE);
	fclose(f);
	return type;
}

int main(int argc, char **argv)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config = DTL_ALL,
		.sample_type = PERF_SAMPLE_TIME,
		.disabled = 1,
	};
	struct perf_event_mmap_page *meta;
	unsigned long entries;
	int fd, status;

	if (argc < 3)
		errx(2, "usage: vpa_dtl PERIOD COMMAND...");
	attr.type = pmu_type();
	attr.sample_period = strtoul(argv[1], NULL, 0);
	fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		err(1, "perf_event_open");
	meta = mmap(NULL, (1 + DATA_PAGES) * page, PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	if (meta == MAP_FAILED)
		err(1, "mmap");
	meta->aux_offset = (1 + DATA_PAGES) * page;
	meta->aux_size = AUX_SIZE;
	if (mmap(NULL, AUX_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 meta->aux_offset) == MAP_FAILED)
		err(1, "mmap of the AUX area");
	if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		err(1, "enable");

	status = spawn(argv + 2);

	/*
	 * Entries that are in the log when the event ends are lost, so let it be polled once more.
	 */
	usleep(20000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	entries = __atomic_load_n(&meta->aux_head, __ATOMIC_ACQUIRE) / ENTRY_SIZE;
	if (entries >= AUX_SIZE / ENTRY_SIZE - 1)
		errx(1, "the AUX area was full");
	/* The first one carries the time base, and is no entry. */
	fprintf(stderr, "vpa_dtl: entries %lu\n", entries ? entries - 1 : 0);
	return status;
}
