// SPDX-License-Identifier: GPL-2.0
/*
 * Where in the kernel a task is that does not let go of its CPU
 *
 * No kernel lets all modules see the stack of another task.  So an interrupt on the task's CPU
 * looks at its own stack, which begins with that of the interrupted task.  Only a timer's interrupt
 * can tell on each architecture where the task was, so the interrupt that is sent to the CPU starts
 * a timer there.  The wait for it is short: a CPU with interrupts off does not answer, which is
 * worth knowing too.
 */
#define pr_fmt(fmt) "kdtl_watch: " fmt

#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/stacktrace.h>

#include <asm/irq_regs.h>

#include "../../core/compat.h"
#include "watch.h"

/* How many of the innermost functions are taken, including those of the interrupt. */
#define STACK_DEPTH	32

/* How many of them are printed; more would not help. */
#define STACK_LINES	16

/* A CPU that takes no interrupt for this long has them off.  A timer may be a tick late. */
#define STACK_WAIT_MS	100

/**
 * struct stack - a request for an interrupt, and what the interrupt has seen
 * @csd: the interrupt that is sent
 * @timer: the timer whose interrupt looks
 * @done: completed when that interrupt has looked
 * @asked: the interrupt was asked for, and is not known to have come
 * @cpu: the CPU that was asked
 * @pid: the task that had the CPU
 * @user: the task was in user mode
 * @at: where the task was in the kernel; 0: not known
 * @nr: the number of functions
 * @function: the deepest first
 *
 * Only the watching thread asks.  An interrupt under way is waited for before the module goes, as
 * its function is in this module.
 */
static struct stack {
	call_single_data_t	csd;
	struct hrtimer		timer;
	struct completion	done;
	bool			asked;
	int			cpu;
	pid_t			pid;
	bool			user;
	unsigned long		at;
	unsigned int		nr;
	unsigned long		function[STACK_DEPTH];
} stack;

/* Called in the timer's interrupt, on another CPU if stack.cpu went offline meanwhile. */
static enum hrtimer_restart stack_look(struct hrtimer *timer)
{
	struct pt_regs *regs = get_irq_regs();

	stack.pid = smp_processor_id() == stack.cpu ? current->pid : 0;
	stack.user = regs && user_mode(regs);
	stack.at = regs && !stack.user ? instruction_pointer(regs) : 0;
	stack.nr = 0;
#ifdef CONFIG_STACKTRACE
	stack.nr = stack_trace_save(stack.function, STACK_DEPTH, 0);
#endif
	complete(&stack.done);
	return HRTIMER_NORESTART;
}

static void stack_arm(void *unused)
{
	hrtimer_start(&stack.timer, 0, HRTIMER_MODE_REL_PINNED_HARD);
}

static bool stack_came(unsigned int ms)
{
	if (stack.asked && wait_for_completion_timeout(&stack.done, msecs_to_jiffies(ms)))
		stack.asked = false;
	return !stack.asked;
}

/* Returns whether the CPU answers. */
static bool stack_ask(int cpu)
{
	/* An earlier request must have been answered, lest its answer be taken for this one. */
	if (!stack_came(0))
		return false;
	reinit_completion(&stack.done);
	stack.cpu = cpu;
	stack.asked = !smp_call_function_single_async(cpu, &stack.csd);
	return stack.asked && stack_came(STACK_WAIT_MS);
}

/* Skip what the interrupt itself has called, above the place that it interrupted. */
static unsigned int stack_begin(void)
{
	unsigned int i;

	for (i = 0; i < stack.nr; i++) {
		if (stack.function[i] == stack.at)
			return i;
	}
	return 0;
}

/**
 * watch_stack() - say where in the kernel a task is, in the log
 * @cpu: the CPU that it has
 * @pid: its pid
 * @name: its name in the log
 *
 * Nothing is said if the task has left the CPU, or while another CPU still owes an answer.
 *
 * Context: the watching thread.
 */
void watch_stack(int cpu, pid_t pid, const char *name)
{
	unsigned int i, end;

	if (!stack_ask(cpu)) {
		if (stack.asked && stack.cpu == cpu)
			pr_warn("CPU %d: takes no interrupt, so it is not known where %s is\n",
				cpu, name);
		return;
	}
	if (stack.pid != pid)
		return;
	if (stack.user) {
		pr_warn("CPU %d: %s is in user mode\n", cpu, name);
		return;
	}
	if (!stack.nr) {
		pr_warn("CPU %d: this kernel does not tell where %s is\n", cpu, name);
		return;
	}
	pr_warn("CPU %d: %s is in\n", cpu, name);
	i = stack_begin();
	end = min(stack.nr, i + STACK_LINES);
	for (; i < end; i++)
		pr_warn("CPU %d:   %pS\n", cpu, (void *)stack.function[i]);
}

/**
 * watch_stack_init() - prepare for watch_stack(), before the watching thread begins
 */
void watch_stack_init(void)
{
	init_completion(&stack.done);
	INIT_CSD(&stack.csd, stack_arm, NULL);
	hrtimer_setup(&stack.timer, stack_look, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * watch_stack_exit() - wait for an interrupt that is under way; the thread has ended
 *
 * Context: may sleep.
 */
void watch_stack_exit(void)
{
	if (stack.asked)
		wait_for_completion(&stack.done);
	hrtimer_cancel(&stack.timer);
}
