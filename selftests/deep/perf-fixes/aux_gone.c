// SPDX-License-Identifier: GPL-2.0
/*
 * aux_gone - a PMU with an AUX area, whose device can be unbound
 *
 * As in drivers of real devices, all that belongs to the device goes with it (devm_kzalloc()), and
 * the data that setup_aux() returns points to it. While an event runs, an AUX transaction is open;
 * when the event stops, it has written WRITTEN bytes.
 *
 *         echo aux_gone >/sys/bus/platform/drivers/aux_gone/unbind
 */
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/platform_device.h>
#include <linux/slab.h>

#define WRITTEN	64

struct gone {
	struct pmu	pmu;
	int		areas;
	/* For one event at a time. */
	struct perf_output_handle handle;
};

struct gone_area {
	struct gone	*gone;
	u8		*first;
	unsigned long	written;
};

static struct platform_device *gone_device;

static struct gone *to_gone(struct perf_event *event)
{
	return container_of(event->pmu, struct gone, pmu);
}

static int gone_event_init(struct perf_event *event)
{
	return event->attr.type == event->pmu->type ? 0 : -ENOENT;
}

static void gone_start(struct perf_event *event, int flags)
{
	struct gone *gone = to_gone(event);

	event->hw.state = 0;
	perf_aux_output_begin(&gone->handle, event);
}

static void gone_stop(struct perf_event *event, int flags)
{
	struct gone *gone = to_gone(event);
	struct gone_area *area = perf_get_aux(&gone->handle);

	event->hw.state = PERF_HES_STOPPED;
	if (!area)
		return;
	if (area->written < PAGE_SIZE)
		memset(area->first + area->written, 'w', WRITTEN);
	area->written += WRITTEN;
	smp_wmb(); /* data before perf's head; pairs with the reader's */
	perf_aux_output_end(&gone->handle, WRITTEN);
}

static int gone_add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED;
	if (flags & PERF_EF_START)
		gone_start(event, flags);
	return 0;
}

static void gone_del(struct perf_event *event, int flags)
{
	gone_stop(event, flags);
}

static void gone_read(struct perf_event *event)
{
}

static void *gone_setup_aux(struct perf_event *event, void **pages, int nr_pages,
			    bool overwrite)
{
	struct gone_area *area = kzalloc(sizeof(*area), GFP_KERNEL);

	if (!area)
		return NULL;
	area->gone = to_gone(event);
	area->first = pages[0];
	area->gone->areas++;
	return area;
}

static void gone_free_aux(void *aux)
{
	struct gone_area *area = aux;

	area->gone->areas--;
	kfree(area);
}

static int gone_probe(struct platform_device *device)
{
	struct gone *gone = devm_kzalloc(&device->dev, sizeof(*gone), GFP_KERNEL);

	if (!gone)
		return -ENOMEM;
	gone->pmu = (struct pmu) {
		.module		= THIS_MODULE,
		.task_ctx_nr	= perf_invalid_context,
		.capabilities	= PERF_PMU_CAP_NO_INTERRUPT,
		.event_init	= gone_event_init,
		.add		= gone_add,
		.del		= gone_del,
		.start		= gone_start,
		.stop		= gone_stop,
		.read		= gone_read,
		.setup_aux	= gone_setup_aux,
		.free_aux	= gone_free_aux,
	};
	platform_set_drvdata(device, gone);
	return perf_pmu_register(&gone->pmu, "aux_gone", -1);
}

static void gone_remove(struct platform_device *device)
{
	struct gone *gone = platform_get_drvdata(device);

	perf_pmu_unregister(&gone->pmu);
	dev_info(&device->dev, "%d areas left\n", gone->areas);
}

static struct platform_driver gone_driver = {
	.driver		= { .name = "aux_gone" },
	.probe		= gone_probe,
	.remove		= gone_remove,
};

static int __init gone_init(void)
{
	int ret = platform_driver_register(&gone_driver);

	if (ret)
		return ret;
	gone_device = platform_device_register_simple("aux_gone", PLATFORM_DEVID_NONE,
						      NULL, 0);
	if (IS_ERR(gone_device)) {
		platform_driver_unregister(&gone_driver);
		return PTR_ERR(gone_device);
	}
	return 0;
}
module_init(gone_init);

static void __exit gone_exit(void)
{
	platform_device_unregister(gone_device);
	platform_driver_unregister(&gone_driver);
}
module_exit(gone_exit);

MODULE_DESCRIPTION("A PMU with an AUX area, of a device that can be unbound");
MODULE_LICENSE("GPL");
