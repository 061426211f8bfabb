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
 * @source: the PMU as the verbs see it; perf does not know this one
 * @name: its name
 * @type: perf_event_attr::type of the events
 * @config: perf_event_attr::config of the events
 * @period: perf_event_attr::sample_period of the events
 * @layout: properties of all areas, as the first session wanted them
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

#ifdef KDTL_PERF_AUX
/* core/raw.c */
struct device *kdtl_raw_device(const char *name);
int kdtl_raw_get(struct kdtl_session *s, const struct kdtl_session_attr *attr);
void kdtl_raw_put(struct kdtl_session *s);

/* core/raw_cpu.c */
extern const struct kdtl_area_ops kdtl_raw_areas;
void kdtl_raw_cpu_init(struct kdtl_raw *raw, int cpu);
void kdtl_raw_work(struct work_struct *work);
void kdtl_raw_free_unused(struct kdtl_raw *raw);
#else
/* There are no raw sessions without perf_event_aux_alloc(), for which Kbuild looks. */
static inline int kdtl_raw_get(struct kdtl_session *s, const struct kdtl_session_attr *attr)
{
	pr_warn_ratelimited("%s: %*pE: this kernel's perf has no perf_event_aux_alloc(), which raw sessions need\n",
			    s->owner, (int)strlen(attr->pmu), attr->pmu);
	return -EOPNOTSUPP;
}
#endif

#endif /* _KDTL_RAW_H */
