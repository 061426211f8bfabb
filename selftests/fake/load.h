/* SPDX-License-Identifier: GPL-2.0 */
/* Makes entries at any rate on every online CPU, and checks what a reader got of them. */
#ifndef _KDTL_FAKE_LOAD_H
#define _KDTL_FAKE_LOAD_H

#include <linux/kdtl_pmu.h>
#include <linux/kdtl_verbs.h>

#include "kdtl_fake_pmu.h"

int kdtl_fake_load_start(u64 period, unsigned int burst);
void kdtl_fake_load_stop(void);
void kdtl_fake_load_stall(int cpu, unsigned int bursts);
u64 kdtl_fake_load_made(int cpu, enum kdtl_kind kind);
u64 kdtl_fake_load_made_for(int cpu, u32 mask);

/**
 * struct kdtl_fake_seen - what a reader has seen of a CPU
 * @next: number that the next entry of a kind must have
 * @seen: entries, by kind
 * @holes: entries that are missing between those that were seen
 * @wrong: entries that are torn, of another CPU, out of order or not wanted
 * @last: sequence number of the last entry
 */
struct kdtl_fake_seen {
	u32	next[KDTL_NR_KINDS];
	u64	seen[KDTL_NR_KINDS];
	u64	holes;
	u64	wrong;
	u64	last;
};

void kdtl_fake_see(struct kdtl_fake_seen *seen, int cpu, u32 mask,
		   const void *span, size_t len);
u64 kdtl_fake_seen_all(const struct kdtl_fake_seen *seen);

#endif /* _KDTL_FAKE_LOAD_H */
