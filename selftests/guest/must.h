/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the test programs: if a condition does not hold, the process says where
 * and ends.
 */
#ifndef _KDTL_MUST_H
#define _KDTL_MUST_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define die(...) do {							\
	printf("# line %d: ", __LINE__);				\
	printf(__VA_ARGS__);						\
	printf(" (%s)\n", strerror(errno));				\
	exit(1);							\
} while (0)

#define must(cond) do {							\
	if (!(cond))							\
		die("%s", #cond);					\
} while (0)

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#endif /* _KDTL_MUST_H */
