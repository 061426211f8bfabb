// SPDX-License-Identifier: GPL-2.0
/*
 * Overwrite mode: a snapshot has the newest entries, whole and in order, whatever the writer does
 * meanwhile (promise P.10)
 */
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/stop_machine.h>
#include <linux/vmstat.h>

#include "../fake/raw.h"
#include "aux_suites.h"

static unsigned int snapshot_laps = 20000;
module_param(snapshot_laps, uint, 0444);
MODULE_PARM_DESC(snapshot_laps, "number of times that an area is filled while snapshots are taken (default 20000)");

/*
 * The most entries that a snapshot can have: there is room for one more, which may be being
 * written.
 */
static unsigned int snapshot_most(unsigned int pages)
{
	return pages * PAGE_SIZE / KDTL_ENTRY_SIZE - 1;
}

static struct kdtl_session *snapshot_session(struct kunit *test, unsigned int pages)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= pages,
		.msg_pages	= 1,
		.flags		= KDTL_SESSION_OVERWRITE,
	};

	return kapi_started(test, &attr);
}

/**
 * struct snapshot_view - one snapshot, and what is wrong with it
 * @cpu: the CPU whose area it is of
 * @buf: the buffer
 * @len: the size of @buf
 * @got: what kdtl_aux_snapshot() returned
 * @missed: how many entries it said were missing
 * @first: number of the first entry
 * @last: number of the last entry
 * @wrong: entries that are torn, or do not follow each other
 */
struct snapshot_view {
	int	cpu;
	void	*buf;
	size_t	len;
	ssize_t	got;
	u64	missed;
	u64	first;
	u64	last;
	u64	wrong;
};

static void snapshot_take(struct kdtl_session *s, struct snapshot_view *v)
{
	const struct kdtl_entry *e;
	u64 seq;

	v->first = 0;
	v->last = 0;
	v->got = kdtl_aux_snapshot(s, v->cpu, v->buf, v->len, &v->missed);
	if (v->got < 0)
		return;
	v->wrong += v->got % KDTL_ENTRY_SIZE != 0;
	kdtl_for_each_entry(e, v->buf, v->got) {
		seq = kdtl_fake_entry_seq(e);
		if (!v->first)
			v->first = seq;
		v->wrong += !seq || (v->last && seq != v->last + 1);
		v->last = seq;
	}
}

/* Returns the number of the first entry that the CPU makes from now on. */
static u64 snapshot_first(struct kunit *test, struct kdtl_session *s, int cpu)
{
	struct kdtl_entry e;
	struct snapshot_view v = { .cpu = cpu, .buf = &e, .len = sizeof(e) };

	kapi_emit(cpu, KDTL_KIND_CEDE, 1);
	snapshot_take(s, &v);
	KUNIT_EXPECT_EQ(test, v.got, (ssize_t)sizeof(e));
	KUNIT_EXPECT_EQ(test, v.wrong, 0ULL);
	return v.first;
}

/* ------------------------------------------------------------------- quiescent */

/*
 * Take snapshots of an area that is empty, partly full, full, or overwritten, into buffers of any
 * size.
 */
static void snapshot_newest(struct kunit *test)
{
	static const unsigned int more[] = { 1, 5, 77, 1, 1, 84, 85, 86, 1000, 3 };
	struct kdtl_session *s = snapshot_session(test, 1);
	struct snapshot_view v = { .len = PAGE_SIZE };
	const unsigned int most = snapshot_most(1);
	u64 first, made = 1, want;
	struct kdtl_aux_info info;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	v.buf = kmalloc(PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, v.buf);
	snapshot_take(s, &v);
	KUNIT_EXPECT_EQ(test, v.got, (ssize_t)0);
	KUNIT_EXPECT_EQ(test, v.missed, 0ULL);
	first = snapshot_first(test, s, 0);
	for (i = 0; i < ARRAY_SIZE(more); i++) {
		kapi_emit(0, KDTL_KIND_CEDE, more[i]);
		made += more[i];
		for (v.len = 0; v.len <= PAGE_SIZE; v.len += 80) {
			want = min3(made, (u64)most, (u64)(v.len / KDTL_ENTRY_SIZE));
			snapshot_take(s, &v);
			KUNIT_EXPECT_EQ(test, v.got, (ssize_t)(want * KDTL_ENTRY_SIZE));
			KUNIT_EXPECT_EQ(test, v.missed, made - want);
			if (want) {
				KUNIT_EXPECT_EQ(test, v.last, first + made - 1);
				KUNIT_EXPECT_EQ(test, v.first, first + made - want);
			}
		}
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
		KUNIT_EXPECT_EQ(test, info.produced, made);
		KUNIT_EXPECT_EQ(test, info.unread, min_t(u64, made, most));
		KUNIT_EXPECT_EQ(test, info.lost, made - info.unread);
	}
	KUNIT_EXPECT_EQ(test, v.wrong, 0ULL);

	/* The data stays after the stop; the next load drops it. */
	v.len = PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	snapshot_take(s, &v);
	KUNIT_EXPECT_EQ(test, v.last, first + made - 1);
	KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), 0);
	snapshot_take(s, &v);
	KUNIT_EXPECT_EQ(test, v.got, (ssize_t)0);
	KUNIT_EXPECT_EQ(test, v.missed, 0ULL);
	kfree(v.buf);
}

static void snapshot_errors(struct kunit *test)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= 1,
		.flags		= KDTL_SESSION_OVERWRITE,
	};
	struct kdtl_session *s = kapi_create(test, &attr);
	struct kdtl_aux_info info;
	struct kdtl_entry e;
	const void *span;
	u64 missed = 1;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 0), -EINVAL);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 3);
	KUNIT_EXPECT_EQ(test, kdtl_aux_snapshot(s, -1, &e, sizeof(e), &missed), (ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, missed, 0ULL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_snapshot(s, nr_cpu_ids, &e, sizeof(e), NULL),
			(ssize_t)-EINVAL);
	/* A snapshot keeps nothing back, so there is nothing to give back. */
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 3 * KDTL_ENTRY_SIZE), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, info.consumed, 0ULL);
	KUNIT_EXPECT_EQ(test, info.unread, 3ULL);
	kapi_close(test);
	s = kapi_session(test, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_aux_snapshot(s, 0, &e, sizeof(e), NULL), (ssize_t)-EINVAL);
}

/* ------------------------------------------------------------------- concurrent */

/**
 * struct snapshot_writer - writes as fast as it can
 * @written: how many entries it has written
 * @burst: how many it writes at a time, with interrupts off
 */
struct snapshot_writer {
	u64		written;
	unsigned int	burst;
};

static int snapshot_write(void *arg)
{
	struct snapshot_writer *w = arg;
	unsigned int i;

	while (!kthread_should_stop()) {
		local_irq_disable();
		for (i = 0; i < w->burst; i++)
			kdtl_fake_emit_here(KDTL_KIND_CEDE, 0, 0, 0);
		WRITE_ONCE(w->written, w->written + w->burst);
		local_irq_enable();
		cond_resched();
	}
	return 0;
}

/* Take snapshots while a writer on another CPU overwrites the area again and again. */
static void snapshot_race(struct kunit *test, unsigned int pages, unsigned int burst)
{
	const u64 laps = snapshot_laps / (pages * 2);
	struct kdtl_session *s = snapshot_session(test, pages);
	struct snapshot_writer w = { .burst = burst };
	struct snapshot_view v = { .cpu = kapi_other_cpu(raw_smp_processor_id()) };
	u64 first, last = 0, base, taken = 0, full = 0, part = 0, again = 0, backwards = 0;
	u64 dishonest = 0;
	struct task_struct *writer;
	unsigned long flags;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_GE(test, v.cpu, 0);
	v.len = pages * PAGE_SIZE;
	v.buf = kvmalloc(v.len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, v.buf);
	first = snapshot_first(test, s, v.cpu);
	base = first + 1;

	writer = kthread_create(snapshot_write, &w, "kdtl-snapshot");
	KUNIT_ASSERT_FALSE(test, IS_ERR(writer));
	kthread_bind(writer, v.cpu);
	wake_up_process(writer);
	while (READ_ONCE(w.written) < laps * (snapshot_most(pages) + 1)) {
		/* Take it as a panic notifier would: it must not wait for anybody. */
		local_irq_save(flags);
		snapshot_take(s, &v);
		local_irq_restore(flags);
		taken++;
		if (v.got > 0) {
			/* All entries that it counts as missing are before its first one. */
			dishonest += v.missed != v.first - first;
			backwards += v.last < last;
			last = v.last;
			if (v.got == (ssize_t)snapshot_most(pages) * KDTL_ENTRY_SIZE)
				full++;
			else
				part++;
		} else if (v.got == -EAGAIN) {
			again++;
		} else {
			v.wrong++;
		}
		cond_resched();
	}
	kthread_stop(writer);
	kunit_info(test, "%llu laps, %llu snapshots: %llu whole, %llu shortened, %llu given up",
		   div_u64(w.written, snapshot_most(pages) + 1), taken, full, part, again);
	KUNIT_EXPECT_EQ(test, v.wrong, 0ULL);
	KUNIT_EXPECT_EQ(test, dishonest, 0ULL);
	KUNIT_EXPECT_EQ(test, backwards, 0ULL);
	KUNIT_EXPECT_GT(test, full + part, 0ULL);
	/* After the stop a snapshot has the newest of all entries that were written. */
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	snapshot_take(s, &v);
	KUNIT_EXPECT_EQ(test, v.wrong, 0ULL);
	KUNIT_EXPECT_EQ(test, v.last, base + w.written - 1);
	KUNIT_EXPECT_EQ(test, v.missed, v.first - first);
	kvfree(v.buf);
}

/* The writer pauses between bursts, so the reader often gets all entries. */
static void snapshot_race_slow(struct kunit *test)
{
	snapshot_race(test, 1, 1);
}

/* Each burst overwrites the whole area and more. */
static void snapshot_race_laps(struct kunit *test)
{
	snapshot_race(test, 1, 100);
}

static void snapshot_race_large(struct kunit *test)
{
	snapshot_race(test, 16, 500);
}

/* ---------------------------------------------------------------------- context */

struct snapshot_stopped {
	struct kdtl_session	*s;
	struct snapshot_view	*views;
	bool			atomic;
};

/* All other CPUs spin with interrupts off, so none of them could answer. */
static int snapshot_stopped(void *arg)
{
	struct snapshot_stopped *st = arg;
	int cpu;

	st->atomic = irqs_disabled();
	for_each_online_cpu(cpu)
		snapshot_take(st->s, &st->views[cpu]);
	return 0;
}

/* P.10: a snapshot works while the machine stands still with entries half written. */
static void snapshot_panic(struct kunit *test)
{
	struct kdtl_session *s = snapshot_session(test, 1);
	struct snapshot_stopped st = { .s = s };
	struct snapshot_writer w = { .burst = 100 };
	struct task_struct *writer;
	int i, cpu;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	st.views = kcalloc(nr_cpu_ids, sizeof(*st.views), GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, st.views);
	for_each_online_cpu(cpu) {
		st.views[cpu].cpu = cpu;
		st.views[cpu].len = PAGE_SIZE;
		st.views[cpu].buf = kmalloc(PAGE_SIZE, GFP_KERNEL);
		kapi_emit(cpu, KDTL_KIND_CEDE, snapshot_most(1) + 1);
	}
	writer = kthread_run(snapshot_write, &w, "kdtl-snapshot");
	for (i = 0; i < 50; i++) {
		KUNIT_EXPECT_EQ(test, stop_machine(snapshot_stopped, &st, NULL), 0);
		KUNIT_EXPECT_TRUE(test, st.atomic);
		for_each_online_cpu(cpu)
			KUNIT_EXPECT_EQ(test, st.views[cpu].got,
					(ssize_t)snapshot_most(1) * KDTL_ENTRY_SIZE);
	}
	kthread_stop(writer);
	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, st.views[cpu].wrong, 0ULL);
		kfree(st.views[cpu].buf);
	}
	kfree(st.views);
}

/* ---------------------------------------------------------------- an open writer */

static struct kdtl_raw snapshot_raw;

struct snapshot_open {
	struct kdtl_session	*s;
	void			*buf;
	ssize_t			inside;
	u64			head;
};

/* A driver has a transaction open, and has overwritten everything. */
static void snapshot_inside(struct perf_event *event, void *arg)
{
	struct perf_output_handle handle;
	struct snapshot_open *o = arg;
	struct kdtl_area *area;

	area = kdtl_aux_output_begin(&handle, event);
	if (!area)
		return;
	memset(area->base, 0xee, area->size);
	o->inside = kdtl_aux_snapshot(o->s, 0, o->buf, PAGE_SIZE, NULL);
	handle.head += area->size;
	kdtl_aux_output_end(&handle, area->size);
}

/* Nobody knows which bytes such a driver is writing, so the snapshot is empty, and says so. */
static void snapshot_open(struct kunit *test)
{
	const struct kdtl_session_attr attr = {
		.pmu		= "kdtl_fake_snapshot",
		.aux_pages	= 1,
		.flags		= KDTL_SESSION_OVERWRITE,
	};
	struct snapshot_open o = {};

	memset(&snapshot_raw, 0, sizeof(snapshot_raw));
	KUNIT_ASSERT_EQ(test, kdtl_raw_register(&snapshot_raw, attr.pmu, 0, false), 0);
	o.s = kapi_create(test, &attr);
	o.buf = kzalloc(PAGE_SIZE, GFP_KERNEL);
	if (o.s && o.buf) {
		KUNIT_EXPECT_EQ(test, kdtl_load(o.s, NULL), 0);
		KUNIT_EXPECT_EQ(test, kdtl_start(o.s), 0);
		KUNIT_EXPECT_EQ(test, kdtl_raw_on(&snapshot_raw, 0, snapshot_inside, &o), 0);
		KUNIT_EXPECT_EQ(test, kdtl_raw_on(&snapshot_raw, 0, snapshot_inside, &o), 0);
		KUNIT_EXPECT_EQ(test, o.inside, (ssize_t)-EAGAIN);
		KUNIT_EXPECT_EQ(test, kdtl_aux_snapshot(o.s, 0, o.buf, PAGE_SIZE, NULL),
				(ssize_t)snapshot_most(1) * KDTL_ENTRY_SIZE);
	}
	kfree(o.buf);
	kapi_close(test);
	kdtl_raw_unregister(&snapshot_raw);
}

/* The pages that were allocated since the machine began, also if they were freed again. */
static unsigned long snapshot_allocated(struct kunit *test)
{
	static const unsigned int items[] = { FOR_ALL_ZONES(PGALLOC) };
	unsigned long *events, sum = 0;
	unsigned int i;

	events = kcalloc(NR_VM_EVENT_ITEMS, sizeof(*events), GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, events);
	all_vm_events(events);
	for (i = 0; i < ARRAY_SIZE(items); i++)
		sum += events[items[i]];
	kfree(events);
	return sum;
}

/* A buffer for which there is no memory is refused before other tasks are killed for it. */
static void snapshot_memory(struct kunit *test)
{
	const unsigned long pages = totalram_pages() / 2 + si_mem_available() / 2;
	const unsigned long before = snapshot_allocated(test);
	void *buf = kdtl_snapshot_alloc((size_t)pages << PAGE_SHIFT);

	KUNIT_EXPECT_TRUE(test, !buf);
	kvfree(buf);
	KUNIT_EXPECT_LT(test, snapshot_allocated(test) - before, pages / 4);
	KUNIT_EXPECT_TRUE(test, !kdtl_snapshot_alloc(0));
	buf = kdtl_snapshot_alloc(PAGE_SIZE);
	KUNIT_EXPECT_TRUE(test, !!buf);
	kvfree(buf);
}

static struct kunit_case snapshot_cases[] = {
	KUNIT_CASE(snapshot_newest),
	KUNIT_CASE(snapshot_errors),
	KUNIT_CASE(snapshot_race_slow),
	KUNIT_CASE(snapshot_race_laps),
	KUNIT_CASE(snapshot_race_large),
	KUNIT_CASE(snapshot_panic),
	KUNIT_CASE(snapshot_open),
	KUNIT_CASE(snapshot_memory),
	{}
};

struct kunit_suite kdtl_snapshot_suite = {
	.name		= "kdtl_snapshot",
	.exit		= kapi_exit,
	.test_cases	= snapshot_cases,
};
