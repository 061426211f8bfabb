// SPDX-License-Identifier: GPL-2.0
/* The module kdtl_answers.ko, and its file kdtl_answers/tasks in debugfs. */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "left.h"
#include "tasks.h"

static struct dentry *answers_debugfs;

static int tasks_show(struct seq_file *m, void *unused)
{
	kdtl_tasks_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(tasks);

/* The module's code is still there, so a notifier that it has left can be unregistered. */
static int answers_module_event(struct notifier_block *nb, unsigned long state, void *module)
{
	if (state == MODULE_STATE_GOING) {
		kdtl_alarm_unregister_left(module);
		kdtl_trigger_close_left(module);
		kdtl_tasks_close_left(module);
	}
	return NOTIFY_DONE;
}

static struct notifier_block answers_module_nb = {
	.notifier_call	= answers_module_event,
};

static int __init answers_init(void)
{
	int err = register_module_notifier(&answers_module_nb);

	if (err)
		return err;
	answers_debugfs = debugfs_create_dir("kdtl_answers", NULL);
	debugfs_create_file("tasks", 0400, answers_debugfs, NULL, &tasks_fops);
	return 0;
}

static void __exit answers_exit(void)
{
	debugfs_remove(answers_debugfs);
	unregister_module_notifier(&answers_module_nb);
	kdtl_tasks_exit();
	kdtl_answers_rcu_await();
}

/* If built in: before the clients, which are device_initcalls. */
subsys_initcall(answers_init);
module_exit(answers_exit);

MODULE_DESCRIPTION("Answers from dispatch trace logs: tasks, who had a CPU, alarms");
MODULE_LICENSE("GPL");
