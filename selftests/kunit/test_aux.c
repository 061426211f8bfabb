// SPDX-License-Identifier: GPL-2.0
/*
 * AUX areas as a reader sees them: positions, wrapping around, full and empty areas
 *
 * With kdtl.ko's parameter aux_start close to 2^64, the positions in each case wrap past 2^64.
 */
#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/slab.h>

#include "kapi.h"

static struct kdtl_session *aux_session(struct kunit *test, unsigned int pages,
					unsigned int watermark)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= pages,
		.watermark	= watermark,
	};

	return kapi_started(test, &attr);
}

static struct kdtl_aux_info aux_info(struct kunit *test, struct kdtl_session *s, int cpu)
{
	struct kdtl_aux_info info = {};

	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
	KUNIT_EXPECT_EQ(test, info.produced, info.consumed + info.lost + info.unread);
	return info;
}

/* Are these @nr good entries, numbered from *seq on?  If *seq is 0, any first number will do. */
static void aux_check(struct kunit *test, const void *span, ssize_t len, u64 *seq,
		      unsigned int nr)
{
	const struct kdtl_entry *e;
	u64 got;

	KUNIT_ASSERT_EQ(test, len, (ssize_t)nr * KDTL_ENTRY_SIZE);
	kdtl_for_each_entry(e, span, len) {
		got = kdtl_fake_entry_seq(e);
		KUNIT_ASSERT_GT(test, got, 0ULL);
		if (*seq)
			KUNIT_ASSERT_EQ(test, got, *seq);
		*seq = got + 1;
	}
}

/* ---------------------------------------------------------------- positions */

/* Wrap around many times, with entries that lie across the end of the area, and past 2^64. */
static void aux_wrap(struct kunit *test)
{
	struct kdtl_session *s = aux_session(test, 1, 0);
	unsigned int round, nr, straddling = 0;
	u64 seq = 0, head, start, offset;
	struct kdtl_aux_info info;
	const void *span;
	ssize_t len;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	info = aux_info(test, s, 0);
	KUNIT_EXPECT_EQ(test, info.head, info.tail);
	start = info.head;
	head = start;
	for (round = 0; round < 3000; round++) {
		nr = 1 + round % 83;
		kapi_emit(0, KDTL_KIND_CEDE, nr);
		offset = head & (info.size - 1);
		if (offset + nr * KDTL_ENTRY_SIZE > info.size &&
		    (info.size - offset) % KDTL_ENTRY_SIZE)
			straddling++;
		head += nr * KDTL_ENTRY_SIZE;
		len = kdtl_aux_peek(s, 0, &span);
		aux_check(test, span, len, &seq, nr);
		info = aux_info(test, s, 0);
		KUNIT_ASSERT_EQ(test, info.head, head);
		KUNIT_ASSERT_EQ(test, info.tail, head - len);
		KUNIT_ASSERT_EQ(test, info.unread, (u64)nr);
		KUNIT_ASSERT_EQ(test, kdtl_aux_consume(s, 0, len), 0);
	}
	info = aux_info(test, s, 0);
	KUNIT_EXPECT_EQ(test, info.tail, head);
	KUNIT_EXPECT_EQ(test, info.lost, 0ULL);
	KUNIT_EXPECT_EQ(test, info.consumed * KDTL_ENTRY_SIZE, head - start);
	KUNIT_EXPECT_GT(test, straddling, 20U);
	/* If it started just below 2^64, and not at 0, the position has wrapped. */
	KUNIT_EXPECT_EQ(test, head < start, start != 0);
	kunit_info(test, "from %llu to %llu, %u entries across the end", start, head,
		   straddling);
}

/* One span has the whole area, wherever it begins: the beginning is mapped again behind the end. */
static void aux_mirror(struct kunit *test)
{
	static const unsigned int pages[] = { 1, 2, 8 };
	struct kdtl_session *s;
	unsigned int i, round, fits;
	const void *span;
	ssize_t len;
	u64 seq;

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		fits = pages[i] * PAGE_SIZE / KDTL_ENTRY_SIZE;
		s = aux_session(test, pages[i], 0);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
		seq = 0;
		for (round = 0; round < 300; round++) {
			kapi_emit(0, KDTL_KIND_CEDE, fits);
			len = kdtl_aux_peek(s, 0, &span);
			aux_check(test, span, len, &seq, fits);
			KUNIT_ASSERT_EQ(test, kdtl_aux_consume(s, 0, len), 0);
			/* Move on by one entry, so that spans begin everywhere. */
			kapi_emit(0, KDTL_KIND_CEDE, 1);
			kapi_drain(s, 0);
			seq++;
		}
		KUNIT_EXPECT_EQ(test, aux_info(test, s, 0).lost, 0ULL);
		kapi_close(test);
	}
}

/* Stop and start continue at the same position; load drops the data, but keeps the position. */
static void aux_goes_on(struct kunit *test)
{
	struct kdtl_session *s = aux_session(test, 1, 0);
	struct kdtl_aux_info before, info;
	const void *span;
	u64 seq = 0;
	ssize_t len;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	kapi_emit(0, KDTL_KIND_CEDE, 5);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 5);
	len = kdtl_aux_peek(s, 0, &span);
	aux_check(test, span, len, &seq, 10);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 3 * KDTL_ENTRY_SIZE), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 100 * PAGE_SIZE / KDTL_ENTRY_SIZE);
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);

	before = aux_info(test, s, 0);
	KUNIT_EXPECT_EQ(test, before.consumed, 3ULL);
	KUNIT_EXPECT_GT(test, before.lost, 0ULL);
	KUNIT_EXPECT_FALSE(test, before.online);
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	info = aux_info(test, s, 0);
	KUNIT_EXPECT_EQ(test, info.head, before.head);
	KUNIT_EXPECT_EQ(test, info.tail, before.head);
	KUNIT_EXPECT_EQ(test, info.produced, 0ULL);
	KUNIT_EXPECT_EQ(test, info.lost, 0ULL);
	KUNIT_EXPECT_TRUE(test, info.online);
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)0);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	seq = 0;
	len = kdtl_aux_peek(s, 0, &span);
	aux_check(test, span, len, &seq, 1);
}

/* ----------------------------------------------------------- full and empty */

/* The last entry that fits is stored and no entry after it; unread entries stay. */
static void aux_full(struct kunit *test)
{
	const unsigned int fits = PAGE_SIZE / KDTL_ENTRY_SIZE;
	struct kdtl_session *s = aux_session(test, 1, 0);
	const unsigned int spare = PAGE_SIZE % KDTL_ENTRY_SIZE;
	struct kdtl_aux_info info;
	unsigned int round;
	const void *span;
	u64 seq = 0, first, lost = 0;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (round = 0; round < 200; round++) {
		kapi_emit(0, KDTL_KIND_CEDE, fits);
		KUNIT_ASSERT_EQ(test, aux_info(test, s, 0).lost, lost);
		kapi_emit(0, KDTL_KIND_CEDE, 1 + round);
		lost += 1 + round;
		info = aux_info(test, s, 0);
		KUNIT_ASSERT_EQ(test, info.lost, lost);
		KUNIT_ASSERT_EQ(test, info.unread, (u64)fits);
		KUNIT_ASSERT_LE(test, info.head - info.tail, info.size);

		kdtl_aux_peek(s, 0, &span);
		/*
		 * So many bytes would make room for the entry, but they are not a whole entry:
		 * nothing changes.
		 */
		KUNIT_ASSERT_EQ(test, kdtl_aux_consume(s, 0, KDTL_ENTRY_SIZE - spare), -EINVAL);
		KUNIT_ASSERT_EQ(test, aux_info(test, s, 0).produced, info.produced);
		KUNIT_ASSERT_EQ(test, aux_info(test, s, 0).unread, (u64)fits);
		kapi_emit(0, KDTL_KIND_CEDE, 1);
		KUNIT_ASSERT_EQ(test, aux_info(test, s, 0).lost, ++lost);
		KUNIT_ASSERT_EQ(test, kdtl_aux_consume(s, 0, KDTL_ENTRY_SIZE), 0);
		kapi_emit(0, KDTL_KIND_CEDE, 1);
		KUNIT_ASSERT_EQ(test, aux_info(test, s, 0).lost, lost);

		/* The first entry is gone, and there is a gap before the last one. */
		KUNIT_ASSERT_EQ(test, kdtl_aux_peek(s, 0, &span),
				(ssize_t)fits * KDTL_ENTRY_SIZE);
		first = kdtl_fake_entry_seq(span);
		if (seq)
			KUNIT_ASSERT_EQ(test, first, seq + 1);
		seq = first;
		aux_check(test, span, (fits - 1) * KDTL_ENTRY_SIZE, &seq, fits - 1);
		seq += 1 + round + 1;
		aux_check(test, span + (fits - 1) * KDTL_ENTRY_SIZE, KDTL_ENTRY_SIZE, &seq, 1);
		kapi_drain(s, 0);
	}
}

/* To read nothing is no error; to give back what is not there is one. */
static void aux_empty(struct kunit *test)
{
	const struct kdtl_session_attr attr = { .pmu = KDTL_FAKE_PMU, .aux_pages = 1 };
	struct kdtl_session *s = kapi_create(test, &attr);
	struct kdtl_aux_info info;
	const void *span;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	/* Before the load there is no area. */
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 1), -EINVAL);
	info = aux_info(test, s, 0);
	KUNIT_EXPECT_EQ(test, info.size, (u64)PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, info.watermark, (u64)PAGE_SIZE / 2);
	KUNIT_EXPECT_EQ(test, info.tb_freq, (u64)NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, info.head | info.tail | info.produced, 0ULL);

	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 1), -EINVAL);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)KDTL_ENTRY_SIZE);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, KDTL_ENTRY_SIZE), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 1), -EINVAL);
}

/* To give back more than is unread is refused, and moves nothing. */
static void aux_consume_more(struct kunit *test)
{
	static const size_t more[] = { 1, KDTL_ENTRY_SIZE, PAGE_SIZE };
	struct kdtl_session *s = aux_session(test, 1, 0);
	struct kdtl_aux_info info, now;
	unsigned int round, i;
	size_t unread;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (round = 0; round < 100; round++) {
		kapi_emit(0, KDTL_KIND_CEDE, 7);
		info = aux_info(test, s, 0);
		unread = info.head - info.tail;
		for (i = 0; i < ARRAY_SIZE(more); i++)
			KUNIT_ASSERT_EQ(test, kdtl_aux_consume(s, 0, unread + more[i]),
					-EINVAL);
		KUNIT_ASSERT_EQ(test, kdtl_aux_consume(s, 0, SIZE_MAX), -EINVAL);
		KUNIT_ASSERT_EQ(test, kdtl_aux_consume(s, 0, SIZE_MAX / 2 + 1), -EINVAL);
		now = aux_info(test, s, 0);
		KUNIT_ASSERT_EQ(test, now.tail, info.tail);
		KUNIT_ASSERT_EQ(test, now.unread, 7ULL);
		kapi_drain(s, 0);
	}
}

/* Give back any number of bytes: only whole entries go, and in the end all of them have gone. */
static void aux_odd_sizes(struct kunit *test)
{
	struct kdtl_session *s = aux_session(test, 1, 0);
	const unsigned int nr = 200;
	unsigned int round, have, made, odd;
	struct rnd_state rnd;
	const void *span;
	ssize_t len, got;
	u64 seq = 0;
	u8 *buf;
	int err;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	buf = kmalloc_array(nr, KDTL_ENTRY_SIZE, GFP_KERNEL);
	KUNIT_EXPECT_TRUE(test, buf);
	prandom_seed_state(&rnd, 7);
	for (round = 0; buf && round < 100; round++) {
		have = 0;
		made = 0;
		while (have < nr * KDTL_ENTRY_SIZE) {
			len = kdtl_aux_peek(s, 0, &span);
			if (made < nr && len + KDTL_ENTRY_SIZE <= PAGE_SIZE) {
				kapi_emit(0, KDTL_KIND_CEDE, 1);
				made++;
			}
			got = kdtl_aux_peek(s, 0, &span);
			if (got < len || got > nr * KDTL_ENTRY_SIZE - have)
				break;
			odd = prandom_u32_state(&rnd) % 4;
			odd += KDTL_ENTRY_SIZE * (prandom_u32_state(&rnd) % 3);
			got = min_t(ssize_t, got, odd);
			memcpy(buf + have, span, got);
			err = kdtl_aux_consume(s, 0, got);
			if (err != (got % KDTL_ENTRY_SIZE ? -EINVAL : 0))
				break;
			have += err ? 0 : got;
		}
		KUNIT_EXPECT_EQ(test, have, nr * KDTL_ENTRY_SIZE);
		aux_check(test, buf, have, &seq, nr);
	}
	KUNIT_EXPECT_EQ(test, aux_info(test, s, 0).lost, 0ULL);
	kfree(buf);
}

/*
 * A watermark of the whole area is never crossed if the area is no whole number of entries: the
 * first lost entry wakes the reader.
 */
static void aux_watermark_full(struct kunit *test)
{
	const unsigned int fits = PAGE_SIZE / KDTL_ENTRY_SIZE;
	struct kdtl_session *s = aux_session(test, 1, PAGE_SIZE);
	unsigned int round;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (round = 0; round < 20; round++) {
		kapi_emit(0, KDTL_KIND_CEDE, fits);
		if (PAGE_SIZE % KDTL_ENTRY_SIZE)
			KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
		kapi_emit(0, KDTL_KIND_CEDE, 1);
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
		kapi_drain(s, 0);
		kapi_emit(0, KDTL_KIND_CEDE, 1);
		/* The end of the gap is reported as well, once. */
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
		KUNIT_ASSERT_EQ(test, kdtl_unload(s), 0);
		KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	}
}

/*
 * Watermarks that are no multiple of the entries' size: the right entry crosses each of them, and
 * the area fills up correctly, even if its positions are just below 2^64.
 */
static void aux_watermark_odd(struct kunit *test)
{
	const unsigned int fits = PAGE_SIZE / KDTL_ENTRY_SIZE;
	unsigned int below, n, watermark;
	struct kdtl_session *s;
	const void *span;
	ssize_t len;
	u64 seq;

	for (below = 1; below < 2 * KDTL_ENTRY_SIZE; below += 3) {
		watermark = PAGE_SIZE - below;
		s = aux_session(test, 1, watermark);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
		kapi_emit(0, KDTL_KIND_CEDE, fits - 4);
		for (n = fits - 3; n <= fits; n++) {
			kapi_emit(0, KDTL_KIND_CEDE, 1);
			KUNIT_EXPECT_EQ_MSG(test, kapi_counter(test, s, 0, KDTL_CTR_WAKEUPS, 0),
					    div_u64((u64)n * KDTL_ENTRY_SIZE, watermark),
					    "watermark %u, %u entries", watermark, n);
		}
		kapi_emit(0, KDTL_KIND_CEDE, 1);
		KUNIT_EXPECT_EQ_MSG(test, aux_info(test, s, 0).lost, 1ULL, "watermark %u",
				    watermark);
		seq = 0;
		len = kdtl_aux_peek(s, 0, &span);
		aux_check(test, span, len, &seq, fits);
		kapi_close(test);
	}
}

/* --------------------------------------------------------------- whose area */

static void aux_cpus(struct kunit *test)
{
	const int other = kapi_other_cpu(0);
	const int bad[] = { -1, INT_MIN, nr_cpu_ids, INT_MAX, other };
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.cpus		= cpumask_of(0),
		.aux_pages	= 1,
	};
	struct kdtl_session *s = kapi_create(test, &attr);
	struct kdtl_aux_info info;
	const void *span;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_GT(test, other, 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, bad[i], &span), (ssize_t)-EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, bad[i], 0), -EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, bad[i], &info),
				bad[i] == -1 ? 0 : -EINVAL);
	}
	/* A CPU that the session did not ask for adds nothing. */
	kapi_emit(other, KDTL_KIND_CEDE, 10);
	kapi_emit(0, KDTL_KIND_CEDE, 3);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, -1), 3ULL);
}

/* A session's numbers are the sums of those of its CPUs, and add up in the same way. */
static void aux_sums(struct kunit *test)
{
	struct kdtl_session *s = aux_session(test, 1, 0);
	const unsigned int fits = PAGE_SIZE / KDTL_ENTRY_SIZE;
	struct kdtl_aux_info sum, info;
	u64 head = 0, tail = 0, lost = 0, consumed = 0;
	unsigned int nr = 0;
	int cpu;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_TRUE(test, cpumask_equal(kdtl_session_cpus(s), cpu_possible_mask));
	kdtl_for_each_cpu(cpu, s) {
		if (!cpu_online(cpu))
			continue;
		kapi_emit(cpu, KDTL_KIND_CEDE, 5 + nr++);
		kapi_drain(s, cpu);
		kapi_emit(cpu, KDTL_KIND_CEDE, fits + nr);
	}
	kdtl_for_each_cpu(cpu, s) {
		info = aux_info(test, s, cpu);
		head += info.head;
		tail += info.tail;
		lost += info.lost;
		consumed += info.consumed;
	}
	sum = aux_info(test, s, -1);
	KUNIT_EXPECT_EQ(test, sum.head, head);
	KUNIT_EXPECT_EQ(test, sum.tail, tail);
	KUNIT_EXPECT_EQ(test, sum.lost, lost);
	KUNIT_EXPECT_EQ(test, sum.lost, nr * (nr + 1) / 2ULL);
	KUNIT_EXPECT_EQ(test, sum.consumed, consumed);
	KUNIT_EXPECT_EQ(test, sum.unread, (u64)nr * fits);
	KUNIT_EXPECT_EQ(test, sum.size, (u64)PAGE_SIZE);
	KUNIT_EXPECT_TRUE(test, sum.online);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, -1), sum.produced);
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_FALSE(test, aux_info(test, s, -1).online);
	kapi_close(test);
	KUNIT_EXPECT_TRUE(test, cpumask_empty(kdtl_session_cpus(NULL)));
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(NULL, -1, &sum), -EINVAL);
}

/* ------------------------------------------------------------- while it runs */

struct aux_producer {
	u64	made;
};

static int aux_produce(void *arg)
{
	struct aux_producer *p = arg;

	while (!kthread_should_stop()) {
		local_irq_disable();
		kdtl_fake_emit_here(KDTL_KIND_CEDE, 0, 0, 0);
		local_irq_enable();
		p->made++;
		cond_resched();
	}
	return 0;
}

#define AUX_RACE_ENTRIES	200000
#define AUX_RACE_LEAST		20000

/* Where emulated CPUs take turns, the writer makes dozens of entries for each that is read. */
static bool aux_race_goes_on(u64 got, u64 missing, unsigned long enough)
{
	if (got < AUX_RACE_LEAST || !missing)
		return true;
	return got < AUX_RACE_ENTRIES && time_before(jiffies, enough);
}

/*
 * A writer at full speed, and a reader that takes partial spans and is sometimes late: each entry
 * is whole and in order, and exactly the entries that were counted as lost are missing.
 */
static void aux_race(struct kunit *test)
{
	const int cpu = num_online_cpus() - 1;
	struct kdtl_session *s = aux_session(test, 1, 0);
	struct aux_producer p = {};
	u64 next = 0, missing = 0, got = 0, seq;
	struct kdtl_aux_info info;
	const struct kdtl_entry *e;
	struct task_struct *task;
	struct rnd_state rnd;
	unsigned int bad = 0;
	unsigned long end, enough;
	const void *span;
	ssize_t len, take;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	prandom_seed_state(&rnd, 3);
	task = kthread_create_on_cpu(aux_produce, &p, cpu, "kdtl_produce/%u");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	wake_up_process(task);
	end = jiffies + KAPI_FOREVER;
	enough = jiffies + msecs_to_jiffies(kapi_race_ms);
	while (aux_race_goes_on(got, missing, enough) && time_before(jiffies, end)) {
		info = aux_info(test, s, cpu);
		len = kdtl_aux_peek(s, cpu, &span);
		take = min_t(ssize_t, len, (1 + prandom_u32_state(&rnd) % 100) * KDTL_ENTRY_SIZE);
		kdtl_for_each_entry(e, span, take) {
			seq = kdtl_fake_entry_seq(e);
			if (!seq || seq < next) {
				bad++;
				continue;
			}
			/* The first entry has number 1, or follows the entries of earlier tests. */
			if (next)
				missing += seq - next;
			next = seq + 1;
			got++;
		}
		KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, cpu, take), 0);
		if (prandom_u32_state(&rnd) % 64 == 0)
			usleep_range(500, 1000);
		cond_resched();
	}
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	info = aux_info(test, s, cpu);
	KUNIT_EXPECT_EQ(test, bad, 0U);
	KUNIT_EXPECT_EQ(test, info.produced, p.made);
	KUNIT_EXPECT_EQ(test, info.consumed, got);
	len = kdtl_aux_peek(s, cpu, &span);
	kdtl_for_each_entry(e, span, len) {
		seq = kdtl_fake_entry_seq(e);
		missing += seq - next;
		next = seq + 1;
	}
	/* Entries that were lost at the very end show no gap, because no entry follows them. */
	KUNIT_EXPECT_LE(test, missing, info.lost);
	KUNIT_EXPECT_GT(test, missing, 0ULL);
	kapi_drain(s, cpu);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
	kapi_emit(cpu, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, cpu, &span), (ssize_t)KDTL_ENTRY_SIZE);
	missing += kdtl_fake_entry_seq(span) - next;
	KUNIT_EXPECT_EQ(test, missing, info.lost);
	kunit_info(test, "%llu entries, %llu of them lost", p.made, missing);
}

/* A client may copy a task's name out of an entry under all checks of FORTIFY_SOURCE. */
static void aux_comm(struct kunit *test)
{
	struct kdtl_entry e = {};
	char comm[TASK_COMM_LEN];

	memcpy(&e.srr0, "fifteen", 8 - 1);
	memset((char *)&e + offsetof(struct kdtl_entry, srr0) + 7, 'x', 8);
	KUNIT_EXPECT_EQ(test, strscpy(comm, kdtl_entry_comm(&e), sizeof(comm)), (ssize_t)15);
	KUNIT_EXPECT_EQ(test, strcmp(comm, "fifteenxxxxxxxx"), 0);
}

static struct kunit_case aux_cases[] = {
	KUNIT_CASE(aux_comm),
	KUNIT_CASE(aux_wrap),
	KUNIT_CASE(aux_mirror),
	KUNIT_CASE(aux_goes_on),
	KUNIT_CASE(aux_full),
	KUNIT_CASE(aux_empty),
	KUNIT_CASE(aux_consume_more),
	KUNIT_CASE(aux_odd_sizes),
	KUNIT_CASE(aux_watermark_full),
	KUNIT_CASE(aux_watermark_odd),
	KUNIT_CASE(aux_cpus),
	KUNIT_CASE(aux_sums),
	KUNIT_CASE(aux_race),
	{}
};

struct kunit_suite kdtl_aux_suite = {
	.name		= "kdtl_aux",
	.init		= kapi_init,
	.exit		= kapi_exit,
	.test_cases	= aux_cases,
};
