// SPDX-License-Identifier: GPL-2.0
/*
 * A PMU driver like a third party's, which writes to AUX areas itself
 *
 * Documentation/writing-a-pmu-driver.rst calls this a driver whose data is not
 * made of entries: it has its own add() and del(), and calls
 * kdtl_aux_output_begin() and _end().  The tests say what is written and when.
 */
#include <linux/export.h>
#include <linux/irq_work.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "kdtl_fake_pmu.h"
#include "raw.h"

static struct kdtl_raw *kdtl_raw_of(struct perf_event *event)
{
	return container_of(event->pmu, struct kdtl_raw, p.pmu);
}

static void *kdtl_raw_setup_aux(struct perf_event *event, void **pages,
				int nr_pages, bool overwrite)
{
	struct kdtl_raw *raw = kdtl_raw_of(event);
	struct kdtl_raw_area *area;

	might_sleep();
	if (raw->fail_setup >= 0 && !raw->fail_setup--)
		return NULL;
	area = kzalloc(sizeof(*area), GFP_KERNEL);
	if (!area)
		return NULL;
	area->raw = raw;
	area->pages = pages;
	area->nr_pages = nr_pages;
	area->cpu = event->cpu;
	area->overwrite = overwrite;
	atomic_inc(&raw->setups);
	if (raw->on_setup)
		raw->on_setup(area);
	return area;
}

static void kdtl_raw_free_aux(void *priv)
{
	struct kdtl_raw_area *area = priv;
	struct kdtl_raw *raw = area->raw;

	might_sleep();
	if (!in_task() || irqs_disabled() || atomic_read(&area->writers))
		atomic_inc(&raw->bad_frees);
	/* The pages are still there. */
	memset(area->pages[0], 0xa5, PAGE_SIZE);
	memset(area->pages[area->nr_pages - 1], 0xa5, PAGE_SIZE);
	atomic_inc(&raw->frees);
	kfree(area);
}

/**
 * kdtl_raw_begin() - kdtl_aux_output_begin(), counted in the area
 * @handle: for kdtl_raw_end()
 * @event: whose area
 *
 * Context: on the event's CPU, interrupts off.
 * Return: what kdtl_aux_output_begin() returns.
 */
void *kdtl_raw_begin(struct perf_output_handle *handle, struct perf_event *event)
{
	void *priv = kdtl_aux_output_begin(handle, event);
	struct kdtl_raw_area *area = priv;

	if (priv && event->pmu->setup_aux == kdtl_raw_setup_aux)
		atomic_inc(&area->writers);
	return priv;
}
EXPORT_SYMBOL_NS_GPL(kdtl_raw_begin, KDTL_NS);

/**
 * kdtl_raw_end() - undo kdtl_raw_begin()
 * @handle: from there
 * @priv: what it returned
 * @size: bytes written
 *
 * Context: on the event's CPU, interrupts off.
 */
void kdtl_raw_end(struct perf_output_handle *handle, void *priv, unsigned long size)
{
	struct kdtl_raw_area *area = priv;

	if (handle->event->pmu->setup_aux == kdtl_raw_setup_aux)
		atomic_dec(&area->writers);
	kdtl_aux_output_end(handle, size);
}
EXPORT_SYMBOL_NS_GPL(kdtl_raw_end, KDTL_NS);

static void kdtl_raw_start(struct perf_event *event, int flags)
{
	struct kdtl_raw *raw = kdtl_raw_of(event);
	struct kdtl_raw_cpu *c = this_cpu_ptr(raw->cpu);

	event->hw.state = 0;
	c->events[c->nr] = event;
	c->handles[c->nr].event = NULL;
	if (raw->hold)
		c->privs[c->nr] = kdtl_raw_begin(&c->handles[c->nr], event);
	c->nr++;
}

static void kdtl_raw_stop(struct perf_event *event, int flags)
{
	struct kdtl_raw_cpu *c = this_cpu_ptr(kdtl_raw_of(event)->cpu);
	unsigned int i;

	if (event->hw.state & PERF_HES_STOPPED)
		return;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	for (i = 0; i < c->nr; i++) {
		if (c->events[i] != event)
			continue;
		if (c->handles[i].event)
			kdtl_raw_end(&c->handles[i], c->privs[i], 0);
		c->nr--;
		c->events[i] = c->events[c->nr];
		c->handles[i] = c->handles[c->nr];
		c->privs[i] = c->privs[c->nr];
		return;
	}
}

static int kdtl_raw_add(struct perf_event *event, int flags)
{
	struct kdtl_raw *raw = kdtl_raw_of(event);
	struct kdtl_raw_cpu *c = this_cpu_ptr(raw->cpu);

	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (raw->refuse)
		return raw->refuse;
	if (c->nr == KDTL_RAW_EVENTS)
		return -ENOSPC;
	if (!(flags & PERF_EF_START))
		return 0;
	kdtl_raw_start(event, 0);
	/* As in intel_pt and others, an event without an area is refused: it is of no use. */
	if (raw->hold && !c->handles[c->nr - 1].event) {
		kdtl_raw_stop(event, 0);
		return -EINVAL;
	}
	return 0;
}

static void kdtl_raw_del(struct perf_event *event, int flags)
{
	kdtl_raw_stop(event, PERF_EF_UPDATE);
}

/**
 * kdtl_raw_register() - register a driver
 * @raw: zeroed
 * @name: of the PMU
 * @caps: PERF_PMU_CAP_AUX_*
 * @own_setup: use the driver's own setup_aux() and free_aux(), not kdtl's
 *
 * Context: may sleep.
 * Return: 0 or an errno.
 */
int kdtl_raw_register(struct kdtl_raw *raw, const char *name, int caps,
		      bool own_setup)
{
	int err;

	raw->cpu = alloc_percpu(struct kdtl_raw_cpu);
	if (!raw->cpu)
		return -ENOMEM;
	raw->fail_setup = -1;
	raw->p.pmu.module = THIS_MODULE;
	raw->p.pmu.capabilities = caps;
	raw->p.pmu.add = kdtl_raw_add;
	raw->p.pmu.del = kdtl_raw_del;
	raw->p.pmu.start = kdtl_raw_start;
	raw->p.pmu.stop = kdtl_raw_stop;
	if (own_setup) {
		raw->p.pmu.setup_aux = kdtl_raw_setup_aux;
		raw->p.pmu.free_aux = kdtl_raw_free_aux;
	}
	raw->p.name = name;
	raw->p.tb_freq = NSEC_PER_SEC;
	err = kdtl_pmu_register(&raw->p);
	if (err)
		free_percpu(raw->cpu);
	return err;
}
EXPORT_SYMBOL_NS_GPL(kdtl_raw_register, KDTL_NS);

/**
 * kdtl_raw_unregister() - undo kdtl_raw_register()
 * @raw: the driver; no session uses it
 *
 * Context: may sleep.
 */
void kdtl_raw_unregister(struct kdtl_raw *raw)
{
	kdtl_pmu_unregister(&raw->p);
	free_percpu(raw->cpu);
}
EXPORT_SYMBOL_NS_GPL(kdtl_raw_unregister, KDTL_NS);

struct kdtl_raw_call {
	struct kdtl_raw	*raw;
	void		(*fn)(struct perf_event *event, void *arg);
	void		*arg;
};

static void kdtl_raw_nothing(struct irq_work *work)
{
}

/*
 * When this returns, the irq_work that @fn raised has run: one interrupt runs
 * all queued irq_work, and ours is queued last.
 */
static long kdtl_raw_work(void *arg)
{
	struct irq_work last = IRQ_WORK_INIT_HARD(kdtl_raw_nothing);
	const struct kdtl_raw_call *call = arg;
	struct kdtl_raw_cpu *c;
	unsigned int i;

	local_irq_disable();
	c = this_cpu_ptr(call->raw->cpu);
	for (i = 0; i < c->nr; i++)
		call->fn(c->events[i], call->arg);
	irq_work_queue(&last);
	local_irq_enable();
	irq_work_sync(&last);
	return 0;
}

/**
 * kdtl_raw_on() - do something with each active event of a CPU
 * @raw: the driver
 * @cpu: which CPU
 * @fn: called there, interrupts off
 * @arg: its second argument
 *
 * When it returns, the readers that @fn wanted to wake have been woken.
 *
 * Context: may sleep.
 * Return: 0, or -ENODEV: the CPU is offline.
 */
int kdtl_raw_on(struct kdtl_raw *raw, int cpu,
		void (*fn)(struct perf_event *event, void *arg), void *arg)
{
	struct kdtl_raw_call call = { .raw = raw, .fn = fn, .arg = arg };

	return kdtl_fake_work_on(cpu, kdtl_raw_work, &call);
}
EXPORT_SYMBOL_NS_GPL(kdtl_raw_on, KDTL_NS);
