// SPDX-License-Identifier: GPL-2.0
/*
 * Linux's vpa_dtl PMU as a module, to compare it with and without patches
 *
 * The driver is meant to be built in, so this module cannot be unloaded.
 */
#define pr_fmt(fmt) VPA_DTL ": " fmt

#include <linux/preempt.h>
#include <linux/rwsem.h>
#include <asm/dtl.h>
#include <asm/time.h>

#define SHIM_FREED	0x6b

static bool no_memory;
module_param(no_memory, bool, 0644);
MODULE_PARM_DESC(no_memory, "allocating a log fails");

/* The kernel's own ones are not exported. */
struct kmem_cache *dtl_cache;
DECLARE_RWSEM(dtl_access_lock);
atomic_t dtl_users;

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

/* Report as CONFIG_DEBUG_ATOMIC_SLEEP does, which Debian's kernel lacks. */
static void shim_might_sleep(gfp_t gfp)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_COUNT))
		pr_err("this kernel does not know what is atomic\n");
	if (gfpflags_allow_blocking(gfp) && (preempt_count() || irqs_disabled()))
		pr_err("an allocation that may sleep, in atomic context\n");
}

void *shim_cache_alloc(struct kmem_cache *cache, gfp_t gfp, int node)
{
	shim_might_sleep(gfp);
	return no_memory ? NULL : kmem_cache_alloc_node_noprof(cache, gfp, node);
}

void *shim_alloc(size_t size, gfp_t gfp, int node)
{
	shim_might_sleep(gfp);
	return no_memory ? NULL : kmalloc_node_noprof(size, gfp, node);
}

/* kdtl_fake_hv complains if it is still told to write here. */
void shim_free(const void *p)
{
	if (!p)
		return;
	memset((void *)p, SHIM_FREED, ksize(p));
	(kfree)(p);
}

static int __init shim_init(void)
{
	int err;

	/* As in alloc_dtl_buffers(), each object is aligned to its size. */
	dtl_cache = kmem_cache_create(VPA_DTL, DISPATCH_LOG_BYTES, DISPATCH_LOG_BYTES, 0,
				      NULL);
	if (!dtl_cache)
		return -ENOMEM;
	err = shim_vpa_dtl_init();
	if (err)
		kmem_cache_destroy(dtl_cache);
	return err;
}
module_init(shim_init);

MODULE_DESCRIPTION("kdtl test: Linux's own vpa_dtl PMU");
MODULE_LICENSE("GPL");
