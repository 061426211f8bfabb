// SPDX-License-Identifier: GPL-2.0
/*
 * The perf callbacks that kdtl provides for a source's events
 *
 * perf's add() and del() put an event's sink into its CPU's fan-out and take
 * it out.  An event that a session made has the session's AUX area as its
 * sink; any other event has a struct kdtl_perf_sink.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/capability.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/sched.h>

#include "aux.h"
#include "counting.h"
#include "event.h"
#include "fanout.h"
#include "perf_sink.h"
#include "session.h"
#include "source.h"
#include "writer.h"

static struct kdtl_pmu *to_kdtl_pmu(struct pmu *pmu)
{
	return container_of(pmu, struct kdtl_pmu, pmu);
}

static void *kdtl_setup_aux(struct perf_event *event, void **pages,
			    int nr_pages, bool overwrite)
{
	struct kdtl_aux *aux = kdtl_event_aux(event);

	return aux ? &aux->area : kdtl_perf_setup_aux(pages, nr_pages, overwrite);
}

/**
 * kdtl_event_sets_up() - does the driver leave setup_aux() to kdtl?
 * @pmu: the source's PMU
 *
 * Context: any.
 * Return: true if it does; then nobody but kdtl looks at the pages of an area.
 */
bool kdtl_event_sets_up(const struct pmu *pmu)
{
	return pmu->setup_aux == kdtl_setup_aux;
}

/* Check an event, and set up what kdtl itself needs for it. */
static int kdtl_event_prepare(struct perf_event *event)
{
	struct kdtl_aux *aux = kdtl_event_aux(event);
	const u64 mask = event->attr.config;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (event->cpu < 0 || event->attach_state & PERF_ATTACH_TASK)
		return -EOPNOTSUPP;
	if (event->attr.sample_type & PERF_SAMPLE_BRANCH_STACK)
		return -EOPNOTSUPP;
	if (!mask || mask & ~(u64)KDTL_MASK_KNOWN)
		return -EINVAL;
	if (!kdtl_pmu_has(to_kdtl_pmu(event->pmu), mask))
		return -EOPNOTSUPP;
	/* A session is told by kdtl_aux_info::idle that it gets no such entries. */
	if (!aux && mask & KDTL_MASK_IDLE && !kdtl_pmu_tells_idle(to_kdtl_pmu(event->pmu)))
		return -EOPNOTSUPP;

	if (aux) {
		/* The session is a user of the source already. */
		event->pmu_private = &aux->sink;
		/*
		 * When perf fails to add a hardware event, it adds no further ones, so a
		 * start that fails would stop other sessions' events.  Software events
		 * are exempt.
		 */
		event->event_caps |= PERF_EV_CAP_SOFTWARE;
		return 0;
	}

	/* The entries tell who runs on the whole machine. */
	if (!perfmon_capable())
		return -EACCES;
	/* A kernel thread opens events only for the module's own tests, which run in its init. */
	if (!(current->flags & PF_KTHREAD) && kdtl_source_is_coming(to_kdtl_pmu(event->pmu)))
		return -ENODEV;
	return kdtl_perf_init(event);
}

/* The driver may refuse an event, or note something about it. */
static int kdtl_event_init(struct perf_event *event)
{
	struct kdtl_pmu *p = to_kdtl_pmu(event->pmu);
	void (*destroy)(struct perf_event *event);
	int err = kdtl_event_prepare(event);

	if (err || !p->event_init)
		return err;
	destroy = event->destroy;
	err = p->event_init(event);
	if (!err && event->destroy != destroy) {
		pr_warn_ratelimited("PMU %s: event_init() must leave event->destroy alone\n",
				    p->name);
		err = -EINVAL;
	}
	event->destroy = destroy;
	if (err && destroy) {
		event->destroy = NULL;
		destroy(event);
	}
	return err;
}

static int kdtl_event_link(struct perf_event *event, int flags)
{
	int err = 0;

	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START) {
		err = kdtl_fanout_link(to_kdtl_pmu(event->pmu), event->pmu_private);
		if (!err)
			event->hw.state = 0;
	}
	return err;
}

static void kdtl_event_start(struct perf_event *event, int flags)
{
	kdtl_event_link(event, PERF_EF_START);
}

static void kdtl_event_stop(struct perf_event *event, int flags)
{
	kdtl_fanout_unlink(to_kdtl_pmu(event->pmu), event->pmu_private, false);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

/*
 * perf drops the error of a pinned event's add(), puts the event into the error
 * state and does not try again.  So keep the error, and tell the reader, unless
 * kdtl_start() or CPU hotplug is enabling the event and takes the error itself.
 */
static void kdtl_event_added(struct kdtl_aux *aux, int err)
{
	struct kdtl_session *s = aux->session;

	WRITE_ONCE(aux->error, err);
	if (err && READ_ONCE(aux->event) && READ_ONCE(s->state) == KDTL_STARTED) {
		kdtl_msg_cpu(s, aux->cpu, false, err);
		irq_work_queue(&aux->wake);
	}
}

static int kdtl_event_add(struct perf_event *event, int flags)
{
	struct kdtl_pmu *p = to_kdtl_pmu(event->pmu);
	struct kdtl_aux *aux = kdtl_event_aux(event);
	int err;

	err = p->add ? p->add(event, flags) : kdtl_event_link(event, flags);
	if (aux)
		kdtl_event_added(aux, err);
	return err;
}

static void kdtl_event_del(struct perf_event *event, int flags)
{
	kdtl_fanout_unlink(to_kdtl_pmu(event->pmu), event->pmu_private, true);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static void kdtl_pmu_disable(struct pmu *pmu)
{
}

/* perf deletes and re-adds events even to start one; update the source once, afterwards. */
static void kdtl_pmu_enable(struct pmu *pmu)
{
	kdtl_fanout_settle(to_kdtl_pmu(pmu));
}

PMU_FORMAT_ATTR(event, "config:0-6");

static struct attribute *kdtl_format_attrs[] = {
	&format_attr_event.attr,
	NULL,
};

static const struct attribute_group kdtl_format_group = {
	.name = "format",
	.attrs = kdtl_format_attrs,
};

PMU_EVENT_ATTR_STRING(dtl_cede, kdtl_attr_cede, "event=0x1");
PMU_EVENT_ATTR_STRING(dtl_preempt, kdtl_attr_preempt, "event=0x2");
PMU_EVENT_ATTR_STRING(dtl_fault, kdtl_attr_fault, "event=0x4");
PMU_EVENT_ATTR_STRING(dtl_throttle, kdtl_attr_throttle, "event=0x8");
PMU_EVENT_ATTR_STRING(dtl_idle, kdtl_attr_idle, "event=0x10");
PMU_EVENT_ATTR_STRING(dtl_all, kdtl_attr_all, "event=0xf");
PMU_EVENT_ATTR_STRING(wake, kdtl_attr_wake, "event=0x40");

static struct attribute *kdtl_event_attrs[] = {
	&kdtl_attr_cede.attr.attr,
	&kdtl_attr_preempt.attr.attr,
	&kdtl_attr_fault.attr.attr,
	&kdtl_attr_throttle.attr.attr,
	&kdtl_attr_idle.attr.attr,
	&kdtl_attr_all.attr.attr,
	&kdtl_attr_wake.attr.attr,
	NULL,
};

/* Show only the kinds that the source distinguishes. */
static umode_t kdtl_event_visible(struct kobject *kobj, struct attribute *attr, int n)
{
	const u32 mask = kdtl_pmu_mask(to_kdtl_pmu(dev_get_drvdata(kobj_to_dev(kobj))));

	if (mask & KDTL_MASK_WAKE)
		return attr == &kdtl_attr_wake.attr.attr ? attr->mode : 0;
	if (attr == &kdtl_attr_wake.attr.attr)
		return 0;
	if (attr == &kdtl_attr_throttle.attr.attr && !(mask & KDTL_MASK_THROTTLE))
		return 0;
	if (attr == &kdtl_attr_idle.attr.attr && !(mask & KDTL_MASK_IDLE))
		return 0;
	return attr->mode;
}

static const struct attribute_group kdtl_events_group = {
	.name = "events",
	.attrs = kdtl_event_attrs,
	.is_visible = kdtl_event_visible,
};

static const struct attribute_group *kdtl_attr_groups[] = {
	&kdtl_format_group,
	&kdtl_events_group,
	NULL,
};

/**
 * kdtl_event_callbacks() - fill in the callbacks that a driver leaves to kdtl
 * @pmu: the driver's PMU; kdtl's callbacks call its event_init() and add(), its others stay
 *
 * Context: any, before @pmu is registered.
 */
void kdtl_event_callbacks(struct pmu *pmu)
{
	struct kdtl_pmu *p = to_kdtl_pmu(pmu);

#define KDTL_FILL(field, value) do {				\
		if (!pmu->field)				\
			pmu->field = value;			\
	} while (0)

	KDTL_FILL(attr_groups, kdtl_attr_groups);
	KDTL_FILL(del, kdtl_event_del);
	/* perf provides its own pair only if neither is set, so fill in both or none. */
	if (!pmu->pmu_enable && !pmu->pmu_disable) {
		pmu->pmu_enable = kdtl_pmu_enable;
		pmu->pmu_disable = kdtl_pmu_disable;
	}
	KDTL_FILL(start, kdtl_event_start);
	KDTL_FILL(stop, kdtl_event_stop);
	KDTL_FILL(read, kdtl_perf_read);
	if (!pmu->setup_aux) {
		pmu->setup_aux = kdtl_setup_aux;
		pmu->free_aux = kdtl_perf_free_aux;
	}
#undef KDTL_FILL

/* kdtl's callback calls the driver's.  A source that is registered again has kdtl's already. */
#define KDTL_WRAP(field, value) do {				\
		if (pmu->field != (value))			\
			p->field = pmu->field;			\
		pmu->field = value;				\
	} while (0)

	KDTL_WRAP(event_init, kdtl_event_init);
	KDTL_WRAP(add, kdtl_event_add);
#undef KDTL_WRAP

	/* Events belong to a CPU, not to a task, and cannot exclude user or kernel. */
	pmu->task_ctx_nr = perf_invalid_context;
	pmu->capabilities |= PERF_PMU_CAP_NO_EXCLUDE;
}
