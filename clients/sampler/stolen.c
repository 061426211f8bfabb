// SPDX-License-Identifier: GPL-2.0
/*
 * When the hypervisor had a CPU
 *
 * In a guest a task seems to have its CPU even while the hypervisor has it, and would be
 * blamed for that time.  A second session records when the hypervisor had each CPU.  It is
 * read once for each span of entries.
 */
#define pr_fmt(fmt) "kdtl_sampler: " fmt

#include <linux/err.h>
#include <linux/kdtl.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "causes.h"

static char *steal;
module_param(steal, charp, 0444);
MODULE_PARM_DESC(steal, "source that tells when the hypervisor had a CPU: kdtl_steal or kdtl_vpa (default: none)");

/**
 * struct stolen - the newest gaps of a CPU
 * @session: keeps them; NULL: nobody asked for it
 * @info: of the session
 * @entries: a copy of one CPU's gaps
 * @len: their length in bytes
 * @copied: @entries are those of the CPU whose span is being counted
 *
 * sampler.lock protects all but @session and @info.
 */
static struct stolen {
	struct kdtl_session	*session;
	struct kdtl_aux_info	info;
	struct kdtl_entry	*entries;
	ssize_t			len;
	bool			copied;
} stolen;

static int stolen_open(unsigned int pages)
{
	const struct kdtl_session_attr attr = {
		.pmu		= steal,
		.aux_pages	= pages,
		.flags		= KDTL_SESSION_OVERWRITE,
	};
	struct kdtl_session *s = kdtl_session_open(&attr, NULL);
	int err;

	if (IS_ERR(s))
		return PTR_ERR(s);
	stolen.session = s;
	err = kdtl_aux_info(s, -1, &stolen.info);
	if (err)
		return err;
	if (!stolen.info.stolen) {
		pr_err("steal=%s does not say when a hypervisor had a CPU: kdtl_steal and kdtl_vpa do\n",
		       steal);
		return -EINVAL;
	}
	stolen.entries = kdtl_snapshot_alloc(stolen.info.size);
	return stolen.entries ? 0 : -ENOMEM;
}

/**
 * stolen_begin() - begin to record when the hypervisor has the CPUs, if asked to
 * @s: the sampler
 * @pmu: the source of the entries that are counted; NULL: the best one.  Becomes kdtl_sched
 * @pages: pages per CPU, a power of two
 *
 * Context: may sleep; before the sampler's session.
 * Return: 0; or an errno, and a line in the log says why.
 */
int stolen_begin(const struct sampler *s, char **pmu, unsigned int pages)
{
	int err;

	if (!steal)
		return 0;
	/* To know behind whom a task waited takes a source of tasks, and all of its entries. */
	if (!*pmu)
		*pmu = "kdtl_sched";
	if (strcmp(*pmu, "kdtl_sched") || !cgroups_max || s->share < 100) {
		pr_err("steal=%s needs pmu=kdtl_sched, share=100 and cgroups\n", steal);
		return -EINVAL;
	}
	err = stolen_open(pages);
	if (err) {
		pr_err("no session of %s (%d)\n", steal, err);
		stolen_end();
	}
	return err;
}

/**
 * stolen_end() - undo stolen_begin()
 *
 * Context: may sleep.
 */
void stolen_end(void)
{
	kdtl_session_close(stolen.session);
	stolen.session = NULL;
	kvfree(stolen.entries);
	stolen.entries = NULL;
}

/**
 * stolen_forget() - drop the copied gaps, because a new span of entries will be counted
 *
 * Context: under sampler.lock.
 */
void stolen_forget(void)
{
	stolen.copied = false;
}

/* Index of the first gap that ended after @time, or the number of gaps if none did. */
static ssize_t stolen_first(u64 time)
{
	ssize_t low = 0, high = stolen.len / (ssize_t)sizeof(*stolen.entries), middle;
	u64 end;

	while (low < high) {
		middle = low + (high - low) / 2;
		end = kdtl_ticks_to_ns(&stolen.info, kdtl_entry_time(&stolen.entries[middle]) -
				       stolen.info.tb_boot);
		if ((s64)(end - time) > 0)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/**
 * stolen_next() - when the hypervisor had a CPU
 * @cpu: the CPU of the span
 * @from: look from here on, by local_clock()
 * @to: until here
 * @begin: set to when it took the CPU, which may be before @from
 * @end: set to when it gave it back, which is after @from and may be after @to
 *
 * Context: under sampler.lock.
 * Return: true; false: the hypervisor did not have the CPU then, or steal= was not set.
 */
bool stolen_next(int cpu, u64 from, u64 to, u64 *begin, u64 *end)
{
	const struct kdtl_entry *e;
	ssize_t first;

	if (!stolen.session)
		return false;
	if (!stolen.copied)
		stolen.len = kdtl_aux_snapshot(stolen.session, cpu, stolen.entries,
					       stolen.info.size, NULL);
	stolen.copied = true;
	if (stolen.len <= 0)
		return false;
	first = stolen_first(from);
	if (first == stolen.len / (ssize_t)sizeof(*e))
		return false;
	e = &stolen.entries[first];
	*end = kdtl_ticks_to_ns(&stolen.info, kdtl_entry_time(e) - stolen.info.tb_boot);
	*begin = *end - kdtl_ticks_to_ns(&stolen.info, kdtl_entry_wait(e));
	return (s64)(*begin - to) < 0;
}
