// SPDX-License-Identifier: GPL-2.0
/*
 * Where in the kernel the task is that does not let go of its CPU
 *
 * No kernel lets all modules see the stack of another task.  So an interrupt of the task's CPU
 * looks at its own, which begins with that of what it interrupts.  Only that of a timer knows on
 * each architecture where that was, so the interrupt that is sent to the CPU starts a timer there.
 * Nobody waits for it for long: a CPU that has interrupts off does not answer, which is worth
 * knowing, too.
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

/* The deepest of so many functions are looked for; those of the interrupt are among them. */
#define STACK_DEPTH	32

/* As many lines as are of use. */
#define STACK_LINES	16

/* If it takes none for so long it has interrupts off.  A timer may be as late as a tick. */
#define STACK_WAIT_MS	100

/**
 * struct stack - what the interrupt has seen, if @asked and then @done
 * @csd: the interrupt that is sent
 * @timer: the one that looks
 * @done: it came
 * @asked: it was asked for, and nobody knows that it came
 * @cpu: which was asked
 * @pid: the task that had the CPU
 * @user: it was in user mode
 * @at: where it was in the kernel; 0: not known
 * @nr: the number of functions
 * @function: the deepest first
 *
 * The watching thread asks.  One interrupt may be under way, and is not forgotten: its function is
 * this module's.
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

/* In the timer's interrupt.  If the CPU went offline meanwhile, it is another CPU's. */
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
	/* One that did not answer may do so by now, and says nothing of another one. */
	if (!stack_came(0))
		return false;
	reinit_completion(&stack.done);
	stack.cpu = cpu;
	stack.asked = !smp_call_function_single_async(cpu, &stack.csd);
	return stack.asked && stack_came(STACK_WAIT_MS);
}

/* What the interrupt itself has called is above the place that it interrupted. */
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
 * @name: what it is called there
 *
 * If it has left the CPU, nothing is said, nor is it while the CPU still owes an earlier answer.
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
 * watch_stack_init() - before the watching thread begins
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
