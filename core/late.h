/* SPDX-License-Identifier: GPL-2.0 */
/* A wait that takes long is not silent: see late.c. */
#ifndef _KDTL_LATE_H
#define _KDTL_LATE_H

#include <linux/workqueue.h>

struct kdtl_late {
	struct delayed_work	work;
	const char		*owner;
	const char		*what;
};

void kdtl_cpus_say_who(const char *owner);
void kdtl_late_begin(struct kdtl_late *late, const char *owner, const char *what);
void kdtl_late_end(struct kdtl_late *late);

#endif /* _KDTL_LATE_H */
