// SPDX-License-Identifier: GPL-2.0
/* Probes of tracepoints that are not exported, and so are found by name. */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/errno.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "probes.h"

static void kdtl_probe_find(struct tracepoint *tp, void *priv)
{
	struct kdtl_probe *p = priv;

	if (!strcmp(tp->name, p->name))
		p->tp = tp;
}

static int kdtl_probe_register(struct kdtl_probe *p)
{
	if (!p->tp)
		for_each_kernel_tracepoint(kdtl_probe_find, p);
	if (p->tp)
		return tracepoint_probe_register(p->tp, p->probe, NULL);
	pr_warn("this kernel lacks the tracepoint %s\n", p->name);
	return -ENODEV;
}

/**
 * kdtl_probes_unregister() - undo kdtl_probes_register()
 * @probes: the probes
 * @nr: number of @probes
 *
 * When this returns, none of them runs any more.
 *
 * Context: may sleep; not under the CPU hotplug lock.
 */
void kdtl_probes_unregister(struct kdtl_probe *probes, unsigned int nr)
{
	while (nr--)
		tracepoint_probe_unregister(probes[nr].tp, probes[nr].probe, NULL);
	tracepoint_synchronize_unregister();
}

/**
 * kdtl_probes_register() - register probes, all or none
 * @probes: the probes
 * @nr: number of @probes
 *
 * Context: may sleep; not under the CPU hotplug lock.
 * Return: 0; -ENODEV: the kernel lacks a tracepoint (a line in the log says which); or the
 * error of tracepoint_probe_register().
 */
int kdtl_probes_register(struct kdtl_probe *probes, unsigned int nr)
{
	unsigned int i;
	int err;

	for (i = 0; i < nr; i++) {
		err = kdtl_probe_register(&probes[i]);
		if (err) {
			kdtl_probes_unregister(probes, i);
			return err;
		}
	}
	return 0;
}
