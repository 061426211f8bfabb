// SPDX-License-Identifier: GPL-2.0
/* Where the tables of tasks and cgroups are, for readers of an image of the memory. */
#include <linux/kdtl_root.h>

struct kdtl_tables kdtl_tables = {
	.magic		= KDTL_TABLES_MAGIC,
	.version	= KDTL_ROOT_VERSION,
	.size		= sizeof(kdtl_tables),
};
