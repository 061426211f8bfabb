/* SPDX-License-Identifier: GPL-2.0 */
/* Sessions with one reader each; the readers check what they get. */
#ifndef _KDTL_KUNIT_SESSIONS_H
#define _KDTL_KUNIT_SESSIONS_H

#include "../fake/load.h"
#include "kapi.h"

/* More sessions than there are places in kdtl_pmu_cpu::near. */
#define MANY_NR		18
#define MANY_PERIOD	NSEC_PER_MSEC
#define MANY_BURST	16
#define MANY_PAGES	16
#define MANY_MOST	(MANY_PAGES * PAGE_SIZE / KDTL_ENTRY_SIZE - 1)

/* The masks of MANY_NR sessions; every other session is in overwrite mode. */
extern const u32 many_masks[MANY_NR];

/**
 * struct many - one session and its reader
 * @s: the session
 * @mask: the kinds that it logs
 * @overwrite: it keeps the newest entries
 * @task: the reader
 * @made: by CPU, the entries of @mask that had been made when it started
 * @seen: by CPU, what the reader has read
 * @went: by CPU, messages that it went offline
 * @came: by CPU, messages that it came online
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
