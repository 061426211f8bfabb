// SPDX-License-Identifier: GPL-2.0
/*
 * For msgq.sh: kdtl_msgq_init() of core/counters/msgq.c, built as a program
 *
 * A queue of each size has as many slots as its pages have room for, or is refused.  The largest
 * size is 4 GiB, which a size_t of 32 bits cannot say.  With NARROW this type, and long, have as
 * many bits as on a machine of 32 bits: not every host runs programs of 32 bits.
 *
 * A queue for which the machine has no memory is refused without asking for it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "msgq_kernel.h"

#ifdef NARROW
#define size_t	u32
#define long	int
#endif

/* The largest number of pages that a session may ask for. */
#define MOST_PAGES	(1U << 20)

/* What was asked for; 0: nothing, or more than a size_t can say. */
static u64 asked;

static void *__vcalloc(size_t n, size_t size, int flags)
{
	size_t bytes;

	asked = __builtin_mul_overflow(n, size, &bytes) ? 0 : bytes;
	/* Nobody uses the memory. */
	return asked ? malloc(1) : NULL;
}

static void vfree(void *p)
{
	free(p);
}

#include "../../../core/counters/msgq.c"

/* Is a queue of 8 pages asked for if so many are available? */
static bool asks_with(long pages)
{
	struct kdtl_msgq q = { 0 };
	int err;

	asked = 0;
	available = pages;
	err = kdtl_msgq_init(&q, 8, 0, false);
	kdtl_msgq_free(&q);
	available = __LONG_MAX__;
	return !err && asked;
}

int main(void)
{
	const u64 most = (size_t)-1;
	unsigned int pages, refused = 0;
	int status = 0, err;

	for (pages = 1; pages <= MOST_PAGES; pages *= 2) {
		const u64 bytes = (u64)pages << PAGE_SHIFT;
		const u64 slots = bytes / sizeof(struct kdtl_msg);
		struct kdtl_msgq q = { 0 };

		err = kdtl_msgq_init(&q, pages, 0, false);
		refused += err == -ENOMEM;
		if (err ? err != -ENOMEM || bytes <= most || q.slots :
		    q.nr_slots != slots || asked != (slots + KDTL_MSGQ_KEPT) * sizeof(*q.slots)) {
			printf("%u pages: %d, %u slots, %ju bytes\n", pages, err, q.nr_slots,
			       (uintmax_t)asked);
			status = 1;
		}
		kdtl_msgq_free(&q);
	}
	if (asks_with(0) || asks_with(7) || !asks_with(8)) {
		puts("8 pages are not refused, or are refused needlessly");
		status = 1;
	}
	printf("# with a size_t of %zu bytes %u sizes are refused\n", sizeof(size_t), refused);
	return status || refused != (sizeof(size_t) == 4);
}
