// SPDX-License-Identifier: GPL-2.0
/* Why the tasks of each cgroup waited, as PSI shows it, but by cause. */
#include <linux/math64.h>
#include <linux/time64.h>

#include "causes.h"

const char * const causes_names[CAUSES_ROWS] = {
	[CAUSES_SOME]			= "some",
	[CAUSES_FULL]			= "full",
	[PRESSURE_BY_OWN]		= "own",
	[PRESSURE_BY_NEIGHBOURS]	= "neighbours",
	[PRESSURE_BY_HYPERVISOR]	= "hypervisor",
	[PRESSURE_BY_NOBODY]		= "nobody",
	[PRESSURE_BY_UNKNOWN]		= "unknown",
	[PRESSURE_BY_ELSEWHERE]		= "elsewhere",
	[PRESSURE_BY_QUOTA]		= "quota",
};

static void show_average(struct seq_file *m, unsigned int seconds, u64 average)
{
	const u64 hundredths = div_u64(average * 100, CAUSES_ONE);
	u32 frac;
	const u64 whole = div_u64_rem(hundredths, 100, &frac);

	seq_printf(m, " avg%u=%llu.%02u", seconds, whole, frac);
}

static void show_cause(struct seq_file *m, struct sampler_cgroup *c, unsigned int row)
{
	static const unsigned int seconds[CAUSES_AVERAGES] = { 10, 60, 300 };
	unsigned int i;

	seq_puts(m, causes_names[row]);
	for (i = 0; i < CAUSES_AVERAGES; i++)
		show_average(m, seconds[i], c->average[row][i]);
	seq_printf(m, " total=%llu\n", div_u64(causes_ns(c, row), NSEC_PER_USEC));
}

/**
 * show_pressure() - how long tasks in and below each cgroup waited, and why
 * @m: where to
 * @s: the sampler
 * @r: not used
 *
 * Context: under sampler.lock.
 */
void show_pressure(struct seq_file *m, struct sampler *s, struct sampler_rows *r)
{
	const struct pressure_by *by;
	struct sampler_cgroup *c;
	unsigned int i;

	causes_average();
	list_for_each_entry(c, &cgroups, list) {
		seq_printf(m, "cgroup %s\n", c->path);
		show_cause(m, c, CAUSES_SOME);
		show_cause(m, c, CAUSES_FULL);
		for (i = 0; i < PRESSURE_CAUSES; i++)
			show_cause(m, c, i);
		for (i = 0; i < PRESSURE_BY; i++) {
			by = &causes_of(c)->by[i];
			if (by->ticks && by->group >= 0)
				seq_printf(m, "behind total=%llu %s\n",
					   div_u64(by->ticks, NSEC_PER_USEC),
					   cgroups_by_slot[by->group]->path);
		}
		seq_putc(m, '\n');
	}
	if (s->share < 100)
		seq_puts(m, "with a share below 100 nobody knows who had the CPU\n");
}
