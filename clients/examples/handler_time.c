// SPDX-License-Identifier: GPL-2.0
/* Reading records that are not entries: debugfs/kdtl_handler_time shows how long interrupts took */
#include <linux/debugfs.h>
#include <linux/jiffies.h>
#include <linux/kdtl_verbs.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "handlers.h"

#define IRQ_ROWS	1024

struct irq_times {
	u64	runs;
	u64	ns;
	u32	longest;
};

static struct kdtl_session *session;
static struct task_struct *thread;
static struct dentry *file;

static DEFINE_MUTEX(lock);	/* one reader at a time; protects what follows */
static struct irq_times times[IRQ_ROWS];
static u64 lost;

static void irq_time_count(const struct irq_record *r)
{
	struct irq_times *t = &times[min_t(u32, r->irq, IRQ_ROWS - 1)];

	if (r->irq == IRQ_LOST) {
		lost += r->ns;
		return;
	}
	t->runs++;
	t->ns += r->ns;
	t->longest = max(t->longest, r->ns);
}

static void irq_time_read_cpu(int cpu)
{
	const struct irq_record *r;
	const void *span;
	ssize_t len;

	len = kdtl_aux_peek(session, cpu, &span);
	if (len <= 0)
		return;
	for (r = span; (const void *)(r + 1) <= span + len; r++)
		irq_time_count(r);
	kdtl_aux_consume(session, cpu, len);
}

static void irq_time_read(void)
{
	int cpu;

	mutex_lock(&lock);
	kdtl_for_each_cpu(cpu, session)
		irq_time_read_cpu(cpu);
	mutex_unlock(&lock);
}

static int irq_time_thread(void *unused)
{
	while (!kthread_should_stop()) {
		kdtl_wait(session, msecs_to_jiffies(100));
		irq_time_read();
	}
	return 0;
}

static int irq_time_show(struct seq_file *m, void *unused)
{
	int i;

	irq_time_read();
	mutex_lock(&lock);
	seq_puts(m, " irq       runs              ns  longest ns\n");
	for (i = 0; i < IRQ_ROWS; i++) {
		if (times[i].runs)
			seq_printf(m, "%4d %10llu %15llu %11u\n", i, times[i].runs,
				   times[i].ns, times[i].longest);
	}
	seq_printf(m, "lost %10llu\n", lost);
	mutex_unlock(&lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(irq_time);

static int irq_time_begin(void)
{
	const struct kdtl_session_attr attr = { .pmu = "kdtl_handlers" };
	int err;

	session = kdtl_session_create(&attr);
	if (IS_ERR(session))
		return PTR_ERR(session);
	err = kdtl_load(session, NULL);
	if (!err)
		err = kdtl_start(session);
	if (err)
		goto close;
	thread = kthread_run(irq_time_thread, NULL, "kdtl_handler_time");
	if (!IS_ERR(thread))
		return 0;
	err = PTR_ERR(thread);
close:
	kdtl_session_close(session);
	return err;
}

static int __init irq_time_init(void)
{
	int err = irq_time_begin();

	if (!err)
		file = debugfs_create_file("kdtl_handler_time", 0400, NULL, NULL, &irq_time_fops);
	return err;
}

static void __exit irq_time_exit(void)
{
	debugfs_remove(file);
	kthread_stop(thread);
	kdtl_session_close(session);
}

late_initcall(irq_time_init);
module_exit(irq_time_exit);

MODULE_DESCRIPTION("kdtl example: how long interrupt handlers ran");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_INFO(weakdep, "kdtl_handlers");
