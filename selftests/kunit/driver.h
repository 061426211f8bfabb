/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A driver of core/pmu, whose .c file a suite includes behind this one, so that it is a part of the
 * suite's module: the suite calls the driver's init and exit, at any time
 *
 * A second inclusion would do the same again, so that nothing guards against it.
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
