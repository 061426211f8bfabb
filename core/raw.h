/* SPDX-License-Identifier: GPL-2.0 */
/* Raw sessions: the AUX data of any PMU, through perf. */
#ifndef _KDTL_RAW_H
#define _KDTL_RAW_H

#include <linux/irq_work.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "session.h"

/* Kbuild sets this if perf gives AUX areas to kernel events: perf_event_aux_alloc(). */
#ifndef KDTL_PERF_AUX
#define KDTL_PERF_AUX	0
#endif

#define KDTL_RAW_NAME_LEN	64

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
 * @map: of the event's AUX pages
 * @lock: protects the fields below, and the positions of the readers' areas.  Taken in
 *	hard irq; the locks of message queues are taken inside
 * @readers: the areas of the sessions that are loaded, by kdtl_aux::raw_node
 * @on: how many of them are started
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
 * struct kdtl_raw - a PMU that sessions use through perf
 * @source: what the verbs see of it; perf does not know this one
 * @name: its name
 * @type: its number at perf
 * @config: perf_event_attr::config of the events
 * @period: perf_event_attr::sample_period of the events
 * @layout: properties of all areas, which are those of the first session
 * @sessions: number of sessions; under a lock of core/raw.c
 * @node: in a list of core/raw.c
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
	u32				type;
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

/* core/raw.c */
struct device *kdtl_raw_device(const char *name);
struct kdtl_raw *kdtl_raw_get(const char *owner, const struct kdtl_session_attr *attr,
			      const struct kdtl_aux_layout *layout);
void kdtl_raw_put(struct kdtl_raw *raw);

/*
 * core/raw_cpu.c, which is only built where perf has what it needs.  Nobody else calls
 * it, because there are no raw sessions.
 */
void kdtl_raw_cpu_init(struct kdtl_raw *raw, int cpu);
void kdtl_raw_work(struct work_struct *work);
void kdtl_raw_free_unused(struct kdtl_raw *raw);
int kdtl_raw_join(struct kdtl_aux *aux, const char **why);
void kdtl_raw_leave(struct kdtl_aux *aux);
void kdtl_raw_offline(struct kdtl_aux *aux);
int kdtl_raw_start(struct kdtl_aux *aux);
void kdtl_raw_stop(struct kdtl_aux *aux);
void kdtl_raw_settle(struct kdtl_aux *aux);
void kdtl_raw_wake(struct irq_work *work);
void kdtl_raw_aux_free(struct kdtl_aux *aux);
ssize_t kdtl_raw_peek(struct kdtl_aux *aux, const void **span);
int kdtl_raw_consume(struct kdtl_aux *aux, size_t bytes);
ssize_t kdtl_raw_snapshot(struct kdtl_aux *aux, void *buf, size_t len);

/* The session's PMU if the session is raw; a constant where there are no raw sessions. */
static inline struct kdtl_raw *kdtl_session_raw(const struct kdtl_session *s)
{
	return KDTL_PERF_AUX ? s->raw : NULL;
}

static inline struct kdtl_raw_cpu *kdtl_aux_raw(const struct kdtl_aux *aux)
{
	return KDTL_PERF_AUX ? aux->raw : NULL;
}

#endif /* _KDTL_RAW_H */
