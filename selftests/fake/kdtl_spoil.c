// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_spoil - spoil the recorder's reserved memory, as its next user might have
 *
 *	insmod kdtl_spoil.ko address=A size=S
 *
 * copies the memory while the recorder writes there.
 *
 *	echo SEED >/sys/module/kdtl_spoil/parameters/spoil
 *
 * puts the copy back after the recorder has gone, spoiled at random; unchanged if SEED is 0.
 */
#define pr_fmt(fmt) "kdtl_spoil: " fmt

#include <linux/io.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/vmalloc.h>

/* The recorder exports nothing, so its file is compiled here once more. */
#include "../../clients/recorder/last.c"
#include "spoil.h"

static unsigned long long address;
module_param(address, ullong, 0444);
MODULE_PARM_DESC(address, "physical address of the memory");

static unsigned int size;
module_param(size, uint, 0444);
MODULE_PARM_DESC(size, "size of the memory in bytes, a multiple of the page size");

static void *memory, *kept;

static int spoil_put(const char *val, const struct kernel_param *kp)
{
	int err = kstrtou64(val, 0, &seed);

	if (err || !memory)
		return err ?: -ENXIO;
	memcpy(memory, kept, size);
	if (seed)
		spoil_memory(memory, size);
	return 0;
}

static const struct kernel_param_ops spoil_ops = { .set = spoil_put };
module_param_cb(spoil, &spoil_ops, NULL, 0200);
MODULE_PARM_DESC(spoil, "write the copy back; a number other than 0 is the seed of random damage");

static void spoil_end(void)
{
	if (memory)
		memunmap(memory);
	vfree(kept);
}

static int __init spoil_init(void)
{
	void *mem = memremap(address, size, MEMREMAP_WB);

	kept = vmalloc(size);
	memory = mem;
	if (!mem || !kept) {
		spoil_end();
		return -ENOMEM;
	}
	memcpy(kept, mem, size);
	return 0;
}

static void __exit spoil_exit(void)
{
	spoil_end();
}

module_init(spoil_init);
module_exit(spoil_exit);

MODULE_DESCRIPTION("Test: spoil what the recorder keeps in reserved memory");
MODULE_LICENSE("GPL");
