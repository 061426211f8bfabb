// SPDX-License-Identifier: GPL-2.0
/* The frame of the pieces of user-space code in Documentation/, see kernel.c. */
#include <fcntl.h>
#include <linux/kdtl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* @perf-timebase@ */

static void stream_mmap(int fd, struct kdtl_stream_attr attr)
{
	const unsigned long one_cpu = 1, page = sysconf(_SC_PAGESIZE);
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	struct perf_event_mmap_page *m;
	uint64_t head;
	void *aux;
	/* @stream-mmap@ */
	printf("%p\n", aux);
}

static void stream_tasks(int fd)
{
	struct kdtl_task tasks[64];
	unsigned int i;
	/* @stream-tasks@ */
}

int main(void)
{
	struct kdtl_entry entries[64];
	ssize_t n;
	/* @stream-read@ */
	stream_mmap(fd, attr);
	stream_tasks(fd);
	return n == sizeof(struct timebase_entry);
}
