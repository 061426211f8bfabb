// SPDX-License-Identifier: GPL-2.0
/*
 * A PMU driver whose data are not entries: how long each interrupt handler ran
 *
 * Sessions and perf users get struct irq_record in their AUX areas, see handler_time.c.
 */
#include <linux/interrupt.h>
#include <linux/kdtl_pmu.h>
#include <linux/kdtl_probes.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched/clock.h>

#include "handlers.h"

#define IRQ_USERS	8	/* events on one CPU at once */

struct irq_user {
	struct perf_event	*event;
	u32			lost;
};

struct irq_cpu {
	struct irq_user	users[IRQ_USERS];
	u64		began;
};

static DEFINE_PER_CPU(struct irq_cpu, irq_cpus);

/* Write @r, preceded by an IRQ_LOST record if any were lost. */
static void irq_write(struct irq_user *u, const struct irq_record *r)
{
	const struct irq_record out[2] = {
		{ .time = r->time, .irq = IRQ_LOST, .ns = u->lost }, *r
	};
	const unsigned int first = u->lost ? 0 : 1;
	const size_t len = sizeof(out) - first * sizeof(out[0]);
	struct perf_output_handle handle = {};
	struct kdtl_area *area;

	area = kdtl_aux_output_begin(&handle, u->event);
	if (!area) {
		u->lost++;
		return;
	}
	/* In overwrite mode there is always room, and handle.size is 0. */
	if (handle.size && handle.size < len) {
		u->lost++;
		kdtl_aux_output_flag(&handle, PERF_AUX_FLAG_PARTIAL);
		kdtl_aux_output_end(&handle, 0);
		return;
	}
	memcpy(area->base + (handle.head & (area->size - 1)), &out[first], len);
	if (!handle.size)
		handle.head += len;
	kdtl_aux_output_end(&handle, len);
	u->lost = 0;
}

static void irq_handler_begins(void *data, int irq, struct irqaction *action)
{
	this_cpu_write(irq_cpus.began, local_clock());
}

static void irq_handler_ends(void *data, int irq, struct irqaction *action, int ret)
{
	struct irq_cpu *c = this_cpu_ptr(&irq_cpus);
	struct irq_record r = { .time = local_clock(), .irq = irq };
	int i;

	/* The handler began before the probes were registered. */
	if (!c->began)
		return;
	r.ns = min_t(u64, r.time - c->began, U32_MAX);
	c->began = 0;
	for (i = 0; i < IRQ_USERS; i++) {
		if (c->users[i].event)
			irq_write(&c->users[i], &r);
	}
}

static struct irq_user *irq_find_user(struct perf_event *event)
{
	struct irq_cpu *c = this_cpu_ptr(&irq_cpus);
	int i;

	for (i = 0; i < IRQ_USERS; i++) {
		if (c->users[i].event == event)
			return &c->users[i];
	}
	return NULL;
}

static void irq_start(struct perf_event *event, int flags)
{
	struct irq_user *u = irq_find_user(NULL);

	event->hw.state = 0;
	if (u)
		*u = (struct irq_user){ .event = event };
}

static void irq_stop(struct perf_event *event, int flags)
{
	struct irq_user *u = irq_find_user(event);

	if (u)
		u->event = NULL;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int irq_add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (!irq_find_user(NULL))
		return -ENOSPC;
	if (flags & PERF_EF_START)
		irq_start(event, 0);
	return 0;
}

static void irq_del(struct perf_event *event, int flags)
{
	irq_stop(event, PERF_EF_UPDATE);
}

static struct kdtl_probe irq_probes[] = {
	{ "irq_handler_entry", irq_handler_begins },
	{ "irq_handler_exit", irq_handler_ends },
};

static int irq_attach(struct kdtl_pmu *p)
{
	int cpu;

	for_each_possible_cpu(cpu)
		per_cpu(irq_cpus.began, cpu) = 0;
	return kdtl_probes_register(irq_probes, ARRAY_SIZE(irq_probes));
}

static void irq_detach(struct kdtl_pmu *p)
{
	kdtl_probes_unregister(irq_probes, ARRAY_SIZE(irq_probes));
}

static struct kdtl_pmu irq_pmu = {
	.pmu.module	= THIS_MODULE,
	.pmu.add	= irq_add,
	.pmu.del	= irq_del,
	.pmu.start	= irq_start,
	.pmu.stop	= irq_stop,
	.name		= "kdtl_handlers",
	.tb_freq	= NSEC_PER_SEC,
	.attach		= irq_attach,
	.detach		= irq_detach,
};

static int __init irq_driver_init(void)
{
	const int err = kdtl_probes_find(irq_probes, ARRAY_SIZE(irq_probes));

	return err ?: kdtl_pmu_register(&irq_pmu);
}

static void __exit irq_driver_exit(void)
{
	kdtl_pmu_unregister(&irq_pmu);
}

module_init(irq_driver_init);
module_exit(irq_driver_exit);

MODULE_DESCRIPTION("kdtl example: a PMU driver with records of its own");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_ALIAS("kdtl-pmu-kdtl_handlers");
