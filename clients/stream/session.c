// SPDX-License-Identifier: GPL-2.0
/* The kdtl session of a file: setup, start, stop, and what wakes its reader. */
#define pr_fmt(fmt) "kdtl_stream: " fmt

#include <linux/bitops.h>
#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/kdtl_verbs.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "stream.h"

static char *pmu;
module_param(pmu, charp, 0444);
MODULE_PARM_DESC(pmu, "source of files that name none: kdtl_sched, kdtl_steal or kdtl_vpa (default: the best there is)");

static unsigned int aux_pages = 64;
module_param(aux_pages, uint, 0444);
MODULE_PARM_DESC(aux_pages, "pages per CPU of files that name no number, a power of two (default 64)");

#define STREAM_PERIOD	(100 * NSEC_PER_MSEC)

/**
 * stream_defaults_valid() - check the parameters when the module is loaded
 *
 * Otherwise they would fail only when a file is used.
 *
 * Return: true if they are valid; if not, the log says why.
 */
bool stream_defaults_valid(void)
{
	if (is_power_of_2(aux_pages) && aux_pages <= KDTL_MAX_PAGES)
		return true;
	pr_warn("aux_pages=%u: must be a power of two up to %u\n", aux_pages, KDTL_MAX_PAGES);
	return false;
}

/**
 * stream_charge() - account for memory that a user has pinned
 * @mm: memory of the process
 * @pages: number of pages
 *
 * perf does the same with what exceeds perf_event_mlock_kb, an allowance that
 * modules cannot see.
 *
 * Context: any.
 * Return: 0, or -EPERM: more than RLIMIT_MEMLOCK, without CAP_IPC_LOCK.
 */
int stream_charge(struct mm_struct *mm, unsigned long pages)
{
	const u64 limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

	if ((u64)atomic64_add_return(pages, &mm->pinned_vm) <= limit ||
	    capable(CAP_IPC_LOCK))
		return 0;
	stream_uncharge(mm, pages);
	return -EPERM;
}

/**
 * stream_uncharge() - undo stream_charge()
 * @mm: memory of the process
 * @pages: number of pages
 *
 * Context: any.
 */
void stream_uncharge(struct mm_struct *mm, unsigned long pages)
{
	atomic64_sub(pages, &mm->pinned_vm);
}

/* Runs in hard irq, or on PREEMPT_RT in a thread: waking is allowed here. */
static void stream_wake(struct irq_work *work)
{
	struct stream *st = container_of(work, struct stream, wake);

	stream_publish(st);
	/* Atomic, as the irq_work may run on two CPUs if it is queued while it runs. */
	atomic_inc(&st->wakes);
	wake_up_interruptible_poll(&st->waitq, EPOLLIN | EPOLLRDNORM);
}

static void stream_session_wake(void *data)
{
	struct stream *st = data;

	irq_work_queue(&st->wake);
}

/**
 * stream_session_init() - prepare for a session and its wake-ups
 * @st: the stream
 *
 * Context: when the file is opened.
 */
void stream_session_init(struct stream *st)
{
	init_waitqueue_head(&st->waitq);
	init_irq_work(&st->wake, stream_wake);
}

/*
 * The mask of a 32-bit program has words of 32 bits.  On a big-endian CPU, each two of them are in
 * the wrong halves of a 64-bit word.
 */
static void stream_fix_compat_cpus(struct cpumask *cpus)
{
	unsigned long *word = cpumask_bits(cpus);
	unsigned int i;

	if (!IS_ENABLED(CONFIG_CPU_BIG_ENDIAN) || !in_compat_syscall())
		return;
	for (i = 0; i < cpumask_size() / sizeof(*word); i++)
		word[i] = ror64(word[i], 32);
}

static int stream_get_cpus(struct stream *st, const struct kdtl_stream_attr *attr)
{
	const size_t len = min_t(size_t, attr->cpus_len, cpumask_size());

	if (!attr->cpus && !attr->cpus_len) {
		cpumask_copy(st->cpus, cpu_possible_mask);
	} else {
		cpumask_clear(st->cpus);
		if (copy_from_user(cpumask_bits(st->cpus), u64_to_user_ptr(attr->cpus), len))
			return -EFAULT;
		stream_fix_compat_cpus(st->cpus);
		cpumask_and(st->cpus, st->cpus, cpu_possible_mask);
	}
	st->cpu = cpumask_weight(st->cpus) == 1 ? cpumask_first(st->cpus) : -1;
	return 0;
}

/* Only online CPUs have areas; CPUs that come online later are not charged for. */
static unsigned long stream_pages(struct stream *st, unsigned int per_cpu)
{
	unsigned int cpu, nr = 0;

	for_each_cpu_and(cpu, st->cpus, cpu_online_mask)
		nr++;
	return (unsigned long)nr * per_cpu;
}

/*
 * Begin to keep track of tasks before the first entry, if the source's entries name tasks.  A
 * program cannot see kdtl_aux_info::idle, so asking for idle times that are not logged must fail.
 */
static int stream_prepare(struct stream *st, struct kdtl_session *s, u32 mask)
{
	struct kdtl_aux_info info;
	struct kdtl_tasks *t;
	int err = kdtl_aux_info(s, -1, &info);

	if (!err && mask & KDTL_MASK_IDLE && !info.idle)
		err = -EOPNOTSUPP;
	if (err || !info.tasks)
		return err;
	t = kdtl_tasks_open();
	if (IS_ERR(t))
		return PTR_ERR(t);
	st->tasks = t;
	return 0;
}

/**
 * stream_setup() - create and load the session
 * @st: the stream
 * @attr: what to log
 *
 * Context: under stream::verbs.
 * Return: 0 or an errno, see KDTL_IOC_SETUP.
 */
int stream_setup(struct stream *st, const struct kdtl_stream_attr *attr)
{
	struct kdtl_session_attr sa = {
		.pmu		= attr->source[0] ? attr->source : pmu,
		.cpus		= attr->cpus ? st->cpus : NULL,
		.aux_pages	= attr->aux_pages ?: aux_pages,
		.watermark	= attr->watermark,
		.mask		= attr->mask,
		.period		= attr->period ?: STREAM_PERIOD,
		.min_wait	= attr->min_wait,
		.wake		= stream_session_wake,
		.wake_data	= st,
	};
	struct kdtl_session *s;
	unsigned long pages;
	int err;

	if (st->session)
		return -EBUSY;
	if (attr->flags & ~KDTL_STREAM_OVERWRITE || attr->reserved ||
	    strnlen(attr->source, KDTL_SOURCE_LEN) == KDTL_SOURCE_LEN)
		return -EINVAL;
	err = stream_get_cpus(st, attr);
	if (err)
		return err;
	if (attr->flags & KDTL_STREAM_OVERWRITE)
		sa.flags |= KDTL_SESSION_OVERWRITE;
	/* Messages become records, and only a file of one CPU can map those. */
	sa.msg_pages = st->cpu >= 0;

	pages = stream_pages(st, sa.aux_pages);
	err = stream_budget_take(st, &sa);
	if (err)
		return err;
	err = stream_charge(st->mm, pages);
	if (err)
		goto give;
	s = kdtl_session_create(&sa);
	if (IS_ERR(s)) {
		err = PTR_ERR(s);
		goto uncharge;
	}
	err = stream_prepare(st, s, attr->mask);
	if (!err)
		err = kdtl_load(s, NULL);
	if (err)
		goto close;

	st->charged = pages;
	st->overwrite = attr->flags & KDTL_STREAM_OVERWRITE;
	st->watermark = sa.watermark ?: (u64)sa.aux_pages << (PAGE_SHIFT - 1);
	st->next = cpumask_first(st->cpus);
	/* Pairs with the acquire in stream_session(). */
	smp_store_release(&st->session, s);
	return 0;

close:
	kdtl_session_close(s);
	irq_work_sync(&st->wake);
	kdtl_tasks_close(st->tasks);
	st->tasks = NULL;
uncharge:
	stream_uncharge(st->mm, pages);
give:
	stream_budget_give(st);
	return err;
}

/**
 * stream_setup_default() - give a file that was not set up the defaults
 * @st: the stream
 *
 * Context: under stream::verbs.
 * Return: 0 or an errno, see KDTL_IOC_SETUP.
 */
int stream_setup_default(struct stream *st)
{
	const struct kdtl_stream_attr attr = { };
	int err;

	if (st->session)
		return 0;
	err = stream_setup(st, &attr);
	/* A program that only asked for numbers still wants a read() to start it. */
	st->start_again = !err;
	return err;
}

/**
 * stream_start() - start logging, with the defaults if nothing is set up
 * @st: the stream
 *
 * Context: under stream::verbs.
 * Return: 0 or an errno.
 */
int stream_start(struct stream *st)
{
	int err = stream_setup_default(st);

	if (!err)
		err = kdtl_start(st->session);
	if (!err) {
		WRITE_ONCE(st->running, true);
		st->start_again = false;
	}
	return err;
}

/**
 * stream_start_default() - start a file that is read before it was set up
 * @st: the stream
 *
 * Context: under stream::verbs.
 * Return: 0 or an errno.
 */
int stream_start_default(struct stream *st)
{
	if (st->session && !st->start_again)
		return 0;
	/* If this fails, the next reader tries again, as nothing was stopped. */
	return stream_start(st);
}

/**
 * stream_stop() - stop logging
 * @st: the stream
 *
 * Context: under stream::verbs.
 * Return: 0 or an errno.
 */
int stream_stop(struct stream *st)
{
	int err = stream_setup_default(st);

	if (!err)
		err = kdtl_stop(st->session);
	if (err)
		return err;
	stream_publish(st);
	st->start_again = false;
	WRITE_ONCE(st->running, false);
	/* Readers that wait for more entries will not get any. */
	wake_up_interruptible_poll(&st->waitq, EPOLLIN | EPOLLRDNORM);
	return 0;
}

/**
 * stream_info() - state and counts of the session
 * @st: the stream
 * @out: filled in, for the CPU that it names
 *
 * Context: under stream::verbs.
 * Return: 0 or an errno.
 */
int stream_info(struct stream *st, struct kdtl_stream_info *out)
{
	struct kdtl_aux_info info;
	int err;

	err = stream_setup_default(st);
	if (err)
		return err;
	stream_publish(st);
	err = kdtl_aux_info(st->session, out->cpu, &info);
	if (err)
		return err;
	*out = (struct kdtl_stream_info) {
		.cpu		= out->cpu,
		.state		= (info.online ? KDTL_STREAM_ONLINE : 0) |
				  (st->running ? KDTL_STREAM_RUNNING : 0),
		.produced	= info.produced,
		.consumed	= info.consumed,
		.lost		= info.lost,
		.unread		= info.unread,
		.filtered	= info.filtered,
		.moves		= info.moves,
		.went		= info.went,
		.came		= info.came,
		.tb_freq	= info.tb_freq,
		.tb_boot	= info.tb_boot,
		.aux_size	= info.size,
		.watermark	= info.watermark,
	};
	strscpy(out->source, info.source, sizeof(out->source));
	return 0;
}

/**
 * stream_clock() - read the time base and the clocks at one moment
 * @st: the stream
 * @clock: filled in
 *
 * Context: under stream::verbs.
 * Return: 0 or an errno.
 */
int stream_clock(struct stream *st, struct kdtl_stream_clock *clock)
{
	struct kdtl_timebase tb = {};
	int err = stream_setup_default(st);

	if (!err)
		err = kdtl_timebase_sync(st->session, &tb);
	if (err)
		return err;
	clock->ticks = tb.ticks;
	clock->monotonic = tb.mono;
	clock->boottime = tb.mono + tb.boot;
	clock->realtime = tb.mono + tb.real;
	return 0;
}

/**
 * stream_session_close() - close the session, if there is one
 * @st: the stream
 *
 * Nobody reads or maps the file, and no pipe has a chunk of it, because a reader,
 * a mapping or a chunk would hold a reference to the file.
 *
 * Context: when the last reference to the file has gone.
 */
void stream_session_close(struct stream *st)
{
	struct kdtl_session *s = st->session;

	/* stream_wake() may be running on another CPU. */
	spin_lock_irq(&st->ring_lock);
	WRITE_ONCE(st->session, NULL);
	spin_unlock_irq(&st->ring_lock);
	kdtl_session_close(s);
	irq_work_sync(&st->wake);
	kdtl_tasks_close(st->tasks);
	stream_budget_give(st);
	stream_uncharge(st->mm, st->charged);
}
