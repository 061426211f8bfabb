/* SPDX-License-Identifier: GPL-2.0 */
/* The hash in an entry's last word shows a reader that the entry is whole. */
#ifndef _KDTL_FAKE_HASH_H
#define _KDTL_FAKE_HASH_H

#include <linux/kdtl.h>

/* FNV-1a over the words before srr1. */
static inline u64 kdtl_fake_hash(const struct kdtl_entry *e)
{
	const u64 *word = (const u64 *)e;
	u64 hash = 0xcbf29ce484222325ULL;
	unsigned int i;

	for (i = 0; i < offsetof(struct kdtl_entry, srr1) / sizeof(*word); i++) {
		hash = (hash ^ word[i]) * 0x100000001b3ULL;
		hash ^= hash >> 32;
	}
	return hash;
}

#endif /* _KDTL_FAKE_HASH_H */
