/* SPDX-License-Identifier: GPL-2.0 */
/* CPUs that tests take offline. */
#ifndef _KDTL_KUNIT_CPUS_H
#define _KDTL_KUNIT_CPUS_H

#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/errno.h>

/*
 * Bring a CPU back.  On riscv64 the firmware refuses that until the CPU has stopped (-ENOTSUPP
 * while it runs, -EINVAL while it is stopping), and the kernel does not wait for that when it takes
 * a CPU offline.
 */
static inline int cpus_bring_back(int cpu)
{
	int err, tries = 100;

	do {
		err = add_cpu(cpu);
	} while ((err == -EINVAL || err == -ENOTSUPP) && --tries && !msleep_interruptible(100));
	return err;
}

#endif /* _KDTL_KUNIT_CPUS_H */
