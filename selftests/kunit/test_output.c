// SPDX-License-Identifier: GPL-2.0
/*
 * The producer's side: kdtl_aux_output_*(), with the semantics of perf
 *
 * Here the driver of a third party writes and the session reads.  The promises P.1 to P.11 about
 * AUX areas are tested one by one; test_warn.c tests what is warned about.
 */
#include <linux/cpu.h>
#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/slab.h>

#include "../fake/raw.h"
#include "aux_suites.h"
#include "cpus.h"

#define OUTPUT_PMU	"kdtl_fake_output"
#define OUTPUT_PAGES	4
#define OUTPUT_SIZE	(OUTPUT_PAGES * PAGE_SIZE)

static struct kdtl_raw output_raw;

/* ------------------------------------------------------------ one transaction */

/**
 * struct output_tx - a transaction that a test asks for, and what it returned
 * @skip: bytes to pass over
 * @len: bytes to write
 * @flags: for kdtl_aux_output_flag()
 * @seed: determines the bytes, see output_byte()
 * @ret: what kdtl_aux_output_skip() returned
 * @priv: what kdtl_aux_output_begin() returned
 * @size: the room at begin
 * @size_skipped: the room after the skip
 * @head: the position at begin
 */
struct output_tx {
	unsigned long	skip;
	unsigned long	len;
	u64		flags;
	u64		seed;

	int		ret;
	void		*priv;
	u64		size;
	u64		size_skipped;
	u64		head;
};

/*
 * The byte that belongs at a position of the data.  On a 32-bit machine a handle of perf's holds
 * only the lower half of a position.
 */
static u8 output_byte(u32 pos)
{
	return (pos * 0x9e3779b1U) >> 24;
}

static void output_write(struct perf_event *event, void *arg)
{
	struct perf_output_handle handle;
	struct output_tx *tx = arg;
	struct kdtl_area *area;
	unsigned long i;

	area = kdtl_aux_output_begin(&handle, event);
	tx->priv = area;
	if (!area) {
		/* As with perf, a driver may set flags all the same. */
		if (tx->flags)
			kdtl_aux_output_flag(&handle, tx->flags);
		return;
	}
	tx->size = handle.size;
	tx->head = handle.head;
	if (tx->skip)
		tx->ret = kdtl_aux_output_skip(&handle, tx->skip);
	tx->size_skipped = handle.size;
	if (tx->flags)
		kdtl_aux_output_flag(&handle, tx->flags);
	for (i = 0; i < tx->len; i++)
		((u8 *)area->base)[(handle.head + i) & (area->size - 1)] =
			output_byte(handle.head + i - tx->seed);
	kdtl_aux_output_end(&handle, tx->len);
}

static void output_tx(struct kunit *test, int cpu, struct output_tx *tx)
{
	KUNIT_EXPECT_EQ(test, kdtl_raw_on(&output_raw, cpu, output_write, tx), 0);
}

/* Write @len bytes.  Returns how much room there was before. */
static u64 output_bytes(struct kunit *test, int cpu, unsigned long len)
{
	struct output_tx tx = { .len = len };

	output_tx(test, cpu, &tx);
	KUNIT_EXPECT_TRUE(test, tx.priv);
	return tx.size;
}

/* ------------------------------------------------------------------- sessions */

static struct kdtl_session *output_session(struct kunit *test, u32 flags,
					   unsigned int watermark,
					   struct completion *done)
{
	const struct kdtl_session_attr attr = {
		.pmu		= OUTPUT_PMU,
		.aux_pages	= OUTPUT_PAGES,
		.msg_pages	= 4,
		.watermark	= watermark,
		.flags		= flags,
		.done		= done,
	};

	return kapi_create(test, &attr);
}

static struct kdtl_session *output_go(struct kunit *test, u32 flags,
				      unsigned int watermark)
{
	struct kdtl_session *s = output_session(test, flags, watermark, NULL);

	if (s)
		KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	return s;
}

static u64 output_head(struct kunit *test, struct kdtl_session *s, int cpu)
{
	struct kdtl_aux_info info = {};

	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
	return info.head;
}

/* How many of the unread bytes differ from those that output_write() wrote. */
static size_t output_wrong(struct kunit *test, struct kdtl_session *s, int cpu,
			   u64 seed)
{
	struct kdtl_aux_info info = {};
	const u8 *span;
	const void *at;
	ssize_t len, i;
	size_t wrong = 0;

	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
	len = kdtl_aux_peek(s, cpu, &at);
	KUNIT_EXPECT_EQ(test, len, (ssize_t)(info.head - info.tail));
	for (span = at, i = 0; i < len; i++)
		wrong += span[i] != output_byte(info.tail + i - seed);
	return wrong;
}

/* ------------------------------------------------------------------ begin, end */

/* P.2: begin returns the driver's private pointer, which is in use inside a transaction only. */
static void output_private(struct kunit *test)
{
	struct kdtl_session *s = output_go(test, 0, 0);
	struct output_tx tx = { .len = 1 };

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	output_tx(test, 0, &tx);
	KUNIT_ASSERT_TRUE(test, tx.priv);
	KUNIT_EXPECT_EQ(test, ((struct kdtl_area *)tx.priv)->size, (u64)OUTPUT_SIZE);
	/* The event of another CPU has another area. */
	if (kapi_other_cpu(0) >= 0) {
		struct output_tx other = { .len = 1 };

		output_tx(test, kapi_other_cpu(0), &other);
		KUNIT_EXPECT_TRUE(test, other.priv);
		KUNIT_EXPECT_PTR_NE(test, other.priv, tx.priv);
	}
}

/*
 * P.2, P.4, P.5: exactly the bytes that were written are there, and no unread data is overwritten.
 */
static void output_room(struct kunit *test)
{
	struct kdtl_session *s = output_go(test, 0, 0);
	u64 room, first, unread = 0, wrong = 0;
	struct rnd_state rnd;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	prandom_seed_state(&rnd, 4);
	first = output_head(test, s, 0);
	for (i = 0; i < 3000; i++) {
		struct output_tx tx = { .seed = first };
		u32 r = prandom_u32_state(&rnd);

		room = OUTPUT_SIZE - unread;
		/* Transactions are small, large, or take the whole room. */
		tx.len = r % 16 ? (r >> 8) % (u32)(min(room, 700ULL) + 1) : room;
		output_tx(test, 0, &tx);
		KUNIT_ASSERT_EQ(test, !!tx.priv, room > 0);
		if (room) {
			KUNIT_ASSERT_EQ(test, tx.size, room);
			unread += tx.len;
		}
		wrong += output_wrong(test, s, 0, first);
		KUNIT_ASSERT_EQ(test, wrong, 0ULL);
		if (prandom_u32_state(&rnd) % 3 == 0) {
			/* Give back whole entries, or all that is there. */
			r = prandom_u32_state(&rnd) % (u32)(unread + 1);
			if (r % KDTL_ENTRY_SIZE && r < unread)
				KUNIT_ASSERT_EQ(test, kdtl_aux_consume(s, 0, r), -EINVAL);
			r -= r < unread ? r % KDTL_ENTRY_SIZE : 0;
			KUNIT_ASSERT_EQ(test, kdtl_aux_consume(s, 0, r), 0);
			unread -= r;
		}
	}
	/* The data went around the area many times. */
	KUNIT_EXPECT_GT(test, output_head(test, s, 0) - first, 20ULL * OUTPUT_SIZE);
}

/*
 * The pieces are no whole entries: bytes are counted exactly, while kdtl_aux_info() counts entries.
 */
static void output_pieces(struct kunit *test)
{
	struct kdtl_session *s = output_go(test, 0, 0);
	struct kdtl_aux_info info;
	struct output_tx tx = {};
	u64 bytes = 0;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (tx.len = 0; tx.len < 130; tx.len += 13) {
		tx.skip = tx.len % 5;
		output_tx(test, 0, &tx);
		bytes += tx.skip + tx.len;
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
		KUNIT_EXPECT_EQ(test, info.produced, div_u64(bytes, KDTL_ENTRY_SIZE));
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0), info.produced);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_BYTES, 0), bytes);
	}
}

/* P.6: the tail moves forward only, and never past the head. */
static void output_consume(struct kunit *test)
{
	struct kdtl_session *s = output_go(test, 0, 0);
	struct kdtl_aux_info before, after;
	const void *span;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	output_bytes(test, 0, 480);
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)480);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 96), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &before), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 385), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, SIZE_MAX), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, (size_t)-96), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &after), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&before, &after, sizeof(after)), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 384), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 0), 0);
}

/* ----------------------------------------------------------------- skip, flag */

/* P.7 */
static void output_skip(struct kunit *test)
{
	struct kdtl_session *s = output_go(test, 0, 0);
	struct output_tx tx = { .skip = 48, .len = 48 };
	struct output_tx far = {}, no = {};
	const void *span;
	u64 first;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	first = output_head(test, s, 0);
	output_tx(test, 0, &tx);
	KUNIT_EXPECT_EQ(test, tx.ret, 0);
	KUNIT_EXPECT_EQ(test, tx.size, (u64)OUTPUT_SIZE);
	KUNIT_EXPECT_EQ(test, tx.size_skipped, OUTPUT_SIZE - 48ULL);
	KUNIT_EXPECT_EQ(test, output_head(test, s, 0), first + 96);
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)96);
	/* The data is behind the gap. */
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 48), 0);
	KUNIT_EXPECT_EQ(test, output_wrong(test, s, 0, 0), (size_t)0);

	/* To skip one byte more than there is room is too far: nothing changes. */
	far.skip = OUTPUT_SIZE - 48 + 1;
	output_tx(test, 0, &far);
	KUNIT_EXPECT_EQ(test, far.ret, -ENOSPC);
	KUNIT_EXPECT_EQ(test, far.size_skipped, OUTPUT_SIZE - 48ULL);
	KUNIT_EXPECT_EQ(test, output_head(test, s, 0), first + 96);
	/* To skip the whole room is allowed. */
	far.skip = OUTPUT_SIZE - 48;
	output_tx(test, 0, &far);
	KUNIT_EXPECT_EQ(test, far.ret, 0);
	KUNIT_EXPECT_EQ(test, far.size_skipped, 0ULL);
	output_tx(test, 0, &no);
	KUNIT_EXPECT_PTR_EQ(test, no.priv, NULL);
}

/* Returns the flags of the session's next AUX message, ~0 if there is none. */
static u64 output_flags(struct kdtl_session *s)
{
	struct kdtl_msg msg;

	return kapi_msg_of(s, KDTL_MSG_AUX, &msg) ? msg.aux.flags : U64_MAX;
}

/* P.7: each flag is in one message; TRUNCATED is reported at once, even without data. */
static void output_flag(struct kunit *test)
{
	static const u64 flags[] = {
		PERF_AUX_FLAG_PARTIAL,
		PERF_AUX_FLAG_COLLISION,
		PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION,
	};
	struct output_tx tx = { .flags = PERF_AUX_FLAG_TRUNCATED };
	struct kdtl_session *s = output_go(test, 0, 96);
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
	output_tx(test, 0, &tx);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
	KUNIT_EXPECT_EQ(test, output_flags(s), (u64)PERF_AUX_FLAG_TRUNCATED);
	KUNIT_EXPECT_EQ(test, output_flags(s), U64_MAX);

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		tx.flags = flags[i];
		tx.len = 0;
		output_tx(test, 0, &tx);
		/* The flag waits for the next message, and wakes nobody. */
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
		KUNIT_EXPECT_EQ(test, output_flags(s), U64_MAX);
		output_bytes(test, 0, 96);
		KUNIT_EXPECT_EQ(test, output_flags(s), flags[i]);
		output_bytes(test, 0, 96);
		KUNIT_EXPECT_EQ(test, output_flags(s), 0ULL);
		kapi_drain(s, 0);
		kdtl_wait(s, 0);
	}
	/* If no data follows a flag, it is reported at the stop. */
	tx.flags = PERF_AUX_FLAG_COLLISION;
	output_tx(test, 0, &tx);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, output_flags(s), (u64)PERF_AUX_FLAG_COLLISION);
}

/* -------------------------------------------------------- watermark, full area */

/* P.8 */
static void output_watermark(struct kunit *test)
{
	struct kdtl_session *s = output_go(test, 0, 1000);
	struct kdtl_aux_info info;
	struct kdtl_msg msg;
	u64 first;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	first = output_head(test, s, 0);
	output_bytes(test, 0, 999);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_WAKEUPS, 0), 0ULL);
	output_bytes(test, 0, 1);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_WAKEUPS, 0), 1ULL);
	/*
	 * If data crosses several watermarks at once, that is one wake-up; the next one comes after
	 * the next multiple of the watermark.
	 */
	output_bytes(test, 0, 3500);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_WAKEUPS, 0), 2ULL);
	output_bytes(test, 0, 499);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_WAKEUPS, 0), 2ULL);
	output_bytes(test, 0, 1);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_WAKEUPS, 0), 3ULL);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
	KUNIT_EXPECT_EQ(test, output_head(test, s, 0), first + 5000);

	/* The messages cover exactly the bytes that were written. */
	while (kapi_msg_of(s, KDTL_MSG_AUX, &msg)) {
		KUNIT_EXPECT_EQ(test, msg.aux.offset, first);
		first += msg.aux.size;
	}
	KUNIT_EXPECT_EQ(test, output_head(test, s, 0), first);
	kapi_close(test);

	/* Without a watermark, half the area is one. */
	s = output_go(test, 0, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, info.watermark, OUTPUT_SIZE / 2ULL);
	output_bytes(test, 0, OUTPUT_SIZE / 2 - 1);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
	output_bytes(test, 0, 1);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
}

/*
 * P.9: if the area is full, begin fails and the reader is woken; after it has read, writing goes
 * on.
 */
static void output_full(struct kunit *test)
{
	struct kdtl_session *s = output_go(test, 0, 0);
	struct output_tx no = { .len = 1, .flags = PERF_AUX_FLAG_TRUNCATED };
	struct kdtl_aux_info info;
	struct kdtl_msg msg;
	const void *span;
	unsigned int i;
	u64 head;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (i = 0; i < 20; i++) {
		output_bytes(test, 0, OUTPUT_SIZE);
		while (kdtl_wait(s, 0) == 1 && kdtl_read(s, &msg, sizeof(msg), true) > 0)
			;
		kdtl_wait(s, 0);
		head = output_head(test, s, 0);
		output_tx(test, 0, &no);
		KUNIT_EXPECT_PTR_EQ(test, no.priv, NULL);
		KUNIT_EXPECT_EQ(test, output_head(test, s, 0), head);
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
		/* There is no message without data. */
		KUNIT_EXPECT_EQ(test, output_flags(s), U64_MAX);
		KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)OUTPUT_SIZE);
		/* Any room is enough, down to one byte. */
		KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, KDTL_ENTRY_SIZE), 0);
		KUNIT_EXPECT_EQ(test, output_bytes(test, 0, KDTL_ENTRY_SIZE - 1),
				(u64)KDTL_ENTRY_SIZE);
		KUNIT_EXPECT_EQ(test, output_bytes(test, 0, 1), 1ULL);
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
		KUNIT_EXPECT_TRUE(test, info.online);
		kapi_drain(s, 0);
		KUNIT_EXPECT_EQ(test, output_bytes(test, 0, 0), (u64)OUTPUT_SIZE);
	}
}

/* K.6: on a CPU that an overflow has paused, begin fails until kdtl_restart(). */
static void output_paused(struct kunit *test)
{
	struct kdtl_counter_req req = {
		.counter = KDTL_CTR_ENTRIES, .flags = KDTL_COUNTER_NOTIFY,
		.value = -4, .long_reset = -100,
	};
	struct kdtl_session *s = output_session(test, KDTL_SESSION_PAUSE, 0, NULL);
	struct output_tx tx = { .len = 48 };

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kdtl_write_counters(s, &req, 1), 0);
	KUNIT_ASSERT_EQ(test, kdtl_load(s, NULL), 0);
	KUNIT_ASSERT_EQ(test, kdtl_start(s), 0);
	output_bytes(test, 0, 3 * 48);
	output_bytes(test, 0, 48);
	output_tx(test, 0, &tx);
	KUNIT_EXPECT_PTR_EQ(test, tx.priv, NULL);
	KUNIT_EXPECT_EQ(test, kapi_msgs_of(s, KDTL_MSG_OVERFLOW), 1U);
	KUNIT_EXPECT_EQ(test, kdtl_restart(s), 0);
	output_bytes(test, 0, 48);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0), (u64)-99);
}

/* ----------------------------------------------------------------- overwrite */

static void output_lap(struct perf_event *event, void *arg)
{
	struct perf_output_handle handle;
	struct output_tx *tx = arg;
	struct kdtl_area *area;
	unsigned long i;

	area = kdtl_aux_output_begin(&handle, event);
	tx->priv = area;
	if (!area)
		return;
	tx->size = handle.size;
	tx->ret = kdtl_aux_output_skip(&handle, 1);
	for (i = 0; i < tx->len; i++)
		((u8 *)area->base)[(handle.head + i) & (area->size - 1)] =
			output_byte(handle.head + i - tx->seed);
	/* As with perf, in overwrite mode the driver sets the head. */
	handle.head += tx->len;
	kdtl_aux_output_end(&handle, tx->len);
}

/* P.10: there is no limit to the room and there are no wake-ups; the newest data is kept. */
static void output_overwrite(struct kunit *test)
{
	struct kdtl_session *s = output_go(test, KDTL_SESSION_OVERWRITE, 96);
	struct output_tx tx = { .len = 480 };
	const u64 most = (OUTPUT_SIZE / KDTL_ENTRY_SIZE - 1) * KDTL_ENTRY_SIZE;
	u8 *buf = kvmalloc(OUTPUT_SIZE, GFP_KERNEL);
	u64 first, head, missed, wrong = 0;
	unsigned int round;
	struct kdtl_msg msg;
	ssize_t len, i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, buf);
	first = output_head(test, s, 0);
	tx.seed = first;
	for (round = 1; round <= 200; round++) {
		KUNIT_EXPECT_EQ(test, kdtl_raw_on(&output_raw, 0, output_lap, &tx), 0);
		KUNIT_EXPECT_TRUE(test, tx.priv);
		KUNIT_EXPECT_EQ(test, tx.size, 0ULL);
		KUNIT_EXPECT_EQ(test, tx.ret, -ENOSPC);
		head = output_head(test, s, 0);
		KUNIT_EXPECT_EQ(test, head, first + round * 480);
		len = kdtl_aux_snapshot(s, 0, buf, OUTPUT_SIZE, &missed);
		/* All is there but one entry, which might be being written. */
		KUNIT_EXPECT_EQ(test, len, (ssize_t)min_t(u64, head - first, most));
		KUNIT_EXPECT_EQ(test, missed * KDTL_ENTRY_SIZE + len, head - first);
		for (i = 0; i < len; i++)
			wrong += buf[i] != output_byte(head - len + i - first);
	}
	KUNIT_EXPECT_EQ(test, wrong, 0ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_WAKEUPS, 0), 0ULL);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_AUX, &msg));
	KUNIT_EXPECT_EQ(test, msg.aux.flags, (u64)PERF_AUX_FLAG_OVERWRITE);
	kvfree(buf);
}

/* ------------------------------------------------------------ no area, delegation */

static void output_no_area(struct kunit *test)
{
	struct perf_event_attr attr = {
		.type		= output_raw.p.pmu.type,
		.size		= sizeof(attr),
		.config		= KDTL_MASK_ALL,
	};
	struct output_tx tx = { .len = 1 };
	struct perf_event *event;

	/* This event belongs to a user in the kernel, and has no AUX area of perf's. */
	event = perf_event_create_kernel_counter(&attr, 0, NULL, NULL, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, event);
	tx.priv = &tx;
	output_tx(test, 0, &tx);
	KUNIT_EXPECT_PTR_EQ(test, tx.priv, NULL);
	perf_event_release_kernel(event);
}

/*
 * If the driver's add() fails, kdtl_start() returns its error: either all CPUs are started or none.
 */
static void output_refused(struct kunit *test)
{
	struct kdtl_session *s = output_session(test, 0, 0, NULL);
	struct output_tx tx = { .len = 1 };

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kdtl_load(s, NULL), 0);
	output_raw.refuse = -ENODEV;
	KUNIT_EXPECT_EQ(test, kdtl_start(s), -ENODEV);
	output_raw.refuse = 0;
	output_tx(test, 0, &tx);
	KUNIT_EXPECT_PTR_EQ(test, tx.priv, NULL);
	/* The caller has the error, so no message repeats it. */
	KUNIT_EXPECT_EQ(test, kapi_msgs_of(s, KDTL_MSG_CPU), 0U);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
	output_bytes(test, 0, 1);
}

/* When a pinned event joins them, perf adds all pinned events of a CPU again. */
static void output_again(struct kunit *test, int cpu)
{
	struct perf_event_attr attr = {
		.type	= output_raw.p.pmu.type,
		.size	= sizeof(attr),
		.config	= KDTL_MASK_ALL,
		.pinned	= 1,
	};
	struct perf_event *event;

	event = perf_event_create_kernel_counter(&attr, cpu, NULL, NULL, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, event);
	perf_event_release_kernel(event);
}

/*
 * If the driver refuses an event that it had accepted, the reader gets a message with the driver's
 * error, and the CPU counts as not logged.
 */
static void output_refused_later(struct kunit *test)
{
	const int cpu = kapi_other_cpu(0);
	struct kdtl_session *s = output_go(test, 0, 0);
	struct kdtl_aux_info info;
	struct kdtl_msg msg;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_GT(test, cpu, 0);
	output_again(test, cpu);
	KUNIT_EXPECT_EQ(test, kapi_msgs_of(s, KDTL_MSG_CPU), 0U);
	output_raw.refuse = -ENODEV;
	output_again(test, cpu);
	output_raw.refuse = 0;
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
	KUNIT_EXPECT_FALSE(test, info.online);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, KAPI_FOREVER), 1);
	KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_CPU, &msg));
	KUNIT_EXPECT_EQ(test, msg.cpu, cpu);
	KUNIT_EXPECT_FALSE(test, msg.cpu_state.online);
	KUNIT_EXPECT_EQ(test, msg.cpu_state.error, -ENODEV);
	KUNIT_EXPECT_EQ(test, kapi_msgs_of(s, KDTL_MSG_CPU), 0U);

	/* The other CPUs go on, and the next start tries this CPU again. */
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	KUNIT_EXPECT_TRUE(test, info.online);
	output_bytes(test, 0, 1);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
	KUNIT_EXPECT_TRUE(test, info.online);
	output_bytes(test, cpu, 1);
}

/* -------------------------------------------------------------------- lifetime */

/* Use the driver with its own setup_aux(), whose areas report misuse. */
static void output_own_setup(struct kunit *test)
{
	kdtl_raw_unregister(&output_raw);
	memset(&output_raw, 0, sizeof(output_raw));
	KUNIT_ASSERT_EQ(test, kdtl_raw_register(&output_raw, OUTPUT_PMU, 0, true), 0);
}

static void output_expect_freed(struct kunit *test, int areas)
{
	KUNIT_EXPECT_EQ(test, atomic_read(&output_raw.setups), areas);
	KUNIT_EXPECT_EQ(test, atomic_read(&output_raw.frees), areas);
	KUNIT_EXPECT_EQ(test, atomic_read(&output_raw.bad_frees), 0);
}

/*
 * P.11: areas are set up once, however often the session is loaded and started, and freed at close.
 */
static void output_once(struct kunit *test)
{
	struct kdtl_session *s;
	int i;

	output_own_setup(test);
	s = output_session(test, 0, 0, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (i = 0; i < 5; i++) {
		KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), 0);
		KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
		KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
		KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
		KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&output_raw.setups), (int)num_online_cpus());
	KUNIT_EXPECT_EQ(test, atomic_read(&output_raw.frees), 0);
	kapi_close(test);
	output_expect_freed(test, num_online_cpus());
}

/*
 * P.11: if a transaction is open when the session is closed, it is ended before the area is freed.
 */
static void output_held(struct kunit *test)
{
	struct kdtl_session *s;
	int i;

	output_own_setup(test);
	output_raw.hold = true;
	for (i = 1; i <= 10; i++) {
		s = output_go(test, 0, 0);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
		if (i % 2)
			KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
		kapi_close(test);
		output_expect_freed(test, i * num_online_cpus());
	}
}

/* Opens a transaction and overwrites the whole area in it. */
static void output_scribble(struct perf_event *event, void *arg)
{
	struct perf_output_handle handle;
	struct kdtl_raw_area *area;
	int i;

	area = kdtl_raw_begin(&handle, event);
	if (!area)
		return;
	for (i = 0; i < area->nr_pages; i++)
		memset(area->pages[i], 0x5a, PAGE_SIZE);
	kdtl_raw_end(&handle, area, min(handle.size, 4800UL));
	(*(unsigned long *)arg)++;
}

static int output_scribbler(void *arg)
{
	while (!kthread_should_stop()) {
		kdtl_raw_on(&output_raw, 0, output_scribble, arg);
		cond_resched();
	}
	return 0;
}

/* P.11: sessions come and go under a driver that writes all the time. */
static void output_last_writer(struct kunit *test)
{
	struct task_struct *writer;
	unsigned long written = 0;
	int i;

	output_own_setup(test);
	writer = kthread_run(output_scribbler, &written, "kdtl-scribbler");
	KUNIT_ASSERT_FALSE(test, IS_ERR(writer));
	for (i = 0; i < 100; i++) {
		unsigned long before = READ_ONCE(written);

		if (!output_go(test, 0, 0))
			break;
		KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(written) != before));
		kapi_close(test);
	}
	kthread_stop(writer);
	KUNIT_EXPECT_GE(test, written, 100UL);
	output_expect_freed(test, 100 * num_online_cpus());
}

#ifdef CONFIG_HOTPLUG_CPU
/*
 * A CPU comes up while the session is started: its area exists by the time that add() asks for it.
 */
static void output_cpu_comes(struct kunit *test)
{
	const int cpu = cpumask_last(cpu_online_mask);
	struct kdtl_aux_info info = {};
	struct kdtl_session *s;

	KUNIT_ASSERT_GT(test, cpu, 0);
	output_own_setup(test);
	output_raw.hold = true;
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	s = output_go(test, 0, 0);
	KUNIT_EXPECT_EQ(test, cpus_bring_back(cpu), 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
	KUNIT_EXPECT_TRUE(test, info.online);
	KUNIT_EXPECT_EQ(test, per_cpu_ptr(output_raw.cpu, cpu)->nr, 1U);
	/* The second time the area of the first is used. */
	KUNIT_EXPECT_EQ(test, remove_cpu(cpu), 0);
	KUNIT_EXPECT_EQ(test, cpus_bring_back(cpu), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
	KUNIT_EXPECT_TRUE(test, info.online);
	KUNIT_EXPECT_EQ(test, per_cpu_ptr(output_raw.cpu, cpu)->nr, 1U);
	kapi_close(test);
	output_expect_freed(test, num_online_cpus());
}

/* If the driver refuses such a CPU, that CPU is not logged, and all else goes on. */
static void output_cpu_refused(struct kunit *test)
{
	const int cpu = cpumask_last(cpu_online_mask);
	struct kdtl_msg msg;
	struct kdtl_aux_info info = {};
	struct kdtl_session *s;

	KUNIT_ASSERT_GT(test, cpu, 0);
	s = output_go(test, 0, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	output_raw.refuse = -ENODEV;
	KUNIT_EXPECT_EQ(test, cpus_bring_back(cpu), 0);
	output_raw.refuse = 0;
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
	KUNIT_EXPECT_FALSE(test, info.online);
	/* To the session the CPU went, and has not come back. */
	KUNIT_EXPECT_EQ(test, info.moves, 1ULL);
	KUNIT_EXPECT_NE(test, info.went, 0ULL);
	KUNIT_EXPECT_EQ(test, info.came, 0ULL);
	KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_CPU, &msg));
	KUNIT_EXPECT_EQ(test, msg.cpu_state.error, 0);
	KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_CPU, &msg));
	KUNIT_EXPECT_EQ(test, msg.cpu, cpu);
	KUNIT_EXPECT_FALSE(test, msg.cpu_state.online);
	KUNIT_EXPECT_EQ(test, msg.cpu_state.error, -ENODEV);
	output_bytes(test, 0, 1);
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	KUNIT_ASSERT_EQ(test, cpus_bring_back(cpu), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
	KUNIT_EXPECT_TRUE(test, info.online);
	output_bytes(test, cpu, 1);
}
#endif

static struct kunit_case output_cases[] = {
	KUNIT_CASE(output_private),
	KUNIT_CASE(output_room),
	KUNIT_CASE(output_pieces),
	KUNIT_CASE(output_consume),
	KUNIT_CASE(output_skip),
	KUNIT_CASE(output_flag),
	KUNIT_CASE(output_watermark),
	KUNIT_CASE(output_full),
	KUNIT_CASE(output_paused),
	KUNIT_CASE(output_overwrite),
	KUNIT_CASE(output_no_area),
	KUNIT_CASE(output_refused),
	KUNIT_CASE(output_refused_later),
	KUNIT_CASE(output_once),
	KUNIT_CASE(output_held),
	KUNIT_CASE(output_last_writer),
#ifdef CONFIG_HOTPLUG_CPU
	KUNIT_CASE(output_cpu_comes),
	KUNIT_CASE(output_cpu_refused),
#endif
	{}
};

static int output_init(struct kunit *test)
{
	memset(&output_raw, 0, sizeof(output_raw));
	return kdtl_raw_register(&output_raw, OUTPUT_PMU, 0, false);
}

static void output_exit(struct kunit *test)
{
	kapi_exit(test);
	kdtl_raw_unregister(&output_raw);
}

struct kunit_suite kdtl_output_suite = {
	.name		= "kdtl_output",
	.init		= output_init,
	.exit		= output_exit,
	.test_cases	= output_cases,
};
