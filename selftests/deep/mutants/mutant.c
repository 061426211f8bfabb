// SPDX-License-Identifier: GPL-2.0
/*
 * Which mutant kdtl is: deep/mutants.sh puts this file into core/.  Its exports are in no
 * namespace, because kdtl_answers imports none.
 */
#include <linux/delay.h>
#include <linux/export.h>
#include <linux/kdtl.h>
#include <linux/moduleparam.h>

unsigned int kdtl_mutant_nr;
EXPORT_SYMBOL_GPL(kdtl_mutant_nr);
module_param_named(mutant, kdtl_mutant_nr, uint, 0444);

/* As long as another CPU takes for what may come in between. */
void kdtl_mutant_delay(void)
{
	udelay(2);
}
EXPORT_SYMBOL_GPL(kdtl_mutant_delay);
