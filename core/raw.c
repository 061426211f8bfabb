// SPDX-License-Identifier: GPL-2.0
/*
 * Raw sessions: the AUX data of any PMU, through perf
 *
 * A raw session reads the AUX data of a PMU whose driver need not know kdtl, such as
 * intel_pt.  perf allocates AUX areas only for mmap(), unless it has
 * perf_event_aux_alloc(), for which Kbuild looks.  A session has an event of its own on each
 * CPU, and reads its AUX area in place.  Many such PMUs allow only one event on a CPU.
 *
 * If the PMU finds no room, perf disables the event.  To enable it again may sleep, so
 * kdtl_raw_work() does that, after the reader has consumed.
 *
 * Positions run freely and go on when the CPU gets another event, because it was
 * offline.  An area keeps the pages of the old event until its reader is done with them:
 * kdtl_raw_turn().  Until then the area has two places: where it is read, and from
 * kdtl_raw_aux::from to its @end in the new pages.  In overwrite mode nothing is ever
 * read in turn, so an area turns to the new pages when it is started there.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/device.h>
#include <linux/err.h>
#include <linux/irq_work.h>
#include <linux/llist.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "counting.h"
#include "raw.h"
#include "wake.h"
#include "writer.h"

#define KDTL_RAW_NAME_LEN	64

/* Tries to take a lock whose holder may have been stopped. */
#define KDTL_RAW_TRIES		10000

/**
 * struct kdtl_raw_map - a mapping of perf's AUX pages
 * @area: the mapping, with a reference to each page, so that unread data outlives the event
 * @node: in kdtl_raw_aux::unused, because the reader may be in a context that cannot unmap
 */
struct kdtl_raw_map {
	struct kdtl_area	area;
	struct llist_node	node;
};

/**
 * struct kdtl_raw_aux - the AUX area of a raw session on a CPU
 * @aux: what every area has; @lock protects the positions
 * @map: the mapping in @aux, of the event's pages or of an earlier event's; NULL: none yet
 * @events: serialises what creates, enables, disables and releases the event.  Taken inside
 *	kdtl_session::lock and the CPU hotplug lock
 * @wait: in the event's waitqueue
 * @kick: queues @work, because a reader may be in a context that cannot
 * @work: enables an event that was stalled, tells of a PMU that is gone, and frees @unused
 * @unused: mappings that the reader is done with
 * @lock: protects the fields below.  Taken in hard irq; the locks of message queues are taken
 *	inside
 * @event: perf's event while the session is loaded and the CPU is online; written under
 *	@events, too
 * @now: the mapping of the event's pages
 * @on: the session is started here
 * @base: position at which perf's own position was 0; a multiple of the area's size
 * @from: where the reader goes on in the pages of @now, unless it is there already
 * @end: position up to which the PMU has written
 * @stalled: the PMU found no room, so that perf has disabled the event
 * @progress: the reader has consumed since the event was enabled last
 * @gone: the PMU was unregistered
 */
struct kdtl_raw_aux {
	struct kdtl_aux		aux;
	struct kdtl_raw_map	*map;

	struct mutex		events;
	wait_queue_entry_t	wait;
	struct irq_work		kick;
	struct work_struct	work;
	struct llist_head	unused;

	raw_spinlock_t		lock;
	struct perf_event	*event;
	struct kdtl_raw_map	*now;
	bool			on;
	u64			base;
	u64			from;
	u64			end;
	bool			stalled;
	bool			progress;
	bool			gone;
};

/**
 * struct kdtl_raw - a PMU that a session uses through perf
 * @source: the PMU as the verbs see it, with the type of the events; perf does not know this one
 * @name: its name
 * @config: perf_event_attr::config of the events
 * @period: perf_event_attr::sample_period of the events
 */
struct kdtl_raw {
	struct kdtl_pmu	source;
	char		name[KDTL_RAW_NAME_LEN];
	u64		config;
	u64		period;
};

static struct kdtl_raw_aux *kdtl_raw_aux(struct kdtl_aux *aux)
{
	return container_of(aux, struct kdtl_raw_aux, aux);
}

static const struct kdtl_raw *kdtl_raw_of(const struct kdtl_raw_aux *a)
{
	return container_of(a->aux.session->pmu, struct kdtl_raw, source);
}

/* --- PMUs of perf -------------------------------------------------------------------- */

/* Find one of perf's PMUs, and hold its device.  ERR_PTR: -ENODEV, or why perf gives no event. */
static struct device *kdtl_raw_device(const char *name)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_SOFTWARE,
		.size		= sizeof(attr),
		.config		= PERF_COUNT_SW_DUMMY,
		.disabled	= 1,
	};
	struct perf_event *event;
	struct device *dev;

	/* perf's bus is not exported to modules, but every event leads there. */
	event = perf_event_create_kernel_counter(&attr, -1, current, NULL, NULL);
	if (IS_ERR(event))
		return ERR_CAST(event);
	dev = bus_find_device_by_name(event->pmu->dev->bus, NULL, name);
	perf_event_release_kernel(event);
	return dev ?: ERR_PTR(-ENODEV);
}

/* Find the PMU's type. */
static int kdtl_raw_find(const char *owner, const char *name, u32 *type)
{
	struct device *dev = kdtl_raw_device(name);
	const struct pmu *pmu;
	int err = -ENODEV;

	if (IS_ERR(dev)) {
		pr_warn_ratelimited("%s: perf has no PMU \"%*pE\"\n", owner,
				    (int)strlen(name), name);
		return PTR_ERR(dev);
	}
	/* While the device is locked, neither it nor its PMU goes away. */
	device_lock(dev);
	if (device_is_registered(dev)) {
		pmu = dev_get_drvdata(dev);
		*type = pmu->type;
		err = pmu->setup_aux ? 0 : -EOPNOTSUPP;
	}
	device_unlock(dev);
	put_device(dev);
	if (err)
		pr_warn_ratelimited("%s: PMU %s has no AUX area (%d)\n", owner, name, err);
	return err;
}

/* --- mappings ---------------------------------------------------------------------- */

static void kdtl_raw_map_free(struct kdtl_raw_map *map)
{
	u64 at;

	if (!map)
		return;
	/* Each page has a reference, but there are two mappings of it. */
	for (at = 0; at < map->area.size; at += PAGE_SIZE)
		put_page(vmalloc_to_page(map->area.base + at));
	kdtl_area_unmap(&map->area);
	kfree(map);
}

static struct kdtl_raw_map *kdtl_raw_map(struct perf_event *event, unsigned int nr)
{
	struct kdtl_raw_map *map = kzalloc(sizeof(*map), GFP_KERNEL);
	void **pages = perf_event_aux_pages(event);
	unsigned int i;
	int err;

	if (!map)
		return ERR_PTR(-ENOMEM);
	err = kdtl_area_map(&map->area, pages, nr);
	if (err) {
		kfree(map);
		return ERR_PTR(err);
	}
	for (i = 0; i < nr; i++)
		get_page(virt_to_page(pages[i]));
	return map;
}

/* Free the mappings that the reader is done with. */
static void kdtl_raw_free_unused(struct kdtl_raw_aux *a)
{
	struct kdtl_raw_map *map, *next;

	llist_for_each_entry_safe(map, next, llist_del_all(&a->unused), node)
		kdtl_raw_map_free(map);
}

/* --- positions: everything in this part is under kdtl_raw_aux::lock ------------------- */

static bool kdtl_raw_unread(const struct kdtl_raw_aux *a)
{
	return a->aux.tail != a->aux.sink.at->head;
}

/* Give the reader the pages of the CPU's present event instead of old ones. */
static void kdtl_raw_turn_now(struct kdtl_raw_aux *a)
{
	struct kdtl_raw_map *old = a->map;
	const u64 pos = a->from;

	lockdep_assert_held(&a->lock);
	a->map = a->now;
	a->aux.area.base = a->now->area.base;
	a->aux.area.size = a->now->area.size;
	a->aux.sink.at->pos_mask = a->aux.area.size - 1;
	a->aux.announced = pos;
	a->aux.next_wake = pos + a->aux.watermark;
	kdtl_u64_set(&a->aux.start, pos);
	kdtl_u64_set(&a->aux.shown, pos);
	kdtl_u64_set(&a->aux.sink.at->head, pos);
	/* [aux.D] pairs with T, which reads tail and then head without the lock. */
	kdtl_u64_release(&a->aux.tail, pos);
	kdtl_u64_set(&a->aux.sink.at->head, a->end);
	if (old) {
		llist_add(&old->node, &a->unused);
		irq_work_queue(&a->kick);
	}
	/* There may be enough unread data already. */
	if (kdtl_raw_unread(a))
		irq_work_queue(&a->aux.wake);
}

/* Turn to the present pages if the reader is done with the old ones. */
static void kdtl_raw_turn(struct kdtl_raw_aux *a)
{
	if (a->event && a->map != a->now && !kdtl_raw_unread(a))
		kdtl_raw_turn_now(a);
}

/*
 * Is the event active on this CPU?  As in perf_event_read_local(), it cannot go while interrupts
 * are off there.
 */
static bool kdtl_raw_is_here(const struct kdtl_raw_aux *a)
{
	lockdep_assert_held(&a->lock);
	return a->event && a->aux.cpu == smp_processor_id() &&
	       READ_ONCE(a->event->state) == PERF_EVENT_STATE_ACTIVE;
}

#define KDTL_RAW_MISSING	(PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL | \
				 PERF_AUX_FLAG_COLLISION)

/* The PMU does not say how much is lost: count 1.  The message with the flag reports it. */
static void kdtl_raw_missed(struct kdtl_raw_aux *a)
{
	kdtl_u64_set(&a->aux.lost, a->aux.lost + 1);
	a->aux.lost_reported = a->aux.lost;
}

/* Find out what the PMU has written. */
static void kdtl_raw_harvest(struct kdtl_raw_aux *a)
{
	unsigned int flags;
	unsigned long head;

	lockdep_assert_held(&a->lock);
	if (!a->event)
		return;
	head = perf_event_aux_head(a->event, &flags);
	if (a->aux.overwrite)
		a->end = a->base + head;
	else
		a->end += (unsigned long)(head - (unsigned long)(a->end - a->base));
	a->aux.flags |= flags;
	if (flags & KDTL_RAW_MISSING)
		kdtl_raw_missed(a);
	if (a->map == a->now)
		kdtl_u64_set(&a->aux.sink.at->head, a->end);
}

/* Tell perf up to where the reader has read. */
static void kdtl_raw_release(struct kdtl_raw_aux *a)
{
	const u64 tail = a->map == a->now ? a->aux.tail : a->from;

	lockdep_assert_held(&a->lock);
	if (a->event && !a->aux.overwrite)
		perf_event_aux_consume(a->event, (unsigned long)(tail - a->base));
}

static void kdtl_raw_report(struct kdtl_raw_aux *a, bool settled)
{
	/* In overwrite mode nothing is read in turn. */
	if (a->aux.overwrite)
		a->aux.announced = a->aux.sink.at->head;
	kdtl_aux_report(&a->aux, settled);
}

/* --- perf's event -------------------------------------------------------------------- */

/*
 * perf calls this when it has new data, disables the event for lack of room, or has lost
 * the PMU.  It may call this before it disables the event, but not before it decides to.
 */
static int kdtl_raw_woken(wait_queue_entry_t *wait, unsigned int mode, int sync, void *key)
{
	struct kdtl_raw_aux *a = container_of(wait, struct kdtl_raw_aux, wait);
	unsigned long flags;
	bool stalled;
	int state;

	raw_spin_lock_irqsave(&a->lock, flags);
	if (!a->event)
		goto unlock;
	stalled = a->stalled;
	state = READ_ONCE(a->event->state);
	kdtl_raw_harvest(a);
	a->gone = state <= PERF_EVENT_STATE_REVOKED;
	a->stalled = a->on && (state == PERF_EVENT_STATE_OFF ||
			       READ_ONCE(a->event->pending_disable));
	if (a->gone || (a->stalled && a->progress))
		irq_work_queue(&a->kick);
	if (a->on) {
		if (a->stalled && !stalled && !(a->aux.flags & KDTL_RAW_MISSING))
			kdtl_raw_missed(a);
		if (a->stalled)
			a->aux.flags |= PERF_AUX_FLAG_TRUNCATED;
		irq_work_queue(&a->aux.wake);
	}
unlock:
	raw_spin_unlock_irqrestore(&a->lock, flags);
	return 0;
}

/* Report what is new, and wake the reader.  In hard irq. */
static void kdtl_raw_wake(struct irq_work *work)
{
	struct kdtl_raw_aux *a = container_of(work, struct kdtl_raw_aux, aux.wake);

	raw_spin_lock(&a->lock);
	kdtl_raw_harvest(a);
	kdtl_count_wakeup(&a->aux);
	a->aux.next_wake = a->aux.sink.at->head + a->aux.watermark;
	kdtl_raw_report(a, false);
	raw_spin_unlock(&a->lock);
	kdtl_session_wake_for(&a->aux);
}

/* Log who has opened an event that keeps ours from a CPU.  Under pmu::events_lock. */
static void kdtl_raw_print_user(const struct kdtl_raw_aux *a, const struct perf_event *event)
{
	struct task_struct *task;

	rcu_read_lock();
	task = READ_ONCE(event->owner);
	/* The owner of the kernel's events is -1, and of events that outlive their task NULL. */
	if (IS_ERR(task))
		pr_warn_ratelimited("%s: CPU %d: another part of the kernel has an event of %s\n",
				    a->aux.session->owner, a->aux.cpu, kdtl_raw_of(a)->name);
	else if (!task)
		pr_warn_ratelimited("%s: CPU %d: a task that is gone has left an event of %s open\n",
				    a->aux.session->owner, a->aux.cpu, kdtl_raw_of(a)->name);
	else
		pr_warn_ratelimited("%s: CPU %d: %*pE (pid %d) has an event of %s\n",
				    a->aux.session->owner, a->aux.cpu,
				    (int)strnlen(task->comm, TASK_COMM_LEN), task->comm,
				    task_pid_nr(task), kdtl_raw_of(a)->name);
	rcu_read_unlock();
}

/* Log who uses the PMU, as perf says only -EBUSY. */
static void kdtl_raw_print_users(const struct kdtl_raw_aux *a)
{
	struct device *dev = kdtl_raw_device(kdtl_raw_of(a)->name);
	struct perf_event *event;
	struct pmu *pmu;

	if (IS_ERR(dev))
		return;
	/* As in kdtl_raw_find(). */
	device_lock(dev);
	if (device_is_registered(dev)) {
		pmu = dev_get_drvdata(dev);
		spin_lock(&pmu->events_lock);
		list_for_each_entry(event, &pmu->events, pmu_list) {
			if (event->cpu == a->aux.cpu || event->cpu < 0)
				kdtl_raw_print_user(a, event);
		}
		spin_unlock(&pmu->events_lock);
	}
	device_unlock(dev);
	put_device(dev);
}

static struct perf_event *kdtl_raw_event(const struct kdtl_raw_aux *a, const char **why)
{
	const struct kdtl_raw *raw = kdtl_raw_of(a);
	struct perf_event_attr attr = {
		.type		= raw->source.pmu.type,
		.size		= sizeof(attr),
		.config		= raw->config,
		.sample_period	= raw->period,
		.disabled	= 1,
		.pinned		= 1,
		.aux_watermark	= a->aux.watermark,
	};
	struct perf_event *event;
	int err;

	event = perf_event_create_kernel_counter(&attr, a->aux.cpu, NULL, NULL, NULL);
	if (IS_ERR(event)) {
		if (PTR_ERR(event) == -EBUSY) {
			*why = "somebody else has an event there";
			kdtl_raw_print_users(a);
		}
		return event;
	}
	/* The type may be another PMU's by now. */
	err = strcmp(event->pmu->name, raw->name) ? -ENODEV :
		perf_event_aux_alloc(event, a->aux.nr_pages, a->aux.overwrite);
	if (!err)
		return event;
	perf_event_release_kernel(event);
	return ERR_PTR(err);
}

/*
 * Give a CPU that is online its event.  Returns 0, -ENOMEM, -EBUSY: somebody else uses the PMU,
 * -ENODEV: it is gone, or another error of perf's or of the PMU's driver.
 */
static int kdtl_raw_open(struct kdtl_raw_aux *a, const char **why)
{
	struct perf_event *event = kdtl_raw_event(a, why);
	struct kdtl_raw_map *map;

	lockdep_assert_held(&a->events);
	if (IS_ERR(event))
		return PTR_ERR(event);
	map = kdtl_raw_map(event, a->aux.nr_pages);
	if (IS_ERR(map)) {
		perf_event_release_kernel(event);
		return PTR_ERR(map);
	}
	raw_spin_lock_irq(&a->lock);
	a->event = event;
	a->now = map;
	a->base = round_up(a->end, map->area.size);
	a->from = a->base;
	a->end = a->base;
	a->stalled = false;
	a->gone = false;
	kdtl_raw_turn(a);
	raw_spin_unlock_irq(&a->lock);
	add_wait_queue(&event->waitq, &a->wait);
	return 0;
}

/* Disable the event, so that the PMU writes the rest. */
static void kdtl_raw_stop(struct kdtl_raw_aux *a)
{
	lockdep_assert_held(&a->events);
	if (!a->on)
		return;
	perf_event_disable(a->event);
	raw_spin_lock_irq(&a->lock);
	kdtl_raw_harvest(a);
	a->on = false;
	a->stalled = false;
	raw_spin_unlock_irq(&a->lock);
}

/*
 * Give the event back.  What is unread in the pages that the reader has stays there.  If these are
 * still an earlier event's, what is in the present one's is lost.
 */
static void kdtl_raw_close(struct kdtl_raw_aux *a)
{
	struct perf_event *event = a->event;
	struct kdtl_raw_map *dropped;

	lockdep_assert_held(&a->events);
	if (!event)
		return;
	kdtl_raw_stop(a);
	raw_spin_lock_irq(&a->lock);
	dropped = a->now == a->map ? NULL : a->now;
	if (dropped && a->from != a->end) {
		a->aux.flags |= PERF_AUX_FLAG_PARTIAL;
		kdtl_raw_missed(a);
	}
	a->event = NULL;
	a->now = NULL;
	raw_spin_unlock_irq(&a->lock);
	remove_wait_queue(&event->waitq, &a->wait);
	perf_event_release_kernel(event);
	kdtl_raw_map_free(dropped);
}

static int kdtl_raw_enable(struct kdtl_raw_aux *a)
{
	/*
	 * The event must be off before it is enabled, and an earlier wake-up must not be taken
	 * for a sign that the event stalls again.
	 */
	irq_work_sync(&a->event->pending_disable_irq);
	irq_work_sync(&a->event->pending_irq);
	raw_spin_lock_irq(&a->lock);
	a->stalled = false;
	a->progress = false;
	raw_spin_unlock_irq(&a->lock);
	perf_event_enable(a->event);
	/* If there is no room, it is off again, but that is not an error. */
	return READ_ONCE(a->event->state) == PERF_EVENT_STATE_ERROR ? -EBUSY : 0;
}

/*
 * Returns 0, also if the CPU is offline or the PMU is gone; -EBUSY: the PMU refuses the event, and
 * the caller stops or closes it.
 */
static int kdtl_raw_start(struct kdtl_raw_aux *a)
{
	lockdep_assert_held(&a->events);
	if (!a->event || a->on)
		return 0;
	raw_spin_lock_irq(&a->lock);
	/* No reader is ever done with the old pages, but new bytes go to the new ones. */
	if (a->aux.overwrite && a->map != a->now)
		kdtl_raw_turn_now(a);
	a->on = true;
	kdtl_raw_release(a);
	raw_spin_unlock_irq(&a->lock);
	return kdtl_raw_enable(a);
}

/* --- work that may sleep, for perf and the reader ------------------------------------- */

/* Tell the session that a CPU is not logged. */
static void kdtl_raw_tell(struct kdtl_raw_aux *a, int err)
{
	WRITE_ONCE(a->aux.error, err);
	kdtl_msg_cpu(a->aux.session, a->aux.cpu, false, err);
	kdtl_session_wake(a->aux.session);
}

static void kdtl_raw_aux_settle(struct kdtl_aux *aux)
{
	struct kdtl_raw_aux *a = kdtl_raw_aux(aux);

	irq_work_sync(&aux->wake);	/* [wake.S] */
	raw_spin_lock_irq(&a->lock);
	kdtl_raw_report(a, true);
	raw_spin_unlock_irq(&a->lock);
	kdtl_session_due(aux);
}

/* Enable an event that was stalled, or end one whose PMU is gone. */
static void kdtl_raw_go_on(struct kdtl_raw_aux *a)
{
	bool gone, resume;
	int err;

	lockdep_assert_held(&a->events);
	raw_spin_lock_irq(&a->lock);
	gone = a->event && a->gone;
	resume = a->event && a->stalled && a->on && a->progress;
	raw_spin_unlock_irq(&a->lock);
	if (gone) {
		kdtl_raw_tell(a, -ENODEV);
		kdtl_raw_close(a);
		WRITE_ONCE(a->aux.event, NULL);
		kdtl_raw_aux_settle(&a->aux);
	} else if (resume) {
		err = kdtl_raw_enable(a);
		if (err)
			kdtl_raw_tell(a, err);
	}
}

static void kdtl_raw_work(struct work_struct *work)
{
	struct kdtl_raw_aux *a = container_of(work, struct kdtl_raw_aux, work);

	mutex_lock(&a->events);
	kdtl_raw_go_on(a);
	mutex_unlock(&a->events);
	kdtl_raw_free_unused(a);
}

static void kdtl_raw_kick(struct irq_work *kick)
{
	queue_work(system_dfl_wq, &container_of(kick, struct kdtl_raw_aux, kick)->work);
}

/* --- areas --------------------------------------------------------------------------- */

/* Make an area without pages: it gets perf's when the session is loaded. */
static struct kdtl_aux *kdtl_raw_aux_alloc(struct kdtl_session *s, int cpu)
{
	struct kdtl_raw_aux *a = kzalloc_node(sizeof(*a), GFP_KERNEL, cpu_to_node(cpu));

	if (!a)
		return ERR_PTR(-ENOMEM);
	kdtl_aux_init(&a->aux, s, cpu, NULL);
	a->aux.wake = IRQ_WORK_INIT_HARD(kdtl_raw_wake);
	mutex_init(&a->events);
	init_waitqueue_func_entry(&a->wait, kdtl_raw_woken);
	a->kick = IRQ_WORK_INIT_HARD(kdtl_raw_kick);
	INIT_WORK(&a->work, kdtl_raw_work);
	raw_spin_lock_init(&a->lock);
	return &a->aux;
}

static void kdtl_raw_aux_free(struct kdtl_aux *aux)
{
	struct kdtl_raw_aux *a = kdtl_raw_aux(aux);

	kdtl_aux_exit(aux);
	irq_work_sync(&a->kick);
	cancel_work_sync(&a->work);
	kdtl_raw_free_unused(a);
	kdtl_raw_map_free(a->map);
	mutex_destroy(&a->events);
	kfree(a);
}

static int kdtl_raw_aux_open(struct kdtl_aux *aux, const char **why)
{
	struct kdtl_raw_aux *a = kdtl_raw_aux(aux);
	int err;

	mutex_lock(&a->events);
	err = kdtl_raw_open(a, why);
	if (!err && aux->session->state == KDTL_STARTED)
		err = kdtl_raw_start(a);
	if (err)
		kdtl_raw_close(a);
	else
		WRITE_ONCE(aux->event, a->event);
	mutex_unlock(&a->events);
	return err;
}

static void kdtl_raw_aux_close(struct kdtl_aux *aux)
{
	struct kdtl_raw_aux *a = kdtl_raw_aux(aux);

	mutex_lock(&a->events);
	kdtl_raw_close(a);
	mutex_unlock(&a->events);
}

static void kdtl_raw_aux_enable(struct kdtl_aux *aux, bool enable)
{
	struct kdtl_raw_aux *a = kdtl_raw_aux(aux);

	mutex_lock(&a->events);
	if (enable)
		WRITE_ONCE(aux->error, kdtl_raw_start(a));
	else
		kdtl_raw_stop(a);
	mutex_unlock(&a->events);
}

/* --- readers ------------------------------------------------------------------------- */

static ssize_t kdtl_raw_peek(struct kdtl_aux *aux, const void **span)
{
	struct kdtl_raw_aux *a = kdtl_raw_aux(aux);
	unsigned long flags;
	ssize_t len;

	raw_spin_lock_irqsave(&a->lock, flags);
	/* A polled PMU copies what there is just now, which it does only on its own CPU. */
	if (kdtl_raw_is_here(a))
		a->event->pmu->read(a->event);
	kdtl_raw_harvest(a);
	kdtl_raw_turn(a);
	*span = aux->area.base + (aux->tail & aux->sink.at->pos_mask);
	len = aux->sink.at->head - aux->tail;
	kdtl_u64_set(&aux->shown, aux->sink.at->head);
	raw_spin_unlock_irqrestore(&a->lock, flags);
	return len;
}

/* Returns 0, or -EINVAL if @bytes is more than kdtl_raw_peek() has shown. */
static int kdtl_raw_consume(struct kdtl_aux *aux, size_t bytes)
{
	struct kdtl_raw_aux *a = kdtl_raw_aux(aux);
	unsigned long flags;
	int err = -EINVAL;

	raw_spin_lock_irqsave(&a->lock, flags);
	if (bytes <= aux->shown - aux->tail) {
		/* [aux.D] as in kdtl_raw_turn_now() */
		kdtl_u64_release(&aux->tail, aux->tail + bytes);
		kdtl_raw_turn(a);
		kdtl_raw_release(a);
		/* If the event is being disabled just now, kdtl_raw_woken() sees @progress. */
		a->progress = true;
		if (a->stalled)
			irq_work_queue(&a->kick);
		err = 0;
	}
	raw_spin_unlock_irqrestore(&a->lock, flags);
	return err;
}

/*
 * Some PMUs give their head modulo the size, which does not tell whether the area was ever
 * filled.  But the pages were zeroed, and no format has long runs of zeroes.
 */
static ssize_t kdtl_raw_copy(const struct kdtl_raw_aux *a, void *buf, size_t len)
{
	const struct kdtl_area *area = &a->map->area;
	const u64 head = a->aux.sink.at->head, at = head & a->aux.sink.at->pos_mask;
	u64 have = head - a->aux.start;

	if (have > at || memchr_inv(area->base + at, 0, area->size - at))
		have = area->size;
	else
		have = at;
	len = min_t(u64, len, have);
	memcpy(buf, area->base + ((head - len) & a->aux.sink.at->pos_mask), len);
	return len;
}

/* In overwrite mode, a PMU tells where it is only when it is stopped. */
static ssize_t kdtl_raw_paused_copy(struct kdtl_raw_aux *a, void *buf, size_t len)
{
	struct perf_event *event = a->event;
	const bool runs = !(event->hw.state & PERF_HES_STOPPED);

	if (runs)
		event->pmu->stop(event, PERF_EF_UPDATE);
	kdtl_raw_harvest(a);
	len = kdtl_raw_copy(a, buf, len);
	if (runs)
		event->pmu->start(event, PERF_EF_RELOAD);
	return len;
}

static ssize_t kdtl_raw_locked_copy(struct kdtl_raw_aux *a, void *buf, size_t len)
{
	lockdep_assert_held(&a->lock);
	if (!a->map)
		return 0;
	if (!a->on || a->map != a->now)
		return kdtl_raw_copy(a, buf, len);
	/* The PMU is stopped for a moment.  An NMI may have interrupted its driver. */
	return kdtl_raw_is_here(a) && !in_nmi() ? kdtl_raw_paused_copy(a, buf, len) : -EBUSY;
}

/*
 * Under the lock the area cannot turn to other pages, after which its old ones may be freed.
 * Returns the number of bytes; -EBUSY: the session is started, and this is another CPU or an NMI;
 * or somebody has the lock and does not release it.
 */
static ssize_t kdtl_raw_snapshot(struct kdtl_aux *aux, void *buf, size_t len)
{
	struct kdtl_raw_aux *a = kdtl_raw_aux(aux);
	unsigned int tries = KDTL_RAW_TRIES;
	unsigned long flags;
	ssize_t got;

	/* In a panic, the lock's holder may never release it. */
	while (!raw_spin_trylock_irqsave(&a->lock, flags)) {
		if (!--tries)
			return -EBUSY;
		cpu_relax();
	}
	got = kdtl_raw_locked_copy(a, buf, len);
	raw_spin_unlock_irqrestore(&a->lock, flags);
	return got;
}

/* --- PMUs of raw sessions ------------------------------------------------------------ */

static struct kdtl_raw *kdtl_raw_alloc(const struct kdtl_session_attr *attr, u32 type)
{
	struct kdtl_raw *raw = kzalloc(sizeof(*raw), GFP_KERNEL);

	if (!raw)
		return NULL;
	raw->source.cpu = alloc_percpu(struct kdtl_pmu_cpu);
	if (!raw->source.cpu) {
		kfree(raw);
		return NULL;
	}
	strscpy(raw->name, attr->pmu, sizeof(raw->name));
	raw->source.name = raw->name;
	/*
	 * A raw session has no times: min_wait must be 0, and kdtl_aux_info() says a rate of 0.
	 * But min_wait is converted, and at a rate of 0 that would divide by 0.
	 */
	raw->source.tb_freq = NSEC_PER_SEC;
	raw->source.pmu.type = type;
	raw->config = attr->config;
	raw->period = attr->period;
	return raw;
}

/* The session, of which no area is left, lets go of its PMU. */
static void kdtl_raw_put(struct kdtl_session *s)
{
	struct kdtl_raw *raw = container_of(s->pmu, struct kdtl_raw, source);

	free_percpu(raw->source.cpu);
	kfree(raw);
}

static const struct kdtl_area_ops kdtl_raw_areas = {
	.alloc		= kdtl_raw_aux_alloc,
	.free		= kdtl_raw_aux_free,
	.open		= kdtl_raw_aux_open,
	.close		= kdtl_raw_aux_close,
	.enable		= kdtl_raw_aux_enable,
	.settle		= kdtl_raw_aux_settle,
	.peek		= kdtl_raw_peek,
	.consume	= kdtl_raw_consume,
	.snapshot	= kdtl_raw_snapshot,
	.end		= kdtl_raw_put,
};

/**
 * kdtl_raw_get() - find the PMU of a raw session
 * @s: the session, which then has the PMU as its source, and the PMU's areas
 * @attr: its attributes: perf's name of the PMU, and its events' attributes
 *
 * The PMU may be unregistered nevertheless.
 *
 * Context: may sleep.
 * Return:
 * * 0; in case of an error but -ENOMEM a line in the log says what is wrong
 * * -ENODEV: perf has no PMU of this name
 * * -EOPNOTSUPP: the PMU has no AUX areas
 * * -ENOMEM
 */
int kdtl_raw_get(struct kdtl_session *s, const struct kdtl_session_attr *attr)
{
	struct kdtl_raw *raw;
	u32 type;
	int err;

	err = kdtl_raw_find(s->owner, attr->pmu, &type);
	if (err)
		return err;
	raw = kdtl_raw_alloc(attr, type);
	if (!raw)
		return -ENOMEM;
	s->pmu = &raw->source;
	s->ops = &kdtl_raw_areas;
	s->no_reader = true;
	return 0;
}
