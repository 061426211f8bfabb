// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_crash - crash or hang the kernel, to test the recorder
 *
 *	insmod kdtl_crash.ko how=bug|spin|irqspin|hang|halt
 *
 * A thread called kdtl_crash does it, which gives the recorder's table a name to
 * show.  Only the kernel's own watchdogs end spin, irqspin and hang, and only a
 * reset ends halt.
 */
#define pr_fmt(fmt) "kdtl_crash: " fmt

#include <linux/console.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/panic_notifier.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/string.h>

static char *how = "";
module_param(how, charp, 0444);
MODULE_PARM_DESC(how, "how the kernel crashes: bug; spin: deadlock on a spinlock; irqspin: the same with interrupts off; hang: sleep for ever; halt: stop all CPUs");

static DEFINE_SPINLOCK(lock);

static int crash_bug(void *unused)
{
	BUG();
	return 0;
}

static int crash_spin(void *unused)
{
	spin_lock(&lock);
	spin_lock(&lock);
	/* Never gets here. */
	spin_unlock(&lock);
	spin_unlock(&lock);
	return 0;
}

static int crash_irqspin(void *unused)
{
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	spin_lock(&lock);
	/* Never gets here. */
	spin_unlock(&lock);
	spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static int crash_hang(void *unused)
{
	for (;;) {
		set_current_state(TASK_UNINTERRUPTIBLE);
		schedule();
	}
	return 0;
}

static atomic_t halted;

static void crash_stop(void *unused)
{
	atomic_inc(&halted);
	for (;;)
		cpu_relax();
}

/*
 * All CPUs spin with interrupts off, so no watchdog notices.  The panic notifiers print what they
 * know once all other CPUs have stopped, before this one does.
 */
static int crash_halt(void *unused)
{
	/*
	 * Nothing would be printed if a CPU stopped that holds the console. Its holder may need
	 * this CPU to give it back, so take it before disabling preemption.
	 */
	console_lock();
	preempt_disable();
	smp_call_function(crash_stop, NULL, false);
	while (atomic_read(&halted) < num_online_cpus() - 1)
		cpu_relax();
	local_irq_disable();
	atomic_notifier_call_chain(&panic_notifier_list, 0, "halt");
	pr_emerg("all CPUs have stopped\n");
	console_unlock();
	crash_stop(NULL);
	return 0;
}

static const struct crash {
	const char	*how;
	int		(*fn)(void *unused);
} crashes[] = {
	{ "bug", crash_bug },
	{ "spin", crash_spin },
	{ "irqspin", crash_irqspin },
	{ "hang", crash_hang },
	{ "halt", crash_halt },
};

static int crash_thread(void *data)
{
	const struct crash *c = data;

	/*
	 * kthread_run() names the new thread while that waits to be woken.  If the thread is woken
	 * before it has slept, its only dispatch was under the name kthreadd.  After this sleep
	 * it has one under its own name.
	 */
	usleep_range(1000, 2000);
	return c->fn(NULL);
}

static int __init crash_init(void)
{
	struct task_struct *t;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(crashes); i++) {
		if (strcmp(how, crashes[i].how))
			continue;
		t = kthread_run(crash_thread, (void *)&crashes[i], "kdtl_crash");
		return PTR_ERR_OR_ZERO(t);
	}
	pr_err("how=%s: one of bug, spin, irqspin, hang, halt\n", how);
	return -EINVAL;
}
module_init(crash_init);

/* There is no exit function, because the thread does not end. */
MODULE_DESCRIPTION("kdtl test: crash the kernel");
MODULE_LICENSE("GPL");
