// SPDX-License-Identifier: GPL-2.0
/*
 * The simple form: a reader that kdtl runs
 *
 * One work item looks at all CPUs: on a thread of its own (a kthread_worker) or on the
 * client's workqueue.  It is queued by the session's wake-ups, by a timer for the longest
 * time between two looks, and by kdtl_flush().  It does not sleep in kdtl_wait(), which
 * would take wake-ups away from a client that waits for messages.
 *
 * A wake-up comes with a raw spinlock held (core/wake.c).  To queue work is allowed
 * there, with PREEMPT_RT too: the locks of both kinds of workers are raw.
 *
 * The timer ends in hard irq, because a real-time task that never sleeps may keep the
 * softirqs of its CPU, and with them the timer wheel, waiting in ksoftirqd.  A reader that
 * watches for such tasks must not depend on them.
 *
 * For the same reason the reader takes no lock that a verb holds: the task in the verb may not
 * get a CPU for long, because of a real-time task.  Only kdtl_load() changes what the reader
 * reads, and kdtl_load() waits for the reader, see kdtl_reader_pause().
 *
 * A callback may close or flush the session of another reader, and then waits for that reader's
 * callback.  If the other callback did the same with this reader, both would wait for ever.  So
 * kdtl keeps track of which reader waits for which, and refuses a wait that would close such a
 * circle.  It also refuses a work item that would wait for a reader queued behind it in an
 * ordered workqueue.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/export.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/prio.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "../core/compat.h"
#include "../core/gaps.h"
#include "reader.h"

/**
 * struct kdtl_runner - a reader that kdtl runs
 * @session: its session
 * @reader: what to call, and how to run
 * @worker: the thread; NULL: @reader.wq
 * @thread_work: the work item for @worker
 * @wq_work: the work item for @reader.wq
 * @timer: queues the work item; not started any more once kdtl_session::wake is the
 *	client's again
 * @mute: do not call @reader any more
 * @task: the task that is calling @reader, or NULL
 * @node: in kdtl_runners
 * @awaits: the reader for which a callback of this one waits, or NULL
 * @map: a lock, for lockdep: callbacks hold it, and whoever waits for them takes it
 * @key: class of @map
 * @wake: the client's kdtl_session::wake
 * @wake_data: its argument
 */
struct kdtl_runner {
	struct kdtl_session	*session;
	struct kdtl_reader	reader;
	struct kthread_worker	*worker;
	struct kthread_work	thread_work;
	struct work_struct	wq_work;
	struct hrtimer		timer;
	bool			mute;
	struct task_struct	*task;
	struct list_head	node;
	struct kdtl_runner	*awaits;
	struct lockdep_map	map;
	struct lock_class_key	key;
	void			(*wake)(void *data);
	void			*wake_data;
};

/* All readers; the lock also protects kdtl_runner::awaits. */
static DEFINE_SPINLOCK(kdtl_runners_lock);
static LIST_HEAD(kdtl_runners);

/**
 * kdtl_reader_check() - check a reader's properties
 * @reader: the reader
 * @caller: an address in the function that opens the session, for the log
 *
 * Context: any.
 * Return: 0 or -EINVAL.
 */
int kdtl_reader_check(const struct kdtl_reader *reader, void *caller)
{
	const char *why = NULL;

	if (!reader || !reader->span)
		why = "needs a reader with span()";
	else if (reader->nice < MIN_NICE || reader->nice > MAX_NICE)
		why = "the reader's nice value is out of range";
	else if (reader->fifo && reader->nice)
		why = "a reader has fifo or a nice value, not both";
	else if (reader->wq && (reader->name || reader->fifo || reader->nice))
		why = "a reader on a workqueue has no thread, so no name, fifo or nice value";
	if (!why)
		return 0;
	pr_warn("%ps: open: %s\n", caller, why);
	return -EINVAL;
}

static void kdtl_runner_queue(struct kdtl_runner *r)
{
	if (r->worker)
		kthread_queue_work(r->worker, &r->thread_work);
	else
		queue_work(r->reader.wq, &r->wq_work);
}

/* Make the reader look, and wait until it has done so. */
static void kdtl_runner_flush(struct kdtl_runner *r)
{
	lock_map_acquire(&r->map);
	lock_map_release(&r->map);
	if (r->worker) {
		kdtl_runner_queue(r);
		kthread_flush_work(&r->thread_work);
		return;
	}
	/*
	 * On a bound workqueue the item is queued on the CPU of the last wake-up, where a real-time
	 * task may keep it from running.  Queue it here instead: this CPU runs at least the caller.
	 */
	cancel_work(&r->wq_work);
	kdtl_runner_queue(r);
	flush_work(&r->wq_work);
}

/*
 * The head of struct worker (kernel/workqueue_internal.h), the same from 6.1 to 7.2.  It is needed
 * because the kernel exports nothing that tells in which workqueue a work item runs.
 */
struct kdtl_worker_head {
	struct list_head	entry;	/* in a union with a hlist_node of that size */
	struct work_struct	*current_work;
	work_func_t		current_func;
	void			*current_pwq;
};

/*
 * Does the reader's work item wait until the caller's work item ends?  It does if both are in the
 * same queue, and the queue is ordered, or as full as it may be.
 */
static bool kdtl_runner_is_behind(struct kdtl_runner *r)
{
	const struct work_struct *mine = current_work();
	const struct kdtl_worker_head *worker;
	unsigned long data;

	if (!mine || r->worker)
		return false;
	worker = kthread_data(current);
	if (worker->current_work != mine)
		return false;
	kdtl_runner_queue(r);
	data = READ_ONCE(*work_data_bits(&r->wq_work));
	/* The data of an item that waits has the upper bits of its queue's address. */
	return (data & WORK_STRUCT_INACTIVE) &&
	       !((data ^ (unsigned long)worker->current_pwq) >>
		 (WORK_STRUCT_COLOR_SHIFT + WORK_STRUCT_COLOR_BITS));
}

static enum hrtimer_restart kdtl_runner_timer(struct hrtimer *timer)
{
	kdtl_runner_queue(container_of(timer, struct kdtl_runner, timer));
	return HRTIMER_NORESTART;
}

/* The session's wake(). */
static void kdtl_runner_wake(void *data)
{
	struct kdtl_runner *r = data;

	if (r->wake)
		r->wake(r->wake_data);
	kdtl_runner_queue(r);
}

/* Cut @span off before the next loss, and say what was lost before its first entry. */
static void kdtl_runner_cut(struct kdtl_aux *aux, struct kdtl_span *span)
{
	const u64 tail = kdtl_u64_read(&aux->tail);
	struct kdtl_gap gap;

	if (!kdtl_gaps_next(&aux->gaps, tail, &gap))
		return;
	if (gap.pos == tail) {
		span->lost = gap.lost;
		/* Entries have followed this gap, so it does not grow any more. */
		if (!kdtl_gaps_next(&aux->gaps, tail + 1, &gap))
			return;
	}
	span->nr = min_t(u64, span->nr, kdtl_entries(gap.pos - tail));
}

/*
 * Read one span of at most @most entries.  Returns the number of entries, or 0 if there are
 * no more to read.
 */
static u64 kdtl_runner_read(struct kdtl_runner *r, int cpu, u64 most)
{
	struct kdtl_session *s = r->session;
	struct kdtl_aux_info info;
	struct kdtl_span span = { .session = s, .cpu = cpu, .info = &info };
	const void *first = NULL;
	ssize_t len;
	u32 loads;

	/* If kdtl_load() has the lock, it drops the entries, and then queues the reader. */
	if (!mutex_trylock(&s->reading))
		return 0;
	loads = READ_ONCE(s->loads);
	kdtl_aux_info(s, cpu, &info);
	len = kdtl_reader_peek(s, cpu, &first);
	if (len >= (ssize_t)KDTL_ENTRY_SIZE) {
		span.entries = first;
		span.nr = min(most, kdtl_entries(len));
		kdtl_runner_cut(kdtl_session_aux(s, cpu), &span);
	}
	if (span.nr)
		r->reader.span(&span, r->reader.data);
	/* If span() itself has loaded the session again, its entries are gone already. */
	if (READ_ONCE(s->loads) == loads)
		kdtl_reader_consume(s, cpu, span.nr * KDTL_ENTRY_SIZE);
	else
		span.nr = 0;
	mutex_unlock(&s->reading);
	return span.nr;
}

/* Read what is unread now; what comes meanwhile is for the next look. */
static void kdtl_runner_read_cpu(struct kdtl_runner *r, int cpu)
{
	struct kdtl_aux_info info;
	u64 nr;

	if (kdtl_aux_info(r->session, cpu, &info))
		return;
	while (info.unread) {
		nr = kdtl_runner_read(r, cpu, info.unread);
		if (!nr)
			break;
		info.unread -= nr;
	}
}

/* Start the timer, unless kdtl_reader_end() has begun. */
static void kdtl_runner_sleep(struct kdtl_runner *r, unsigned int ms)
{
	struct kdtl_session *s = r->session;

	raw_spin_lock_irq(&s->wake_lock);
	if (s->wake == kdtl_runner_wake)
		hrtimer_start_range_ns(&r->timer, ms_to_ktime(ms), TICK_NSEC,
				       HRTIMER_MODE_REL_HARD);
	raw_spin_unlock_irq(&s->wake_lock);
}

static void kdtl_runner_look(struct kdtl_runner *r)
{
	unsigned int ms = 0;
	int cpu;

	if (READ_ONCE(r->mute))
		return;
	/* A reader that always finds more never sleeps: let other tasks and RCU go on. */
	cond_resched_tasks_rcu_qs();
	WRITE_ONCE(r->task, current);
	lock_map_acquire(&r->map);
	for_each_cpu(cpu, r->session->cpus) {
		kdtl_runner_read_cpu(r, cpu);
		cond_resched();
	}
	if (r->reader.round)
		ms = r->reader.round(r->session, r->reader.data);
	lock_map_release(&r->map);
	WRITE_ONCE(r->task, NULL);
	kdtl_runner_sleep(r, ms ?: r->reader.interval_ms ?: KDTL_DEFAULT_INTERVAL_MS);
}

static void kdtl_runner_thread_work(struct kthread_work *work)
{
	kdtl_runner_look(container_of(work, struct kdtl_runner, thread_work));
}

static void kdtl_runner_wq_work(struct work_struct *work)
{
	kdtl_runner_look(container_of(work, struct kdtl_runner, wq_work));
}

static struct kthread_worker *kdtl_runner_thread(const struct kdtl_reader *reader)
{
	struct kthread_worker *worker;

	worker = kthread_run_worker(0, "%s", reader->name ?: "kdtl_reader");
	if (IS_ERR(worker))
		return worker;
	if (reader->fifo)
		sched_set_fifo(worker->task);
	else
		set_user_nice(worker->task, reader->nice);
	return worker;
}

/* From now on other readers may wait for this one, and this one for others. */
static void kdtl_runner_list(struct kdtl_runner *r)
{
	static const char name[] = "kdtl_reader";

	/* Each reader is of a class of its own, because one may wait for another. */
	lockdep_register_key(&r->key);
	lockdep_init_map(&r->map, name, &r->key, 0);
	lockdep_set_class_and_name(&r->session->reading, &r->key, name);
	spin_lock(&kdtl_runners_lock);
	list_add(&r->node, &kdtl_runners);
	spin_unlock(&kdtl_runners_lock);
}

/* The reader has made its last call.  Callbacks that wait for it do so no more. */
static void kdtl_runner_unlist(struct kdtl_runner *r)
{
	struct kdtl_runner *other;

	spin_lock(&kdtl_runners_lock);
	list_del(&r->node);
	list_for_each_entry(other, &kdtl_runners, node) {
		if (other->awaits == r)
			other->awaits = NULL;
	}
	spin_unlock(&kdtl_runners_lock);
	lockdep_unregister_key(&r->key);
}

/* The reader whose callback the current task runs; NULL: it runs none. */
static struct kdtl_runner *kdtl_runner_mine(void)
{
	struct kdtl_runner *r;

	lockdep_assert_held(&kdtl_runners_lock);
	list_for_each_entry(r, &kdtl_runners, node) {
		if (READ_ONCE(r->task) == current)
			return r;
	}
	return NULL;
}

/*
 * Note that the caller waits for the callbacks of a session's reader.  Returns false if the wait
 * would never end, because the caller is one of these callbacks, or a callback for which they wait.
 */
static bool kdtl_reader_await(struct kdtl_session *s)
{
	struct kdtl_runner *mine, *r;

	if (!s->runner)
		return true;
	spin_lock(&kdtl_runners_lock);
	mine = kdtl_runner_mine();
	for (r = s->runner; mine && r && r != mine; r = r->awaits)
		;
	if (mine && !r)
		mine->awaits = s->runner;
	spin_unlock(&kdtl_runners_lock);
	return !mine || !r;
}

/* Undo kdtl_reader_await(), which kdtl_reader_end() does as well. */
static void kdtl_reader_awaited(struct kdtl_session *s)
{
	struct kdtl_runner *mine;

	if (!s->runner)
		return;
	spin_lock(&kdtl_runners_lock);
	mine = kdtl_runner_mine();
	if (mine)
		mine->awaits = NULL;
	spin_unlock(&kdtl_runners_lock);
}

/**
 * kdtl_reader_await_look() - note that the caller waits for one more look of a session's reader
 * @s: the session
 *
 * Context: task, may sleep.
 * Return: as kdtl_reader_await(), and false if the reader cannot look before the caller, a work
 * item of the same workqueue, has returned.
 */
bool kdtl_reader_await_look(struct kdtl_session *s)
{
	if (!kdtl_reader_await(s))
		return false;
	if (!s->runner || !kdtl_runner_is_behind(s->runner))
		return true;
	kdtl_reader_awaited(s);
	return false;
}

/* Is the caller a callback of the session's reader, so that it cannot wait for the reader? */
static bool kdtl_reader_calls(const struct kdtl_session *s)
{
	return s->runner && READ_ONCE(s->runner->task) == current;
}

/**
 * kdtl_reader_pause() - keep a session's reader or merge from reading
 * @s: the session, held, but not locked, because a callback may take that lock
 *
 * Waits until a call of span(), which may still use its span, or of kdtl_merge_sync() has
 * returned.  Until kdtl_reader_resume() the reader does not block, but finds nothing.  A callback
 * of the reader itself does not wait: it knows whether it still uses its span.
 *
 * Context: may sleep.
 * Return: 0; -EDEADLK: as kdtl_reader_await().
 */
int kdtl_reader_pause(struct kdtl_session *s)
{
	if (kdtl_reader_calls(s))
		return 0;
	if (!kdtl_reader_await(s)) {
		pr_warn_ratelimited("%s: load: must not be called from a callback of a reader for which the session's reader waits\n",
				    s->owner);
		return -EDEADLK;
	}
	mutex_lock(&s->reading);
	kdtl_reader_awaited(s);
	return 0;
}

/**
 * kdtl_reader_resume() - undo kdtl_reader_pause()
 * @s: the session
 *
 * Context: may sleep.
 */
void kdtl_reader_resume(struct kdtl_session *s)
{
	if (kdtl_reader_calls(s))
		return;
	mutex_unlock(&s->reading);
	if (s->runner)
		kdtl_runner_queue(s->runner);
}

/* Exchange the session's wake-up for one that queues the work item, or back. */
static void kdtl_runner_swap_wake(struct kdtl_runner *r, void (*wake)(void *data),
				  void *wake_data)
{
	struct kdtl_session *s = r->session;

	raw_spin_lock_irq(&s->wake_lock);
	WRITE_ONCE(s->wake, wake);
	s->wake_data = wake_data;
	raw_spin_unlock_irq(&s->wake_lock);
}

/**
 * kdtl_reader_start() - run a session's reader
 * @s: the session, just created, of which nobody else knows
 * @reader: the reader, checked; it is copied
 *
 * Context: may sleep.
 * Return: 0, or an errno of making the thread: -ENOMEM, -EINTR.
 */
int kdtl_reader_start(struct kdtl_session *s, const struct kdtl_reader *reader)
{
	struct kdtl_runner *r = kzalloc(sizeof(*r), GFP_KERNEL);
	int err;

	if (!r)
		return -ENOMEM;
	r->session = s;
	r->reader = *reader;
	r->wake = s->wake;
	r->wake_data = s->wake_data;
	kthread_init_work(&r->thread_work, kdtl_runner_thread_work);
	INIT_WORK(&r->wq_work, kdtl_runner_wq_work);
	hrtimer_setup(&r->timer, kdtl_runner_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	if (!reader->wq) {
		r->worker = kdtl_runner_thread(reader);
		if (IS_ERR(r->worker)) {
			err = PTR_ERR(r->worker);
			kfree(r);
			return err;
		}
	}
	kdtl_runner_list(r);
	mutex_lock(&s->lock);
	WRITE_ONCE(s->no_reader, true);
	s->runner = r;
	mutex_unlock(&s->lock);
	kdtl_runner_swap_wake(r, kdtl_runner_wake, r);
	/* Read what was logged before there was a reader. */
	kdtl_runner_queue(r);
	return 0;
}

/**
 * kdtl_reader_mute() - do not call the reader any more, not even for a last look
 * @s: the session
 *
 * For a module that goes and has not closed its session: the module's code is still there, but
 * its data may be gone.
 *
 * Context: any.
 */
void kdtl_reader_mute(struct kdtl_session *s)
{
	if (s->runner)
		WRITE_ONCE(s->runner->mute, true);
}

/**
 * kdtl_reader_end() - end a session's reader, if kdtl runs one, after a last look
 * @s: the session, unloaded, of which all users have gone
 *
 * Context: may sleep.
 */
void kdtl_reader_end(struct kdtl_session *s)
{
	struct kdtl_runner *r = s->runner;

	if (!r)
		return;
	/* From now on neither a wake-up nor the timer queues the work item. */
	kdtl_runner_swap_wake(r, r->wake, r->wake_data);
	hrtimer_cancel(&r->timer);
	kdtl_runner_flush(r);
	if (r->worker)
		kthread_destroy_worker(r->worker);
	kdtl_runner_unlist(r);
	s->runner = NULL;
	kfree(r);
}

/**
 * kdtl_flush() - give the reader of kdtl_session_open() what was logged until now
 * @s: the session
 *
 * When it returns, kdtl_reader::span() has been called with all entries that had been
 * logged when kdtl_flush() was called, and kdtl_reader::round() after them.  So after
 * kdtl_stop() and kdtl_flush() the client has seen everything.
 *
 * Context: task, may sleep.  Without a lock that the callbacks take; lockdep says so.
 * Return:
 * * 0
 * * -EINVAL: the session has no reader that kdtl runs, or @s is NULL
 * * -EDEADLK: called by a callback of this reader, or of another reader for which this one
 *   waits, or by a work item of the reader's workqueue (kdtl_reader::wq) while that is
 *   ordered or full, so that the reader would wait for the work item to end
 * * -ESHUTDOWN: the session is being closed
 */
int kdtl_flush(struct kdtl_session *s)
{
	int err = kdtl_session_begin(s, __func__, _RET_IP_);
	struct kdtl_late late;

	if (err)
		return err;
	if (!s->runner) {
		pr_warn_ratelimited("%s: flush: only sessions of kdtl_session_open() have a reader to wait for\n",
				    s->owner);
		err = -EINVAL;
	} else if (!kdtl_reader_await_look(s)) {
		pr_warn_ratelimited("%s: flush: must not be called from a callback of the session's reader, or from a callback or work item for which that reader waits\n",
				    s->owner);
		err = -EDEADLK;
	} else {
		kdtl_late_begin(&late, s->owner, "flush waits for the session's reader");
		kdtl_runner_flush(s->runner);
		kdtl_late_end(&late);
		kdtl_reader_awaited(s);
	}
	kdtl_session_release(s);
	return err;
}
EXPORT_SYMBOL_NS_GPL(kdtl_flush, KDTL_NS);
