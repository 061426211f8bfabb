// SPDX-License-Identifier: GPL-2.0
/*
 * Which mutant this kdtl is; deep/mutants.sh puts this file into the tree.
 *
 * It is a module of its own, without a namespace, because each of kdtl's may have mutants: none of
 * them must need another one for that, or a test could not unload what it can unload otherwise.
 */
#include <linux/delay.h>
#include <linux/export.h>
#include <linux/module.h>

unsigned int mutant_nr;
EXPORT_SYMBOL_GPL(mutant_nr);
module_param_named(nr, mutant_nr, uint, 0644);
MODULE_PARM_DESC(nr, "the mutant, while no other module of kdtl is loaded (default 0: none)");

/* Takes as long as another CPU needs for what may come in between. */
void mutant_delay(void)
{
	udelay(2);
}
EXPORT_SYMBOL_GPL(mutant_delay);

MODULE_DESCRIPTION("Chooses one of the mutants of kdtl that this build has");
MODULE_LICENSE("GPL");
