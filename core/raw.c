// SPDX-License-Identifier: GPL-2.0
/*
 * Raw sessions: the AUX data of any PMU, through perf
 *
 * A raw session reads the AUX data of a PMU whose driver need not know kdtl, such as
 * intel_pt.  perf allocates AUX areas only for mmap(), unless it has
 * perf_event_aux_alloc(), for which Kbuild looks.  All sessions on a PMU share one event
 * on each CPU, because such PMUs often have only one, and read its AUX area in place.
 *
 * The slowest reader of the started sessions, or of those with unread data, decides what
 * the PMU may overwrite.  If the PMU finds no room, perf disables the event.  To enable
 * it again may sleep, so kdtl_raw_work() does that, after a reader has consumed.
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
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "raw.h"
#include "wake.h"
#include "writer.h"

#define KDTL_RAW_NAME_LEN	64

/* Tries to take a lock whose holder may have been stopped. */
#define KDTL_RAW_TRIES		10000

/**
 * struct kdtl_raw_map - the mapping of perf's AUX pages
 * @area: the mapping, with a reference to each page, so that unread data outlives the event
 * @users: the CPU while it has the event, and the sessions' areas
 * @node: in kdtl_raw::unused, because the last user may be in a context that cannot unmap
 */
struct kdtl_raw_map {
	struct kdtl_area	area;
	refcount_t		users;
	struct llist_node	node;
};

/**
 * struct kdtl_raw_cpu - a CPU's event, which all sessions on the PMU share
 * @raw: the PMU
 * @cpu: the CPU
 * @event: perf's event while a session is loaded and the CPU is online; written under
 *	kdtl_raw::lock and @lock
 * @wait: in the event's waitqueue
 * @map: the mapping of the event's AUX pages
 * @lock: protects the fields below, and the positions of the readers' areas.  Taken in
 *	hard irq; the locks of message queues are taken inside
 * @readers: the areas of the sessions that are loaded, by kdtl_raw_aux::node
 * @on: how many of @readers are started
 * @base: position at which perf's own position was 0; a multiple of the area's size
 * @head: position up to which the PMU has written
 * @stalled: the PMU found no room, so that perf has disabled the event
 * @progress: a reader has consumed since the event was enabled last
 * @gone: the PMU was unregistered
 */
struct kdtl_raw_cpu {
	struct kdtl_raw		*raw;
	int			cpu;
	struct perf_event	*event;
	wait_queue_entry_t	wait;
	struct kdtl_raw_map	*map;

	raw_spinlock_t		lock;
	struct list_head	readers;
	unsigned int		on;
	u64			base;
	u64			head;
	bool			stalled;
	bool			progress;
	bool			gone;
};

/**
 * struct kdtl_raw_aux - the AUX area of a raw session on a CPU
 * @aux: what every area has
 * @rc: what all sessions on the PMU share on this CPU.  Its lock protects the positions in @aux,
 *	and the fields below
 * @map: the mapping in @aux
 * @node: in kdtl_raw_cpu::readers
 * @on: the session is started here
 * @from: where the reader goes on in the pages of the present event, unless it is there already
 * @end: position up to which these pages hold data of the session
 */
struct kdtl_raw_aux {
	struct kdtl_aux		aux;
	struct kdtl_raw_cpu	*rc;
	struct kdtl_raw_map	*map;
	struct list_head	node;
	bool			on;
	u64			from;
	u64			end;
};

/**
 * struct kdtl_raw - a PMU that sessions use through perf
 * @source: the PMU as the verbs see it, with the type of the events; perf does not know this one
 * @name: its name
 * @config: perf_event_attr::config of the events
 * @period: perf_event_attr::sample_period of the events
 * @layout: properties of all areas, as the first session wanted them
 * @sessions: number of sessions; under kdtl_raws_lock
 * @node: in kdtl_raws
 * @lock: serialises what creates, enables, disables and releases events.  Taken inside
 *	kdtl_session::lock and the CPU hotplug lock
 * @kick: queues @work, because a reader may be in a context that cannot
 * @work: enables events that were stalled, tells of a PMU that is gone, and frees @unused
 * @unused: mappings that nobody uses any more
 * @cpus: by CPU
 */
struct kdtl_raw {
	struct kdtl_pmu			source;
	char				name[KDTL_RAW_NAME_LEN];
	u64				config;
	u64				period;
	struct kdtl_aux_layout		layout;
	unsigned int			sessions;
	struct list_head		node;

	struct mutex			lock;
	struct irq_work			kick;
	struct work_struct		work;
	struct llist_head		unused;
	struct kdtl_raw_cpu __percpu	*cpus;
};

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
	refcount_set(&map->users, 1);
	return map;
}

static void kdtl_raw_map_put(struct kdtl_raw_map *map)
{
	if (map && refcount_dec_and_test(&map->users))
		kdtl_raw_map_free(map);
}

/* kdtl_raw_map_put() for callers that may not sleep. */
static void kdtl_raw_map_put_later(struct kdtl_raw *raw, struct kdtl_raw_map *map)
{
	if (!map || !refcount_dec_and_test(&map->users))
		return;
	llist_add(&map->node, &raw->unused);
	irq_work_queue(&raw->kick);
}

/* Free the mappings that nobody uses any more. */
static void kdtl_raw_free_unused(struct kdtl_raw *raw)
{
	struct kdtl_raw_map *map, *next;

	llist_for_each_entry_safe(map, next, llist_del_all(&raw->unused), node)
		kdtl_raw_map_free(map);
}

/* --- positions ----------------------------------------------------------------------- */

static bool kdtl_raw_joined(const struct kdtl_raw_aux *a)
{
	return !list_empty(&a->node);
}

static bool kdtl_raw_unread(const struct kdtl_raw_aux *a)
{
	return a->aux.tail != a->aux.sink.at->head;
}

/* Let an area begin at @pos.  Everything in this part is under kdtl_raw_cpu::lock. */
static void kdtl_raw_place(struct kdtl_raw_aux *a, u64 pos)
{
	a->aux.announced = pos;
	a->aux.next_wake = pos + a->aux.watermark;
	kdtl_u64_set(&a->aux.start, pos);
	kdtl_u64_set(&a->aux.shown, pos);
	kdtl_u64_set(&a->aux.sink.at->head, pos);
	/* [aux.D] pairs with T, which reads tail and then head without the lock. */
	kdtl_u64_release(&a->aux.tail, pos);
}

/* Give the reader the pages of the CPU's present event instead of old ones. */
static void kdtl_raw_turn_now(struct kdtl_raw_aux *a)
{
	struct kdtl_raw_cpu *rc = a->rc;
	struct kdtl_raw_map *old = a->map;

	lockdep_assert_held(&rc->lock);
	refcount_inc(&rc->map->users);
	a->map = rc->map;
	a->aux.area.base = rc->map->area.base;
	a->aux.area.size = rc->map->area.size;
	a->aux.sink.at->pos_mask = a->aux.area.size - 1;
	kdtl_raw_place(a, a->from);
	kdtl_u64_set(&a->aux.sink.at->head, a->end);
	kdtl_raw_map_put_later(rc->raw, old);
	/* There may be enough unread data already. */
	if (kdtl_raw_unread(a))
		irq_work_queue(&a->aux.wake);
}

/* Turn to the present pages if the reader is done with the old ones. */
static void kdtl_raw_turn(struct kdtl_raw_aux *a)
{
	if (kdtl_raw_joined(a) && a->map != a->rc->map && !kdtl_raw_unread(a))
		kdtl_raw_turn_now(a);
}

/* Where the area's reader is in the pages of the CPU's present event. */
static u64 kdtl_raw_tail(const struct kdtl_raw_aux *a)
{
	return a->map == a->rc->map ? a->aux.tail : a->from;
}

/*
 * Is the event active on this CPU?  As in perf_event_read_local(), it cannot go while interrupts
 * are off there.
 */
static bool kdtl_raw_is_here(const struct kdtl_raw_cpu *rc)
{
	lockdep_assert_held(&rc->lock);
	return rc->event && rc->cpu == smp_processor_id() &&
	       READ_ONCE(rc->event->state) == PERF_EVENT_STATE_ACTIVE;
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
static void kdtl_raw_harvest(struct kdtl_raw_cpu *rc)
{
	struct kdtl_raw_aux *a;
	unsigned int flags;
	unsigned long head;

	lockdep_assert_held(&rc->lock);
	if (!rc->event)
		return;
	head = perf_event_aux_head(rc->event, &flags);
	if (rc->raw->layout.overwrite)
		rc->head = rc->base + head;
	else
		rc->head += (unsigned long)(head - (unsigned long)(rc->head - rc->base));
	list_for_each_entry(a, &rc->readers, node) {
		if (!a->on)
			continue;
		a->aux.flags |= flags;
		if (flags & KDTL_RAW_MISSING)
			kdtl_raw_missed(a);
		a->end = rc->head;
		if (a->map == rc->map)
			kdtl_u64_set(&a->aux.sink.at->head, rc->head);
	}
}

/* Tell perf up to where the slowest reader has read. */
static void kdtl_raw_release(struct kdtl_raw_cpu *rc)
{
	struct kdtl_raw_aux *a;
	u64 held = 0, tail;

	lockdep_assert_held(&rc->lock);
	if (!rc->event || rc->raw->layout.overwrite)
		return;
	list_for_each_entry(a, &rc->readers, node) {
		tail = kdtl_raw_tail(a);
		/* A stopped session holds only what it has not read. */
		if (a->on || tail != a->end)
			held = max(held, rc->head - tail);
	}
	perf_event_aux_consume(rc->event, (unsigned long)(rc->head - held - rc->base));
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
	struct kdtl_raw_cpu *rc = container_of(wait, struct kdtl_raw_cpu, wait);
	struct kdtl_raw_aux *a;
	unsigned long flags;
	bool stalled;
	int state;

	raw_spin_lock_irqsave(&rc->lock, flags);
	stalled = rc->stalled;
	if (rc->event) {
		state = READ_ONCE(rc->event->state);
		kdtl_raw_harvest(rc);
		rc->gone = state <= PERF_EVENT_STATE_REVOKED;
		rc->stalled = rc->on && (state == PERF_EVENT_STATE_OFF ||
					 READ_ONCE(rc->event->pending_disable));
		if (rc->gone || (rc->stalled && rc->progress))
			irq_work_queue(&rc->raw->kick);
		list_for_each_entry(a, &rc->readers, node) {
			if (!a->on)
				continue;
			if (rc->stalled && !stalled && !(a->aux.flags & KDTL_RAW_MISSING))
				kdtl_raw_missed(a);
			if (rc->stalled)
				a->aux.flags |= PERF_AUX_FLAG_TRUNCATED;
			irq_work_queue(&a->aux.wake);
		}
	}
	raw_spin_unlock_irqrestore(&rc->lock, flags);
	return 0;
}

/* Report what is new, and wake the reader.  In hard irq. */
static void kdtl_raw_wake(struct irq_work *work)
{
	struct kdtl_raw_aux *a = container_of(work, struct kdtl_raw_aux, aux.wake);
	struct kdtl_set_cpu *sc = container_of(a->aux.counts, struct kdtl_set_cpu, counts);
	struct kdtl_raw_cpu *rc = a->rc;

	raw_spin_lock(&rc->lock);
	kdtl_raw_harvest(rc);
	kdtl_u64_add(&sc->wakeups, 1);
	a->aux.next_wake = a->aux.sink.at->head + a->aux.watermark;
	kdtl_raw_report(a, false);
	raw_spin_unlock(&rc->lock);
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
				    a->aux.session->owner, a->aux.cpu, a->rc->raw->name);
	else if (!task)
		pr_warn_ratelimited("%s: CPU %d: a task that is gone has left an event of %s open\n",
				    a->aux.session->owner, a->aux.cpu, a->rc->raw->name);
	else
		pr_warn_ratelimited("%s: CPU %d: %*pE (pid %d) has an event of %s\n",
				    a->aux.session->owner, a->aux.cpu,
				    (int)strnlen(task->comm, TASK_COMM_LEN), task->comm,
				    task_pid_nr(task), a->rc->raw->name);
	rcu_read_unlock();
}

/* Log who uses the PMU, as perf says only -EBUSY. */
static void kdtl_raw_print_users(const struct kdtl_raw_aux *a)
{
	struct device *dev = kdtl_raw_device(a->rc->raw->name);
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

static struct perf_event *kdtl_raw_event(struct kdtl_raw_cpu *rc, const char **why)
{
	const struct kdtl_raw *raw = rc->raw;
	struct perf_event_attr attr = {
		.type		= raw->source.pmu.type,
		.size		= sizeof(attr),
		.config		= raw->config,
		.sample_period	= raw->period,
		.disabled	= 1,
		.pinned		= 1,
		.aux_watermark	= raw->layout.watermark,
	};
	struct perf_event *event;
	int err;

	event = perf_event_create_kernel_counter(&attr, rc->cpu, NULL, NULL, NULL);
	if (IS_ERR(event)) {
		if (PTR_ERR(event) == -EBUSY)
			*why = "somebody else has an event there";
		return event;
	}
	/* The type may be another PMU's by now. */
	err = strcmp(event->pmu->name, raw->name) ? -ENODEV :
		perf_event_aux_alloc(event, raw->layout.nr_pages, raw->layout.overwrite);
	if (!err)
		return event;
	perf_event_release_kernel(event);
	return ERR_PTR(err);
}

static int kdtl_raw_open(struct kdtl_raw_cpu *rc, const char **why)
{
	struct perf_event *event = kdtl_raw_event(rc, why);
	struct kdtl_raw_map *map;

	if (IS_ERR(event))
		return PTR_ERR(event);
	map = kdtl_raw_map(event, rc->raw->layout.nr_pages);
	if (IS_ERR(map)) {
		perf_event_release_kernel(event);
		return PTR_ERR(map);
	}
	raw_spin_lock_irq(&rc->lock);
	rc->event = event;
	rc->map = map;
	rc->base = round_up(rc->head, map->area.size);
	rc->head = rc->base;
	rc->stalled = false;
	rc->gone = false;
	raw_spin_unlock_irq(&rc->lock);
	add_wait_queue(&event->waitq, &rc->wait);
	return 0;
}

/* Give the event back.  The readers keep its pages. */
static void kdtl_raw_close(struct kdtl_raw_cpu *rc)
{
	struct perf_event *event = rc->event;
	struct kdtl_raw_map *map = rc->map;

	raw_spin_lock_irq(&rc->lock);
	rc->event = NULL;
	rc->map = NULL;
	raw_spin_unlock_irq(&rc->lock);
	remove_wait_queue(&event->waitq, &rc->wait);
	perf_event_release_kernel(event);
	kdtl_raw_map_put(map);
}

static int kdtl_raw_enable(struct kdtl_raw_cpu *rc)
{
	/*
	 * The event must be off before it is enabled, and an earlier wake-up must not be taken
	 * for a sign that the event stalls again.
	 */
	irq_work_sync(&rc->event->pending_disable_irq);
	irq_work_sync(&rc->event->pending_irq);
	raw_spin_lock_irq(&rc->lock);
	rc->stalled = false;
	rc->progress = false;
	raw_spin_unlock_irq(&rc->lock);
	perf_event_enable(rc->event);
	/* If there is no room, it is off again, but that is not an error. */
	return READ_ONCE(rc->event->state) == PERF_EVENT_STATE_ERROR ? -EBUSY : 0;
}

/* --- sessions ------------------------------------------------------------------------ */

/*
 * Load a session on a CPU that is online.  Returns 0, -ENOMEM, -EBUSY: somebody else uses the PMU,
 * -ENODEV: it is gone, or another error of perf's or of the PMU's driver.
 */
static int kdtl_raw_join(struct kdtl_raw_aux *a, const char **why)
{
	struct kdtl_raw_cpu *rc = a->rc;
	int err = 0;

	mutex_lock(&rc->raw->lock);
	if (!rc->event)
		err = kdtl_raw_open(rc, why);
	if (!err) {
		raw_spin_lock_irq(&rc->lock);
		list_add(&a->node, &rc->readers);
		a->from = rc->head;
		a->end = rc->head;
		kdtl_raw_turn(a);
		raw_spin_unlock_irq(&rc->lock);
	}
	mutex_unlock(&rc->raw->lock);
	if (err == -EBUSY)
		kdtl_raw_print_users(a);
	return err;
}

/* The last session that stops disables the event first, so that the PMU writes the rest. */
static void kdtl_raw_stop_locked(struct kdtl_raw_aux *a)
{
	struct kdtl_raw_cpu *rc = a->rc;

	lockdep_assert_held(&rc->raw->lock);
	if (!a->on)
		return;
	if (rc->on == 1)
		perf_event_disable(rc->event);
	raw_spin_lock_irq(&rc->lock);
	kdtl_raw_harvest(rc);
	a->on = false;
	if (!--rc->on)
		rc->stalled = false;
	raw_spin_unlock_irq(&rc->lock);
}

/* Unread data stays, unless other sessions are loaded: then the PMU may write over it. */
static void kdtl_raw_leave(struct kdtl_raw_aux *a)
{
	struct kdtl_raw_cpu *rc = a->rc;
	bool last;

	mutex_lock(&rc->raw->lock);
	if (kdtl_raw_joined(a)) {
		kdtl_raw_stop_locked(a);
		raw_spin_lock_irq(&rc->lock);
		list_del_init(&a->node);
		last = list_empty(&rc->readers);
		if (!last && a->map == rc->map)
			kdtl_raw_place(a, a->aux.sink.at->head);
		kdtl_raw_release(rc);
		raw_spin_unlock_irq(&rc->lock);
		if (last)
			kdtl_raw_close(rc);
	}
	mutex_unlock(&rc->raw->lock);
}

/* Take all sessions off the CPU.  They keep what is unread. */
static void kdtl_raw_leave_all(struct kdtl_raw_cpu *rc)
{
	struct kdtl_raw_aux *a, *next;

	lockdep_assert_held(&rc->raw->lock);
	if (!rc->event)
		return;
	list_for_each_entry(a, &rc->readers, node) {
		kdtl_raw_stop_locked(a);
		raw_spin_lock_irq(&rc->lock);
		kdtl_raw_report(a, true);
		raw_spin_unlock_irq(&rc->lock);
		/* Tasks are woken under the lock of this; rc->lock may be inside a runqueue's. */
		kdtl_session_due(&a->aux);
	}
	raw_spin_lock_irq(&rc->lock);
	list_for_each_entry_safe(a, next, &rc->readers, node) {
		list_del_init(&a->node);
		WRITE_ONCE(a->aux.event, NULL);
	}
	raw_spin_unlock_irq(&rc->lock);
	kdtl_raw_close(rc);
}

/* Skip what was written while the session was stopped, which is not its own. */
static int kdtl_raw_place_start(struct kdtl_raw_aux *a)
{
	struct kdtl_raw_cpu *rc = a->rc;

	kdtl_raw_harvest(rc);
	if (a->aux.overwrite) {
		/* No reader is ever done with the old pages, but new bytes go to the new ones. */
		if (a->map != rc->map)
			kdtl_raw_turn_now(a);
		return 0;
	}
	if (a->end == rc->head)
		return 0;
	if (kdtl_raw_tail(a) != a->end)
		return -EBUSY;
	a->from = rc->head;
	a->end = rc->head;
	if (a->map == rc->map)
		kdtl_raw_place(a, rc->head);
	return 0;
}

/*
 * Start a session on a CPU.  Returns 0, also if the CPU is offline or the PMU is gone; -EBUSY: the
 * PMU refuses the event; or, with a line in the log, the session has unread data from before it
 * was stopped, and other sessions have gone on.
 */
static int kdtl_raw_start(struct kdtl_raw_aux *a)
{
	struct kdtl_raw_cpu *rc = a->rc;
	int err = 0;

	mutex_lock(&rc->raw->lock);
	if (!kdtl_raw_joined(a) || a->on)
		goto unlock;
	raw_spin_lock_irq(&rc->lock);
	err = kdtl_raw_place_start(a);
	if (!err) {
		a->on = true;
		rc->on++;
		kdtl_raw_release(rc);
	}
	raw_spin_unlock_irq(&rc->lock);
	if (err) {
		pr_warn_ratelimited("%s: CPU %d: other sessions have gone on, so consume what is unread before you start again\n",
				    a->aux.session->owner, a->aux.cpu);
	} else if (rc->on == 1) {
		err = kdtl_raw_enable(rc);
		if (err)
			kdtl_raw_stop_locked(a);
	}
unlock:
	mutex_unlock(&rc->raw->lock);
	return err;
}

static struct kdtl_raw_aux *kdtl_raw_aux(struct kdtl_aux *aux)
{
	return container_of(aux, struct kdtl_raw_aux, aux);
}

/* Make an area without pages: it gets perf's when the session is loaded. */
static struct kdtl_aux *kdtl_raw_aux_alloc(struct kdtl_session *s, int cpu)
{
	const struct kdtl_raw *raw = container_of(s->pmu, struct kdtl_raw, source);
	struct kdtl_raw_aux *a = kzalloc_node(sizeof(*a), GFP_KERNEL, cpu_to_node(cpu));

	if (!a)
		return ERR_PTR(-ENOMEM);
	kdtl_aux_init(&a->aux, s, cpu, NULL);
	a->aux.wake = IRQ_WORK_INIT_HARD(kdtl_raw_wake);
	a->rc = per_cpu_ptr(raw->cpus, cpu);
	INIT_LIST_HEAD(&a->node);
	return &a->aux;
}

static void kdtl_raw_aux_free(struct kdtl_aux *aux)
{
	struct kdtl_raw_aux *a = kdtl_raw_aux(aux);

	kdtl_aux_exit(aux);
	kdtl_raw_map_put(a->map);
	kfree(a);
}

static int kdtl_raw_aux_open(struct kdtl_aux *aux, const char **why)
{
	struct kdtl_raw_aux *a = kdtl_raw_aux(aux);
	int err = kdtl_raw_join(a, why);

	if (err)
		return err;
	if (aux->session->state == KDTL_STARTED)
		err = kdtl_raw_start(a);
	if (err)
		kdtl_raw_leave(a);
	else
		WRITE_ONCE(aux->event, READ_ONCE(a->rc->event));
	return err;
}

static void kdtl_raw_aux_close(struct kdtl_aux *aux)
{
	struct kdtl_raw_aux *a = kdtl_raw_aux(aux);

	if (aux->session->state == KDTL_CREATED) {
		kdtl_raw_leave(a);
		return;
	}
	/* The CPU goes offline, so that its event ends for all sessions. */
	mutex_lock(&a->rc->raw->lock);
	kdtl_raw_leave_all(a->rc);
	mutex_unlock(&a->rc->raw->lock);
}

static void kdtl_raw_aux_enable(struct kdtl_aux *aux, bool enable)
{
	struct kdtl_raw_aux *a = kdtl_raw_aux(aux);

	if (enable) {
		WRITE_ONCE(aux->error, kdtl_raw_start(a));
		return;
	}
	mutex_lock(&a->rc->raw->lock);
	kdtl_raw_stop_locked(a);
	mutex_unlock(&a->rc->raw->lock);
}

static void kdtl_raw_aux_settle(struct kdtl_aux *aux)
{
	struct kdtl_raw_aux *a = kdtl_raw_aux(aux);

	irq_work_sync(&aux->wake);	/* [wake.S] */
	raw_spin_lock_irq(&a->rc->lock);
	kdtl_raw_report(a, true);
	raw_spin_unlock_irq(&a->rc->lock);
	kdtl_session_due(aux);
}

/* --- work that may sleep, for perf and the readers ----------------------------------- */

/* Tell all sessions that a CPU is not logged. */
static void kdtl_raw_tell(struct kdtl_raw_cpu *rc, int err)
{
	struct kdtl_raw_aux *a;

	lockdep_assert_held(&rc->raw->lock);
	list_for_each_entry(a, &rc->readers, node) {
		struct kdtl_msg msg = {
			.type		= KDTL_MSG_CPU,
			.cpu		= rc->cpu,
			.set		= a->aux.set->id,
			.cpu_state	= { .error = err },
		};

		WRITE_ONCE(a->aux.error, err);
		kdtl_msgq_put(&a->aux.session->msgs, &msg);
		kdtl_session_wake(a->aux.session);
	}
}

static void kdtl_raw_cpu_work(struct kdtl_raw_cpu *rc)
{
	bool gone, resume;
	int err;

	raw_spin_lock_irq(&rc->lock);
	gone = rc->event && rc->gone;
	resume = rc->event && rc->stalled && rc->on && rc->progress;
	raw_spin_unlock_irq(&rc->lock);
	if (gone) {
		kdtl_raw_tell(rc, -ENODEV);
		kdtl_raw_leave_all(rc);
	} else if (resume) {
		err = kdtl_raw_enable(rc);
		if (err)
			kdtl_raw_tell(rc, err);
	}
}

/* Enable events that were stalled, and end those whose PMU is gone. */
static void kdtl_raw_work(struct work_struct *work)
{
	struct kdtl_raw *raw = container_of(work, struct kdtl_raw, work);
	int cpu;

	mutex_lock(&raw->lock);
	for_each_possible_cpu(cpu)
		kdtl_raw_cpu_work(per_cpu_ptr(raw->cpus, cpu));
	mutex_unlock(&raw->lock);
	kdtl_raw_free_unused(raw);
}

static void kdtl_raw_kick(struct irq_work *kick)
{
	queue_work(system_dfl_wq, &container_of(kick, struct kdtl_raw, kick)->work);
}

static void kdtl_raw_cpu_init(struct kdtl_raw *raw, int cpu)
{
	struct kdtl_raw_cpu *rc = per_cpu_ptr(raw->cpus, cpu);

	rc->raw = raw;
	rc->cpu = cpu;
	raw_spin_lock_init(&rc->lock);
	INIT_LIST_HEAD(&rc->readers);
	init_waitqueue_func_entry(&rc->wait, kdtl_raw_woken);
	raw->kick = IRQ_WORK_INIT_HARD(kdtl_raw_kick);
}

/* --- readers ------------------------------------------------------------------------- */

static ssize_t kdtl_raw_peek(struct kdtl_aux *aux, const void **span)
{
	struct kdtl_raw_aux *a = kdtl_raw_aux(aux);
	struct kdtl_raw_cpu *rc = a->rc;
	unsigned long flags;
	ssize_t len;

	raw_spin_lock_irqsave(&rc->lock, flags);
	/* A polled PMU copies what there is just now, which it does only on its own CPU. */
	if (kdtl_raw_is_here(rc))
		rc->event->pmu->read(rc->event);
	kdtl_raw_harvest(rc);
	kdtl_raw_turn(a);
	*span = aux->area.base + (aux->tail & aux->sink.at->pos_mask);
	len = aux->sink.at->head - aux->tail;
	kdtl_u64_set(&aux->shown, aux->sink.at->head);
	raw_spin_unlock_irqrestore(&rc->lock, flags);
	return len;
}

/* Returns 0, or -EINVAL if @bytes is more than kdtl_raw_peek() has shown. */
static int kdtl_raw_consume(struct kdtl_aux *aux, size_t bytes)
{
	struct kdtl_raw_aux *a = kdtl_raw_aux(aux);
	struct kdtl_raw_cpu *rc = a->rc;
	unsigned long flags;
	int err = -EINVAL;

	raw_spin_lock_irqsave(&rc->lock, flags);
	if (bytes <= aux->shown - aux->tail) {
		/* [aux.D] as in kdtl_raw_place() */
		kdtl_u64_release(&aux->tail, aux->tail + bytes);
		kdtl_raw_turn(a);
		kdtl_raw_release(rc);
		/* If the event is being disabled just now, kdtl_raw_woken() sees @progress. */
		rc->progress = true;
		if (rc->stalled)
			irq_work_queue(&rc->raw->kick);
		err = 0;
	}
	raw_spin_unlock_irqrestore(&rc->lock, flags);
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
	struct perf_event *event = a->rc->event;
	const bool runs = !(event->hw.state & PERF_HES_STOPPED);

	if (runs)
		event->pmu->stop(event, PERF_EF_UPDATE);
	kdtl_raw_harvest(a->rc);
	len = kdtl_raw_copy(a, buf, len);
	if (runs)
		event->pmu->start(event, PERF_EF_RELOAD);
	return len;
}

static ssize_t kdtl_raw_locked_copy(struct kdtl_raw_aux *a, void *buf, size_t len)
{
	struct kdtl_raw_cpu *rc = a->rc;

	lockdep_assert_held(&rc->lock);
	if (!a->map)
		return 0;
	if (!rc->on || a->map != rc->map)
		return kdtl_raw_copy(a, buf, len);
	/* The PMU is stopped for a moment.  An NMI may have interrupted its driver. */
	return kdtl_raw_is_here(rc) && !in_nmi() ? kdtl_raw_paused_copy(a, buf, len) : -EBUSY;
}

/*
 * Under the lock the area cannot turn to other pages, after which its old ones may be freed.
 * Returns the number of bytes; -EBUSY: a session on the PMU is started, and this is another CPU or
 * an NMI; or somebody has the lock and does not release it.
 */
static ssize_t kdtl_raw_snapshot(struct kdtl_aux *aux, void *buf, size_t len)
{
	struct kdtl_raw_aux *a = kdtl_raw_aux(aux);
	struct kdtl_raw_cpu *rc = a->rc;
	unsigned int tries = KDTL_RAW_TRIES;
	unsigned long flags;
	ssize_t got;

	/* In a panic, the lock's holder may never release it. */
	while (!raw_spin_trylock_irqsave(&rc->lock, flags)) {
		if (!--tries)
			return -EBUSY;
		cpu_relax();
	}
	got = kdtl_raw_locked_copy(a, buf, len);
	raw_spin_unlock_irqrestore(&rc->lock, flags);
	return got;
}

/* --- PMUs of raw sessions ------------------------------------------------------------ */

static LIST_HEAD(kdtl_raws);
/* Protects the list and kdtl_raw::sessions. */
static DEFINE_MUTEX(kdtl_raws_lock);

static void kdtl_raw_free(struct kdtl_raw *raw)
{
	free_percpu(raw->source.cpu);
	free_percpu(raw->cpus);
	kfree(raw);
}

static struct kdtl_raw *kdtl_raw_alloc(const struct kdtl_session_attr *attr, u32 type,
				       const struct kdtl_aux_layout *layout)
{
	struct kdtl_raw *raw = kzalloc(sizeof(*raw), GFP_KERNEL);
	int cpu;

	if (!raw)
		return NULL;
	raw->cpus = alloc_percpu(struct kdtl_raw_cpu);
	raw->source.cpu = alloc_percpu(struct kdtl_pmu_cpu);
	if (!raw->cpus || !raw->source.cpu) {
		kdtl_raw_free(raw);
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
	raw->layout = *layout;
	mutex_init(&raw->lock);
	INIT_WORK(&raw->work, kdtl_raw_work);
	init_llist_head(&raw->unused);
	for_each_possible_cpu(cpu)
		kdtl_raw_cpu_init(raw, cpu);
	return raw;
}

static bool kdtl_raw_is_like(const struct kdtl_raw *raw,
			     const struct kdtl_session_attr *attr,
			     const struct kdtl_aux_layout *layout)
{
	return raw->config == attr->config && raw->period == attr->period &&
	       raw->layout.nr_pages == layout->nr_pages &&
	       raw->layout.watermark == layout->watermark &&
	       raw->layout.overwrite == layout->overwrite;
}

static struct kdtl_raw *kdtl_raw_join_or_alloc(const char *owner,
					       const struct kdtl_session_attr *attr,
					       u32 type,
					       const struct kdtl_aux_layout *layout)
{
	struct kdtl_raw *raw;

	lockdep_assert_held(&kdtl_raws_lock);
	list_for_each_entry(raw, &kdtl_raws, node) {
		if (raw->source.pmu.type != type || strcmp(raw->name, attr->pmu))
			continue;
		if (kdtl_raw_is_like(raw, attr, layout))
			return raw;
		pr_warn_ratelimited("%s: sessions share %s's area, and another one has config=%#llx, period=%llu, %u pages, a watermark of %llu bytes%s\n",
				    owner, attr->pmu, raw->config, raw->period,
				    raw->layout.nr_pages, raw->layout.watermark,
				    raw->layout.overwrite ? " and overwrites" : "");
		return ERR_PTR(-EBUSY);
	}
	raw = kdtl_raw_alloc(attr, type, layout);
	if (!raw)
		return ERR_PTR(-ENOMEM);
	list_add(&raw->node, &kdtl_raws);
	return raw;
}

/* The session, of which no area is left, lets go of its PMU. */
static void kdtl_raw_put(struct kdtl_session *s)
{
	struct kdtl_raw *raw = container_of(s->pmu, struct kdtl_raw, source);
	bool last;

	mutex_lock(&kdtl_raws_lock);
	last = !--raw->sessions;
	if (last)
		list_del(&raw->node);
	mutex_unlock(&kdtl_raws_lock);
	if (!last)
		return;
	irq_work_sync(&raw->kick);
	cancel_work_sync(&raw->work);
	kdtl_raw_free_unused(raw);
	mutex_destroy(&raw->lock);
	kdtl_raw_free(raw);
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
 * kdtl_raw_get() - find a PMU for a raw session, and hold it
 * @s: the session, which then has the PMU as its source, and the PMU's areas
 * @attr: its attributes: perf's name of the PMU, and its events' attributes
 *
 * The PMU may be unregistered nevertheless.
 *
 * Context: may sleep.
 * Return:
 * * 0; in case of an error a line in the log says what is wrong
 * * -ENODEV: perf has no PMU of this name
 * * -EOPNOTSUPP: the PMU has no AUX areas
 * * -EBUSY: a session on the PMU has another layout, config or period
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
	mutex_lock(&kdtl_raws_lock);
	raw = kdtl_raw_join_or_alloc(s->owner, attr, type, &s->layout);
	if (!IS_ERR(raw))
		raw->sessions++;
	mutex_unlock(&kdtl_raws_lock);
	if (IS_ERR(raw))
		return PTR_ERR(raw);
	s->pmu = &raw->source;
	s->ops = &kdtl_raw_areas;
	s->no_reader = true;
	return 0;
}
