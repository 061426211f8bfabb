// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions with one reader each; the readers check what they get
 *
 * The test source numbers the entries of each kind separately, so each reader can check them on its
 * own.
 */
#include <linux/kthread.h>
#include <linux/slab.h>

#include "sessions.h"

/* Each mask at least twice. */
const u32 many_masks[MANY_NR] = {
	1, 7, 2, 5, 4, 6, 3, 7, 5, 1, 7, 2, 5, 4, 6, 3, 5, 7,
};

/* Check what is unread, and give it back. */
void many_read(struct many *m, int cpu)
{
	const void *span;
	ssize_t len = kdtl_aux_peek(m->s, cpu, &span);

	if (len <= 0)
		return;
	kdtl_fake_see(&m->seen[cpu], cpu, m->mask, span, len);
	kdtl_aux_consume(m->s, cpu, len);
}

/* Check the newest entries of a session in overwrite mode. */
void many_snapshot(struct many *m, int cpu)
{
	ssize_t len = kdtl_aux_snapshot(m->s, cpu, m->buf,
					MANY_PAGES * PAGE_SIZE, NULL);

	memset(&m->seen[cpu], 0, sizeof(m->seen[cpu]));
	if (len > 0)
		kdtl_fake_see(&m->seen[cpu], cpu, m->mask, m->buf, len);
}

static void many_messages(struct many *m)
{
	struct kdtl_msg msg;

	while (kdtl_read(m->s, &msg, sizeof(msg), true) > 0) {
		if (msg.type != KDTL_MSG_CPU)
			continue;
		if (msg.cpu_state.online)
			m->came[msg.cpu]++;
		else
			m->went[msg.cpu]++;
	}
}

static int many_reader(void *arg)
{
	struct many *m = arg;
	int cpu;

	while (!kthread_should_stop()) {
		if (!m->overwrite)
			kdtl_wait(m->s, HZ / 20);
		else
			usleep_range(2000, 4000);
		/* CPUs that have gone offline are read, too. */
		for_each_possible_cpu(cpu) {
			if (m->overwrite)
				many_snapshot(m, cpu);
			else
				many_read(m, cpu);
		}
		many_messages(m);
	}
	return 0;
}

/* @m must be zeroed.  Call many_destroy() even if this fails. */
int many_create(struct many *m, u32 mask, bool overwrite)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= MANY_PAGES,
		.msg_pages	= 4,
		.watermark	= overwrite ? 0 : PAGE_SIZE,
		.mask		= mask,
		.flags		= overwrite ? KDTL_SESSION_OVERWRITE : 0,
	};

	m->mask = mask;
	m->overwrite = overwrite;
	m->made = kcalloc(nr_cpu_ids, sizeof(*m->made), GFP_KERNEL);
	m->seen = kcalloc(nr_cpu_ids, sizeof(*m->seen), GFP_KERNEL);
	m->went = kcalloc(nr_cpu_ids, sizeof(*m->went), GFP_KERNEL);
	m->came = kcalloc(nr_cpu_ids, sizeof(*m->came), GFP_KERNEL);
	m->buf = kvmalloc(MANY_PAGES * PAGE_SIZE, GFP_KERNEL);
	m->s = kdtl_session_create(&attr);
	if (!m->made || !m->seen || !m->went || !m->came || !m->buf || IS_ERR(m->s))
		return -ENOMEM;
	return kdtl_load(m->s, NULL);
}

/* The load must make no entries meanwhile, so that the counts at the start are exact. */
int many_start(struct many *m)
{
	int cpu;

	for_each_possible_cpu(cpu)
		m->made[cpu] = kdtl_fake_load_made_for(cpu, m->mask);
	m->task = kthread_run(many_reader, m, "kdtl-many");
	if (IS_ERR(m->task)) {
		m->task = NULL;
		return -ENOMEM;
	}
	return kdtl_start(m->s);
}

/* Ends the reader's thread, and then reads the messages that are left. */
void many_end_reading(struct many *m)
{
	if (!m->task)
		return;
	kthread_stop(m->task);
	m->task = NULL;
	many_messages(m);
}

void many_destroy(struct many *m)
{
	many_end_reading(m);
	kdtl_session_close(m->s);
	kfree(m->made);
	kfree(m->seen);
	kfree(m->went);
	kfree(m->came);
	kvfree(m->buf);
	memset(m, 0, sizeof(*m));
}

/* Once the session is stopped: it has exactly the entries that were made on the CPU. */
void many_expect_exact(struct kunit *test, struct many *m, int cpu)
{
	const u64 made = kdtl_fake_load_made_for(cpu, m->mask) - m->made[cpu];
	struct kdtl_fake_seen *seen = &m->seen[cpu];
	struct kdtl_aux_info info = {};
	u64 all;

	if (m->overwrite)
		many_snapshot(m, cpu);
	else
		many_read(m, cpu);
	all = kdtl_fake_seen_all(seen);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(m->s, cpu, &info), 0);
	KUNIT_EXPECT_GT(test, made, 0ULL);
	KUNIT_EXPECT_EQ(test, info.produced, made);
	KUNIT_EXPECT_EQ(test, info.produced, info.consumed + info.lost + info.unread);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, m->s, 0, KDTL_CTR_ENTRIES, cpu), made);
	KUNIT_EXPECT_EQ(test, seen->wrong, 0ULL);
	if (m->overwrite) {
		KUNIT_EXPECT_EQ(test, seen->holes, 0ULL);
		KUNIT_EXPECT_EQ(test, all, min_t(u64, made, MANY_MOST));
	} else {
		KUNIT_EXPECT_EQ(test, all, info.consumed);
		KUNIT_EXPECT_EQ(test, all + info.lost, made);
		KUNIT_EXPECT_LE(test, seen->holes, info.lost);
	}
}
