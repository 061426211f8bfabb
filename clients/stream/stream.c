// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_stream - /dev/kdtl: sessions for user space
 *
 * <uapi/linux/kdtl.h> describes the ABI, stream.h how the code is laid out.
 */
#include <linux/capability.h>
#include <linux/kdtl_verbs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sched/mm.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "stream.h"

static int stream_ioctl_setup(struct stream *st, unsigned int cmd, void __user *arg)
{
	struct kdtl_stream_attr attr;
	int err;

	/* An old caller's struct is shorter; a new caller's may be longer, if it ends in zeros. */
	err = copy_struct_from_user(&attr, sizeof(attr), arg, _IOC_SIZE(cmd));
	return err ?: stream_setup(st, &attr);
}

static int stream_ioctl_info(struct stream *st, unsigned int cmd, void __user *arg)
{
	const size_t size = min_t(size_t, _IOC_SIZE(cmd), sizeof(struct kdtl_stream_info));
	struct kdtl_stream_info info = { .cpu = -1 };
	int err;

	/* An old caller's struct is shorter; the new part of a new caller's stays as it is. */
	if (copy_from_user(&info.cpu, arg, min(size, sizeof(info.cpu))))
		return -EFAULT;
	err = stream_info(st, &info);
	if (!err && copy_to_user(arg, &info, size))
		err = -EFAULT;
	return err;
}

/* Is @cmd the command @which, with a struct of any size? */
static bool stream_ioctl_is(unsigned int cmd, unsigned int which)
{
	const unsigned int size = _IOC_SIZEMASK << _IOC_SIZESHIFT;

	return (cmd & ~size) == (which & ~size);
}

static int stream_ioctl_clock(struct stream *st, void __user *arg)
{
	struct kdtl_stream_clock clock;
	int err = stream_clock(st, &clock);

	if (!err && copy_to_user(arg, &clock, sizeof(clock)))
		err = -EFAULT;
	return err;
}

/* @which is KDTL_IOC_TASKS, KDTL_IOC_CGROUP or KDTL_IOC_WAITS, and @cmd the same of any size. */
static int stream_ioctl_ask(struct stream *st, unsigned int cmd, unsigned int which,
			    void __user *arg)
{
	const size_t size = _IOC_SIZE(which);
	union {
		struct kdtl_stream_tasks	tasks;
		struct kdtl_stream_cgroup	cgroup;
		struct kdtl_stream_waits	waits;
	} ask;
	int err = copy_struct_from_user(&ask, size, arg, _IOC_SIZE(cmd));

	if (err)
		return err;
	if (which == KDTL_IOC_TASKS)
		err = stream_tasks(st, &ask.tasks);
	else if (which == KDTL_IOC_CGROUP)
		err = stream_cgroup(st, &ask.cgroup);
	else
		err = stream_waits(st, &ask.waits);
	if (!err && copy_to_user(arg, &ask, min_t(size_t, size, _IOC_SIZE(cmd))))
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
	case KDTL_IOC_CLOCK:
		err = stream_ioctl_clock(st, argp);
		break;
	default:
		if (stream_ioctl_is(cmd, KDTL_IOC_SETUP))
			err = stream_ioctl_setup(st, cmd, argp);
		else if (stream_ioctl_is(cmd, KDTL_IOC_INFO))
			err = stream_ioctl_info(st, cmd, argp);
		else if (stream_ioctl_is(cmd, KDTL_IOC_TASKS))
			err = stream_ioctl_ask(st, cmd, KDTL_IOC_TASKS, argp);
		else if (stream_ioctl_is(cmd, KDTL_IOC_CGROUP))
			err = stream_ioctl_ask(st, cmd, KDTL_IOC_CGROUP, argp);
		else if (stream_ioctl_is(cmd, KDTL_IOC_WAITS))
			err = stream_ioctl_ask(st, cmd, KDTL_IOC_WAITS, argp);
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

static struct stream *stream_alloc(void)
{
	struct stream *st;
	int cpu;

	st = kzalloc(sizeof(*st), GFP_KERNEL);
	if (!st)
		return NULL;
	mutex_init(&st->verbs);
	mutex_init(&st->maps);
	spin_lock_init(&st->ring_lock);
	stream_session_init(st);
	INIT_DELAYED_WORK(&st->look_again, stream_look_again);
	st->percpu = alloc_percpu(struct stream_cpu);
	if (!st->percpu || !zalloc_cpumask_var(&st->cpus, GFP_KERNEL)) {
		stream_free(st);
		return NULL;
	}
	for_each_possible_cpu(cpu) {
		spin_lock_init(&per_cpu_ptr(st->percpu, cpu)->lock);
		INIT_LIST_HEAD(&per_cpu_ptr(st->percpu, cpu)->chunks);
	}
	return st;
}

/* Ask the security modules, as perf does, if the kernel exports the call for it: see Kbuild. */
static int stream_perf_allow(void)
{
#if STREAM_PERF_ALLOW == 2
	return perf_allow_kernel();
#elif STREAM_PERF_ALLOW == 1
	struct perf_event_attr attr = { };

	return perf_allow_kernel(&attr);
#else
	return 0;
#endif
}

static int stream_file_open(struct inode *inode, struct file *file)
{
	struct stream *st;
	int err;

	/*
	 * perf asks for the same capability for system-wide events.  Modules cannot
	 * see perf_event_paranoid, so here nothing else gives access.
	 */
	if (!perfmon_capable())
		return -EACCES;
	/* A kernel thread has no memory to charge. */
	if (!current->mm)
		return -EINVAL;
	err = security_locked_down(LOCKDOWN_PERF) ?: stream_perf_allow();
	if (err)
		return err;

	st = stream_alloc();
	if (!st)
		return -ENOMEM;
	st->mm = current->mm;
	mmgrab(st->mm);
	file->private_data = st;
	/* There is no position to seek to. */
	return stream_open(inode, file);
}

static int stream_file_release(struct inode *inode, struct file *file)
{
	struct stream *st = file->private_data;

	stream_chunks_free(st);
	stream_session_close(st);
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

/* Open to all users: stream_file_open() checks the capability, as perf does. */
static struct miscdevice stream_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "kdtl",
	.fops	= &stream_fops,
	.mode	= 0666,
};

static int __init stream_init(void)
{
	return stream_defaults_valid() ? misc_register(&stream_device) : -EINVAL;
}

static void __exit stream_exit(void)
{
	misc_deregister(&stream_device);
	/* kdtl_session_close() would do this too, but all sessions ended with their files. */
	kdtl_rcu_await(KBUILD_MODNAME);
}

/* When built in, this must come after the sources, which are device_initcalls. */
late_initcall(stream_init);
module_exit(stream_exit);

MODULE_DESCRIPTION("kdtl client: /dev/kdtl for user space");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_INFO(weakdep, "kdtl_sched kdtl_vpa kdtl_steal");
