// SPDX-License-Identifier: GPL-2.0
/* Who had a CPU, according to entries that the test makes up. */
#include <linux/random.h>
#include <linux/string.h>
#include <uapi/linux/kdtl_wake.h>

#include "kapi.h"

#define WHO_ROWS	3

/* At @time the task @pid, called @name, gets the CPU from @prev. */
static void who_named(struct kdtl_who *w, u64 time, pid_t prev, pid_t pid, const char *name)
{
	struct kdtl_entry e = {
		.timebase	= cpu_to_be64(time),
		.fault_addr	= cpu_to_be64((u64)pid << 32 | (u32)prev),
	};

	strscpy((char *)&e + offsetof(struct kdtl_entry, srr0), name, TASK_COMM_LEN);
	kdtl_who_entry(w, &e);
}

static void who_switch(struct kdtl_who *w, u64 time, pid_t prev, pid_t pid)
{
	char comm[TASK_COMM_LEN];

	snprintf(comm, sizeof(comm), "task%d", pid);
	who_named(w, time, prev, pid, comm);
}

static void who_expect(struct kunit *test, const struct kdtl_who *w, unsigned int i,
		       pid_t pid, u64 ticks)
{
	char comm[TASK_COMM_LEN];

	KUNIT_ASSERT_TRUE(test, i < w->nr);
	KUNIT_EXPECT_EQ(test, w->ran[i].pid, pid);
	KUNIT_EXPECT_EQ(test, w->ran[i].ticks, ticks);
	snprintf(comm, sizeof(comm), "task%d", pid);
	KUNIT_EXPECT_EQ(test, strcmp(w->ran[i].comm, comm), 0);
}

static void who_sums_to(struct kunit *test, const struct kdtl_who *w, u64 span)
{
	u64 sum = w->others + w->idle + w->unknown + w->stolen;
	unsigned int i;

	for (i = 0; i < w->nr; i++) {
		sum += w->ran[i].ticks;
		if (i)
			KUNIT_EXPECT_LE(test, w->ran[i].ticks, w->ran[i - 1].ticks);
	}
	KUNIT_EXPECT_EQ(test, sum, span);
}

/*
 * The span begins within one task's time and ends within another's, without a gap; also around
 * 2^64.
 */
static void who_busy(struct kunit *test)
{
	static const u64 starts[] = { 0, 1000, -45, -100 };
	struct kdtl_ran ran[WHO_ROWS];
	struct kdtl_who w = { .ran = ran, .size = WHO_ROWS };
	unsigned int i;
	u64 t;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		t = starts[i];
		kdtl_who_begin(&w, t + 10, t + 100);
		who_switch(&w, t, 9, 1);
		who_switch(&w, t + 30, 1, 2);
		who_switch(&w, t + 40, 2, 1);
		who_switch(&w, t + 45, 1, 3);
		who_switch(&w, t + 100, 3, 4);
		who_switch(&w, t + 110, 4, 5);
		kdtl_who_end(&w, false);
		KUNIT_EXPECT_EQ(test, w.nr, 3U);
		who_expect(test, &w, 0, 3, 55);
		who_expect(test, &w, 1, 1, 25);
		who_expect(test, &w, 2, 2, 10);
		/*
		 * The time of a row is the middle of the task's longest run, as far as that is in
		 * the span.
		 */
		KUNIT_EXPECT_EQ(test, w.ran[0].time, t + 45 + 55 / 2);
		KUNIT_EXPECT_EQ(test, w.ran[1].time, t + 10 + 20 / 2);
		KUNIT_EXPECT_EQ(test, w.ran[2].time, t + 30 + 10 / 2);
		KUNIT_EXPECT_EQ(test, w.idle, 0ULL);
		KUNIT_EXPECT_EQ(test, w.unknown, 0ULL);
		KUNIT_EXPECT_EQ(test, w.others, 0ULL);
		who_sums_to(test, &w, 90);
	}
}

/*
 * Not known are times before the first entry, around idle time, where entries are missing, and at
 * the end.
 */
static void who_unknown(struct kunit *test)
{
	struct kdtl_ran ran[WHO_ROWS];
	struct kdtl_who w = { .ran = ran, .size = WHO_ROWS };

	kdtl_who_begin(&w, 100, 200);
	who_switch(&w, 110, 9, 1);	/* 10: since when 9? */
	who_switch(&w, 120, 1, 2);
	who_switch(&w, 135, 0, 3);	/* 15: since when idle? */
	who_switch(&w, 150, 8, 4);	/* 15: where is 8's entry? */
	who_switch(&w, 157, 4, 5);
	kdtl_who_end(&w, false);	/* 43: is 5 still there? */
	KUNIT_EXPECT_EQ(test, w.nr, 2U);
	who_expect(test, &w, 0, 1, 10);
	who_expect(test, &w, 1, 4, 7);
	KUNIT_EXPECT_EQ(test, w.unknown, 10 + 15 + 15 + 43ULL);
	who_sums_to(test, &w, 100);

	/* The same, but the caller knows that the CPU was busy at the end. */
	kdtl_who_begin(&w, 150, 200);
	who_switch(&w, 149, 8, 5);
	kdtl_who_end(&w, true);
	who_expect(test, &w, 0, 5, 50);
	KUNIT_EXPECT_EQ(test, w.unknown, 0ULL);

	/* There are no entries, and then the span is empty. */
	kdtl_who_begin(&w, 150, 200);
	kdtl_who_end(&w, true);
	KUNIT_EXPECT_EQ(test, w.nr, 0U);
	KUNIT_EXPECT_EQ(test, w.unknown, 50ULL);
	kdtl_who_begin(&w, 150, 150);
	who_switch(&w, 100, 8, 5);
	who_switch(&w, 160, 5, 6);
	kdtl_who_end(&w, true);
	KUNIT_EXPECT_EQ(test, w.nr, 0U);
	who_sums_to(test, &w, 0);
}

/* With entries for idle time, only the time before the first entry is not known. */
static void who_idle(struct kunit *test)
{
	struct kdtl_ran ran[WHO_ROWS];
	struct kdtl_who w = { .ran = ran, .size = WHO_ROWS };

	kdtl_who_begin(&w, 100, 200);
	who_switch(&w, 105, 0, 1);	/* 5: since when idle? */
	who_switch(&w, 120, 1, 0);
	who_switch(&w, 150, 0, 2);	/* 30 idle */
	who_switch(&w, 157, 2, 0);
	who_switch(&w, 160, 3, 4);	/* 3: where is 3's entry? */
	who_switch(&w, 170, 4, 0);
	kdtl_who_end(&w, true);		/* 30 idle */
	KUNIT_EXPECT_EQ(test, w.nr, 3U);
	who_expect(test, &w, 0, 1, 15);
	who_expect(test, &w, 1, 4, 10);
	who_expect(test, &w, 2, 2, 7);
	KUNIT_EXPECT_EQ(test, w.idle, 60ULL);
	KUNIT_EXPECT_EQ(test, w.unknown, 8ULL);
	who_sums_to(test, &w, 100);

	/* The CPU is idle from before the span until after it, and then from within the span on. */
	kdtl_who_begin(&w, 100, 200);
	who_switch(&w, 50, 1, 0);
	who_switch(&w, 300, 0, 1);
	kdtl_who_end(&w, false);
	KUNIT_EXPECT_EQ(test, w.nr, 0U);
	KUNIT_EXPECT_EQ(test, w.idle, 100ULL);
	who_sums_to(test, &w, 100);
	kdtl_who_begin(&w, 100, 200);
	who_switch(&w, 100, 9, 1);
	who_switch(&w, 160, 1, 0);
	kdtl_who_end(&w, false);
	who_expect(test, &w, 0, 1, 60);
	KUNIT_EXPECT_EQ(test, w.idle, 0ULL);
	KUNIT_EXPECT_EQ(test, w.unknown, 40ULL);
}

/* There are more tasks than rows: tasks with much time displace those with little. */
static void who_many(struct kunit *test)
{
	struct kdtl_ran ran[WHO_ROWS];
	struct kdtl_who w = { .ran = ran, .size = WHO_ROWS };
	u64 t = 0;
	int pid;

	kdtl_who_begin(&w, 0, 1000);
	who_switch(&w, 0, 9, 1);
	for (pid = 1; pid <= 20; pid++) {
		t += pid == 7 ? 400 : pid == 18 ? 300 : 10;
		who_switch(&w, t, pid, pid + 1);
	}
	kdtl_who_end(&w, false);
	KUNIT_EXPECT_EQ(test, w.nr, (unsigned int)WHO_ROWS);
	who_expect(test, &w, 0, 7, 400);
	who_expect(test, &w, 1, 18, 300);
	KUNIT_EXPECT_EQ(test, w.others, 170ULL);
	who_sums_to(test, &w, 1000);

	/* Without rows, all time belongs to others. */
	w.size = 0;
	kdtl_who_begin(&w, 0, 50);
	who_switch(&w, 0, 9, 1);
	who_switch(&w, 50, 1, 2);
	kdtl_who_end(&w, false);
	KUNIT_EXPECT_EQ(test, w.others, 50ULL);
}

/*
 * Tasks that come first and have their time in one piece must not hide a task that has most of it
 * in many short turns; nor must the short turns of many tasks hide one that has much.
 */
static void who_turns(struct kunit *test)
{
	struct kdtl_ran ran[WHO_ROWS];
	struct kdtl_who w = { .ran = ran, .size = WHO_ROWS };
	u64 t = 15;
	int i;

	kdtl_who_begin(&w, 0, 1015);
	who_switch(&w, 0, 9, 1);
	who_switch(&w, 5, 1, 2);
	who_switch(&w, 10, 2, 3);
	who_switch(&w, 15, 3, 4);
	for (i = 0; i < 200; i++, t += 5) {
		who_switch(&w, t + 4, 4, 5);
		who_switch(&w, t + 5, 5, 4);
	}
	kdtl_who_end(&w, false);
	KUNIT_ASSERT_EQ(test, w.nr, (unsigned int)WHO_ROWS);
	KUNIT_EXPECT_EQ(test, w.ran[0].pid, 4);
	KUNIT_EXPECT_GE(test, w.ran[0].ticks, 800 - 15ULL);
	KUNIT_EXPECT_LE(test, w.ran[0].ticks, 800ULL);
	KUNIT_EXPECT_EQ(test, w.ran[1].pid, 5);
	who_sums_to(test, &w, 1015);

	w.size = 1;
	kdtl_who_begin(&w, 0, 500);
	who_switch(&w, 0, 9, 1);
	who_switch(&w, 300, 1, 2);
	for (i = 2; i < 200; i++)
		who_switch(&w, 300 + i, i, i + 1);
	kdtl_who_end(&w, false);
	who_expect(test, &w, 0, 1, 300);
	who_sums_to(test, &w, 500);
}

#define WHO_PIDS	12
#define WHO_TURNS	400

static struct who_turn {
	u64	time;
	int	prev;
	int	pid;
} who_turn[WHO_TURNS];

/* With more tasks than rows, each row must be within its bounds of the truth. */
static void who_bounds(struct kunit *test, unsigned int size, u64 all, const u64 *had)
{
	struct kdtl_ran ran[WHO_PIDS];
	/* What an earlier answer has left in the struct must not count. */
	struct kdtl_who w = { .ran = ran, .size = size, .rest = all, .others = all };
	bool named[WHO_PIDS + 1] = {};
	unsigned int i;

	kdtl_who_begin(&w, 0, all);
	for (i = 0; i < WHO_TURNS; i++)
		who_switch(&w, who_turn[i].time, who_turn[i].prev, who_turn[i].pid);
	kdtl_who_end(&w, true);
	who_sums_to(test, &w, all);
	for (i = 0; i < w.nr; i++) {
		const int pid = w.ran[i].pid;

		KUNIT_EXPECT_FALSE(test, named[pid]);
		named[pid] = true;
		KUNIT_EXPECT_LE(test, w.ran[i].ticks, had[pid]);
		KUNIT_EXPECT_LE(test, (had[pid] - w.ran[i].ticks) * (size + 1), all);
		if (size >= WHO_PIDS)
			KUNIT_EXPECT_EQ(test, w.ran[i].ticks, had[pid]);
	}
	for (i = 1; i <= WHO_PIDS; i++)
		KUNIT_EXPECT_TRUE(test, named[i] || had[i] * (size + 1) <= all);
}

/* Turns of any length, of tasks of which some come up more often than others. */
static void who_random(struct kunit *test)
{
	u64 had[WHO_PIDS + 1], t;
	unsigned int round, size, i;
	int pid, prev;
	u32 ticks;

	for (round = 0; round < 50; round++) {
		memset(had, 0, sizeof(had));
		prev = 0;
		t = 0;
		for (i = 0; i < WHO_TURNS; i++) {
			pid = 1 + get_random_u32() % WHO_PIDS;
			if (round & 1)
				pid = 1 + get_random_u32() % pid;
			ticks = get_random_u32() % (round & 2 ? 10 : 10 * pid);
			who_turn[i] = (struct who_turn) { t, prev, pid };
			had[pid] += ticks;
			t += ticks;
			prev = pid;
		}
		for (size = 0; size <= WHO_PIDS; size++)
			who_bounds(test, size, t, had);
	}
}

/* A caller that takes the rows away whenever there is no more room gets all tasks. */
static void who_taken(struct kunit *test)
{
	struct kdtl_ran ran[WHO_ROWS];
	struct kdtl_who w = { .ran = ran, .size = WHO_ROWS };
	unsigned int i, taken = 0;
	u64 sum = 0;
	int pid;

	kdtl_who_begin(&w, 0, 1000);
	for (pid = 1; pid <= 20; pid++) {
		if (w.nr == w.size) {
			for (i = 0; i < w.nr; i++)
				sum += w.ran[i].ticks;
			taken += w.nr;
			w.nr = 0;
		}
		who_switch(&w, 50 * (pid - 1), pid - 1, pid);
	}
	kdtl_who_end(&w, true);
	for (i = 0; i < w.nr; i++)
		sum += w.ran[i].ticks;
	KUNIT_EXPECT_EQ(test, taken + w.nr, 20U);
	KUNIT_EXPECT_EQ(test, sum, 1000ULL);
	KUNIT_EXPECT_EQ(test, w.others, 0ULL);
}

/* A task that renames itself is listed under the name of its last dispatch. */
static void who_renamed(struct kunit *test)
{
	struct kdtl_ran ran[WHO_ROWS];
	struct kdtl_who w = { .ran = ran, .size = WHO_ROWS };

	kdtl_who_begin(&w, 10, 100);
	who_named(&w, 0, 2, 1, "before");
	who_switch(&w, 50, 1, 2);
	who_named(&w, 60, 2, 1, "after");
	kdtl_who_end(&w, true);
	KUNIT_ASSERT_EQ(test, w.nr, 2U);
	KUNIT_EXPECT_EQ(test, w.ran[0].ticks, 80ULL);
	KUNIT_EXPECT_EQ(test, strcmp(w.ran[0].comm, "after"), 0);
}

static struct kdtl_entry who_gap(u64 time, u32 queued, u32 ready)
{
	return (struct kdtl_entry) {
		.timebase			= cpu_to_be64(time),
		.enqueue_to_dispatch_time	= cpu_to_be32(queued),
		.ready_to_enqueue_time		= cpu_to_be32(ready),
	};
}

/*
 * Gaps lie before the span, in one task's time, over two tasks' times and an edge of the span, in
 * idle time and in time that is not known, and after the span; also around 2^64.
 */
static void who_stolen(struct kunit *test)
{
	static const u64 starts[] = { 0, 1000, -45, -100 };
	static const struct kdtl_aux_info info = { .tb_freq = NSEC_PER_SEC };
	struct kdtl_ran ran[WHO_ROWS];
	struct kdtl_who w = { .ran = ran, .size = WHO_ROWS };
	unsigned int i;
	u64 t;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		t = starts[i];
		const struct kdtl_entry gaps[] = {
			who_gap(t + 5, 4, 0),
			who_gap(t + 15, 12, 0),		/* 5 are in the span, of 1's time */
			who_gap(t + 20, 2, 0),		/* of 1's time */
			who_gap(t + 34, 6, 0),		/* 2 of 1's, 4 of 2's */
			who_gap(t + 60, 20, 0),		/* all of 3's 10; 10 of idle time */
			who_gap(t + 80, 7, 0),		/* not known */
			who_gap(t + 104, 6, 0),		/* 2 of it are in the span */
			who_gap(t + 110, 5, 0),
		};

		kdtl_who_begin(&w, t + 10, t + 100);
		kdtl_who_stolen(&w, &info, gaps, sizeof(gaps));
		who_switch(&w, t, 9, 1);
		who_switch(&w, t + 30, 1, 2);
		who_switch(&w, t + 40, 2, 3);
		who_switch(&w, t + 50, 3, 0);
		who_switch(&w, t + 70, 0, 1);
		who_switch(&w, t + 90, 2, 4);
		who_switch(&w, t + 120, 4, 5);
		kdtl_who_end(&w, false);
		KUNIT_EXPECT_EQ(test, w.nr, 3U);
		who_expect(test, &w, 0, 1, 20 - 5 - 2 - 2);
		who_expect(test, &w, 1, 4, 10 - 2);
		who_expect(test, &w, 2, 2, 10 - 4);
		KUNIT_EXPECT_EQ(test, w.idle, 20 - 10ULL);
		KUNIT_EXPECT_EQ(test, w.unknown, 20 - 7ULL);
		KUNIT_EXPECT_EQ(test, w.stolen, 5 + 2 + 6 + 20 + 7 + 2ULL);
		who_sums_to(test, &w, 90);
	}

	/* The next begin forgets the gaps; it is no fault if there are none. */
	kdtl_who_begin(&w, 10, 100);
	who_switch(&w, 0, 9, 1);
	kdtl_who_end(&w, true);
	KUNIT_EXPECT_EQ(test, w.stolen, 0ULL);
	kdtl_who_begin(&w, 10, 100);
	kdtl_who_stolen(&w, NULL, NULL, -ENOENT);
	kdtl_who_end(&w, true);
	who_sums_to(test, &w, 90);
	KUNIT_EXPECT_EQ(test, w.stolen, 0ULL);
}

static struct kdtl_entry who_irq(u64 time, u32 had, enum kdtl_irq_kind kind, unsigned int nr,
				 const char *name)
{
	struct kdtl_entry e = who_gap(time, had, 0);

	e.fault_addr = cpu_to_be64((u64)(u32)kdtl_irq_pid(kind, nr) << 32);
	strscpy_pad((char *)&e + offsetof(struct kdtl_entry, srr0), name, TASK_COMM_LEN);
	return e;
}

static void who_expect_irq(struct kunit *test, const struct kdtl_who *w, unsigned int i,
			   s32 pid, u64 ticks, u64 time, const char *name)
{
	KUNIT_ASSERT_TRUE(test, i < w->nr);
	KUNIT_EXPECT_EQ(test, w->ran[i].pid, pid);
	KUNIT_EXPECT_EQ(test, w->ran[i].ticks, ticks);
	KUNIT_EXPECT_EQ(test, w->ran[i].time, time);
	KUNIT_EXPECT_EQ(test, strcmp(w->ran[i].comm, name), 0);
}

/*
 * Interrupts have rows like tasks.  Their time is no part of a task's time, of idle time, or of
 * time that is not known; and time that the hypervisor had of an interrupt's is the hypervisor's.
 */
static void who_interrupts(struct kunit *test)
{
	static const struct kdtl_aux_info info = { .tb_freq = NSEC_PER_SEC };
	const s32 net = kdtl_irq_pid(KDTL_IRQ_SOFT, 3), disk = kdtl_irq_pid(KDTL_IRQ_HARD, 3);
	const struct kdtl_entry irqs[] = {
		who_irq(8, 4, KDTL_IRQ_HARD, 3, "disk"),
		who_irq(14, 8, KDTL_IRQ_SOFT, 3, "net_rx"),	/* 4 are in the span, of 1's time */
		who_irq(20, 6, KDTL_IRQ_HARD, 3, "disk"),	/* of 1's time */
		who_irq(45, 25, KDTL_IRQ_SOFT, 3, "net_rx"),	/* 10 of 1's, 10 of 2's, 5 idle */
		who_irq(70, 4, KDTL_IRQ_HARD, 3, "disk"),	/* not known */
	};
	const struct kdtl_entry gaps[] = {
		who_gap(18, 2, 0),		/* of disk's time */
		who_gap(35, 7, 0),		/* of net_rx's time, 2 in 1's and 5 in 2's */
	};
	struct kdtl_ran ran[4];
	struct kdtl_who w = { .ran = ran, .size = 4 };

	kdtl_who_begin(&w, 10, 80);
	kdtl_who_interrupts(&w, &info, irqs, sizeof(irqs));
	kdtl_who_stolen(&w, &info, gaps, sizeof(gaps));
	who_switch(&w, 0, 9, 1);
	who_switch(&w, 30, 1, 2);
	who_switch(&w, 40, 2, 0);
	who_switch(&w, 60, 0, 3);
	who_switch(&w, 80, 4, 5);
	kdtl_who_end(&w, false);
	/* Nothing is left of 1's time, or of 2's. */
	KUNIT_EXPECT_EQ(test, w.nr, 2U);
	who_expect_irq(test, &w, 0, net, 4 + 8 + 5 + 5, 24, "net_rx");
	who_expect_irq(test, &w, 1, disk, 6 - 2 + 4, 68, "disk");
	KUNIT_EXPECT_EQ(test, w.stolen, 2 + 2 + 5ULL);
	KUNIT_EXPECT_EQ(test, w.idle, 15ULL);
	KUNIT_EXPECT_EQ(test, w.unknown, 16ULL);
	who_sums_to(test, &w, 70);
}

/* If there are few rows, interrupts make room for each other as tasks do. */
static void who_interrupts_many(struct kunit *test)
{
	static const struct kdtl_aux_info info = { .tb_freq = NSEC_PER_SEC };
	static struct kdtl_entry irqs[60];	/* too large for a stack */
	struct kdtl_ran ran[1];
	struct kdtl_who w = { .ran = ran, .size = 1 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(irqs); i++)
		irqs[i] = who_irq(10 * i + 2 + i % 4, 1 + i % 4, KDTL_IRQ_HARD, i, "irq");
	kdtl_who_begin(&w, 0, 600);
	kdtl_who_interrupts(&w, &info, irqs, sizeof(irqs));
	who_switch(&w, 0, 9, 1);
	who_switch(&w, 600, 1, 2);
	kdtl_who_end(&w, false);
	who_expect(test, &w, 0, 1, 600 - 15 * (1 + 2 + 3 + 4));
	KUNIT_EXPECT_EQ(test, w.others, 150ULL);
	who_sums_to(test, &w, 600);
}

/* Gaps that overlap count once; a saturated gap has 4.29 s. */
static void who_stolen_long(struct kunit *test)
{
	static const struct kdtl_aux_info info = { .tb_freq = NSEC_PER_SEC };
	const u64 span = 10ULL * NSEC_PER_SEC;
	const struct kdtl_entry overlap[] = { who_gap(500, 200, 0), who_gap(600, 250, 0) };
	const struct kdtl_entry saturated = who_gap(span, KDTL_TIME_MAX, 0);
	struct kdtl_ran ran[WHO_ROWS];
	struct kdtl_who w = { .ran = ran, .size = WHO_ROWS };

	kdtl_who_begin(&w, 0, 1000);
	kdtl_who_stolen(&w, &info, overlap, sizeof(overlap));
	who_switch(&w, 0, 9, 1);
	kdtl_who_end(&w, true);
	KUNIT_EXPECT_EQ(test, w.stolen, 300ULL);
	who_expect(test, &w, 0, 1, 700);

	kdtl_who_begin(&w, 0, span);
	kdtl_who_stolen(&w, &info, &saturated, sizeof(saturated));
	who_switch(&w, 0, 9, 1);
	kdtl_who_end(&w, true);
	KUNIT_EXPECT_EQ(test, w.stolen, (u64)KDTL_TIME_MAX);
	who_sums_to(test, &w, span);
}

/* A hypervisor's log has another time base, and two times for which the hypervisor had the CPU. */
static void who_stolen_timebase(struct kunit *test)
{
	static const struct kdtl_aux_info info = { .tb_freq = 512000000, .tb_boot = 1ULL << 40 };
	const struct kdtl_entry gap = who_gap((1ULL << 40) + 512 * 80, 512 * 10, 512 * 20);
	struct kdtl_ran ran[WHO_ROWS];
	struct kdtl_who w = { .ran = ran, .size = WHO_ROWS };

	kdtl_who_begin(&w, 60 * NSEC_PER_USEC, 100 * NSEC_PER_USEC);
	kdtl_who_stolen(&w, &info, &gap, sizeof(gap));
	who_switch(&w, 0, 9, 1);
	kdtl_who_end(&w, true);
	KUNIT_EXPECT_EQ(test, w.stolen, 20 * NSEC_PER_USEC);
	who_expect(test, &w, 0, 1, 20 * NSEC_PER_USEC);
	who_sums_to(test, &w, 40 * NSEC_PER_USEC);
}

static struct kdtl_entry woken(u64 time, pid_t pid, pid_t by, enum kdtl_wake_kind kind,
			       unsigned int flags)
{
	const struct kdtl_wake_entry w = {
		.kind = kind, .flags = flags, .pid = cpu_to_be32(pid), .by = cpu_to_be32(by),
		.state = cpu_to_be16(kind == KDTL_WAKE_WOKEN ? by % 3 : 0),
		.syscall = cpu_to_be16(by), .timebase = cpu_to_be64(time),
	};
	struct kdtl_entry e;

	memcpy(&e, &w, sizeof(e));
	return e;
}

/* @by woke task 1 at @time, after @from and not after @until; with @by 0 nobody did. */
static void who_woke_by(struct kunit *test, u64 from, u64 until, u64 time, pid_t by)
{
	/* The entries of two CPUs. */
	const struct kdtl_entry here[] = {
		woken(10, 1, 11, KDTL_WAKE_NEW, 0),
		woken(30, 1, 13, KDTL_WAKE_WOKEN, KDTL_WAKE_HARDIRQ | KDTL_WAKE_IOWAIT),
		woken(40, 2, 14, KDTL_WAKE_WOKEN, 0),
		woken(41, 1, 14, KDTL_WAKE_MOVED, 0),
		woken(42, 1, 14, KDTL_WAKE_CONTENDED, 0),
		woken(70, 1, 17, KDTL_WAKE_WOKEN, KDTL_WAKE_QUEUED),
	};
	const struct kdtl_entry there[] = {
		woken(20, 1, 12, KDTL_WAKE_WOKEN, 0),
		woken(50, 1, 15, KDTL_WAKE_WOKEN, KDTL_WAKE_QUEUED),
		woken(60, 1, 16, KDTL_WAKE_WOKEN, KDTL_WAKE_QUEUED),
	};
	struct kdtl_woken w;
	int turn;

	for (turn = 0; turn < 2; turn++) {
		w = (struct kdtl_woken) { .pid = 1, .from = from, .until = until };
		kdtl_who_woke(&w, turn ? here : there, turn ? sizeof(here) : sizeof(there));
		kdtl_who_woke(&w, turn ? there : here, turn ? sizeof(there) : sizeof(here));
		KUNIT_EXPECT_EQ(test, w.time, time);
		KUNIT_EXPECT_EQ(test, w.by, by);
		KUNIT_EXPECT_EQ(test, w.is_new, by == 11);
		KUNIT_EXPECT_EQ(test, w.state, by == 11 ? 0 : by % 3);
		KUNIT_EXPECT_EQ(test, w.syscall, by);
		KUNIT_EXPECT_EQ(test, w.flags & KDTL_WAKE_IRQ, by == 13 ? KDTL_WAKE_HARDIRQ : 0);
	}
}

/*
 * The last wake-up that found the task asleep counts or, if all found it still queued, the last
 * one.
 */
static void who_woke(struct kunit *test)
{
	who_woke_by(test, 0, 9, 0, 0);
	who_woke_by(test, 0, 10, 10, 11);
	who_woke_by(test, 10, 19, 0, 0);
	who_woke_by(test, 10, 29, 20, 12);
	who_woke_by(test, 20, 100, 30, 13);
	who_woke_by(test, 0, 100, 30, 13);
	who_woke_by(test, 30, 49, 0, 0);
	who_woke_by(test, 30, 69, 60, 16);
	who_woke_by(test, 30, 70, 70, 17);
	who_woke_by(test, 50, 55, 0, 0);
}

/* Task 2 has the CPU from 120 to 180, and task 1 before and after that. */
static void who_went(struct kunit *test, u64 t, u64 went, u64 unknown)
{
	struct kdtl_ran ran[WHO_ROWS];
	struct kdtl_who w = { .ran = ran, .size = WHO_ROWS, .went = went };

	kdtl_who_begin(&w, t + 100, t + 200);
	who_switch(&w, t + 90, 9, 1);
	who_switch(&w, t + 120, 1, 2);
	who_switch(&w, t + 180, 2, 1);
	kdtl_who_end(&w, true);
	KUNIT_EXPECT_EQ(test, w.unknown, unknown);
	who_sums_to(test, &w, 100);
}

/*
 * Who had a CPU when it went offline does not have it up to the next entry, or to the end of the
 * span.  The CPU may go when a task has just got it, but not just before an entry.
 */
static void who_offline(struct kunit *test)
{
	static const u64 starts[] = { 0, 1000, -150 };
	unsigned int i;
	u64 t;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		t = starts[i];
		who_went(test, t, 0, 0);
		who_went(test, t, t + 80, 0);
		who_went(test, t, t + 119, 20);
		who_went(test, t, t + 120, 60);
		who_went(test, t, t + 179, 60);
		who_went(test, t, t + 180, 20);
		who_went(test, t, t + 199, 20);
		who_went(test, t, t + 200, 0);
	}
}

/* A call with NULL does nothing; without rows, all time belongs to others. */
static void who_null(struct kunit *test)
{
	const struct kdtl_aux_info info = { .tb_freq = NSEC_PER_SEC };
	const struct kdtl_entry e = {};
	struct kdtl_who w = { .size = WHO_ROWS };
	struct kdtl_woken nobody = { .pid = 1, .until = U64_MAX };

	kdtl_who_begin(NULL, 0, 100);
	kdtl_who_stolen(NULL, &info, &e, sizeof(e));
	kdtl_who_entry(NULL, &e);
	kdtl_who_end(NULL, true);
	kdtl_who_woke(NULL, &e, sizeof(e));
	kdtl_who_woke(&nobody, NULL, sizeof(e));
	kdtl_who_woke(&nobody, NULL, -EINVAL);
	KUNIT_EXPECT_EQ(test, nobody.time, 0ULL);

	/* There are no rows, whatever @size says. */
	kdtl_who_begin(&w, 100, 200);
	kdtl_who_stolen(&w, NULL, &e, sizeof(e));
	kdtl_who_stolen(&w, &info, NULL, sizeof(e));
	kdtl_who_stolen(&w, NULL, NULL, 0);
	kdtl_who_entry(&w, NULL);
	who_switch(&w, 100, 1, 2);
	kdtl_who_entry(&w, NULL);
	kdtl_who_end(&w, true);
	KUNIT_EXPECT_EQ(test, w.nr, 0U);
	KUNIT_EXPECT_EQ(test, w.others, 100ULL);
	who_sums_to(test, &w, 100);
}

static struct kunit_case who_cases[] = {
	KUNIT_CASE(who_busy),
	KUNIT_CASE(who_stolen),
	KUNIT_CASE(who_interrupts),
	KUNIT_CASE(who_interrupts_many),
	KUNIT_CASE(who_woke),
	KUNIT_CASE(who_stolen_long),
	KUNIT_CASE(who_stolen_timebase),
	KUNIT_CASE(who_renamed),
	KUNIT_CASE(who_unknown),
	KUNIT_CASE(who_idle),
	KUNIT_CASE(who_many),
	KUNIT_CASE(who_turns),
	KUNIT_CASE(who_random),
	KUNIT_CASE(who_taken),
	KUNIT_CASE(who_offline),
	KUNIT_CASE(who_null),
	{}
};

struct kunit_suite kdtl_who_suite = {
	.name		= "kdtl_who",
	.test_cases	= who_cases,
};
