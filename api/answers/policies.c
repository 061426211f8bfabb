// SPDX-License-Identifier: GPL-2.0
/*
 * Tells of each task that gets a new policy or nice value
 *
 * The kernel has no tracepoint for that, so two kretprobes stand in.  Where they cannot be set,
 * the table of tasks has both as of the task's last other change.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/kernel.h>
#include <linux/kprobes.h>

#include "../../core/compat.h"
#include "policies.h"

#if KDTL_HAVE_KRETPROBES

static const char * const policy_functions[] = {
	"__sched_setscheduler",
	"set_user_nice",
};

static struct kretprobe policy_probes[ARRAY_SIZE(policy_functions)];
static void (*policy_changed)(struct task_struct *t);
static bool policy_probed;

/* The first argument is the task, which has its new values when the function returns. */
static int policy_enter(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	*(unsigned long *)ri->data = kdtl_regs_first(regs);
	return 0;
}

static int policy_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	policy_changed(*(struct task_struct **)ri->data);
	return 0;
}

/**
 * kdtl_policies_begin() - begin to tell, or log why that cannot be
 * @changed: is called with the task, in the context in which it was changed, with interrupts on
 *           or off
 *
 * Context: may sleep.  The caller keeps others from beginning or ending meanwhile.
 */
void kdtl_policies_begin(void (*changed)(struct task_struct *t))
{
	unsigned int i;
	int err;

	policy_changed = changed;
	for (i = 0; i < ARRAY_SIZE(policy_functions); i++) {
		/* The kernel leaves marks in a probe that was registered before: clear them. */
		policy_probes[i] = (struct kretprobe) {
			.kp.symbol_name	= policy_functions[i],
			.entry_handler	= policy_enter,
			.handler	= policy_return,
			.data_size	= sizeof(unsigned long),
		};
		err = register_kretprobe(&policy_probes[i]);
		if (err)
			break;
	}
	policy_probed = !err;
	if (!err)
		return;
	pr_info("cannot follow policies and nice values (no probe of %s: %d): a new one is seen at the task's next other change\n",
		policy_functions[i], err);
	while (i--)
		unregister_kretprobe(&policy_probes[i]);
}

/**
 * kdtl_policies_end() - undo kdtl_policies_begin()
 *
 * Context: as kdtl_policies_begin().
 */
void kdtl_policies_end(void)
{
	unsigned int i;

	for (i = 0; policy_probed && i < ARRAY_SIZE(policy_functions); i++)
		unregister_kretprobe(&policy_probes[i]);
}

/**
 * kdtl_policies_missed() - how many calls were not seen, because too many were under way at once
 *
 * Context: any.
 * Return: number of calls since kdtl_policies_begin().
 */
u64 kdtl_policies_missed(void)
{
	unsigned int i;
	u64 sum = 0;

	for (i = 0; i < ARRAY_SIZE(policy_functions); i++)
		sum += policy_probes[i].nmissed + policy_probes[i].kp.nmissed;
	return sum;
}

#else

void kdtl_policies_begin(void (*changed)(struct task_struct *t))
{
	pr_info_once("this kernel has no kretprobes: a new policy or nice value is seen at the task's next other change\n");
}

void kdtl_policies_end(void)
{
}

u64 kdtl_policies_missed(void)
{
	return 0;
}

#endif
