// SPDX-License-Identifier: GPL-2.0
/*
 * A PMU with AUX areas that does not know kdtl
 *
 * It behaves as intel_pt does.  Each CPU has at most one event.  Data that finds no room is cut
 * short, and that disables the event.  In overwrite mode the head is taken modulo the size of the
 * area, and perf learns of it only when the PMU is stopped.  The PMU writes when a test tells it
 * to; each byte is one more than the byte before.
 */
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/smp.h>

#include "raw_pmu.h"

struct raw_pmu_cpu {
	struct perf_output_handle	handle;
	struct perf_event		*event;
	void				**pages;
	unsigned long			size;
	bool				overwrite;
	bool				open;
	u8				next;
};

static DEFINE_PER_CPU(struct raw_pmu_cpu, raw_pmu_cpus);
static atomic_t raw_pmu_nr_areas;
static bool raw_pmu_registered;
static void (*raw_pmu_stop_hook)(void *data);
static void *raw_pmu_stop_data;

static int raw_pmu_event_init(struct perf_event *event)
{
	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	return event->cpu < 0 ? -EOPNOTSUPP : 0;
}

static void raw_pmu_start(struct perf_event *event, int flags)
{
	struct raw_pmu_cpu *c = this_cpu_ptr(&raw_pmu_cpus);

	c->event = event;
	c->open = perf_aux_output_begin(&c->handle, event);
	event->hw.state = c->open ? 0 : PERF_HES_STOPPED;
}

static void raw_pmu_stop(struct perf_event *event, int flags)
{
	struct raw_pmu_cpu *c = this_cpu_ptr(&raw_pmu_cpus);

	if (raw_pmu_stop_hook)
		raw_pmu_stop_hook(raw_pmu_stop_data);
	if (c->open)
		perf_aux_output_end(&c->handle, 0);
	c->open = false;
	event->hw.state = PERF_HES_STOPPED;
}

static int raw_pmu_add(struct perf_event *event, int flags)
{
	if (event->attr.config & RAW_PMU_REFUSES)
		return -EIO;
	event->hw.state = PERF_HES_STOPPED;
	if (flags & PERF_EF_START)
		raw_pmu_start(event, flags);
	return 0;
}

static void raw_pmu_del(struct perf_event *event, int flags)
{
	raw_pmu_stop(event, flags);
}

static void raw_pmu_read(struct perf_event *event)
{
}

static void *raw_pmu_setup_aux(struct perf_event *event, void **pages, int nr_pages,
			       bool overwrite)
{
	struct raw_pmu_cpu *c = per_cpu_ptr(&raw_pmu_cpus, event->cpu);

	c->pages = pages;
	c->size = (unsigned long)nr_pages << PAGE_SHIFT;
	c->overwrite = overwrite;
	atomic_inc(&raw_pmu_nr_areas);
	return c;
}

static void raw_pmu_free_aux(void *aux)
{
	atomic_dec(&raw_pmu_nr_areas);
}

static struct pmu raw_pmu;

static const struct pmu raw_pmu_ops = {
	.module		= THIS_MODULE,
	.task_ctx_nr	= perf_invalid_context,
	.capabilities	= PERF_PMU_CAP_EXCLUSIVE | PERF_PMU_CAP_NO_INTERRUPT,
	.event_init	= raw_pmu_event_init,
	.add		= raw_pmu_add,
	.del		= raw_pmu_del,
	.start		= raw_pmu_start,
	.stop		= raw_pmu_stop,
	.read		= raw_pmu_read,
	.setup_aux	= raw_pmu_setup_aux,
	.free_aux	= raw_pmu_free_aux,
};

/* @caps holds further PERF_PMU_CAP_* flags, beside those that this PMU always has. */
int raw_pmu_register(int caps)
{
	int err;

	raw_pmu = raw_pmu_ops;
	raw_pmu.capabilities |= caps;
	err = perf_pmu_register(&raw_pmu, RAW_PMU, -1);
	raw_pmu_registered = !err;
	return err;
}

/* Events on the PMU may still exist. */
void raw_pmu_unregister(void)
{
	if (raw_pmu_registered)
		perf_pmu_unregister(&raw_pmu);
	raw_pmu_registered = false;
}

/* Set what the driver does when it stops the PMU, on any CPU; NULL for nothing. */
void raw_pmu_on_stop(void (*hook)(void *data), void *data)
{
	raw_pmu_stop_data = data;
	raw_pmu_stop_hook = hook;
}

int raw_pmu_type(void)
{
	return raw_pmu.type;
}

/* How many areas were set up and not freed. */
unsigned int raw_pmu_areas(void)
{
	return atomic_read(&raw_pmu_nr_areas);
}

/* Is the area of a CPU one piece of memory? */
bool raw_pmu_is_whole(int cpu)
{
	const struct raw_pmu_cpu *c = per_cpu_ptr(&raw_pmu_cpus, cpu);
	unsigned long at;

	for (at = 0; at < c->size; at += PAGE_SIZE) {
		if (c->pages[at / PAGE_SIZE] != c->pages[0] + at)
			return false;
	}
	return true;
}

/* The value of the byte that will be written next. */
u8 raw_pmu_next(int cpu)
{
	return per_cpu(raw_pmu_cpus, cpu).next;
}

/* Is the PMU able to write? */
bool raw_pmu_is_on(int cpu)
{
	return READ_ONCE(per_cpu(raw_pmu_cpus, cpu).open);
}

/* Do what the PMU's interrupt would do; interrupts are off on the CPU. */
static void raw_pmu_write_here(void *bytes)
{
	struct raw_pmu_cpu *c = this_cpu_ptr(&raw_pmu_cpus);
	unsigned long nr = *(unsigned long *)bytes, pos, i;

	*(unsigned long *)bytes = 0;
	if (!c->open)
		return;
	if (!c->overwrite && nr > c->handle.size) {
		nr = c->handle.size;
		perf_aux_output_flag(&c->handle, PERF_AUX_FLAG_TRUNCATED);
	}
	for (i = 0; i < nr; i++) {
		pos = (c->handle.head + i) % c->size;
		((u8 *)c->pages[pos / PAGE_SIZE])[pos % PAGE_SIZE] = c->next++;
	}
	*(unsigned long *)bytes = nr;
	if (c->overwrite) {
		/* perf learns of the new head only when the PMU is stopped. */
		c->handle.head = (c->handle.head + nr) % c->size;
		return;
	}
	smp_wmb(); /* B of perf_output_put_handle(), left to the PMU */
	perf_aux_output_end(&c->handle, nr);
	raw_pmu_start(c->event, 0);
}

/* Returns how many bytes found room. */
unsigned long raw_pmu_write(int cpu, unsigned long bytes)
{
	smp_call_function_single(cpu, raw_pmu_write_here, &bytes, 1);
	return bytes;
}
