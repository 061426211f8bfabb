// SPDX-License-Identifier: GPL-2.0
/*
 * The registered sources, and what kdtl does for them as a perf PMU
 *
 * perf's add() and del() put an event's sink into its CPU's fan-out and take
 * it out.  The source of a CPU follows: it delivers what the CPU's active
 * events ask for between them, and is off when there is none.
 *
 * kdtl_pmus_lock protects the list of sources and their users counts.  It is
 * held across attach() and detach(), so it is never taken under the CPU
 * hotplug lock: registering a tracepoint takes that (a static key).
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/capability.h>
#include <linux/ctype.h>
#include <linux/error-injection.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>

#include "aux.h"
#include "pmu.h"

static LIST_HEAD(kdtl_pmus);
static DEFINE_MUTEX(kdtl_pmus_lock);

/* ---------------------------------------------------------------- fan-out */

/* Tell the source what this CPU's active events want between them. */
static int kdtl_source_update(struct kdtl_pmu *p)
{
	struct kdtl_sink *sink;
	u64 period = 0;
	u32 mask = 0;

	if (!p->source)
		return 0;
	for (sink = this_cpu_read(p->cpu->sinks); sink; sink = sink->next) {
		if (sink == this_cpu_read(p->cpu->leaving))
			continue;
		mask |= kdtl_sink_mask(sink);
		if (sink->period && (!period || sink->period < period))
			period = sink->period;
	}
	return p->source(p, mask, period);
}

/**
 * kdtl_sink_update() - an active event's mask or period has changed
 * @p: the source
 *
 * Context: on the event's CPU, interrupts off.
 * Return: 0, or what the driver says: only if the source was off.
 */
int kdtl_sink_update(struct kdtl_pmu *p)
{
	return kdtl_source_update(p);
}

/*
 * @soon: perf goes on with other events, or puts this one back, and calls
 * pmu_enable() then: so the source is not switched off and on in between.
 */
static void kdtl_sink_unlink(struct kdtl_pmu *p, struct kdtl_sink *sink, bool soon)
{
	struct kdtl_pmu_cpu *c = this_cpu_ptr(p->cpu);
	struct kdtl_sink **at = &c->sinks;

	lockdep_assert_irqs_disabled();
	if (!sink->linked)
		return;
	/* While it is still there: what a polled source has is its, too. */
	c->leaving = soon ? NULL : sink;
	c->stale |= soon;
	kdtl_source_update(p);
	while (*at != sink)
		at = &(*at)->next;
	*at = sink->next;
	c->leaving = NULL;
	sink->ops->unlink(sink);
	sink->linked = false;
}

static noinline int kdtl_sink_link(struct kdtl_pmu *p, struct kdtl_sink *sink)
{
	struct kdtl_pmu_cpu *c = this_cpu_ptr(p->cpu);
	int err;

	lockdep_assert_irqs_disabled();
	if (sink->linked)
		return 0;
	/* What a polled source has already belongs to the others. */
	if (c->sinks)
		kdtl_source_update(p);
	sink->ops->link(sink);
	sink->next = c->sinks;
	c->sinks = sink;
	err = kdtl_source_update(p);
	if (err) {
		c->sinks = sink->next;
		sink->ops->unlink(sink);
		return err;
	}
	sink->linked = true;
	return 0;
}
ALLOW_ERROR_INJECTION(kdtl_sink_link, ERRNO);

/* -------------------------------------------------- perf's view of a source */

static int kdtl_event_init(struct perf_event *event)
{
	struct kdtl_aux *aux = kdtl_event_aux(event);
	const u64 mask = event->attr.config;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (event->cpu < 0 || event->attach_state & PERF_ATTACH_TASK)
		return -EOPNOTSUPP;
	if (event->attr.sample_type & PERF_SAMPLE_BRANCH_STACK)
		return -EOPNOTSUPP;
	if (!mask || mask & ~(u64)KDTL_MASK_ALL)
		return -EINVAL;

	if (aux) {
		/* A session's: the session has attached itself to the source. */
		event->pmu_private = &aux->sink;
		/*
		 * Where one hardware event was refused perf takes no further one, so
		 * a start that fails would end other sessions.
		 */
		event->event_caps |= PERF_EV_CAP_SOFTWARE;
		return 0;
	}

	/* The entries tell who runs on the whole machine. */
	if (!perfmon_capable())
		return -EACCES;
	return kdtl_perf_init(to_kdtl_pmu(event->pmu), event);
}

static void kdtl_event_start(struct perf_event *event, int flags)
{
	if (kdtl_sink_link(to_kdtl_pmu(event->pmu), event->pmu_private))
		event->hw.state = PERF_HES_STOPPED;
	else
		event->hw.state = 0;
}

static void kdtl_event_stop(struct perf_event *event, int flags)
{
	kdtl_sink_unlink(to_kdtl_pmu(event->pmu), event->pmu_private, false);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int kdtl_event_add(struct perf_event *event, int flags)
{
	struct kdtl_aux *aux = kdtl_event_aux(event);
	int err = 0;

	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START) {
		err = kdtl_sink_link(to_kdtl_pmu(event->pmu), event->pmu_private);
		if (!err)
			event->hw.state = 0;
	}
	/* perf drops a pinned event's error: kdtl_start() finds it here. */
	if (aux)
		WRITE_ONCE(aux->error, err);
	return err;
}

static void kdtl_event_del(struct perf_event *event, int flags)
{
	kdtl_sink_unlink(to_kdtl_pmu(event->pmu), event->pmu_private, true);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static void kdtl_pmu_disable(struct pmu *pmu)
{
}

/* perf has added and deleted what it had to: to start one event is both. */
static void kdtl_pmu_enable(struct pmu *pmu)
{
	struct kdtl_pmu *p = to_kdtl_pmu(pmu);
	struct kdtl_pmu_cpu *c = this_cpu_ptr(p->cpu);

	if (!c->stale)
		return;
	c->stale = false;
	/* Never more than it was: a driver cannot refuse that. */
	WARN_ON_ONCE(kdtl_source_update(p));
}

static void kdtl_event_read(struct perf_event *event)
{
}

static void *kdtl_setup_aux(struct perf_event *event, void **pages,
			    int nr_pages, bool overwrite)
{
	struct kdtl_aux *aux = kdtl_event_aux(event);

	return aux ? &aux->area : kdtl_perf_setup_aux(pages, nr_pages, overwrite);
}

static void kdtl_free_aux(void *priv)
{
	struct kdtl_area *area = priv;

	if (!area->borrowed)
		kdtl_perf_free_aux(priv);
}

PMU_FORMAT_ATTR(event, "config:0-2");

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
PMU_EVENT_ATTR_STRING(dtl_all, kdtl_attr_all, "event=0x7");

static struct attribute *kdtl_event_attrs[] = {
	&kdtl_attr_cede.attr.attr,
	&kdtl_attr_preempt.attr.attr,
	&kdtl_attr_fault.attr.attr,
	&kdtl_attr_all.attr.attr,
	NULL,
};

static const struct attribute_group kdtl_events_group = {
	.name = "events",
	.attrs = kdtl_event_attrs,
};

static const struct attribute_group *kdtl_attr_groups[] = {
	&kdtl_format_group,
	&kdtl_events_group,
	NULL,
};

/* What a driver leaves out, kdtl does. */
static void kdtl_pmu_fill(struct pmu *pmu)
{
#define KDTL_FILL(field, value) do {				\
		if (!pmu->field)				\
			pmu->field = value;			\
	} while (0)

	KDTL_FILL(attr_groups, kdtl_attr_groups);
	KDTL_FILL(event_init, kdtl_event_init);
	KDTL_FILL(add, kdtl_event_add);
	KDTL_FILL(del, kdtl_event_del);
	/* perf has a default for neither if it has one for the other. */
	if (!pmu->pmu_enable && !pmu->pmu_disable) {
		pmu->pmu_enable = kdtl_pmu_enable;
		pmu->pmu_disable = kdtl_pmu_disable;
	}
	KDTL_FILL(start, kdtl_event_start);
	KDTL_FILL(stop, kdtl_event_stop);
	KDTL_FILL(read, kdtl_event_read);
	if (!pmu->setup_aux) {
		pmu->setup_aux = kdtl_setup_aux;
		pmu->free_aux = kdtl_free_aux;
	}
#undef KDTL_FILL

	/* One event per CPU, of no task; user and kernel are not told apart. */
	pmu->task_ctx_nr = perf_invalid_context;
	pmu->capabilities |= PERF_PMU_CAP_NO_EXCLUDE;
}

/* -------------------------------------------------------------- the registry */

static struct kdtl_pmu *kdtl_pmu_find(const char *name)
{
	struct kdtl_pmu *p, *best = NULL;

	lockdep_assert_held(&kdtl_pmus_lock);
	list_for_each_entry(p, &kdtl_pmus, node) {
		if (name ? !strcmp(p->name, name) : !best || p->rating > best->rating)
			best = p;
	}
	return best;
}

/**
 * kdtl_pmu_get() - find a source and keep its module
 * @name: NULL: the highest rated one
 *
 * Context: may sleep.
 * Return: the source, or NULL.
 */
struct kdtl_pmu *kdtl_pmu_get(const char *name)
{
	struct kdtl_pmu *p;

	mutex_lock(&kdtl_pmus_lock);
	p = kdtl_pmu_find(name);
	if (p && !try_module_get(p->pmu.module))
		p = NULL;
	mutex_unlock(&kdtl_pmus_lock);
	return p;
}
ALLOW_ERROR_INJECTION(kdtl_pmu_get, NULL);

/**
 * kdtl_pmu_put() - undo kdtl_pmu_get()
 * @p: the source
 *
 * Context: any.
 */
void kdtl_pmu_put(struct kdtl_pmu *p)
{
	module_put(p->pmu.module);
}

/**
 * kdtl_pmu_attach() - there is one more user; the first switches the source on
 * @p: the source
 *
 * Context: may sleep; not under the CPU hotplug lock.
 * Return: 0 or what the driver's attach() said.
 */
int kdtl_pmu_attach(struct kdtl_pmu *p)
{
	int err = 0;

	mutex_lock(&kdtl_pmus_lock);
	if (!p->users && p->attach)
		err = p->attach(p);
	if (!err)
		p->users++;
	mutex_unlock(&kdtl_pmus_lock);
	return err;
}
ALLOW_ERROR_INJECTION(kdtl_pmu_attach, ERRNO);

/**
 * kdtl_pmu_detach() - undo kdtl_pmu_attach()
 * @p: the source
 *
 * Context: may sleep; not under the CPU hotplug lock.
 */
void kdtl_pmu_detach(struct kdtl_pmu *p)
{
	mutex_lock(&kdtl_pmus_lock);
	if (!--p->users && p->detach)
		p->detach(p);
	mutex_unlock(&kdtl_pmus_lock);
}

/* What an event's name may have in it for the perf tool. */
static bool kdtl_name_valid(const char *name)
{
	if (!name || !isalpha(*name))
		return false;
	while (isalnum(*name) || *name == '_' || *name == '-')
		name++;
	return !*name;
}

/* What keeps it from being registered, or NULL. */
static const char *kdtl_pmu_wrong(const struct kdtl_pmu *p)
{
	if (!kdtl_name_valid(p->name))
		return "needs a name: a letter, then letters, digits, _ and -";
#ifdef MODULE
	/* Built in, as drivers may be then, THIS_MODULE is NULL. */
	if (!p->pmu.module)
		return "needs a pmu.module";
#endif
	if (!p->tb_freq || p->tb_freq > U32_MAX)
		return "needs a tb_freq from 1 to 2^32 - 1";
	if (p->pmu.setup_aux && !p->pmu.free_aux)
		return "has setup_aux, so it needs free_aux";
	if (p->pmu.capabilities & PERF_PMU_CAP_EXCLUSIVE)
		return "must not be PERF_PMU_CAP_EXCLUSIVE: that is one event a CPU";
	return NULL;
}

/**
 * kdtl_pmu_add() - what kdtl_pmu_register() does
 * @p: the source
 *
 * Context: may sleep.
 * Return: 0 or an errno, see there.
 */
int kdtl_pmu_add(struct kdtl_pmu *p)
{
	const char *wrong = kdtl_pmu_wrong(p);
	int err;

	if (wrong) {
		pr_warn("PMU \"%s\": %s\n", p->name ?: "", wrong);
		return -EINVAL;
	}

	p->cpu = alloc_percpu(struct kdtl_pmu_cpu);
	if (!p->cpu)
		return -ENOMEM;
	p->users = 0;
	kdtl_pmu_fill(&p->pmu);

	mutex_lock(&kdtl_pmus_lock);
	if (kdtl_pmu_find(p->name)) {
		pr_warn("PMU %s is registered already\n", p->name);
		err = -EEXIST;
	} else {
		err = perf_pmu_register(&p->pmu, p->name, -1);
	}
	if (!err)
		list_add_tail(&p->node, &kdtl_pmus);
	mutex_unlock(&kdtl_pmus_lock);

	if (err)
		free_percpu(p->cpu);
	return err;
}

/**
 * kdtl_pmu_del() - what kdtl_pmu_unregister() does
 * @p: the source
 *
 * Context: may sleep.
 */
void kdtl_pmu_del(struct kdtl_pmu *p)
{
	mutex_lock(&kdtl_pmus_lock);
	list_del(&p->node);
	mutex_unlock(&kdtl_pmus_lock);
	perf_pmu_unregister(&p->pmu);
	free_percpu(p->cpu);
}
