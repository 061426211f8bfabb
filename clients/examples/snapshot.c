// SPDX-License-Identifier: GPL-2.0
/*
 * Prints in a panic what ran last on each CPU: this allocates nothing and takes no
 * lock, and nobody reads the areas at any other time
 */
#define pr_fmt(fmt) "kdtl_snapshot: " fmt

#include <linux/kdtl.h>
#include <linux/module.h>
#include <linux/panic_notifier.h>

#define SNAPSHOT_ROWS	5

static struct kdtl_session *session;
static struct kdtl_entry newest[SNAPSHOT_ROWS];	/* panic() runs on one CPU only */

static void snapshot_cpu(int cpu)
{
	const struct kdtl_entry *e;
	const char *comm;
	ssize_t len;
	u64 missed;

	len = kdtl_aux_snapshot(session, cpu, newest, sizeof(newest), &missed);
	if (len < 0) {
		pr_emerg("CPU %d: cannot be read (%zd)\n", cpu, len);
		return;
	}
	/* kdtl_sched's ticks are ns, by the clock that printk() uses. */
	kdtl_for_each_entry(e, newest, len) {
		comm = kdtl_entry_comm(e);
		pr_emerg("CPU %d: %llu ns: %*pE:%d, waited %llu ns%s\n", cpu,
			 kdtl_entry_time(e), (int)strlen(comm), comm,
			 kdtl_entry_pid(e), kdtl_entry_wait(e),
			 kdtl_entry_wait_saturated(e) ? " or more" : "");
	}
}

static int snapshot_panic(struct notifier_block *nb, unsigned long val, void *data)
{
	int cpu;

	kdtl_for_each_cpu(cpu, session)
		snapshot_cpu(cpu);
	return NOTIFY_DONE;
}

static struct notifier_block panic_nb = { .notifier_call = snapshot_panic };

static int __init snapshot_init(void)
{
	const struct kdtl_session_attr attr = {
		.pmu		= "kdtl_sched",
		.aux_pages	= 1,
		.flags		= KDTL_SESSION_OVERWRITE,
	};
	int err;

	session = kdtl_session_open(&attr, NULL);
	if (IS_ERR(session))
		return PTR_ERR(session);
	err = atomic_notifier_chain_register(&panic_notifier_list, &panic_nb);
	if (err)
		kdtl_session_close(session);
	return err;
}

static void __exit snapshot_exit(void)
{
	atomic_notifier_chain_unregister(&panic_notifier_list, &panic_nb);
	kdtl_session_close(session);
}

late_initcall(snapshot_init);
module_exit(snapshot_exit);

MODULE_DESCRIPTION("kdtl example: what ran last on each CPU, in a panic");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_INFO(weakdep, "kdtl_sched");
