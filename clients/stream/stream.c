// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_stream - /dev/kdtl: sessions for user space
 *
 * The ABI is described in <uapi/linux/kdtl.h>.
 */
#define pr_fmt(fmt) "kdtl_stream: " fmt

#include <linux/capability.h>
#include <linux/log2.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "stream.h"

static char *pmu;
module_param(pmu, charp, 0444);
MODULE_PARM_DESC(pmu, "source of files that name none: kdtl_sched or kdtl_vpa (default: the best there is)");

static unsigned int aux_pages = 64;
module_param(aux_pages, uint, 0444);
MODULE_PARM_DESC(aux_pages, "pages per CPU of files that name no number, a power of two (default 64)");

#define STREAM_PERIOD	(100 * NSEC_PER_MSEC)

/**
 * stream_charge() - account for memory that a user has pinned
 * @mm: whose
 * @pages: how many
 *
 * As perf does it for what exceeds perf_event_mlock_kb, of which a module
 * cannot know.
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
 * @mm: whose
 * @pages: how many
 *
 * Context: any.
 */
void stream_uncharge(struct mm_struct *mm, unsigned long pages)
{
	atomic64_sub(pages, &mm->pinned_vm);
}

/* Hard irq, or on PREEMPT_RT a thread: here one may wake. */
static void stream_wake(struct irq_work *work)
{
	struct stream *st = container_of(work, struct stream, wake);

	stream_publish(st);
	/* The same irq_work may run on two CPUs, if it is queued again while it runs. */
	atomic_inc(&st->wakes);
	wake_up_interruptible_poll(&st->waitq, EPOLLIN | EPOLLRDNORM);
}

static void stream_session_wake(void *data)
{
	struct stream *st = data;

	irq_work_queue(&st->wake);
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
		cpumask_and(st->cpus, st->cpus, cpu_possible_mask);
	}
	st->cpu = cpumask_weight(st->cpus) == 1 ? cpumask_first(st->cpus) : -1;
	return 0;
}

/* The memory of the CPUs that are there; others that come are not charged. */
static unsigned long stream_pages(struct stream *st, unsigned int per_cpu)
{
	unsigned int cpu, nr = 0;

	for_each_cpu_and(cpu, st->cpus, cpu_online_mask)
		nr++;
	return (unsigned long)nr * per_cpu;
}

/* Make and load the session.  Under st->verbs. */
static int stream_setup(struct stream *st, const struct kdtl_stream_attr *attr)
{
	struct kdtl_session_attr sa = {
		.pmu		= attr->source[0] ? attr->source : pmu,
		.cpus		= st->cpus,
		.aux_pages	= attr->aux_pages ?: aux_pages,
		.watermark	= attr->watermark,
		.mask		= attr->mask,
		.period		= attr->period ?: STREAM_PERIOD,
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
	/* Messages become records, which only a mapped file has. */
	sa.msg_pages = st->cpu >= 0;

	pages = stream_pages(st, sa.aux_pages);
	err = stream_charge(st->mm, pages);
	if (err)
		return err;
	s = kdtl_session_create(&sa);
	if (IS_ERR(s)) {
		err = PTR_ERR(s);
		goto uncharge;
	}
	err = kdtl_load(s, NULL);
	if (err)
		goto close;

	st->charged = pages;
	st->overwrite = attr->flags & KDTL_STREAM_OVERWRITE;
	st->watermark = attr->watermark ?: (u64)sa.aux_pages << (PAGE_SHIFT - 1);
	st->next = cpumask_first(st->cpus);
	/* Pairs with the acquire in stream_session(). */
	smp_store_release(&st->session, s);
	return 0;

close:
	kdtl_session_close(s);
	irq_work_sync(&st->wake);
uncharge:
	stream_uncharge(st->mm, pages);
	return err;
}

static int stream_setup_default(struct stream *st)
{
	const struct kdtl_stream_attr attr = { };

	return st->session ? 0 : stream_setup(st, &attr);
}

static int stream_start(struct stream *st)
{
	int err = stream_setup_default(st);

	if (!err)
		err = kdtl_start(st->session);
	if (!err) {
		WRITE_ONCE(st->running, true);
		st->begins = false;
	}
	return err;
}

static int stream_stop(struct stream *st)
{
	int err = stream_setup_default(st);

	if (!err)
		err = kdtl_stop(st->session);
	if (err)
		return err;
	stream_publish(st);
	st->begins = false;
	WRITE_ONCE(st->running, false);
	/* Who waits for more: there will be none. */
	wake_up_interruptible_poll(&st->waitq, EPOLLIN | EPOLLRDNORM);
	return 0;
}

/**
 * stream_begin() - who reads without having set up and started gets defaults
 * @st: the stream
 *
 * Context: under st->verbs.
 * Return: 0 or an errno.
 */
int stream_begin(struct stream *st)
{
	int err;

	if (st->session && !st->begins)
		return 0;
	err = stream_start(st);
	/* Set up, but not started: to be tried again, not the end of the log. */
	st->begins = err && st->session;
	return err;
}

static void stream_info_add(struct kdtl_stream_info *sum, const struct kdtl_aux_info *info)
{
	sum->state |= info->online ? KDTL_STREAM_ONLINE : 0;
	sum->produced += info->produced;
	sum->consumed += info->consumed;
	sum->lost += info->lost;
	sum->unread += info->unread;
}

static int stream_info(struct stream *st, struct kdtl_stream_info *out)
{
	struct kdtl_stream_info sum = { .cpu = out->cpu };
	struct kdtl_aux_info info;
	int cpu, err;

	err = stream_setup_default(st);
	if (err)
		return err;
	stream_publish(st);
	if (out->cpu >= 0) {
		err = kdtl_aux_info(st->session, out->cpu, &info);
		if (err)
			return err;
		stream_info_add(&sum, &info);
	} else {
		for_each_cpu(cpu, st->cpus) {
			kdtl_aux_info(st->session, cpu, &info);
			stream_info_add(&sum, &info);
		}
	}
	sum.state |= st->running ? KDTL_STREAM_RUNNING : 0;
	sum.tb_freq = info.tb_freq;
	sum.tb_boot = info.tb_boot;
	sum.aux_size = info.size;
	sum.watermark = info.watermark;
	strscpy(sum.source, info.source, sizeof(sum.source));
	*out = sum;
	return 0;
}

static int stream_ioctl_setup(struct stream *st, unsigned int cmd, void __user *arg)
{
	struct kdtl_stream_attr attr;
	int err;

	/* The caller's may be older and shorter, or newer with zeros at its end. */
	err = copy_struct_from_user(&attr, sizeof(attr), arg, _IOC_SIZE(cmd));
	return err ?: stream_setup(st, &attr);
}

static int stream_ioctl_info(struct stream *st, void __user *arg)
{
	struct kdtl_stream_info info;
	int err;

	if (copy_from_user(&info, arg, sizeof(info)))
		return -EFAULT;
	err = stream_info(st, &info);
	if (!err && copy_to_user(arg, &info, sizeof(info)))
		err = -EFAULT;
	return err;
}

static long stream_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct stream *st = file->private_data;
	void __user *argp = (void __user *)arg;
	long err;

	err = mutex_lock_interruptible(&st->verbs);
	if (err)
		return err;
	switch (cmd) {
	case KDTL_IOC_START:
		err = stream_start(st);
		break;
	case KDTL_IOC_STOP:
		err = stream_stop(st);
		break;
	case KDTL_IOC_INFO:
		err = stream_ioctl_info(st, argp);
		break;
	default:
		if (_IOC_TYPE(cmd) == _IOC_TYPE(KDTL_IOC_SETUP) &&
		    _IOC_NR(cmd) == _IOC_NR(KDTL_IOC_SETUP) &&
		    _IOC_DIR(cmd) == _IOC_DIR(KDTL_IOC_SETUP))
			err = stream_ioctl_setup(st, cmd, argp);
		else
			err = -ENOTTY;
		break;
	}
	mutex_unlock(&st->verbs);
	return err;
}

static void stream_free(struct stream *st)
{
	free_percpu(st->percpu);
	free_cpumask_var(st->cpus);
	mutex_destroy(&st->maps);
	mutex_destroy(&st->verbs);
	kfree(st);
}

static int stream_file_open(struct inode *inode, struct file *file)
{
	struct stream *st;
	int cpu, err;

	/*
	 * What perf asks for system-wide events.  Its perf_event_paranoid is not
	 * for modules to see, so there is no way around the capability.
	 */
	if (!perfmon_capable())
		return -EACCES;
	/* A kernel thread: there is nobody to charge. */
	if (!current->mm)
		return -EINVAL;
	err = security_locked_down(LOCKDOWN_PERF);
	if (err)
		return err;

	st = kzalloc(sizeof(*st), GFP_KERNEL);
	if (!st)
		return -ENOMEM;
	mutex_init(&st->verbs);
	mutex_init(&st->maps);
	spin_lock_init(&st->ring_lock);
	init_waitqueue_head(&st->waitq);
	init_irq_work(&st->wake, stream_wake);
	st->percpu = alloc_percpu(struct stream_cpu);
	if (!st->percpu || !zalloc_cpumask_var(&st->cpus, GFP_KERNEL)) {
		stream_free(st);
		return -ENOMEM;
	}
	for_each_possible_cpu(cpu) {
		spin_lock_init(&per_cpu_ptr(st->percpu, cpu)->lock);
		INIT_LIST_HEAD(&per_cpu_ptr(st->percpu, cpu)->chunks);
	}
	st->mm = current->mm;
	mmgrab(st->mm);
	file->private_data = st;
	/* There is no position to seek to. */
	return stream_open(inode, file);
}

/* Nobody reads, maps or has a chunk in a pipe: they all hold the file. */
static int stream_file_release(struct inode *inode, struct file *file)
{
	struct stream *st = file->private_data;
	struct kdtl_session *s = st->session;

	/* stream_wake() may be at work on another CPU. */
	spin_lock_irq(&st->ring_lock);
	WRITE_ONCE(st->session, NULL);
	spin_unlock_irq(&st->ring_lock);
	kdtl_session_close(s);
	irq_work_sync(&st->wake);
	stream_uncharge(st->mm, st->charged);
	mmdrop(st->mm);
	stream_free(st);
	return 0;
}

static const struct file_operations stream_fops = {
	.owner		= THIS_MODULE,
	.open		= stream_file_open,
	.release	= stream_file_release,
	.read		= stream_read,
	.poll		= stream_poll,
	.splice_read	= stream_splice,
	.mmap		= stream_mmap,
	.unlocked_ioctl	= stream_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

/* For all: who may open it is asked there, as perf does. */
static struct miscdevice stream_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "kdtl",
	.fops	= &stream_fops,
	.mode	= 0666,
};

/* After the sources, when built in: they are device_initcalls. */
static int __init stream_init(void)
{
	/* Now, and not only when a file is opened. */
	if (!is_power_of_2(aux_pages)) {
		pr_warn("aux_pages=%u: must be a power of two\n", aux_pages);
		return -EINVAL;
	}
	return misc_register(&stream_device);
}

static void __exit stream_exit(void)
{
	misc_deregister(&stream_device);
}

late_initcall(stream_init);
module_exit(stream_exit);

MODULE_DESCRIPTION("kdtl client: /dev/kdtl for user space");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_SOFTDEP("pre: kdtl_sched kdtl_vpa");
