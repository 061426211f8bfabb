/* SPDX-License-Identifier: GPL-2.0 */
/* Waits that take long are logged: see late.c. */
#ifndef _KDTL_LATE_H
#define _KDTL_LATE_H

#include <linux/kdtl_verbs.h>

void kdtl_cpus_say_who(const char *owner);

#endif /* _KDTL_LATE_H */
