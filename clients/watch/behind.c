// SPDX-License-Identifier: GPL-2.0
/*
 * Behind whom a task waits
 *
 * A second session keeps each CPU's newest dispatches and idle times, and is not read until
 * there is something to report.
 */
#include <linux/err.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "watch.h"

/* As many as one line of the log can hold. */
#define BEHIND_TASKS	3

/* The most characters of a cgroup's path in a report. */
#define BEHIND_PATH	96

static struct kdtl_session *past;	/* NULL if the source knows no tasks */
static struct kdtl_entry *entries;
static size_t entries_size, entries_len;

/* Log idle times as well, if the source tells them. */
static int behind_config(void)
{
	struct kdtl_config config = { .mask = KDTL_MASK_ALL | KDTL_MASK_IDLE };
	const int err = kdtl_write_config(past, &config, 1);

	return err == -EOPNOTSUPP ? 0 : err;
}

/**
 * watch_behind_init() - begin to keep the newest dispatches, if they name tasks
 * @pmu: the source
 * @pages: pages per CPU, a power of two; 0: kdtl's default
 *
 * Context: may sleep.
 * Return: 0 or an errno.
 */
int watch_behind_init(const char *pmu, unsigned int pages)
{
	const struct kdtl_session_attr attr = {
		.pmu		= pmu,
		.aux_pages	= pages,
		.flags		= KDTL_SESSION_OVERWRITE,
	};
	struct kdtl_session *s = kdtl_session_create(&attr);
	struct kdtl_aux_info info;
	int err;

	if (IS_ERR(s))
		return PTR_ERR(s);
	err = kdtl_aux_info(s, -1, &info);
	if (err || !info.tasks) {
		kdtl_session_close(s);
		return err;
	}
	past = s;
	entries_size = info.size;
	entries = kvmalloc(entries_size, GFP_KERNEL | __GFP_NOWARN);
	err = entries ? behind_config() : -ENOMEM;
	if (!err)
		err = kdtl_load(past, NULL);
	if (!err)
		err = kdtl_start(past);
	if (err)
		watch_behind_exit();
	return err;
}

/**
 * watch_behind_exit() - undo watch_behind_init()
 *
 * Context: may sleep.
 */
void watch_behind_exit(void)
{
	kdtl_session_close(past);
	past = NULL;
	kvfree(entries);
	entries = NULL;
}

/**
 * watch_name() - name a task and its cgroup, for the log
 * @comm: its name
 * @pid: its pid
 * @time: when, by kdtl_sched's time
 * @text: "comm:pid (cgroup)"; without the cgroup if that is not known, or the root
 * @size: of @text
 *
 * Context: the watching thread.
 */
void watch_name(const char *comm, pid_t pid, u64 time, char *text, size_t size)
{
	static char path[PATH_MAX];
	const char *from = path, *cut = "";
	struct kdtl_task task;
	ssize_t len = -ENOENT;
	int at;

	/* A task chooses its name, which must not add a line to the log. */
	at = scnprintf(text, size, "%*pE:%d", (int)strlen(comm), comm, pid);
	if (past && !kdtl_task_at(past, pid, time, &task))
		len = kdtl_cgroup_path(past, task.cgroup, path, sizeof(path));
	if (len <= 1)
		return;
	/* The end says most: that is where a container's own name is. */
	if (len > BEHIND_PATH) {
		cut = "...";
		from += len - BEHIND_PATH;
		len = BEHIND_PATH;
	}
	scnprintf(text + at, size - at, " (%s%*pE)", cut, (int)len, from);
}

/**
 * watch_look_back() - copy the newest entries of a CPU, for watch_behind()
 * @cpu: the CPU
 *
 * Context: the watching thread.
 * Return: the last one, perhaps of idle time, valid until the next call; NULL: there is
 * none.
 */
const struct kdtl_entry *watch_look_back(int cpu)
{
	ssize_t len = -ENOENT;

	if (past)
		len = kdtl_aux_snapshot(past, cpu, entries, entries_size, NULL);
	entries_len = max_t(ssize_t, len, 0);
	return entries_len ? entries + entries_len / sizeof(*entries) - 1 : NULL;
}

/**
 * watch_behind() - say in one line who had a CPU in a span of time
 * @from: begin of the span, by kdtl_sched's time
 * @to: its end
 * @text: the line, which begins with a comma; empty if nobody knows
 * @size: of @text
 *
 * Of the dispatches that watch_look_back() has copied.
 *
 * Context: the watching thread.
 */
void watch_behind(u64 from, u64 to, char *text, size_t size)
{
	struct kdtl_ran ran[BEHIND_TASKS];
	struct kdtl_who who = { .ran = ran, .size = ARRAY_SIZE(ran) };
	const struct kdtl_entry *e;
	char name[WATCH_NAME];
	unsigned int i;
	int at = 0;

	text[0] = '\0';
	kdtl_who_begin(&who, from, to);
	kdtl_for_each_entry(e, entries, entries_len)
		kdtl_who_entry(&who, e);
	/* If idle times are not logged: somebody waited all the time. */
	kdtl_who_end(&who, true);
	for (i = 0; i < who.nr; i++) {
		if ((i || who.idle >= NSEC_PER_MSEC) && ran[i].ticks < NSEC_PER_MSEC) {
			who.others += ran[i].ticks;
			continue;
		}
		watch_name(ran[i].comm, ran[i].pid, to, name, sizeof(name));
		at += scnprintf(text + at, size - at, "%s %s %llu ms",
				at ? "," : ", behind", name,
				div_u64(ran[i].ticks, NSEC_PER_MSEC));
	}
	if (who.nr && who.others >= NSEC_PER_MSEC)
		at += scnprintf(text + at, size - at, ", others %llu ms",
				div_u64(who.others, NSEC_PER_MSEC));
	/* A long interrupt, or the hypervisor, kept an idle CPU from its task. */
	if (who.idle >= NSEC_PER_MSEC)
		at += scnprintf(text + at, size - at, ", idle %llu ms",
				div_u64(who.idle, NSEC_PER_MSEC));
	if (who.nr && who.unknown >= NSEC_PER_MSEC)
		scnprintf(text + at, size - at, ", not known %llu ms",
			  div_u64(who.unknown, NSEC_PER_MSEC));
}
