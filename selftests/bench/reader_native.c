// SPDX-License-Identifier: GPL-2.0
/*
 * What the sampler's reader takes for a dispatch, in this machine's own time: its files, the engine of
 * pressure and the table of tasks, without the kernel, over entries of a schedule that is drawn first
 *
 *	reader_native [pairs | cgroups | pods | none] [SPANS]
 *
 *	pairs	two pairs of tasks that wake each other, in two cgroups
 *	cgroups	64 tasks in 32 cgroups, which work and sleep
 *	pods	as cgroups, but each four cgroups are in another one, and all of these in one
 *	none	as pairs, but cgroups are not counted
 *	offline	measures nothing: a task of a cgroup waits while another one takes the CPU offline; prints
 *		for how many ns it waited for its own cgroup, and for how many it is not known for whom
 *
 * A dispatch takes some 10 us, so there are 100,000 a second.  A span has as many entries as there
 * are when the reader wakes up.  What the reader had in the caches is gone by then, because tasks
 * have had the CPU.
 */
#include "reader_kernel.h"

/* reader_kernel.h has all that is needed of these headers, so they are not read. */
#define _KDTL_COMPAT_H
#define _KDTL_CGROUPS_H
#include <linux/kdtl.h>
#include <linux/kdtl_root.h>

#include "clients/sampler/causes.h"

static int kdtl_cgroups_begin(void)
{
	return 0;
}

static void kdtl_cgroups_end(void)
{
}

#undef pr_fmt
#include "api/answers/engine/pressure.c"
#undef pr_fmt
#include "api/answers/policies.c"
#include "api/answers/tasks.c"
#undef pr_fmt
#include "clients/sampler/told.c"
#undef pr_fmt
#include "clients/sampler/stolen.c"
#undef pr_fmt
#include "clients/sampler/waits.c"
#undef pr_fmt
#include "clients/sampler/windows.c"
#include "clients/sampler/stats.c"
#undef pr_fmt
#include "clients/sampler/cgroups.c"
#include "clients/sampler/causes.c"
#undef pr_fmt
#include "clients/sampler/sampler.c"

#define SPAN	2048	/* entries until a wake-up: half of 256 KiB */
#define TASKS	64
#define CACHES	(1 << 21)

static const char *load = "pairs";
static struct task_struct tasks[TASKS];
static unsigned int nr_tasks;
static struct kdtl_entry entries[SPAN];
static struct sampler_stats sampler_counts;
static struct kdtl_aux_info info = { .tb_freq = NSEC_PER_SEC, .tasks = true };

/* For each task: since when it is queued, or until when it sleeps. */
static u64 since[TASKS], until[TASKS];
static bool queued[TASKS];
static unsigned int queue[TASKS], queue_nr, running;
static u64 now = NSEC_PER_SEC;

/* ------------------------------------------------------- what is not there */

struct kdtl_tables kdtl_tables;

int kdtl_task_at(struct kdtl_tasks *t, pid_t pid, u64 time, struct kdtl_task *task)
{
	return t && pid > 0 ? kdtl_table_at(pid, time, task) : -ENOENT;
}

bool kdtl_task_exec(struct kdtl_tasks *t, pid_t pid, u64 from, pid_t to, u64 time)
{
	return t && pid == to && from < time;
}

struct kdtl_tasks *__kdtl_tasks_open(struct module *owner)
{
	return owner ? NULL : (struct kdtl_tasks *)tasks;
}

void kdtl_tasks_close(struct kdtl_tasks *t)
{
	(void)t;
}

/* There is no hypervisor to ask. */
ssize_t kdtl_aux_snapshot(struct kdtl_session *s, int cpu, void *buf, size_t len, u64 *missed)
{
	(void)s, (void)cpu, (void)buf, (void)len, (void)missed;
	return 0;
}

/* Each cgroup has two tasks; its path is like /100, or like /pods/25/100. */
int kdtl_cgroup_path(struct kdtl_tasks *t, u64 id, char *path, size_t size)
{
	return !t ? -ENOENT : !strcmp(load, "pods") ?
		snprintf(path, size, "/pods/%u/%u", (unsigned int)id / 4, (unsigned int)id) :
		snprintf(path, size, "/%u", (unsigned int)id);
}

struct pid *reader_pid(int nr)
{
	return nr <= (int)nr_tasks ? &tasks[nr - 1].thread_pid : NULL;
}

/* ---------------------------------------------------------------- entries */

static unsigned int draw(unsigned int n)
{
	static u64 state = 42;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state >> 33) % n;
}

static void wake(unsigned int i, u64 time)
{
	queued[i] = true;
	since[i] = time;
	queue[queue_nr++] = i;
}

/* Wake the tasks whose sleep is over by now, in the order of their numbers. */
static void wake_all(void)
{
	unsigned int i;

	for (i = 0; i < nr_tasks; i++) {
		if (!queued[i] && until[i] <= now && i + 1 != running)
			wake(i, until[i]);
	}
}

/* Draw the next dispatch.  The pid of a task is its number and one; 0 is the idle task. */
static void draw_entry(struct kdtl_entry *e)
{
	const unsigned int before = running;
	u64 wait = 0;

	now += !strcmp(load, "pairs") || !strcmp(load, "none") ? 10000 : 1000 + draw(18000);
	if (before && strcmp(load, "pairs") && strcmp(load, "none")) {
		/* A quarter of the tasks want to go on and wait again; the CPU is seldom idle. */
		running = 0;
		until[before - 1] = draw(4) ? now + 1 + draw(1800000) : now;
		wake_all();
	} else if (before) {
		/* The task wakes the other one of its pair, and sleeps. */
		wake((before - 1) ^ 1, now);
		queued[before - 1] = false;
	} else {
		wake_all();
	}
	running = 0;
	if (queue_nr) {
		running = queue[0] + 1;
		wait = now - since[queue[0]];
		queued[queue[0]] = false;
		queue_nr--;
		memmove(queue, queue + 1, queue_nr * sizeof(*queue));
	}
	*e = (struct kdtl_entry) {
		.dispatch_reason = running ? KDTL_DISPATCH_PROD : KDTL_DISPATCH_IDLE,
		.preempt_reason = KDTL_PREEMPT_CEDE,
		.enqueue_to_dispatch_time = htobe32(wait),
		.timebase = htobe64(now),
		.fault_addr = htobe64((u64)running << 32 | before),
	};
}

/* ------------------------------------------------------------------- time */

static u64 ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * (u64)NSEC_PER_SEC + t.tv_nsec;
}

/* Use the caches as others do who have the CPU meanwhile. */
static void forget_caches(void)
{
	static volatile unsigned char other[CACHES];
	unsigned int i;

	for (i = 0; i < CACHES; i += 64)
		other[i]++;
}

static void prepare(void)
{
	static const struct cgroups_ops ops = {
		.begin = causes_begin, .new = causes_new, .forget = causes_forget,
	};
	unsigned int i;

	nr_tasks = !strcmp(load, "pairs") || !strcmp(load, "none") ? 4 : TASKS;
	for (i = 0; i < nr_tasks; i++) {
		tasks[i] = (struct task_struct) {
			.pid = i + 1, .tgid = i + 1, .cgroup = 100 + i / 2,
			.start_time = 1, .comm = "task",
		};
		tasks[i].thread_pid.numbers[0].nr = i + 1;
	}
	sampler.stats = &sampler_counts;
	if (nr_tasks == 4) {
		/* One task of the first pair is running, and one of the second pair waits. */
		running = 1;
		wake(2, now);
	}
	if (kdtl_table_begin())
		exit(1);
	if (strcmp(load, "none") && cgroups_begin(&sampler.lock, &ops))
		exit(1);
}

static int by_size(const void *a, const void *b)
{
	const u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* The code that is measured. */
static __attribute__((noinline)) void count(const struct kdtl_span *span)
{
	sampler_span(span, NULL);
}

static void dispatch(struct kdtl_span *span, unsigned int to, u64 wait)
{
	entries[0] = (struct kdtl_entry) {
		.dispatch_reason = KDTL_DISPATCH_PROD,
		.preempt_reason = KDTL_PREEMPT_CEDE,
		.enqueue_to_dispatch_time = htobe32(wait),
		.timebase = htobe64(now),
		.fault_addr = htobe64((u64)to << 32 | 1),
	};
	span->nr = 1;
	count(span);
}

/* A wait is reported after it has been noted that the CPU goes, and before it has gone. */
static int offline(struct kdtl_span *span)
{
	struct kdtl_waiting w = { .pid = 2, .running = 1, .since = now };
	struct sampler_cgroup *c;

	dispatch(span, 1, 0);
	info.went = now + NSEC_PER_MSEC;
	w.until = now + 2 * NSEC_PER_MSEC;
	causes_moved(0, &info);
	causes_waits(&w, 0);
	info.came = now + 999 * NSEC_PER_MSEC;
	now += NSEC_PER_SEC;
	dispatch(span, 2, NSEC_PER_SEC);
	c = cgroups_of_path("/100");
	printf("%llu %llu\n", (unsigned long long)causes_ns(c, PRESSURE_BY_OWN),
	       (unsigned long long)causes_ns(c, PRESSURE_BY_UNKNOWN));
	return 0;
}

int main(int argc, char **argv)
{
	const unsigned int spans = argc > 2 ? strtoul(argv[2], NULL, 10) : 200;
	u64 *took = calloc(spans, sizeof(*took)), began, some = 0;
	struct kdtl_span span = { .entries = entries, .nr = SPAN, .info = &info };
	struct sampler_cgroup *c;
	unsigned int i, n;

	if (argc > 1)
		load = argv[1];
	prepare();
	if (!strcmp(load, "offline"))
		return offline(&span);
	for (n = 0; n < spans; n++) {
		for (i = 0; i < SPAN; i++)
			draw_entry(&entries[i]);
		reader_now = now;
		forget_caches();
		began = ns();
		count(&span);
		took[n] = ns() - began;
	}
	qsort(took, spans, sizeof(*took), by_size);
	list_for_each_entry(c, &cgroups, list) {
		if (causes_of(c)->parent < 0)
			some += causes_ns(c, CAUSES_SOME);
	}
	printf("%s\t%.1f\t%.1f\t%.2f\t%llu\n", load, (double)took[spans / 10] / SPAN,
	       (double)took[spans / 2] / SPAN, (double)took[spans / 2] / SPAN / 100,
	       (unsigned long long)some);
	return 0;
}
