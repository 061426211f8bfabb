// SPDX-License-Identifier: GPL-2.0
/* The session of /dev/kdtl that a recording is made with. */
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "record.h"

#define CPU_DIR		"/sys/devices/system/cpu/"
#define SOURCE_DIR	"/sys/bus/event_source/devices/"

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

/* Warn somebody who has named CPUs by @option if nothing can be recorded of one of them. */
void check_cpus(const char *option, const cpu_set_t *cpus)
{
	cpu_set_t *possible = cpus_in(CPU_DIR "possible"), *online = cpus_in(CPU_DIR "online");
	const size_t bytes = CPU_ALLOC_SIZE(MAX_CPUS);
	char list[256];

	if (possible && cpus_without(list, sizeof(list), cpus, possible))
		usage_error("%s: this machine has no CPU %s", option, list);
	if (online && cpus_without(list, sizeof(list), cpus, online)) {
		CPU_AND_S(bytes, possible ?: online, cpus, online);
		if (!CPU_COUNT_S(bytes, possible ?: online))
			usage_error("%s: CPU %s is not online", option, list);
		fprintf(stderr, "kdtl: CPU %s is not online, and is recorded only from when it is\n",
			list);
	}
	CPU_FREE(possible);
	CPU_FREE(online);
}

/*
 * Find the CPUs of a session that asks for @cpus, or NULL for all, only when needed: most commands
 * never ask for them.
 */
void log_cpus(int dev, const cpu_set_t *cpus, struct log_cpu **cpu, size_t *nr)
{
	cpu_set_t *possible;

	if (*nr)
		return;
	possible = cpus_in(CPU_DIR "possible");
	cpus = cpus ?: possible;
	for (int i = 0; i < MAX_CPUS; i++) {
		struct kdtl_stream_info info = { .cpu = i };

		/* Asking for a CPU that is not the session's puts a line into the kernel's log. */
		if ((cpus && !CPU_ISSET_S(i, CPU_ALLOC_SIZE(MAX_CPUS), cpus)) ||
		    ioctl(dev, KDTL_IOC_INFO, &info))
			continue;
		grow(*cpu, *nr);
		(*cpu)[(*nr)++] = (struct log_cpu){ .cpu = i };
	}
	CPU_FREE(possible);
}

/*
 * log_cpus() if a CPU of the machine is offline.  Those that have been since the session was set up
 * are marked: the kernel does not know when they went.
 */
void log_absent_cpus(int dev, const cpu_set_t *cpus, struct log_cpu **cpu, size_t *nr)
{
	cpu_set_t *present = cpus_in(CPU_DIR "present"), *online = cpus_in(CPU_DIR "online");
	const size_t bytes = CPU_ALLOC_SIZE(MAX_CPUS);
	struct kdtl_stream_info info;

	if (present && online && !CPU_EQUAL_S(bytes, present, online)) {
		log_cpus(dev, cpus, cpu, nr);
		for (struct log_cpu *c = *cpu; c < *cpu + *nr; c++) {
			info = device_cpu_info(dev, c->cpu);
			c->absent = CPU_ISSET_S(c->cpu, bytes, present) &&
				    !CPU_ISSET_S(c->cpu, bytes, online) && !info.moves &&
				    !(info.state & KDTL_STREAM_ONLINE);
		}
	}
	CPU_FREE(present);
	CPU_FREE(online);
}

void session_open(struct record *r)
{
	if (r->cpus)
		check_cpus("-C", r->cpus);
	r->dev = open_device();
	device_setup(r->dev, &r->attr, r->idle_if_known);
	r->nameless = !strcmp(device_info(r->dev).source, "kdtl_vpa");
	log_absent_cpus(r->dev, r->cpus, &r->cpu, &r->nr_cpus);
	if (pipe2(r->pipe, O_CLOEXEC))
		die("pipe");
}

/* Does the source exist?  Asking the kernel for one that does not puts a line into its log. */
bool session_has_source(const char *source)
{
	char device[128];

	snprintf(device, sizeof(device), SOURCE_DIR "%s", source);
	return !access(device, F_OK);
}

/* A recording beside @r, to @path, with what it has in common with @r. */
static struct record beside(const struct record *r, const char *path, const char *suffix)
{
	return (struct record){
		.path = path, .suffix = suffix, .quiet = r->quiet, .rotate = r->rotate,
		.cpus = r->cpus,
		/* Its ring must not begin later than @r's, and its file ends when @r's is full. */
		.ring = 2 * r->ring, .max_size = r->ring ? r->max_size : 0,
		.attr = {
			.aux_pages = r->attr.aux_pages, .period = r->attr.period,
			.cpus = r->attr.cpus, .cpus_len = r->attr.cpus_len,
		},
		.dev = open_device(),
	};
}

/* Add @other beside @r, once its session is set up. */
static void add_beside(struct record *r, struct record *other)
{
	if (pipe2(other->pipe, O_CLOEXEC))
		die("pipe");
	other->beside = r->beside;
	r->beside = other;
}

/*
 * A second recording beside @r, of what the hypervisor takes, goes to @path.  kdtl_vpa is
 * only where a hypervisor writes a log, and there kdtl_steal has the kernel's coarse count.
 * Returns false if there is no source, unless there @must be one.
 */
bool session_open_steal(struct record *r, struct record *steal, const char *path, bool must)
{
	static const char *const sources[] = { "kdtl_vpa", "kdtl_steal" };
	bool open = false;

	*steal = beside(r, path, STEAL_SUFFIX);
	for (size_t i = 0; i < ARRAY_SIZE(sources) && !open; i++) {
		if (!session_has_source(sources[i]))
			continue;
		strcpy(steal->attr.source, sources[i]);
		open = !ioctl(steal->dev, KDTL_IOC_SETUP, &steal->attr);
		if (!open && errno != ENODEV && must)
			device_refused(&steal->attr);
	}
	errno = 0;
	if (!open && must)
		die("--steal: no source says what a hypervisor takes: load the module kdtl_steal or kdtl_vpa");
	if (!open) {
		close(steal->dev);
		return false;
	}
	steal->nameless = !strcmp(steal->attr.source, "kdtl_vpa");
	add_beside(r, steal);
	return true;
}

/* Open @source for @of, a recording beside @r.  If it is not loaded, say what is @missing. */
static void open_source(struct record *r, struct record *of, const char *source, const char *missing)
{
	strcpy(of->attr.source, source);
	if (!session_has_source(source)) {
		errno = 0;
		die("%s: load the module %s", missing, source);
	}
	device_setup(of->dev, &of->attr, false);
	add_beside(r, of);
}

/*
 * A recording beside @r, of when interrupts had a CPU, goes to @path.  Returns false if there is no
 * source, unless there @must be one.
 */
bool session_open_irq(struct record *r, struct record *irq, const char *path, bool must)
{
	if (!must && !session_has_source(IRQ_SOURCE))
		return false;
	*irq = beside(r, path, IRQ_SUFFIX);
	open_source(r, irq, IRQ_SOURCE, "--irq: nobody says when interrupts have a CPU");
	return true;
}

/* A recording beside @r, of who woke whom, goes to @path.  Returns as session_open_irq() does. */
bool session_open_wake(struct record *r, struct record *wake, const char *path, bool must)
{
	if (!must && !session_has_source(WAKE_SOURCE))
		return false;
	*wake = beside(r, path, WAKE_SUFFIX);
	wake->attr.mask = KDTL_MASK_WAKE;
	open_source(r, wake, WAKE_SOURCE, "--wake: nobody says who woke whom");
	return true;
}

void session_start(struct record *r)
{
	if (ioctl(r->dev, KDTL_IOC_START))
		die("cannot start recording");
	r->began = device_clock(r->dev).ticks;
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
	free(r->cpu);
	r->cpu = NULL;
	r->nr_cpus = 0;
	free(r->wait);
	r->wait = NULL;
}
