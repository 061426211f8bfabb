/* SPDX-License-Identifier: GPL-2.0 */
/* Sessions with a reader each, which check what they get. */
#ifndef _KDTL_KUNIT_SESSIONS_H
#define _KDTL_KUNIT_SESSIONS_H

#include "../fake/load.h"
#include "kapi.h"

/* More than have a place in kdtl_pmu_cpu::near. */
#define MANY_NR		18
#define MANY_PERIOD	NSEC_PER_MSEC
#define MANY_BURST	16
#define MANY_PAGES	16
#define MANY_MOST	(MANY_PAGES * PAGE_SIZE / KDTL_ENTRY_SIZE - 1)

/* The masks of MANY_NR sessions; every other one overwrites. */
extern const u32 many_masks[MANY_NR];

/**
 * struct many - one session and its reader
 * @s: the session
 * @mask: what it logs
 * @overwrite: keeps the newest
 * @task: the reader
 * @made: what had been made for it when it started, by CPU
 * @seen: what was read, by CPU
 * @went: messages that a CPU went offline, by CPU
 * @came: messages that a CPU came online, by CPU
 * @buf: for snapshots
 */
struct many {
	struct kdtl_session	*s;
	u32			mask;
	bool			overwrite;
	struct task_struct	*task;
	u64			*made;
	struct kdtl_fake_seen	*seen;
	unsigned int		*went;
	unsigned int		*came;
	void			*buf;
};

void many_read(struct many *m, int cpu);
void many_snapshot(struct many *m, int cpu);
int many_create(struct many *m, u32 mask, bool overwrite);
int many_start(struct many *m);
void many_end_reading(struct many *m);
void many_destroy(struct many *m);
void many_expect_exact(struct kunit *test, struct many *m, int cpu);

#endif /* _KDTL_KUNIT_SESSIONS_H */
