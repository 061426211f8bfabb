// SPDX-License-Identifier: GPL-2.0
/* The session of /dev/kdtl that a recording is made with. */
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "record.h"

#define CPU_DIR	"/sys/devices/system/cpu/"

/* The CPUs of a list such as "0-3,8" in sysfs; NULL: it cannot be read. */
static cpu_set_t *cpus_in(const char *file)
{
	char list[4096];
	FILE *f = fopen(file, "re");
	bool ok;

	if (!f)
		return NULL;
	ok = fgets(list, sizeof(list), f) && list[0] != '\n';
	fclose(f);
	if (!ok)
		return NULL;
	list[strcspn(list, "\n")] = '\0';
	return parse_cpus(file, list);
}

/* The CPUs of @a that are not in @b, as a list; false if there are none. */
static bool cpus_without(char *to, size_t size, const cpu_set_t *a, const cpu_set_t *b)
{
	const size_t bytes = CPU_ALLOC_SIZE(MAX_CPUS);
	size_t n = 0;
	int first;

	*to = '\0';
	for (int cpu = 0; cpu < MAX_CPUS && n < size; cpu++) {
		if (!CPU_ISSET_S(cpu, bytes, a) || CPU_ISSET_S(cpu, bytes, b))
			continue;
		first = cpu;
		while (cpu + 1 < MAX_CPUS && CPU_ISSET_S(cpu + 1, bytes, a) &&
		       !CPU_ISSET_S(cpu + 1, bytes, b))
			cpu++;
		n += snprintf(to + n, size - n, cpu > first ? "%s%d-%d" : "%s%d",
			      n ? "," : "", first, cpu);
	}
	return n;
}

/* Whoever names a CPU should learn that nothing is recorded of it. */
static void check_cpus(const struct record *r)
{
	cpu_set_t *possible = cpus_in(CPU_DIR "possible"), *online = cpus_in(CPU_DIR "online");
	const size_t bytes = CPU_ALLOC_SIZE(MAX_CPUS);
	char list[256];

	if (possible && cpus_without(list, sizeof(list), r->cpus, possible))
		usage_error("-C: this machine has no CPU %s", list);
	if (online && cpus_without(list, sizeof(list), r->cpus, online)) {
		CPU_AND_S(bytes, possible ?: online, r->cpus, online);
		if (!CPU_COUNT_S(bytes, possible ?: online))
			usage_error("-C: CPU %s is not online", list);
		fprintf(stderr, "kdtl: CPU %s is not online, and is recorded only from when it is\n",
			list);
	}
	CPU_FREE(possible);
	CPU_FREE(online);
}

void session_open(struct record *r)
{
	if (r->cpus)
		check_cpus(r);
	r->dev = open_device();
	device_setup(r->dev, &r->attr, r->idle_if_known);
	if (pipe2(r->pipe, O_CLOEXEC))
		die("pipe");
}

void session_start(const struct record *r)
{
	if (ioctl(r->dev, KDTL_IOC_START))
		die("cannot start recording");
}

void session_stop(const struct record *r)
{
	if (ioctl(r->dev, KDTL_IOC_STOP))
		die("cannot stop recording");
}

void session_close(struct record *r)
{
	close(r->pipe[0]);
	close(r->pipe[1]);
	close(r->dev);
	tdestroy(r->side.cgroups, free);
	r->side.cgroups = NULL;
}
