/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A suite includes this header and then the .c file of a driver of core/pmu.  The driver is then
 * part of the suite's module, and the suite can call the driver's init and exit at any time.
 *
 * There is no include guard: a second inclusion would define the same macros again.
 */
#undef __init
#define __init
#undef __exit
#define __exit
#undef module_init
#define module_init(fn)
#undef module_exit
#define module_exit(fn)
#undef MODULE_ALIAS
#define MODULE_ALIAS(alias)
#undef MODULE_DESCRIPTION
#define MODULE_DESCRIPTION(text)
#undef MODULE_LICENSE
#define MODULE_LICENSE(license)
#undef MODULE_IMPORT_NS
#define MODULE_IMPORT_NS(ns)
#undef pr_fmt
