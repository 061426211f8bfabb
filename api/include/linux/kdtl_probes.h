/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kdtl_probes.h - probes of tracepoints that are not exported, and so are found by name
 *
 * Sources of entries look at the kernel through them, and so may clients.  All is inline, so that
 * no module needs kdtl.ko for it.
 */
#ifndef _LINUX_KDTL_PROBES_H
#define _LINUX_KDTL_PROBES_H

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

/**
 * struct kdtl_probe - a probe of a tracepoint
 * @name: name of the tracepoint
 * @probe: the function, which gets NULL and then the tracepoint's arguments
 * @optional: the other probes are useful without it
 */
struct kdtl_probe {
	const char		*name;
	void			*probe;
	bool			optional;
	/* private: */
	struct tracepoint	*tp;
	bool			on;
};

static inline void __kdtl_probe_find(struct tracepoint *tp, void *priv)
{
	struct kdtl_probe *p = priv;

	if (!strcmp(tp->name, p->name))
		p->tp = tp;
}

/**
 * kdtl_probes_find() - find the tracepoints of probes
 * @probes: the probes
 * @nr: number of @probes
 *
 * A driver calls this in its init, so that loading it fails where it could not work.
 *
 * Context: task, may sleep.
 * Return: 0; -ENODEV: the kernel lacks the tracepoint of a probe that is not optional (a line
 * in the log says which).
 */
static inline int kdtl_probes_find(struct kdtl_probe *probes, unsigned int nr)
{
	struct kdtl_probe *p;

	might_sleep();
	for (p = probes; p < probes + nr; p++) {
		if (!p->tp)
			for_each_kernel_tracepoint(__kdtl_probe_find, p);
		if (!p->tp && !p->optional) {
			pr_warn("this kernel lacks the tracepoint %s\n", p->name);
			return -ENODEV;
		}
	}
	return 0;
}

/**
 * kdtl_probes_unregister() - undo kdtl_probes_register()
 * @probes: the probes
 * @nr: number of @probes
 *
 * The last probe is unregistered first.  When this returns, none of them runs any more.  Nothing
 * happens to a probe that is not registered.
 *
 * Context: task, may sleep; not under the CPU hotplug lock.
 */
static inline void kdtl_probes_unregister(struct kdtl_probe *probes, unsigned int nr)
{
	might_sleep();
	while (nr--) {
		if (probes[nr].on)
			tracepoint_probe_unregister(probes[nr].tp, probes[nr].probe, NULL);
		probes[nr].on = false;
	}
	tracepoint_synchronize_unregister();
}

/**
 * kdtl_probes_register() - register probes in their order, all or none
 * @probes: the probes; those that are optional and not found are left out
 * @nr: number of @probes
 *
 * Context: task, may sleep; not under the CPU hotplug lock.
 * Return: 0; the error of kdtl_probes_find(), or of tracepoint_probe_register().
 */
static inline int kdtl_probes_register(struct kdtl_probe *probes, unsigned int nr)
{
	unsigned int i;
	int err;

	might_sleep();
	err = kdtl_probes_find(probes, nr);
	for (i = 0; i < nr && !err; i++) {
		if (probes[i].tp)
			err = tracepoint_probe_register(probes[i].tp, probes[i].probe, NULL);
		probes[i].on = probes[i].tp && !err;
		if (err)
			kdtl_probes_unregister(probes, i);
	}
	return err;
}

#endif /* _LINUX_KDTL_PROBES_H */
