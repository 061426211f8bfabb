// SPDX-License-Identifier: GPL-2.0
/*
 * A session's perf events, one per CPU, as CPUs come and go
 *
 * A kernel event dies with its CPU, and none can be created on an offline CPU.
 * So each loaded session is an instance of a CPU hotplug state: a CPU's event is
 * created when the CPU comes up or the session is loaded, and released when the
 * CPU goes down or the session is unloaded.  The AUX area and its unread data
 * stay.  The callbacks run with the hotplug lock held, so they must not take
 * kdtl_session::lock, which is held while an instance is added.
 *
 * kdtl_cpus_load() and kdtl_cpus_unload() do not have the kernel call the callbacks.  The kernel
 * would wait for a thread of each CPU, which cannot run while a real-time task holds the CPU,
 * and that is just when somebody wants to look.  So they do the same from the caller's thread,
 * under the read side of the hotplug lock.  perf reaches other CPUs by interrupts.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/cpuhotplug.h>
#include <linux/error-injection.h>
#include <linux/moduleparam.h>
#include <linux/perf_event.h>

#include "counting.h"
#include "session.h"
#include "source.h"
#include "wake.h"
#include "writer.h"

static unsigned int max_session_mb = 1024;
module_param(max_session_mb, uint, 0644);
MODULE_PARM_DESC(max_session_mb, "maximum memory of a session, in MiB (default 1024)");

static enum cpuhp_state kdtl_hotplug_state;

/**
 * kdtl_session_mem_allowed() - check a session's memory against max_session_mb
 * @s: the session
 * @more: bytes that it asks for on top of what it has
 *
 * Context: any.
 * Return: true, or false with a line in the log.
 */
bool kdtl_session_mem_allowed(struct kdtl_session *s, u64 more)
{
	const u64 cap = (u64)READ_ONCE(max_session_mb) << 20;
	const u64 have = atomic64_read(&s->mem);

	if (have + more <= cap)
		return true;
	pr_warn_ratelimited("%s: a session of %llu KiB is over the cap: max_session_mb=%u (/sys/module/kdtl/parameters)\n",
			    s->owner, (have + more) >> 10, READ_ONCE(max_session_mb));
	return false;
}

static noinline struct perf_event *kdtl_event_create(struct kdtl_session *s,
						     struct kdtl_aux *aux)
{
	struct perf_event_attr attr = {
		.type		= s->pmu->pmu.type,
		.size		= sizeof(attr),
		/* perf shows this mask, but that of the active set decides. */
		.config		= kdtl_pmu_tells_wakes(s->pmu) ? KDTL_MASK_WAKE : KDTL_MASK_ALL,
		/* An enabled event writes at once, so it needs its area first. */
		.disabled	= 1,
		/* A task's pinned events must not displace this one. */
		.pinned		= 1,
	};

	return perf_event_create_kernel_counter(&attr, aux->cpu, NULL,
						kdtl_overflow, aux);
}
ALLOW_ERROR_INJECTION(kdtl_event_create, ERRNO);

/*
 * Find or make the CPU's area.  It stays until the session is closed: there may be readers.  In
 * case of an error, @why is set to the reason, for the log.
 */
static struct kdtl_aux *kdtl_cpu_area(struct kdtl_session *s, int cpu,
				      const char **why)
{
	struct kdtl_aux *aux = kdtl_session_aux(s, cpu);
	const u64 mem = kdtl_aux_mem(s->layout.nr_pages);

	if (aux)
		return aux;
	*why = "over max_session_mb";
	if (!kdtl_session_mem_allowed(s, mem))
		return ERR_PTR(-ENOMEM);
	aux = s->ops->alloc(s, cpu);
	if (IS_ERR(aux)) {
		*why = PTR_ERR(aux) == -ENOMEM ? "out of memory" : "its AUX area cannot be mapped";
		return aux;
	}
	atomic64_add(mem, &s->mem);
	/*
	 * [aux.P] A reader that finds the area finds it complete.  Pairs with the address
	 * dependency: see kdtl_session_aux().
	 */
	smp_store_release(per_cpu_ptr(s->aux, cpu), aux);
	return aux;
}

/*
 * Note that events are about to be enabled.  @n is 1 for the events of all CPUs, and 2, so that
 * the number stays odd, for that of a CPU that comes online in a session that is started.
 */
static void kdtl_cpus_begin(struct kdtl_session *s, u32 n)
{
	WRITE_ONCE(s->starts, s->starts + n);
	/*
	 * [merge.S] pairs with R in kdtl_merge_sync(): if the merge does not see the new number,
	 * the first entry is not older than its horizon.
	 */
	smp_mb();
}

/* Create the CPU's event, and enable it if the session is started. */
static int kdtl_event_open(struct kdtl_aux *aux, const char **why)
{
	struct kdtl_session *s = aux->session;
	struct perf_event *event;
	int err = 0;

	event = kdtl_event_create(s, aux);
	if (IS_ERR(event)) {
		err = PTR_ERR(event);
		if (err == -ENOMEM)
			*why = "out of memory";
		return err;
	}
	if (aux->nr_pages && !aux->priv)
		err = kdtl_aux_setup(aux, event);
	if (err)
		goto release;
	if (s->state == KDTL_STARTED) {
		kdtl_cpus_begin(s, 2);
		perf_event_enable(event);
	}
	/* An event that is refused after this posts a message itself. */
	WRITE_ONCE(aux->event, event);
	err = READ_ONCE(aux->error);
	if (!err)
		return 0;

	WRITE_ONCE(aux->event, NULL);
release:
	perf_event_release_kernel(event);
	return err;
}

static void kdtl_event_close(struct kdtl_aux *aux)
{
	perf_event_release_kernel(aux->event);
}

static void kdtl_event_enable(struct kdtl_aux *aux, bool enable)
{
	if (enable)
		perf_event_enable(aux->event);
	else
		perf_event_disable(aux->event);
}

/* Readers of these call kdtl_area_peek() and so on, which are inline, and no ops. */
const struct kdtl_area_ops kdtl_own_areas = {
	.entries	= true,
	.alloc		= kdtl_aux_alloc,
	.free		= kdtl_aux_free,
	.open		= kdtl_event_open,
	.close		= kdtl_event_close,
	.enable		= kdtl_event_enable,
	.settle		= kdtl_aux_settle,
};

/* Open a CPU, or say in the log why not. */
static int kdtl_cpu_open(struct kdtl_session *s, int cpu)
{
	const char *why;
	struct kdtl_aux *aux = kdtl_cpu_area(s, cpu, &why);
	int err = PTR_ERR_OR_ZERO(aux);

	/* The load may have opened this CPU before it had come up all the way. */
	if (!err && !aux->event) {
		WRITE_ONCE(aux->error, 0);
		why = "the PMU refuses it";
		err = s->ops->open(aux, &why);
	}
	if (err)
		pr_warn_ratelimited("%s: CPU %d is not logged by %s: %s (%d)\n", s->owner, cpu,
				    s->pmu->name, why, err);
	return err;
}

static void kdtl_cpu_close(struct kdtl_session *s, int cpu)
{
	struct kdtl_aux *aux = kdtl_session_aux(s, cpu);

	if (!aux || !aux->event)
		return;
	s->ops->close(aux);
	WRITE_ONCE(aux->event, NULL);
	s->ops->settle(aux);
}

static u64 kdtl_cpus_clock(struct kdtl_session *s)
{
	unsigned long flags;
	u64 ticks;

	local_irq_save(flags);
	ticks = kdtl_source_clock(s->pmu);
	local_irq_restore(flags);
	return ticks;
}

/*
 * Note when the CPU came or went.  Nothing orders the count and the times: a reader that looks at
 * the same moment, and counts a move whose time it does not see yet, seems to have missed one.
 */
static void kdtl_cpu_moved(struct kdtl_aux *aux, bool online, u64 ticks)
{
	kdtl_u64_set(online ? &aux->came : &aux->went, ticks);
	kdtl_u64_add(&aux->moves, 1);
}

static void kdtl_cpu_announce(struct kdtl_session *s, int cpu, bool online, int err, u64 ticks)
{
	struct kdtl_aux *aux = kdtl_session_aux(s, cpu);

	if (aux && !err)
		kdtl_cpu_moved(aux, online, ticks);
	kdtl_msg_cpu(s, cpu, online, err);
	kdtl_session_wake(s);
}

/*
 * Do the callbacks have to do anything for this CPU?  kdtl_cpus_load() and kdtl_cpus_unload()
 * open and close CPUs themselves, and change the state under the hotplug lock.
 */
static bool kdtl_cpu_follows(struct kdtl_session *s, int cpu)
{
	return s->state != KDTL_CREATED && cpumask_test_cpu(cpu, s->loaded);
}

/*
 * Never fails, because an error would keep the CPU from coming up.  The reader gets a
 * message about the error instead.
 */
static int kdtl_cpu_online(unsigned int cpu, struct hlist_node *node)
{
	struct kdtl_session *s = hlist_entry(node, struct kdtl_session, hotplug);
	u64 ticks;
	int err;

	if (!kdtl_cpu_follows(s, cpu))
		return 0;
	/* No entry is older. */
	ticks = kdtl_cpus_clock(s);
	err = kdtl_cpu_open(s, cpu);
	kdtl_cpu_announce(s, cpu, !err, err, ticks);
	return 0;
}

static int kdtl_cpu_offline(unsigned int cpu, struct hlist_node *node)
{
	struct kdtl_session *s = hlist_entry(node, struct kdtl_session, hotplug);

	if (!kdtl_cpu_follows(s, cpu))
		return 0;
	kdtl_cpu_close(s, cpu);
	kdtl_cpu_announce(s, cpu, false, 0, kdtl_cpus_clock(s));
	return 0;
}

/**
 * kdtl_cpus_lock() - keep CPUs from going on- or offline until cpus_read_unlock()
 * @s: the session, for the log
 *
 * CPU hotplug waits for a thread of the CPU, which cannot run while a real-time task holds the
 * CPU, so this may take long.  The log then says so.
 *
 * Context: under kdtl_session::lock; may sleep.
 */
void kdtl_cpus_lock(struct kdtl_session *s)
{
	struct kdtl_late late;

	if (cpus_read_trylock())
		return;
	kdtl_late_begin(&late, s->owner, "a verb waits until no CPU is going on- or offline");
	cpus_read_lock();
	kdtl_late_end(&late);
}

/**
 * kdtl_cpus_await() - wait until no CPU is going on- or offline, and log a long wait
 * @s: the session, for the log
 *
 * Call it before functions of the kernel that take the hotplug lock: these wait in silence.
 *
 * Context: task, may sleep.
 */
void kdtl_cpus_await(struct kdtl_session *s)
{
	kdtl_cpus_lock(s);
	cpus_read_unlock();
}

/* Open all CPUs, or none, with the hotplug lock held. */
static int kdtl_cpus_open(struct kdtl_session *s)
{
	int cpu, err = 0;

	for_each_cpu_and(cpu, s->loaded, cpu_online_mask) {
		err = kdtl_cpu_open(s, cpu);
		if (err)
			break;
	}
	if (!err)
		return 0;
	for_each_cpu(cpu, s->loaded)
		kdtl_cpu_close(s, cpu);
	return err;
}

/**
 * kdtl_cpus_load() - create the events of all loaded CPUs, and follow hotplug
 * @s: the session, which becomes KDTL_STOPPED
 *
 * Context: under kdtl_session::lock; may sleep.
 * Return: 0, or the first error of a CPU; then no CPU has an event.
 */
int kdtl_cpus_load(struct kdtl_session *s)
{
	int err;

	lockdep_assert_held(&s->lock);
	kdtl_cpus_await(s);
	err = cpuhp_state_add_instance_nocalls(kdtl_hotplug_state, &s->hotplug);
	if (err)
		return err;

	/* No CPU may come up after the last event was created and before the state changes. */
	kdtl_cpus_lock(s);
	err = kdtl_cpus_open(s);
	if (!err)
		WRITE_ONCE(s->state, KDTL_STOPPED);
	cpus_read_unlock();
	if (err)
		cpuhp_state_remove_instance_nocalls(kdtl_hotplug_state, &s->hotplug);
	return err;
}

/**
 * kdtl_cpus_unload() - undo kdtl_cpus_load(); then no event writes any more
 * @s: the session, stopped, which becomes KDTL_CREATED
 *
 * Context: under kdtl_session::lock; may sleep.
 */
void kdtl_cpus_unload(struct kdtl_session *s)
{
	int cpu;

	lockdep_assert_held(&s->lock);
	kdtl_cpus_lock(s);
	WRITE_ONCE(s->state, KDTL_CREATED);
	for_each_cpu(cpu, s->loaded)
		kdtl_cpu_close(s, cpu);
	cpus_read_unlock();
	cpuhp_state_remove_instance_nocalls(kdtl_hotplug_state, &s->hotplug);
}

static void kdtl_cpus_enable(struct kdtl_session *s, bool enable)
{
	struct kdtl_aux *aux;
	int cpu;

	for_each_cpu(cpu, s->loaded) {
		aux = kdtl_session_aux(s, cpu);
		if (aux && aux->event)
			s->ops->enable(aux, enable);
	}
}

/* Disable all events, then report everything that they have written. */
static void kdtl_cpus_off(struct kdtl_session *s)
{
	struct kdtl_aux *aux;
	int cpu;

	WRITE_ONCE(s->state, KDTL_STOPPED);
	kdtl_cpus_enable(s, false);
	for_each_cpu(cpu, s->loaded) {
		aux = kdtl_session_aux(s, cpu);
		if (!aux)
			continue;
		s->ops->settle(aux);
		/* The next start tries again. */
		WRITE_ONCE(aux->error, 0);
	}
	/* [merge.E] pairs with F in kdtl_merge_sync(): whoever sees it even sees all entries. */
	smp_store_release(&s->starts, s->starts + 1);
}

/**
 * kdtl_cpus_start() - enable every CPU's event, or none
 * @s: the session, loaded
 *
 * Context: under kdtl_session::lock; may sleep.
 * Return: 0, or the source's error on the first CPU that it refused.
 */
int kdtl_cpus_start(struct kdtl_session *s)
{
	struct kdtl_aux *aux;
	int cpu, err = 0;

	lockdep_assert_held(&s->lock);
	kdtl_cpus_lock(s);
	kdtl_cpus_begin(s, 1);
	/* Until the state changes, a refused event posts no message: the caller gets the error. */
	kdtl_cpus_enable(s, true);
	WRITE_ONCE(s->state, KDTL_STARTED);
	for_each_cpu(cpu, s->loaded) {
		aux = kdtl_session_aux(s, cpu);
		err = aux ? READ_ONCE(aux->error) : 0;
		if (err) {
			pr_warn_ratelimited("%s: not started: %s refuses CPU %d (%d)\n",
					    s->owner, s->pmu->name, cpu, err);
			break;
		}
	}
	if (err)
		kdtl_cpus_off(s);
	cpus_read_unlock();
	return err;
}

/**
 * kdtl_cpus_stop() - disable every CPU's event; then no entry is written any more
 * @s: the session, started
 *
 * Context: under kdtl_session::lock; may sleep.
 */
void kdtl_cpus_stop(struct kdtl_session *s)
{
	lockdep_assert_held(&s->lock);
	kdtl_cpus_lock(s);
	kdtl_cpus_off(s);
	cpus_read_unlock();
}

int __init kdtl_cpus_init(void)
{
	int ret;

	ret = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "kdtl:online",
				      kdtl_cpu_online, kdtl_cpu_offline);
	if (ret < 0)
		return ret;
	kdtl_hotplug_state = ret;
	return 0;
}

void kdtl_cpus_exit(void)
{
	cpuhp_remove_multi_state(kdtl_hotplug_state);
}
