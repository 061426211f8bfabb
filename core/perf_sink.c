// SPDX-License-Identifier: GPL-2.0
/*
 * Sinks of events that perf's users open with perf_event_open()
 *
 * The AUX area of such an event is perf's own, and each transaction on it costs
 * a 64-byte record.  So entries are staged in a small buffer, which is handed
 * over in one transaction: when it is full, when the event stops, and at the
 * latest after KDTL_PERF_FLUSH.  The first entry of a batch takes the slow path
 * and starts the timer for that, so a CPU without entries has no timer.
 *
 * Begin, write and end stay within one section with interrupts off.  Otherwise
 * two events that share a buffer (PERF_EVENT_IOC_SET_OUTPUT) would run into
 * perf's check for nested writers.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/capability.h>
#include <linux/error-injection.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/slab.h>

#include "area.h"
#include "compat.h"
#include "fanout.h"
#include "perf_sink.h"
#include "source.h"

#define KDTL_PERF_STAGE		(85 * sizeof(struct kdtl_entry))
#define KDTL_PERF_FLUSH		ms_to_ktime(10)

/**
 * struct kdtl_perf_sink - the sink of a perf user's event
 * @sink: writes to @stage; its head and stop_at start at 0 after every flush
 * @event: the perf event
 * @pmu: the source
 * @timer: bounds the time that entries stay in @stage
 * @stage: entries that are not handed over yet
 * @gap: entries were lost since the last record, so the next is to say so
 * @budgeted: the event counts towards max_perf_events
 *
 * All of it belongs to the event's CPU, interrupts off.
 */
struct kdtl_perf_sink {
	struct kdtl_sink	sink;
	struct perf_event	*event;
	struct kdtl_pmu		*pmu;
	struct hrtimer		timer;
	u8			stage[KDTL_PERF_STAGE];
	bool			gap;
	bool			budgeted;
};

/**
 * struct kdtl_perf_area - a perf user's AUX area
 * @area: perf's pages, mapped twice
 * @overwrite: perf's overwrite mode, in which the driver moves the head
 * @has_timebase: the entry that carries the time base has been written
 */
struct kdtl_perf_area {
	struct kdtl_area	area;
	bool			overwrite;
	bool			has_timebase;
};

/* The first entry, in host byte order, as the perf tool's decoder expects it. */
struct kdtl_timebase_entry {
	u64	boot_tb;
	u64	tb_freq;
	u64	timebase;	/* 0, which no dispatch has */
	u64	padded[3];
};
static_assert(sizeof(struct kdtl_timebase_entry) == KDTL_ENTRY_SIZE);

static void kdtl_perf_put(struct kdtl_perf_area *ua,
			  struct perf_output_handle *handle,
			  const void *data, unsigned long len)
{
	memcpy(ua->area.base + (handle->head & (ua->area.size - 1)), data, len);
	handle->head += len;
}

/*
 * Hand over the staged entries.  Those that have no room are dropped whole and
 * counted, and PERF_AUX_FLAG_PARTIAL says that there is a gap in or before this
 * record.
 */
static void kdtl_perf_flush(struct kdtl_perf_sink *u)
{
	struct perf_output_handle handle;
	struct kdtl_perf_area *ua;
	unsigned long staged = u->sink.at->head, done = 0, room;

	if (!staged && !u->gap)
		return;
	u->sink.at->head = 0;
	u->sink.at->stop_at = 0;
	/* kdtl knows nothing of an area that the driver has set up. */
	if (u->event->pmu->free_aux != kdtl_perf_free_aux)
		return;

	ua = perf_aux_output_begin(&handle, u->event);
	if (!ua) {
		/* There is no area, or it is full; perf then disables the event. */
		u->gap = true;
		return;
	}

	room = ua->overwrite ? ua->area.size : handle.size;
	if (!ua->has_timebase && room >= KDTL_ENTRY_SIZE) {
		const struct kdtl_timebase_entry tb = {
			.boot_tb = u->pmu->tb_boot,
			.tb_freq = u->pmu->tb_freq,
		};

		kdtl_perf_put(ua, &handle, &tb, sizeof(tb));
		ua->has_timebase = true;
		done = sizeof(tb);
		room -= sizeof(tb);
	}
	if (staged > room) {
		room -= room % KDTL_ENTRY_SIZE;
		u->gap = true;
		staged = room;
	}
	if (u->gap)
		perf_aux_output_flag(&handle, PERF_AUX_FLAG_PARTIAL);
	u->gap = false;
	kdtl_perf_put(ua, &handle, u->stage, staged);

	/*
	 * [user.U] Orders the entries before the new head, which perf stores with
	 * WRITE_ONCE() only.  Pairs with the read barrier that the ABI asks of user
	 * space.
	 */
	smp_wmb();
	perf_aux_output_end(&handle, done + staged);
}

/*
 * Have the stage flushed before long.  An event that only counts has no buffer to flush
 * to.  perf stops an event before it gives it another buffer, and then nothing is staged.
 *
 * The scheduler itself starts pinned timers in hard irq under the runqueue lock.
 */
static void kdtl_perf_arm(struct kdtl_perf_sink *u)
{
	if (READ_ONCE(u->event->rb) && !hrtimer_is_queued(&u->timer))
		hrtimer_start(&u->timer, KDTL_PERF_FLUSH, HRTIMER_MODE_REL_PINNED_HARD);
}

static void kdtl_perf_slow(struct kdtl_sink *sink, const struct kdtl_entry *e)
{
	struct kdtl_perf_sink *u = container_of(sink, struct kdtl_perf_sink, sink);

	if (sink->at->head)
		kdtl_perf_flush(u);
	kdtl_ring_store(sink->at, e);
	sink->at->stop_at = sizeof(u->stage) + 1;
	kdtl_perf_arm(u);
}

static void kdtl_perf_lost(struct kdtl_sink *sink, u64 nr)
{
	struct kdtl_perf_sink *u = container_of(sink, struct kdtl_perf_sink, sink);

	u->gap = true;
	kdtl_perf_arm(u);
}

/* All entries so far of the kinds that the event wants. */
static u64 kdtl_perf_entries(const struct kdtl_perf_sink *u)
{
	struct kdtl_pmu_cpu *c = per_cpu_ptr(u->pmu->cpu, u->event->cpu);
	unsigned int kind;
	u64 sum = 0;

	for (kind = 0; kind < KDTL_NR_KINDS; kind++) {
		if (kdtl_sink_wants(&u->sink, kind))
			sum += kdtl_u64_read(&kdtl_pmu_tally(c, kind)->sum[KDTL_SUM_ENTRIES]);
	}
	return sum;
}

static void kdtl_perf_link(struct kdtl_sink *sink)
{
	struct kdtl_perf_sink *u = container_of(sink, struct kdtl_perf_sink, sink);

	local64_set(&u->event->hw.prev_count, kdtl_perf_entries(u));
}

/*
 * Bring perf's count up to date, while the sink is linked.  An NMI may interrupt this and
 * do the same.
 */
static void kdtl_perf_count(struct kdtl_perf_sink *u)
{
	const u64 now = kdtl_perf_entries(u);

	local64_add(now - local64_xchg(&u->event->hw.prev_count, now), &u->event->count);
}

static void kdtl_perf_unlink(struct kdtl_sink *sink)
{
	struct kdtl_perf_sink *u = container_of(sink, struct kdtl_perf_sink, sink);

	/* A timer that runs on another CPU sees that this is not the event's CPU, and ends. */
	hrtimer_try_to_cancel(&u->timer);
	kdtl_perf_flush(u);
	kdtl_perf_count(u);
}

static enum hrtimer_restart kdtl_perf_timer(struct hrtimer *timer)
{
	struct kdtl_perf_sink *u = container_of(timer, struct kdtl_perf_sink, timer);

	if (smp_processor_id() == u->event->cpu && u->sink.linked)
		kdtl_perf_flush(u);
	/* The next entry starts it again. */
	return HRTIMER_NORESTART;
}

static const struct kdtl_sink_ops kdtl_perf_ops = {
	.slow		= kdtl_perf_slow,
	.lost		= kdtl_perf_lost,
	.link		= kdtl_perf_link,
	.unlink		= kdtl_perf_unlink,
};

static struct kdtl_perf_sink *kdtl_perf_sink_of(struct perf_event *event)
{
	struct kdtl_sink *sink = event->pmu_private;

	return container_of(sink, struct kdtl_perf_sink, sink);
}

static unsigned int max_perf_events = 64;
module_param(max_perf_events, uint, 0644);
MODULE_PARM_DESC(max_perf_events, "maximum number of perf events on each CPU of all users without CAP_SYS_ADMIN (default 64)");

/* The number of these events.  Each adds a store to every dispatch, which others pay for. */
static DEFINE_PER_CPU(atomic_t, kdtl_perf_events);

static int kdtl_perf_budget_take(struct kdtl_perf_sink *u, int cpu)
{
	const unsigned int most = READ_ONCE(max_perf_events);

	if (ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN))
		return 0;
	if ((unsigned int)atomic_inc_return(per_cpu_ptr(&kdtl_perf_events, cpu)) > most) {
		atomic_dec(per_cpu_ptr(&kdtl_perf_events, cpu));
		pr_warn_ratelimited("%s: CPU %d has %u perf events of users without CAP_SYS_ADMIN, and max_perf_events allows no more\n",
				    u->pmu->name, cpu, most);
		return -EUSERS;
	}
	u->budgeted = true;
	return 0;
}

/* Undo what kdtl_perf_init() has begun. */
static void kdtl_perf_free(struct kdtl_perf_sink *u, int cpu)
{
	kdtl_sink_exit(&u->sink);
	atomic_dec(&u->pmu->held);
	if (u->budgeted)
		atomic_dec(per_cpu_ptr(&kdtl_perf_events, cpu));
	kfree(u);
}

static void kdtl_perf_destroy(struct perf_event *event)
{
	struct kdtl_perf_sink *u = kdtl_perf_sink_of(event);

	hrtimer_cancel(&u->timer);
	kdtl_source_detach(u->pmu);
	kdtl_perf_free(u, event->cpu);
}

/**
 * kdtl_perf_init() - make the sink of a perf user's event
 * @event: the event, in perf's event_init()
 *
 * Context: may sleep.
 * Return: 0, -ENOMEM, the error of the driver's attach(), or -EUSERS: the CPU has as many events
 * of users without CAP_SYS_ADMIN as it may have (a line in the log says so).
 */
int kdtl_perf_init(struct perf_event *event)
{
	struct kdtl_pmu *p = container_of(event->pmu, struct kdtl_pmu, pmu);
	struct kdtl_perf_sink *u;
	int err;

	u = kzalloc_node(sizeof(*u), GFP_KERNEL, cpu_to_node(event->cpu));
	if (!u)
		return -ENOMEM;

	u->event = event;
	u->pmu = p;
	kdtl_sink_init(&u->sink, per_cpu_ptr(p->cpu, event->cpu));
	u->sink.ops = &kdtl_perf_ops;
	u->sink.at->base = u->stage;
	u->sink.at->pos_mask = U64_MAX;
	u->sink.batches = true;
	kdtl_sink_set_mask(&u->sink, event->attr.config);
	hrtimer_setup(&u->timer, kdtl_perf_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);

	atomic_inc(&p->held);
	err = kdtl_perf_budget_take(u, event->cpu);
	if (!err)
		err = kdtl_source_attach(p);
	if (err) {
		kdtl_perf_free(u, event->cpu);
		return err;
	}

	/*
	 * There is no period that perf could adjust to reach a frequency; it would
	 * only stop and start the event at each tick.
	 */
	event->attr.freq = 0;
	event->pmu_private = &u->sink;
	event->destroy = kdtl_perf_destroy;
	return 0;
}

/**
 * kdtl_perf_read() - bring the count of a perf user's event up to date
 * @event: any event of a source; nothing happens if kdtl_perf_init() did not
 *	make its sink
 *
 * Context: on the event's CPU, interrupts off, or NMI: a sample of another event
 * may contain this one's count.
 */
void kdtl_perf_read(struct perf_event *event)
{
	struct kdtl_perf_sink *u;

	if (event->destroy != kdtl_perf_destroy)
		return;
	u = kdtl_perf_sink_of(event);
	/* The count was brought up to date when the sink was unlinked. */
	if (!u->sink.linked)
		return;
	/* A polled source has entries that it has not handed out yet. */
	if (u->pmu->sync && !in_nmi())
		u->pmu->sync(u->pmu);
	kdtl_perf_count(u);
}

/**
 * kdtl_perf_setup_aux() - setup_aux() for perf's own AUX areas
 * @pages: array of page addresses
 * @nr_pages: number of pages
 * @overwrite: perf's overwrite mode
 *
 * Context: may sleep.
 * Return: a struct kdtl_perf_area, whose first field is a struct kdtl_area; NULL
 * if there is no memory.
 */
void *kdtl_perf_setup_aux(void **pages, int nr_pages, bool overwrite)
{
	struct kdtl_perf_area *ua;

	ua = kzalloc(sizeof(*ua), GFP_KERNEL);
	if (!ua)
		return NULL;
	ua->overwrite = overwrite;
	if (kdtl_area_map(&ua->area, pages, nr_pages)) {
		kfree(ua);
		return NULL;
	}
	return ua;
}
ALLOW_ERROR_INJECTION(kdtl_perf_setup_aux, NULL);

/**
 * kdtl_perf_free_aux() - undo kdtl_perf_setup_aux()
 * @priv: what it returned
 *
 * Context: may sleep.
 */
void kdtl_perf_free_aux(void *priv)
{
	struct kdtl_perf_area *ua = priv;

	kdtl_area_unmap(&ua->area);
	kfree(ua);
}
