// SPDX-License-Identifier: GPL-2.0
/*
 * perf_fixes CASE - shows what the fixes of scripts/upstream/perf mend
 *
 *	leak	an AUX area whose pages cannot be allocated leaves nothing behind
 *	unbind	a PMU's device is unbound while its AUX area is mapped
 *	other	as unbind, while another event writes to the area
 *	rmmod	as unbind, and the PMU's module is unloaded before the area is unmapped
 *
 * aux_gone.ko has the PMU. Exits with 0 if all that a program can see was right; otherwise
 * prints what was not: "wrong: ...". The caller looks for the kernel's reports.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../guest/must.h"

#define DEVICE		"/sys/bus/event_source/devices/aux_gone"
#define UNBIND		"/sys/bus/platform/drivers/aux_gone/unbind"
#define FAIL		"/sys/kernel/debug/fail_page_alloc/"
#define KMEMLEAK	"/sys/kernel/debug/kmemleak"
#define AUX_PAGES	8
/* How many bytes aux_gone writes while an event is active. */
#define WRITTEN	64
/* This is more allocations of pages than an AUX area of 8 pages needs. */
#define MOST		100
/* Now and then a slab is refilled in between; that may fail without harm, so try again. */
#define TRIES		8

#define wrong(...) do {							\
	printf("wrong: " __VA_ARGS__);					\
	printf("\n");							\
	exit(1);							\
} while (0)

static size_t page;

static void put(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	must(fd >= 0);
	must(write(fd, value, strlen(value)) == (ssize_t)strlen(value));
	close(fd);
}

static int open_event(void)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .disabled = 1 };
	FILE *f = fopen(DEVICE "/type", "re");
	int fd;

	must(f && fscanf(f, "%u", &attr.type) == 1 && !fclose(f));
	fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	must(fd >= 0);
	return fd;
}

static struct perf_event_mmap_page *map_data(int fd)
{
	struct perf_event_mmap_page *meta;

	meta = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(meta != MAP_FAILED);
	meta->aux_offset = 2 * page;
	meta->aux_size = AUX_PAGES * page;
	return meta;
}

static unsigned char *map_aux(int fd)
{
	return mmap(NULL, AUX_PAGES * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    2 * page);
}

/* -------------------------------------------------------------------- a PMU goes */

static void check_area(const struct perf_event_mmap_page *meta, const unsigned char *aux,
		       size_t bytes)
{
	size_t i;

	if (meta->aux_head != bytes)
		wrong("the head is %llu, not %zu", (unsigned long long)meta->aux_head,
		      bytes);
	for (i = 0; i < bytes; i++)
		if (aux[i] != 'w')
			wrong("byte %zu of the area is %d", i, aux[i]);
}

static void unbind(bool another, bool unload)
{
	/* The events of a PMU are detached from the newest to the oldest. */
	int other = another ? open_event() : -1;
	int fd = open_event();
	struct perf_event_mmap_page *meta = map_data(fd);
	unsigned char *aux = map_aux(fd);

	must(aux != MAP_FAILED);
	if (another)
		must(!ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, fd));
	must(!ioctl(another ? other : fd, PERF_EVENT_IOC_ENABLE, 0));
	must(!ioctl(another ? other : fd, PERF_EVENT_IOC_DISABLE, 0));
	check_area(meta, aux, WRITTEN);
	must(!ioctl(another ? other : fd, PERF_EVENT_IOC_ENABLE, 0));

	put(UNBIND, "aux_gone");
	if (!access(DEVICE, F_OK))
		wrong("the PMU is still there");
	check_area(meta, aux, 2 * WRITTEN);
	if (unload)
		must(!syscall(SYS_delete_module, "aux_gone", O_NONBLOCK));
	check_area(meta, aux, 2 * WRITTEN);
	if (munmap(aux, AUX_PAGES * page))
		wrong("the area cannot be unmapped: %s", strerror(errno));
	aux = map_aux(fd);
	if (aux != MAP_FAILED)
		wrong("an area without a PMU can be mapped");
	must(!munmap(meta, 2 * page));
	close(fd);
	if (another)
		close(other);
}

/* ----------------------------------------------------------------------- no memory */

/*
 * Map an area while the @nth allocation of a page fails.  Counts in @failed if there is no area.
 * Returns whether there were so many allocations.
 */
static bool map_without_memory(int nth_fd, int fd, int nth, int *failed)
{
	char buf[16] = "";
	unsigned char *aux;

	must(pwrite(nth_fd, buf, snprintf(buf, sizeof(buf), "%d", nth), 0) > 0);
	aux = map_aux(fd);
	must(pread(nth_fd, buf, sizeof(buf) - 1, 0) > 0);
	must(pwrite(nth_fd, "0", 1, 0) == 1);
	if (aux == MAP_FAILED)
		++*failed;
	else
		must(!munmap(aux, AUX_PAGES * page));
	return !atoi(buf);
}

/* kmemleak ignores objects that are younger than 5 s, or change between two scans. */
static void scan(void)
{
	sleep(6);
	put(KMEMLEAK, "scan");
	sleep(6);
	put(KMEMLEAK, "scan");
}

static bool leaked(const char *function)
{
	FILE *f = fopen(KMEMLEAK, "re");
	char line[512];
	bool found = false;

	must(f);
	while (fgets(line, sizeof(line), f)) {
		if (!strstr(line, function))
			continue;
		found = true;
		printf("# %s", line);
	}
	fclose(f);
	return found;
}

static void leak(void)
{
	const int nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	const int fd = open_event();
	struct perf_event_mmap_page *meta = map_data(fd);
	int nth, i, met, failed = 0;

	must(nth_fd >= 0);
	put(FAIL "ignore-gfp-wait", "N");
	put(FAIL "min-order", "0");
	for (nth = 1, met = TRIES; met; nth++) {
		must(nth < MOST);
		for (i = met = 0; i < TRIES; i++)
			met += map_without_memory(nth_fd, fd, nth, &failed);
	}
	must(!munmap(meta, 2 * page) && !close(fd));
	if (failed < TRIES * AUX_PAGES / 2)
		wrong("only %d mappings failed", failed);
	scan();
	if (leaked("rb_alloc_aux"))
		wrong("something of an AUX area has leaked");
}

int main(int argc, char **argv)
{
	page = sysconf(_SC_PAGESIZE);
	setlinebuf(stdout);
	must(argc == 2);
	if (!strcmp(argv[1], "leak"))
		leak();
	else if (!strcmp(argv[1], "unbind"))
		unbind(false, false);
	else if (!strcmp(argv[1], "other"))
		unbind(true, false);
	else if (!strcmp(argv[1], "rmmod"))
		unbind(false, true);
	else
		die("no such case: %s", argv[1]);
	return 0;
}
