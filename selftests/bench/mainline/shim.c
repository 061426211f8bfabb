// SPDX-License-Identifier: GPL-2.0
/*
 * mainline_dtl - Linux's vpa_dtl PMU and debugfs powerpc/dtl, as a module
 *
 * It is measured beside kdtl_vpa, on the same kernel.  Its sources are meant to be built in, so it
 * cannot be unloaded.
 */
#include <linux/perf_event.h>
#include <linux/rwsem.h>
#include <asm/dtl.h>
#include <asm/time.h>

/* The kernel's own ones are not exported. */
struct kmem_cache *dtl_cache;
DECLARE_RWSEM(dtl_access_lock);

/* perf's user space would read this; there is none here. */
u64 get_boot_tb(void)
{
	return 0;
}

/* The PMU's attributes use this. */
ssize_t power_events_sysfs_show(struct device *dev, struct device_attribute *attr,
				char *page)
{
	struct perf_pmu_events_attr *e =
		container_of(attr, struct perf_pmu_events_attr, attr);

	return sysfs_emit(page, "event=0x%02llx\n", e->id);
}

static int __init mainline_dtl_init(void)
{
	int err;

	/*
	 * As in alloc_dtl_buffers(), objects are aligned to their size, and may be copied to user
	 * space.
	 */
	dtl_cache = kmem_cache_create_usercopy("mainline_dtl", DISPATCH_LOG_BYTES,
					       DISPATCH_LOG_BYTES, 0, 0,
					       DISPATCH_LOG_BYTES, NULL);
	if (!dtl_cache)
		return -ENOMEM;
	err = shim_vpa_dtl_init();
	if (err) {
		kmem_cache_destroy(dtl_cache);
		return err;
	}
	/* From here on the PMU stays for good. */
	err = shim_dtl_init();
	if (err)
		pr_warn("mainline_dtl: no debugfs powerpc/dtl: error %d\n", err);
	return 0;
}
module_init(mainline_dtl_init);

MODULE_DESCRIPTION("Benchmark: Linux's own users of the dispatch trace log");
MODULE_LICENSE("GPL");
