// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_kunit_raw.ko: sessions with KDTL_SESSION_RAW, on a PMU that does not know kdtl and, through
 * perf, on kdtl's own
 */
#include <linux/cpu.h>
#include <linux/perf_event.h>
#include <linux/sizes.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "cpus.h"
#include "kapi.h"
#include "raw_pmu.h"

#define RAW_PAGES	4
#define RAW_SIZE	(RAW_PAGES * PAGE_SIZE)
#define RAW_SCHED	"kdtl_sched"

static struct kdtl_session_attr raw_attr(u32 flags)
{
	return (struct kdtl_session_attr) {
		.pmu		= RAW_PMU,
		.aux_pages	= RAW_PAGES,
		.msg_pages	= 1,
		.watermark	= PAGE_SIZE,
		.flags		= KDTL_SESSION_RAW | flags,
	};
}

static struct kdtl_session *raw_create(struct kunit *test, u32 flags)
{
	const struct kdtl_session_attr attr = raw_attr(flags);
	struct kdtl_session *s = kdtl_session_create(&attr);

	KUNIT_EXPECT_FALSE(test, IS_ERR_OR_NULL(s));
	return s;
}

static struct kdtl_session *raw_started(struct kunit *test, u32 flags)
{
	struct kdtl_session *s = raw_create(test, flags);

	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	return s;
}

static ssize_t raw_unread(struct kdtl_session *s, int cpu)
{
	const void *span;

	return kdtl_aux_peek(s, cpu, &span);
}

/* Read @bytes of a CPU.  They must go on from *@next. */
static void raw_expect(struct kunit *test, struct kdtl_session *s, int cpu, size_t bytes,
		       u8 *next)
{
	const void *span = NULL;
	size_t i, wrong = 0;

	KUNIT_ASSERT_GE(test, kdtl_aux_peek(s, cpu, &span), (ssize_t)bytes);
	for (i = 0; i < bytes; i++)
		wrong += ((const u8 *)span)[i] != (u8)(*next + i);
	KUNIT_EXPECT_EQ(test, wrong, (size_t)0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, cpu, bytes), 0);
	*next += bytes;
}

/*
 * Write until the area is full.  The PMU learns of room only when it begins a piece, so begin one.
 */
static unsigned long raw_fill(int cpu)
{
	raw_pmu_write(cpu, 0);
	return raw_pmu_write(cpu, RAW_SIZE);
}

/* Returns the flags of all KDTL_MSG_AUX so far; *@bytes is how many bytes they tell of. */
static u64 raw_flags(struct kdtl_session *s, u64 *bytes)
{
	struct kdtl_msg msg;
	u64 flags = 0;

	*bytes = 0;
	while (kapi_msg_of(s, KDTL_MSG_AUX, &msg)) {
		flags |= msg.aux.flags;
		*bytes += msg.aux.size;
	}
	return flags;
}

static void raw_attrs(struct kunit *test)
{
	struct kdtl_session_attr attr;

#define RAW_REFUSED(field, value, err) do {					\
		attr = raw_attr(0);						\
		attr.field = value;						\
		KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_create(&attr)), (long)(err)); \
	} while (0)

	RAW_REFUSED(pmu, NULL, -EINVAL);
	RAW_REFUSED(mask, KDTL_MASK_ALL, -EINVAL);
	RAW_REFUSED(min_wait, 1, -EINVAL);
	RAW_REFUSED(flags, KDTL_SESSION_RAW | KDTL_SESSION_PAUSE, -EINVAL);
	RAW_REFUSED(pmu, "no_such_pmu", -ENODEV);
	RAW_REFUSED(pmu, "software", -EOPNOTSUPP);

	/* Only raw sessions may have a config. */
	attr = raw_attr(0);
	attr.pmu = NULL;
	attr.flags = 0;
	attr.config = 1;
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_create(&attr)), (long)-EINVAL);
#undef RAW_REFUSED
}

static void raw_verbs(struct kunit *test)
{
	struct kdtl_counter_req counter = { .cpu = -1 };
	struct kdtl_evtset_info set_info = { .cpu = -1 };
	const struct kdtl_reader reader = { .span = (void *)raw_verbs };
	struct kdtl_session_attr attr = raw_attr(0);
	struct kdtl_session *s = raw_create(test, 0);
	struct kdtl_evtset set = { .id = 1 };
	struct kdtl_timebase tb = {};
	struct kdtl_config config = {};
	struct kdtl_aux_info info;
	const void *span;
	u64 lost;
	size_t at;
	int round;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), -EINVAL);
	/* The same verbs are refused before the session is loaded and while it is started. */
	for (round = 0; round < 2; round++) {
		KUNIT_EXPECT_EQ(test, kdtl_write_config(s, &config, 1), -EOPNOTSUPP);
		KUNIT_EXPECT_EQ(test, kdtl_write_counters(s, &counter, 1), -EOPNOTSUPP);
		KUNIT_EXPECT_EQ(test, kdtl_read_counters(s, &counter, 1), -EOPNOTSUPP);
		KUNIT_EXPECT_EQ(test, kdtl_create_evtsets(s, &set, 1), -EOPNOTSUPP);
		KUNIT_EXPECT_EQ(test, kdtl_delete_evtsets(s, &set, 1), -EOPNOTSUPP);
		KUNIT_EXPECT_EQ(test, kdtl_getinfo_evtsets(s, &set_info, 1), -EOPNOTSUPP);
		KUNIT_EXPECT_EQ(test, kdtl_aux_gap(s, 0, &at, &lost), -EOPNOTSUPP);
		KUNIT_EXPECT_EQ(test, kdtl_timebase_sync(s, &tb), -EOPNOTSUPP);
		KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_merge_create(s)), (long)-EOPNOTSUPP);
		KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, NULL), (ssize_t)-EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)0);
		KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 0), 0);
		KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 1), -EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_aux_snapshot(s, 0, NULL, 0, NULL), (ssize_t)-EINVAL);
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
		KUNIT_EXPECT_EQ(test, info.tb_freq, 0ULL);
		KUNIT_EXPECT_EQ(test, info.size, (u64)RAW_SIZE);
		KUNIT_EXPECT_EQ(test, info.online, round == 1);
		if (!round)
			KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	}
	KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), -EBUSY);
	KUNIT_EXPECT_EQ(test, kdtl_restart(s), -EBUSY);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	kdtl_session_close(s);
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_open(&attr, &reader)), (long)-EOPNOTSUPP);
}

/* On each CPU, write and read three times the area, a page and a half at a time. */
static void raw_read(struct kunit *test)
{
	struct kdtl_session *s = raw_started(test, 0);
	const size_t piece = PAGE_SIZE * 3 / 2;
	struct kdtl_aux_info info;
	u64 bytes, sum = 0;
	int cpu, i;
	u8 next;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, raw_pmu_areas(), num_online_cpus());
	/* Less data than a watermark wakes nobody, but can be read. */
	for_each_online_cpu(cpu)
		KUNIT_EXPECT_EQ(test, raw_pmu_write(cpu, 100), 100UL);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
	for_each_online_cpu(cpu) {
		next = raw_pmu_next(cpu) - 100;
		raw_expect(test, s, cpu, 60, &next);
		raw_expect(test, s, cpu, 40, &next);
		for (i = 0; i < 8; i++) {
			KUNIT_EXPECT_EQ(test, raw_pmu_write(cpu, piece), piece);
			KUNIT_EXPECT_GT(test, kdtl_wait(s, KAPI_FOREVER), 0);
			raw_expect(test, s, cpu, piece, &next);
			KUNIT_EXPECT_EQ(test, raw_unread(s, cpu), (ssize_t)0);
		}
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
		KUNIT_EXPECT_EQ(test, info.head, 100 + 8 * piece);
		KUNIT_EXPECT_EQ(test, info.tail, info.head);
		KUNIT_EXPECT_EQ(test, info.produced, 0ULL);
		KUNIT_EXPECT_EQ(test, info.lost, 0ULL);
		sum += info.head;
		/* Data since the last watermark is reported when the session is stopped. */
		KUNIT_EXPECT_EQ(test, raw_pmu_write(cpu, 7), 7UL);
		sum += 7;
	}
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, raw_flags(s, &bytes), 0ULL);
	KUNIT_EXPECT_EQ(test, bytes, sum);
	KUNIT_EXPECT_GT(test, kdtl_wait(s, 0), 0);
	/* The unread data stays after an unload; without other sessions the PMU is then free. */
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_EQ(test, raw_pmu_areas(), 0U);
	for_each_online_cpu(cpu) {
		next = raw_pmu_next(cpu) - 7;
		raw_expect(test, s, cpu, 7, &next);
	}
	kdtl_session_close(s);
}

/* If the PMU finds no room, it stops, and goes on by itself when there is some again. */
static void raw_full(struct kunit *test)
{
	struct kdtl_session *s = raw_started(test, 0);
	u8 next = raw_pmu_next(0);
	struct kdtl_aux_info info;
	u64 bytes, lost;
	int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (i = 0; i < 3; i++) {
		/* perf always leaves one byte of an area free. */
		KUNIT_EXPECT_EQ(test, raw_fill(0), RAW_SIZE - 1);
		KUNIT_EXPECT_TRUE(test, kapi_until(!raw_pmu_is_on(0)));
		KUNIT_EXPECT_EQ(test, raw_pmu_write(0, 1), 0UL);
		KUNIT_EXPECT_GT(test, kdtl_wait(s, KAPI_FOREVER), 0);
		KUNIT_EXPECT_EQ(test, raw_unread(s, 0), (ssize_t)RAW_SIZE - 1);
		KUNIT_EXPECT_TRUE(test, kapi_until(raw_flags(s, &bytes) &
						   PERF_AUX_FLAG_TRUNCATED));
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
		KUNIT_EXPECT_GT(test, info.lost, (u64)i);
		/* Some room is enough for it to go on. */
		raw_expect(test, s, 0, 1000, &next);
		KUNIT_EXPECT_TRUE(test, kapi_until(raw_pmu_is_on(0)));
		/* A PMU whose data fits exactly cuts nothing short, but is stopped all the same. */
		lost = info.lost;
		KUNIT_EXPECT_EQ(test, raw_pmu_write(0, 1000), 1000UL);
		KUNIT_EXPECT_TRUE(test, kapi_until(!raw_pmu_is_on(0)));
		KUNIT_EXPECT_TRUE(test, kapi_until(raw_flags(s, &bytes) &
						   PERF_AUX_FLAG_TRUNCATED));
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
		KUNIT_EXPECT_EQ(test, info.lost, lost + 1);
		raw_expect(test, s, 0, RAW_SIZE - 1, &next);
		KUNIT_EXPECT_TRUE(test, kapi_until(raw_pmu_is_on(0)));
	}
	/* A session that is started with a full area waits for its reader, too. */
	KUNIT_EXPECT_EQ(test, raw_fill(0), RAW_SIZE - 1);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
	KUNIT_EXPECT_TRUE(test, kapi_until(!raw_pmu_is_on(0)));
	raw_expect(test, s, 0, RAW_SIZE - 1, &next);
	KUNIT_EXPECT_TRUE(test, kapi_until(raw_pmu_is_on(0)));
	kdtl_session_close(s);
}

/* The PMU allows one event on a CPU, which the first session has. */
static void raw_second(struct kunit *test)
{
	struct kdtl_session *a = raw_started(test, 0), *b = raw_create(test, 0);
	u8 next = raw_pmu_next(0);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, a);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, b);
	KUNIT_EXPECT_EQ(test, raw_pmu_write(0, 100), 100UL);
	KUNIT_EXPECT_EQ(test, kdtl_load(b, NULL), -EBUSY);
	KUNIT_EXPECT_EQ(test, raw_pmu_areas(), num_online_cpus());
	KUNIT_EXPECT_EQ(test, raw_pmu_write(0, 10), 10UL);
	raw_expect(test, a, 0, 110, &next);
	KUNIT_EXPECT_EQ(test, raw_pmu_write(0, 20), 20UL);
	KUNIT_EXPECT_EQ(test, kdtl_unload(a), 0);

	/* What the first session has not read stays there. */
	KUNIT_EXPECT_EQ(test, kapi_go(b), 0);
	KUNIT_EXPECT_EQ(test, raw_pmu_write(0, 30), 30UL);
	raw_expect(test, a, 0, 20, &next);
	raw_expect(test, b, 0, 30, &next);
	KUNIT_EXPECT_EQ(test, kdtl_load(a, NULL), -EBUSY);
	kdtl_session_close(a);
	kdtl_session_close(b);
}

/* Another user has an event on the PMU; and the PMU refuses an event. */
static void raw_busy(struct kunit *test)
{
	struct perf_event_attr attr = {
		.type		= raw_pmu_type(),
		.size		= sizeof(attr),
		.disabled	= 1,
	};
	struct kdtl_session_attr refuses = raw_attr(0);
	struct perf_event *event;
	struct kdtl_session *s;

	event = perf_event_create_kernel_counter(&attr, 0, NULL, NULL, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(event));
	s = raw_create(test, 0);
	KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), -EBUSY);
	KUNIT_EXPECT_EQ(test, raw_pmu_areas(), 0U);
	perf_event_release_kernel(event);
	KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), 0);
	event = perf_event_create_kernel_counter(&attr, 0, NULL, NULL, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(event), (long)-EBUSY);
	kdtl_session_close(s);

	refuses.config = RAW_PMU_REFUSES;
	s = kdtl_session_create(&refuses);
	KUNIT_ASSERT_FALSE(test, IS_ERR(s));
	KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), 0);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), -EBUSY);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), -EBUSY);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	kdtl_session_close(s);
}

struct raw_copy {
	struct kdtl_session	*s;
	int			of;
	u8			*buf;
	size_t			len;
	ssize_t			got;
};

static void raw_copy_here(void *arg)
{
	struct raw_copy *copy = arg;

	copy->got = kdtl_aux_snapshot(copy->s, copy->of, copy->buf, copy->len, NULL);
}

/* Take a snapshot of CPU 0 on @cpu. */
static ssize_t raw_copy_on(int cpu, struct kdtl_session *s, u8 *buf, size_t len)
{
	struct raw_copy copy = { .s = s, .buf = buf, .len = len, .got = -ENXIO };

	smp_call_function_single(cpu, raw_copy_here, &copy, 1);
	return copy.got;
}

/* @buf must hold the last @len bytes before the byte @next. */
static void raw_expect_before(struct kunit *test, u8 next, const u8 *buf, size_t len)
{
	size_t i, wrong = 0;

	for (i = 0; i < len; i++)
		wrong += buf[i] != (u8)(next - len + i);
	KUNIT_EXPECT_EQ(test, wrong, (size_t)0);
}

/* @buf must hold the newest bytes of CPU 0. */
static void raw_expect_newest(struct kunit *test, const u8 *buf, size_t len)
{
	raw_expect_before(test, raw_pmu_next(0), buf, len);
}

static void raw_overwrite(struct kunit *test)
{
	struct kdtl_session *s = raw_started(test, KDTL_SESSION_OVERWRITE);
	u8 *buf = kmalloc(RAW_SIZE, GFP_KERNEL), byte;
	struct raw_copy inside = { .s = s, .buf = &byte, .len = 1 };
	const void *span;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, buf);
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, raw_pmu_write(0, 600), 600UL);

	/*
	 * While the PMU is on, only the CPU itself can copy its bytes; the PMU goes on afterwards.
	 */
	KUNIT_EXPECT_EQ(test, raw_copy_on(1, s, buf, RAW_SIZE), (ssize_t)-EBUSY);
	KUNIT_EXPECT_EQ(test, raw_copy_on(0, s, buf, RAW_SIZE), (ssize_t)600);
	raw_expect_newest(test, buf, 600);
	KUNIT_EXPECT_EQ(test, raw_pmu_write(0, 400), 400UL);
	KUNIT_EXPECT_EQ(test, raw_copy_on(0, s, buf, RAW_SIZE), (ssize_t)1000);
	raw_expect_newest(test, buf, 1000);

	/*
	 * A snapshot inside the one that holds the lock, as after a panic there, fails instead of
	 * waiting.
	 */
	raw_pmu_on_stop(raw_copy_here, &inside);
	KUNIT_EXPECT_EQ(test, raw_copy_on(0, s, buf, RAW_SIZE), (ssize_t)1000);
	raw_pmu_on_stop(NULL, NULL);
	KUNIT_EXPECT_EQ(test, inside.got, (ssize_t)-EBUSY);

	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, raw_copy_on(1, s, buf, RAW_SIZE), (ssize_t)1000);
	raw_expect_newest(test, buf, 1000);
	KUNIT_EXPECT_EQ(test, kdtl_aux_snapshot(s, 0, buf, 10, NULL), (ssize_t)10);
	raw_expect_newest(test, buf, 10);

	/* The data wraps around, so that the PMU's head is smaller than before. */
	KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
	KUNIT_EXPECT_EQ(test, raw_pmu_write(0, RAW_SIZE - 500), RAW_SIZE - 500);
	KUNIT_EXPECT_EQ(test, raw_copy_on(0, s, buf, RAW_SIZE), (ssize_t)RAW_SIZE);
	raw_expect_newest(test, buf, RAW_SIZE);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_snapshot(s, 0, buf, RAW_SIZE, NULL), (ssize_t)RAW_SIZE);
	raw_expect_newest(test, buf, RAW_SIZE);
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_snapshot(s, 0, buf, RAW_SIZE, NULL), (ssize_t)RAW_SIZE);
	kdtl_session_close(s);
	kfree(buf);
}

/* Reading and snapshots work as well on a PMU that wants one piece of memory. */
static void raw_no_sg(struct kunit *test)
{
	struct kdtl_session *s;

	raw_pmu_unregister();
	KUNIT_ASSERT_EQ(test, raw_pmu_register(PERF_PMU_CAP_AUX_NO_SG), 0);
	s = raw_started(test, KDTL_SESSION_OVERWRITE);
	KUNIT_EXPECT_TRUE(test, raw_pmu_is_whole(0));
	kdtl_session_close(s);
	raw_overwrite(test);
	raw_read(test);
}

/* A CPU goes and comes back: nothing that was written is lost, and the CPU is logged again. */
static void raw_hotplug(struct kunit *test)
{
	struct kdtl_session *s = raw_started(test, 0);
	const int cpu = kapi_other_cpu(0);
	struct kdtl_msg msg;
	u8 next;

	KUNIT_ASSERT_GE(test, cpu, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	next = raw_pmu_next(cpu);
	KUNIT_EXPECT_EQ(test, raw_pmu_write(cpu, 500), 500UL);
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	KUNIT_EXPECT_TRUE(test, kapi_msg_of(s, KDTL_MSG_CPU, &msg));
	KUNIT_EXPECT_FALSE(test, msg.cpu_state.online);
	KUNIT_EXPECT_EQ(test, raw_pmu_areas(), num_online_cpus());
	KUNIT_EXPECT_EQ(test, raw_unread(s, cpu), (ssize_t)500);
	raw_expect(test, s, cpu, 100, &next);
	KUNIT_ASSERT_EQ(test, cpus_bring_back(cpu), 0);
	KUNIT_EXPECT_TRUE(test, kapi_msg_of(s, KDTL_MSG_CPU, &msg));
	KUNIT_EXPECT_TRUE(test, msg.cpu_state.online);
	KUNIT_EXPECT_EQ(test, msg.cpu_state.error, 0);
	KUNIT_EXPECT_TRUE(test, raw_pmu_is_on(cpu));

	/* The reader is still in the pages from before. */
	KUNIT_EXPECT_EQ(test, raw_pmu_write(cpu, 300), 300UL);
	KUNIT_EXPECT_EQ(test, raw_unread(s, cpu), (ssize_t)400);
	raw_expect(test, s, cpu, 399, &next);
	KUNIT_EXPECT_EQ(test, raw_unread(s, cpu), (ssize_t)1);
	raw_expect(test, s, cpu, 1, &next);
	raw_expect(test, s, cpu, 300, &next);

	/* The CPU goes again, and comes back while the session is stopped. */
	KUNIT_EXPECT_EQ(test, raw_pmu_write(cpu, 20), 20UL);
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	raw_expect(test, s, cpu, 20, &next);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_ASSERT_EQ(test, cpus_bring_back(cpu), 0);
	KUNIT_EXPECT_FALSE(test, raw_pmu_is_on(cpu));
	KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
	KUNIT_EXPECT_EQ(test, raw_pmu_write(cpu, 20), 20UL);
	raw_expect(test, s, cpu, 20, &next);
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	kdtl_session_close(s);
	KUNIT_ASSERT_EQ(test, cpus_bring_back(cpu), 0);
}

/*
 * A CPU goes twice, and the reader has read nothing in between: what was written in between is
 * lost, and the session says so.
 */
static void raw_hotplug_twice(struct kunit *test)
{
	struct kdtl_session *s = raw_started(test, 0);
	const int cpu = kapi_other_cpu(0);
	struct kdtl_aux_info info;
	u64 bytes;
	u8 next;

	KUNIT_ASSERT_GE(test, cpu, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	next = raw_pmu_next(cpu);
	KUNIT_EXPECT_EQ(test, raw_pmu_write(cpu, 30), 30UL);
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	KUNIT_ASSERT_EQ(test, cpus_bring_back(cpu), 0);
	KUNIT_EXPECT_EQ(test, raw_pmu_write(cpu, 40), 40UL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
	KUNIT_EXPECT_EQ(test, info.lost, 0ULL);
	KUNIT_EXPECT_EQ(test, raw_flags(s, &bytes), 0ULL);
	KUNIT_EXPECT_EQ(test, bytes, 30ULL);
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
	KUNIT_EXPECT_EQ(test, info.lost, 1ULL);
	KUNIT_EXPECT_EQ(test, raw_flags(s, &bytes), (u64)PERF_AUX_FLAG_PARTIAL);
	KUNIT_ASSERT_EQ(test, cpus_bring_back(cpu), 0);
	raw_expect(test, s, cpu, 30, &next);
	next = raw_pmu_next(cpu);
	KUNIT_EXPECT_EQ(test, raw_pmu_write(cpu, 50), 50UL);
	raw_expect(test, s, cpu, 50, &next);
	/* The room between old and new pages is no data. */
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, raw_flags(s, &bytes), 0ULL);
	KUNIT_EXPECT_EQ(test, bytes, 50ULL);
	kdtl_session_close(s);
}

static long raw_nothing(void *unused)
{
	return 0;
}

/*
 * A reader that reads once for each completion is woken again when it is done with the old pages,
 * for what is in the new ones already.
 */
static void raw_hotplug_wakes(struct kunit *test)
{
	const int cpu = kapi_other_cpu(0);
	struct kdtl_session_attr attr = raw_attr(0);
	struct kdtl_session *s;
	struct completion done;
	u8 next;

	KUNIT_ASSERT_GE(test, cpu, 0);
	init_completion(&done);
	attr.done = &done;
	s = kdtl_session_create(&attr);
	KUNIT_ASSERT_FALSE(test, IS_ERR(s));
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	next = raw_pmu_next(cpu);
	KUNIT_EXPECT_EQ(test, raw_pmu_write(cpu, 30), 30UL);
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	KUNIT_ASSERT_EQ(test, cpus_bring_back(cpu), 0);
	KUNIT_EXPECT_EQ(test, raw_pmu_write(cpu, PAGE_SIZE), PAGE_SIZE);
	/* The CPU runs this after its interrupts, which wake the reader. */
	work_on_cpu(cpu, raw_nothing, NULL);
	KUNIT_EXPECT_TRUE(test, try_wait_for_completion(&done));
	while (try_wait_for_completion(&done))
		;
	raw_expect(test, s, cpu, 30, &next);
	KUNIT_EXPECT_TRUE(test, kapi_until(try_wait_for_completion(&done)));
	raw_expect(test, s, cpu, PAGE_SIZE, &next);
	kdtl_session_close(s);
}

/* If the session is started, a snapshot has only bytes from after the CPU came back. */
static void raw_overwrite_hotplug(struct kunit *test)
{
	struct kdtl_session *s = raw_started(test, KDTL_SESSION_OVERWRITE);
	u8 *buf = kmalloc(RAW_SIZE, GFP_KERNEL);
	const int cpu = kapi_other_cpu(0);
	struct raw_copy copy = { .s = s, .of = cpu, .buf = buf, .len = RAW_SIZE };
	u8 next;

	KUNIT_ASSERT_GE(test, cpu, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, buf);
	KUNIT_EXPECT_EQ(test, raw_pmu_write(cpu, 500), 500UL);
	next = raw_pmu_next(cpu);
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	raw_copy_here(&copy);
	KUNIT_EXPECT_EQ(test, copy.got, (ssize_t)500);
	raw_expect_before(test, next, buf, 500);

	KUNIT_ASSERT_EQ(test, cpus_bring_back(cpu), 0);
	KUNIT_EXPECT_TRUE(test, raw_pmu_is_on(cpu));
	KUNIT_EXPECT_EQ(test, raw_pmu_write(cpu, 300), 300UL);
	smp_call_function_single(cpu, raw_copy_here, &copy, 1);
	KUNIT_EXPECT_EQ(test, copy.got, (ssize_t)300);
	raw_expect_before(test, raw_pmu_next(cpu), buf, 300);

	/*
	 * While the session is stopped, it keeps the bytes that it has until it is started again.
	 */
	next = raw_pmu_next(cpu);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	KUNIT_ASSERT_EQ(test, cpus_bring_back(cpu), 0);
	raw_copy_here(&copy);
	KUNIT_EXPECT_EQ(test, copy.got, (ssize_t)300);
	raw_expect_before(test, next, buf, 300);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
	KUNIT_EXPECT_EQ(test, raw_pmu_write(cpu, 20), 20UL);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	raw_copy_here(&copy);
	KUNIT_EXPECT_EQ(test, copy.got, (ssize_t)20);
	raw_expect_before(test, raw_pmu_next(cpu), buf, 20);
	kdtl_session_close(s);
	kfree(buf);
}

/* Read messages until there is one about the state of this CPU.  Returns false if there is none. */
static bool raw_told_of(struct kdtl_session *s, int cpu, struct kdtl_msg *msg)
{
	while (kapi_msg_of(s, KDTL_MSG_CPU, msg)) {
		if (msg->cpu == cpu)
			return true;
	}
	return false;
}

/*
 * The PMU is unregistered under a session: a message says so, and written bytes can still be read.
 */
static void raw_gone(struct kunit *test)
{
	struct kdtl_session *s = raw_started(test, 0);
	struct kdtl_aux_info info;
	u8 next = raw_pmu_next(0);
	struct kdtl_msg msg;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, raw_pmu_write(0, 700), 700UL);
	raw_pmu_unregister();
	KUNIT_EXPECT_EQ(test, raw_pmu_areas(), 0U);
	KUNIT_EXPECT_TRUE(test, kapi_until(raw_told_of(s, 0, &msg)));
	KUNIT_EXPECT_FALSE(test, msg.cpu_state.online);
	KUNIT_EXPECT_EQ(test, msg.cpu_state.error, -ENODEV);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	KUNIT_EXPECT_FALSE(test, info.online);
	raw_expect(test, s, 0, 700, &next);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	KUNIT_EXPECT_FALSE(test, info.online);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_LT(test, kdtl_load(s, NULL), 0);

	/*
	 * A PMU that is registered under the same name later is a new one, even if it gets the same
	 * number.
	 */
	KUNIT_EXPECT_EQ(test, raw_pmu_register(0), 0);
	kdtl_session_close(s);
	s = raw_started(test, 0);
	next = raw_pmu_next(0);
	KUNIT_EXPECT_EQ(test, raw_pmu_write(0, 70), 70UL);
	raw_expect(test, s, 0, 70, &next);
	kdtl_session_close(s);
}

/* A raw session on one of kdtl's sources gets the entries that the source made. */
static void raw_own(struct kunit *test)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= RAW_PAGES,
		.config		= KDTL_MASK_ALL,
		.flags		= KDTL_SESSION_RAW,
	};
	struct kdtl_session *s = kdtl_session_create(&attr);
	const struct kdtl_entry *e;
	const void *span = NULL;
	unsigned int nr = 0;
	u64 first = 0;
	ssize_t len;

	KUNIT_ASSERT_FALSE(test, IS_ERR(s));
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 100), 0);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	len = kdtl_aux_peek(s, 0, &span);
	/*
	 * Users of kdtl's sources through perf first get a header, which is as large as an entry.
	 */
	KUNIT_EXPECT_EQ(test, len, (ssize_t)(101 * KDTL_ENTRY_SIZE));
	KUNIT_ASSERT_GT(test, len, (ssize_t)KDTL_ENTRY_SIZE);
	kdtl_for_each_entry(e, span + KDTL_ENTRY_SIZE, len - KDTL_ENTRY_SIZE) {
		KUNIT_EXPECT_EQ(test, kdtl_entry_cpu(e), 0U);
		first = nr ? first : kdtl_fake_entry_seq(e);
		KUNIT_EXPECT_EQ(test, kdtl_fake_entry_seq(e), first + nr);
		nr++;
	}
	KUNIT_EXPECT_EQ(test, nr, 100U);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, len), 0);
	kdtl_session_close(s);
}

/* Returns how many entries of CPU 0 a session has unread; *@e is the first one. */
static ssize_t raw_entries(struct kdtl_session *s, const struct kdtl_entry **e)
{
	const void *span = NULL;
	const ssize_t len = kdtl_aux_peek(s, 0, &span);

	*e = span;
	return len < 0 ? len : len / KDTL_ENTRY_SIZE;
}

/* A raw session gets the same entries of kdtl_sched as another session. */
static void raw_sched(struct kunit *test)
{
	struct kdtl_session_attr attr = {
		.pmu		= RAW_SCHED,
		.cpus		= cpumask_of(0),
		.aux_pages	= SZ_1M / PAGE_SIZE,
	};
	const struct kdtl_entry *own, *raw;
	struct kdtl_session *s, *r;
	ssize_t nr_own, nr_raw, at;

	s = kdtl_session_create(&attr);
	KUNIT_ASSERT_FALSE(test, IS_ERR(s));
	attr.flags = KDTL_SESSION_RAW;
	attr.config = KDTL_MASK_ALL;
	r = kdtl_session_create(&attr);
	KUNIT_ASSERT_FALSE(test, IS_ERR(r));
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_EQ(test, kapi_go(r), 0);
	/*
	 * A worker that has not gone to sleep yet is not dispatched again, so this may take more
	 * rounds.
	 */
	for (at = 0; at < 100000 && raw_unread(r, 0) < 100 * KDTL_ENTRY_SIZE; at++)
		work_on_cpu(0, raw_nothing, NULL);
	KUNIT_EXPECT_EQ(test, kdtl_stop(r), 0);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);

	nr_own = raw_entries(s, &own);
	nr_raw = raw_entries(r, &raw);
	/* The raw session's first entry is the header. */
	raw++;
	nr_raw--;
	KUNIT_ASSERT_GE(test, nr_raw, (ssize_t)99);
	KUNIT_ASSERT_LE(test, nr_raw, nr_own);
	for (at = 0; at < nr_own - nr_raw && memcmp(&own[at], raw, sizeof(*raw)); at++)
		;
	KUNIT_EXPECT_EQ(test, memcmp(&own[at], raw, nr_raw * sizeof(*raw)), 0);
	kdtl_session_close(s);
	kdtl_session_close(r);
}

/*
 * The first user of a source registers its tracepoints, which takes the CPU hotplug lock, and the
 * last user unregisters them.  The only event of this session goes and comes with its CPU.
 */
static void raw_sched_hotplug(struct kunit *test)
{
	const int cpu = kapi_other_cpu(0);
	struct kdtl_session_attr attr = {
		.pmu	= RAW_SCHED,
		.config	= KDTL_MASK_ALL,
		.flags	= KDTL_SESSION_RAW,
	};
	struct kdtl_aux_info info;
	struct kdtl_session *s;

	KUNIT_ASSERT_GE(test, cpu, 0);
	attr.cpus = cpumask_of(cpu);
	s = kdtl_session_create(&attr);
	KUNIT_ASSERT_FALSE(test, IS_ERR(s));
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
	KUNIT_EXPECT_FALSE(test, info.online);
	KUNIT_ASSERT_EQ(test, cpus_bring_back(cpu), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
	KUNIT_EXPECT_TRUE(test, info.online);
	work_on_cpu(cpu, raw_nothing, NULL);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_GT(test, raw_unread(s, cpu), (ssize_t)0);
	kdtl_session_close(s);
}

static int raw_init(struct kunit *test)
{
	return raw_pmu_register(0) ?: kapi_init(test);
}

static void raw_exit(struct kunit *test)
{
	raw_pmu_unregister();
	KUNIT_EXPECT_EQ(test, raw_pmu_areas(), 0U);
}

static struct kunit_case raw_cases[] = {
	KUNIT_CASE(raw_attrs),
	KUNIT_CASE(raw_verbs),
	KUNIT_CASE(raw_read),
	KUNIT_CASE(raw_full),
	KUNIT_CASE(raw_second),
	KUNIT_CASE(raw_busy),
	KUNIT_CASE(raw_overwrite),
	KUNIT_CASE(raw_no_sg),
	KUNIT_CASE(raw_hotplug),
	KUNIT_CASE(raw_hotplug_twice),
	KUNIT_CASE(raw_hotplug_wakes),
	KUNIT_CASE(raw_overwrite_hotplug),
	KUNIT_CASE(raw_gone),
	KUNIT_CASE(raw_own),
	KUNIT_CASE(raw_sched),
	KUNIT_CASE(raw_sched_hotplug),
	{}
};

static struct kunit_suite kdtl_raw_suite = {
	.name		= "kdtl_raw",
	.init		= raw_init,
	.exit		= raw_exit,
	.test_cases	= raw_cases,
};

kunit_test_suites(&kdtl_raw_suite);

MODULE_DESCRIPTION("KUnit tests of kdtl's raw sessions");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
