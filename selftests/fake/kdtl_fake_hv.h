/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The entries that kdtl_fake_hv writes, and their check
 *
 * srr0 numbers the entries since the log was registered; srr1 is a checksum.
 */
#ifndef _KDTL_FAKE_HV_H
#define _KDTL_FAKE_HV_H

#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/kdtl.h>

/* The checksum covers all words but srr1, in the big-endian form in which they are stored. */
static inline u64 fakehv_sum(const struct kdtl_entry *e)
{
	const u64 *word = (const u64 *)e;
	u64 sum = 0x6b64746c;
	unsigned int i;

	static_assert(offsetof(struct kdtl_entry, srr1) == 5 * sizeof(u64));
	for (i = 0; i < 5; i++)
		sum = rol64((sum ^ word[i]) * 0xff51afd7ed558ccdULL, 31);
	return sum;
}

static inline u64 fakehv_entry_seq(const struct kdtl_entry *e)
{
	return be64_to_cpu(e->srr0);
}

static inline bool fakehv_entry_ok(const struct kdtl_entry *e)
{
	return be64_to_cpu(e->srr1) == fakehv_sum(e);
}

#endif /* _KDTL_FAKE_HV_H */
