// SPDX-License-Identifier: GPL-2.0
/*
 * The PMUs of raw sessions
 *
 * A raw session reads the AUX data of a PMU whose driver need not know kdtl, such as
 * intel_pt.  perf allocates AUX areas only for mmap(), unless it has
 * perf_event_aux_alloc(), for which Kbuild looks.  All sessions on a PMU share one event
 * on each CPU, because such PMUs often have only one.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/device.h>
#include <linux/err.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

#include "raw.h"

static LIST_HEAD(kdtl_raws);
/* Protects the list and kdtl_raw::sessions. */
static DEFINE_MUTEX(kdtl_raws_lock);

/**
 * kdtl_raw_device() - find the device of one of perf's PMUs
 * @name: the PMU's name
 *
 * Context: may sleep.
 * Return: the device, which is held; -ENODEV, or why perf gives no event.
 */
struct device *kdtl_raw_device(const char *name)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_SOFTWARE,
		.size		= sizeof(attr),
		.config		= PERF_COUNT_SW_DUMMY,
		.disabled	= 1,
	};
	struct perf_event *event;
	struct device *dev;

	/* perf's bus is not exported to modules, but every event leads there. */
	event = perf_event_create_kernel_counter(&attr, -1, current, NULL, NULL);
	if (IS_ERR(event))
		return ERR_CAST(event);
	dev = bus_find_device_by_name(event->pmu->dev->bus, NULL, name);
	perf_event_release_kernel(event);
	return dev ?: ERR_PTR(-ENODEV);
}

/* Find the PMU's type and capabilities. */
static int kdtl_raw_find(const char *owner, const char *name, u32 *type, int *caps)
{
	struct device *dev = kdtl_raw_device(name);
	const struct pmu *pmu;
	int err = -ENODEV;

	if (IS_ERR(dev)) {
		pr_warn_ratelimited("%s: perf has no PMU \"%*pE\"\n", owner,
				    (int)strlen(name), name);
		return PTR_ERR(dev);
	}
	/* While the device is locked, neither it nor its PMU goes away. */
	device_lock(dev);
	if (device_is_registered(dev)) {
		pmu = dev_get_drvdata(dev);
		*type = pmu->type;
		*caps = pmu->capabilities;
		err = pmu->setup_aux ? 0 : -EOPNOTSUPP;
	}
	device_unlock(dev);
	put_device(dev);
	if (err)
		pr_warn_ratelimited("%s: PMU %s has no AUX area (%d)\n", owner, name, err);
	return err;
}

static void kdtl_raw_free(struct kdtl_raw *raw)
{
	free_percpu(raw->source.cpu);
	free_percpu(raw->cpus);
	kfree(raw);
}

static struct kdtl_raw *kdtl_raw_alloc(const struct kdtl_session_attr *attr, u32 type,
				       int caps, const struct kdtl_aux_layout *layout)
{
	struct kdtl_raw *raw = kzalloc(sizeof(*raw), GFP_KERNEL);
	int cpu;

	if (!raw)
		return NULL;
	raw->cpus = alloc_percpu(struct kdtl_raw_cpu);
	raw->source.cpu = alloc_percpu(struct kdtl_pmu_cpu);
	if (!raw->cpus || !raw->source.cpu) {
		kdtl_raw_free(raw);
		return NULL;
	}
	strscpy(raw->name, attr->pmu, sizeof(raw->name));
	raw->source.name = raw->name;
	/*
	 * A raw session has no times: min_wait must be 0, and kdtl_aux_info() says a rate of 0.
	 * But min_wait is converted, and at a rate of 0 that would divide by 0.
	 */
	raw->source.tb_freq = NSEC_PER_SEC;
	raw->source.pmu.type = type;
	raw->source.pmu.capabilities = caps;
	raw->type = type;
	raw->config = attr->config;
	raw->period = attr->period;
	raw->layout = *layout;
	mutex_init(&raw->lock);
	INIT_WORK(&raw->work, kdtl_raw_work);
	init_llist_head(&raw->unused);
	for_each_possible_cpu(cpu)
		kdtl_raw_cpu_init(raw, cpu);
	return raw;
}

static bool kdtl_raw_is_like(const struct kdtl_raw *raw,
			     const struct kdtl_session_attr *attr,
			     const struct kdtl_aux_layout *layout)
{
	return raw->config == attr->config && raw->period == attr->period &&
	       raw->layout.nr_pages == layout->nr_pages &&
	       raw->layout.watermark == layout->watermark &&
	       raw->layout.overwrite == layout->overwrite;
}

static struct kdtl_raw *kdtl_raw_join_or_alloc(const char *owner,
					       const struct kdtl_session_attr *attr,
					       u32 type, int caps,
					       const struct kdtl_aux_layout *layout)
{
	struct kdtl_raw *raw;

	lockdep_assert_held(&kdtl_raws_lock);
	list_for_each_entry(raw, &kdtl_raws, node) {
		if (raw->type != type || strcmp(raw->name, attr->pmu))
			continue;
		if (kdtl_raw_is_like(raw, attr, layout))
			return raw;
		pr_warn_ratelimited("%s: sessions share %s's area, and another one has config=%#llx, period=%llu, %u pages, a watermark of %llu bytes%s\n",
				    owner, attr->pmu, raw->config, raw->period,
				    raw->layout.nr_pages, raw->layout.watermark,
				    raw->layout.overwrite ? " and overwrites" : "");
		return ERR_PTR(-EBUSY);
	}
	raw = kdtl_raw_alloc(attr, type, caps, layout);
	if (!raw)
		return ERR_PTR(-ENOMEM);
	list_add(&raw->node, &kdtl_raws);
	return raw;
}

/**
 * kdtl_raw_get() - find a PMU for a raw session, and hold it
 * @s: the session, which then has the PMU as its source, and the PMU's areas
 * @attr: its attributes: perf's name of the PMU, and its events' attributes
 *
 * The PMU may be unregistered nevertheless.
 *
 * Context: may sleep.
 * Return:
 * * 0; in case of an error a line in the log says what is wrong
 * * -ENODEV: perf has no PMU of this name
 * * -EOPNOTSUPP: the PMU has no AUX areas
 * * -EBUSY: a session on the PMU has another layout, config or period
 * * -ENOMEM
 */
int kdtl_raw_get(struct kdtl_session *s, const struct kdtl_session_attr *attr)
{
	struct kdtl_raw *raw;
	int caps, err;
	u32 type;

	err = kdtl_raw_find(s->owner, attr->pmu, &type, &caps);
	if (err)
		return err;
	mutex_lock(&kdtl_raws_lock);
	raw = kdtl_raw_join_or_alloc(s->owner, attr, type, caps, &s->layout);
	if (!IS_ERR(raw))
		raw->sessions++;
	mutex_unlock(&kdtl_raws_lock);
	if (IS_ERR(raw))
		return PTR_ERR(raw);
	s->pmu = &raw->source;
	s->ops = &kdtl_raw_areas;
	s->no_reader = true;
	return 0;
}

/**
 * kdtl_raw_put() - undo kdtl_raw_get()
 * @s: the session, of which no area is left
 *
 * Context: may sleep.
 */
void kdtl_raw_put(struct kdtl_session *s)
{
	struct kdtl_raw *raw = container_of(s->pmu, struct kdtl_raw, source);
	bool last;

	mutex_lock(&kdtl_raws_lock);
	last = !--raw->sessions;
	if (last)
		list_del(&raw->node);
	mutex_unlock(&kdtl_raws_lock);
	if (!last)
		return;
	irq_work_sync(&raw->kick);
	cancel_work_sync(&raw->work);
	kdtl_raw_free_unused(raw);
	mutex_destroy(&raw->lock);
	kdtl_raw_free(raw);
}
