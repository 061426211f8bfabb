// SPDX-License-Identifier: GPL-2.0
/*
 * Behind whom a task waits
 *
 * A second session keeps each CPU's newest dispatches and is not read until there is
 * something to report.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "watch.h"

/* As many as one line of the log can hold. */
#define BEHIND_TASKS	3

static struct kdtl_session *past;	/* NULL if the source knows no tasks */
static struct kdtl_entry *entries;
static size_t entries_size;

/**
 * watch_behind_init() - begin to keep the newest dispatches
 * @pages: pages per CPU, a power of two; 0: kdtl's default
 *
 * Context: may sleep.
 * Return: 0 or an errno.
 */
int watch_behind_init(unsigned int pages)
{
	const struct kdtl_session_attr attr = {
		.pmu		= "kdtl_sched",
		.aux_pages	= pages,
		.flags		= KDTL_SESSION_OVERWRITE,
	};
	struct kdtl_session *s = kdtl_session_create(&attr);
	int err;

	if (IS_ERR(s))
		return PTR_ERR(s);
	past = s;
	entries_size = (size_t)(pages ?: KDTL_DEFAULT_AUX_PAGES) << PAGE_SHIFT;
	entries = kvmalloc(entries_size, GFP_KERNEL);
	err = entries ? 0 : -ENOMEM;
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
 * watch_behind() - say in one line who had a CPU in a span of time
 * @cpu: the CPU
 * @from: begin of the span, by kdtl_sched's time
 * @to: its end
 * @text: the line, which begins with a comma; empty if nobody knows
 * @size: of @text
 *
 * Context: the watching thread.
 */
void watch_behind(int cpu, u64 from, u64 to, char *text, size_t size)
{
	struct kdtl_ran ran[BEHIND_TASKS];
	struct kdtl_who who = { .ran = ran, .size = ARRAY_SIZE(ran) };
	const struct kdtl_entry *e;
	unsigned int i;
	ssize_t len;
	int at = 0;

	text[0] = '\0';
	if (!past)
		return;
	len = kdtl_aux_snapshot(past, cpu, entries, entries_size, NULL);
	if (len <= 0)
		return;
	kdtl_who_begin(&who, from, to);
	kdtl_for_each_entry(e, entries, len)
		kdtl_who_entry(&who, e);
	/* Somebody waited for the CPU all the time, so it was not idle. */
	kdtl_who_end(&who, true);
	for (i = 0; i < who.nr; i++) {
		/* A task chooses its name, which must not add a line to the log. */
		at += scnprintf(text + at, size - at, "%s %*pE:%d %llu ms",
				i ? "," : ", behind", (int)strlen(ran[i].comm), ran[i].comm,
				ran[i].pid, div_u64(ran[i].ticks, NSEC_PER_MSEC));
	}
	if (who.nr && who.others >= NSEC_PER_MSEC)
		at += scnprintf(text + at, size - at, ", others %llu ms",
				div_u64(who.others, NSEC_PER_MSEC));
	if (who.nr && who.unknown >= NSEC_PER_MSEC)
		scnprintf(text + at, size - at, ", not known %llu ms",
			  div_u64(who.unknown, NSEC_PER_MSEC));
}

/**
 * watch_behind_entry() - say in one line who had the CPU while a task waited
 * @cpu: where the task was dispatched
 * @e: its entry
 * @text: the line, as watch_behind() has it
 * @size: of @text
 *
 * Context: the watching thread.
 */
void watch_behind_entry(int cpu, const struct kdtl_entry *e, char *text, size_t size)
{
	const u64 time = kdtl_entry_time(e);

	if (kdtl_entry_ready(e) > kdtl_entry_queued(e))
		strscpy(text, ", most of it in the queue of another CPU", size);
	else
		watch_behind(cpu, time - kdtl_entry_queued(e), time, text, size);
}
