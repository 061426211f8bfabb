// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_fail_nth - let an allocation, or a call, in a module's init function fail
 *
 *	echo 3 >/sys/module/kdtl_fail_nth/parameters/nth
 *	insmod kdtl_sampler.ko				its 3rd allocation fails
 *	cat /sys/module/kdtl_fail_nth/parameters/met	Y: there was a 3rd
 *
 * Nothing fails in the module loader: the fault is armed where the kernel calls
 * the init function.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/sched.h>
#include <linux/string.h>

static unsigned int nth;
module_param(nth, uint, 0644);
MODULE_PARM_DESC(nth, "number of the allocation that fails in the init of the next kdtl module; 0: none fails");

static bool met;
module_param(met, bool, 0444);
MODULE_PARM_DESC(met, "shows whether there were that many allocations");

/* The task that loads the next kdtl module. */
static struct task_struct *loader;

static int nth_module(struct notifier_block *nb, unsigned long event, void *data)
{
	struct module *mod = data;

	if (event == MODULE_STATE_COMING && nth && !strncmp(mod->name, "kdtl", 4)) {
		met = false;
		loader = current;
	}
	return NOTIFY_DONE;
}

static struct notifier_block nth_nb = { .notifier_call = nth_module };

static int nth_begin(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (current != loader)
		return 1;
	loader = NULL;
	current->fail_nth = nth;
	nth = 0;
	return 0;
}
NOKPROBE_SYMBOL(nth_begin);

static int nth_end(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	met = !current->fail_nth;
	current->fail_nth = 0;
	return 0;
}
NOKPROBE_SYMBOL(nth_end);

static struct kretprobe nth_probe = {
	.kp.symbol_name	= "do_one_initcall",
	.entry_handler	= nth_begin,
	.handler	= nth_end,
};

/* Nothing fails in unregister_kretprobe(): without memory to disarm a probe the kernel warns. */
static int nth_pause(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	unsigned int *left = (unsigned int *)ri->data;

	*left = current->fail_nth;
	if (!*left)
		return 1;
	current->fail_nth = 0;
	return 0;
}
NOKPROBE_SYMBOL(nth_pause);

static int nth_resume(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	current->fail_nth = *(unsigned int *)ri->data;
	return 0;
}
NOKPROBE_SYMBOL(nth_resume);

static struct kretprobe nth_disarm = {
	.kp.symbol_name	= "unregister_kretprobe",
	.entry_handler	= nth_pause,
	.handler	= nth_resume,
	.data_size	= sizeof(unsigned int),
};

static struct kretprobe *nth_probes[] = { &nth_probe, &nth_disarm };

static int __init nth_init(void)
{
	int err = register_module_notifier(&nth_nb);

	if (err)
		return err;
	err = register_kretprobes(nth_probes, ARRAY_SIZE(nth_probes));
	if (err)
		unregister_module_notifier(&nth_nb);
	return err;
}

static void __exit nth_exit(void)
{
	unregister_kretprobes(nth_probes, ARRAY_SIZE(nth_probes));
	unregister_module_notifier(&nth_nb);
}

module_init(nth_init);
module_exit(nth_exit);

MODULE_DESCRIPTION("kdtl test: allocations of other modules' init that fail");
MODULE_LICENSE("GPL");
