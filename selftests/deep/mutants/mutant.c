// SPDX-License-Identifier: GPL-2.0
/* Which mutant this kdtl is; deep/mutants.sh puts this file into core/. */
#include <linux/delay.h>
#include <linux/export.h>
#include <linux/kdtl.h>
#include <linux/moduleparam.h>

unsigned int kdtl_mutant_nr;
EXPORT_SYMBOL_NS_GPL(kdtl_mutant_nr, KDTL_NS);
module_param_named(mutant, kdtl_mutant_nr, uint, 0444);

/* Takes as long as another CPU needs for what may come in between. */
void kdtl_mutant_delay(void)
{
	udelay(2);
}
EXPORT_SYMBOL_NS_GPL(kdtl_mutant_delay, KDTL_NS);
