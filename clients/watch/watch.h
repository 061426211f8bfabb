/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KDTL_WATCH_H
#define _KDTL_WATCH_H

#include <linux/kdtl_answers.h>
#include <linux/kdtl_counters.h>
#include <linux/kdtl_verbs.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

/**
 * struct watch_cpu - the watch over one CPU
 * @threshold_ms: longest wait that is not reported; 0: none is
 * @late: dispatches that had waited longer than that
 * @saturated: those of @late that waited longer than an entry can say
 * @throttled: dispatches that a limit on CPU time had delayed for longer than the rule allows
 * @stuck: times that no task of normal priority was dispatched for longer than that
 * @longest: longest wait among @late and @stuck, in ms; may be too low if there are
 *	@saturated ones
 * @probe: work item, queued to see whether the CPU dispatches any task
 * @queued: local_clock() when @probe was queued; 0: it has run
 * @normal: the newest dispatch of a task of normal priority that was found while @probe was
 *	queued, by local_clock()
 * @reported: for how long there was none at the last report of that, in ns; 0: not reported
 * @pending: for how long @probe had been queued at the last look, in ns
 * @idle: time that the CPU had been idle at the last look, in us
 * @told_pid: the task whose wait was reported last while it went on
 * @told_since: since when that task waited
 * @told: for how long it had waited by then, in ns
 *
 * Only the watching thread writes here, except that debugfs writes @threshold_ms, and
 * @probe clears @queued.
 */
struct watch_cpu {
	unsigned int		threshold_ms;
	unsigned long		late;
	unsigned long		saturated;
	unsigned long		throttled;
	unsigned long		stuck;
	unsigned long		longest;
	struct work_struct	probe;
	atomic64_t		queued;
	u64			normal;
	u64			reported;
	u64			pending;
	u64			idle;
	pid_t			told_pid;
	u64			told_since;
	u64			told;
};

static inline u64 watch_threshold(const struct watch_cpu *w)
{
	return (u64)READ_ONCE(w->threshold_ms) * NSEC_PER_MSEC;
}

/* Does the task come before all of normal priority? */
static inline bool watch_is_rt(const struct kdtl_task *task)
{
	return task->policy == SCHED_FIFO || task->policy == SCHED_RR ||
	       task->policy == SCHED_DEADLINE;
}

/* behind.c */

/**
 * struct watch_blame - who had a CPU
 * @culprit: the task that had it longest; pid 0: not known, or not a task
 * @now: the task that had it at the end; pid 0: the CPU was idle; no name: not known
 */
struct watch_blame {
	struct kdtl_task	culprit;
	struct kdtl_task	now;
};

extern struct kdtl_tasks *watch_tasks;
int watch_behind_init(const char *pmu, unsigned int pages);
void watch_behind_exit(void);
void watch_task(const char *comm, pid_t pid, u64 time, struct kdtl_task *task);
const struct kdtl_entry *watch_look_back(int cpu);
u64 watch_dispatched(int cpu, u64 since);
void watch_behind(u64 from, u64 to, char *text, size_t size, struct watch_blame *blame);
bool watch_keep_waker(const struct kdtl_waiting *is);
void watch_find_wakers(void);
void watch_woken(pid_t pid, u64 from, u64 until, char *text, size_t size);
int watch_before(const struct kdtl_entry *e, int cpu, char *text, size_t size,
		 struct watch_blame *blame);

/* going.c */

/**
 * struct watch_going - a wait that goes on, and has taken too long already
 * @is: who waits
 * @throttled: a limit on CPU time has held it back for @wait; otherwise it waits for the CPU
 * @wait: for how long, in ns
 * @threshold: the longest time that is not reported, in ns
 */
struct watch_going {
	struct kdtl_waiting	is;
	bool			throttled;
	u64			wait;
	u64			threshold;
};

void watch_going(struct kdtl_session *s, bool busy);

/* limit.c */

/**
 * struct watch_limit - how often to report
 * @name: what is limited
 * @seconds: length of a period
 * @burst: reports that may pass in a period
 * @since: jiffies of the period's first report
 * @passed: reports that have passed since then
 * @withheld: reports that have not passed
 * @longest: longest wait among the withheld reports, in ns
 * @worst: longest wait that has passed, in ns
 * @worst_percent: worst wait that has passed, in percent of its threshold
 *
 * Only the watching thread uses it.
 */
struct watch_limit {
	const char	*name;
	unsigned int	seconds;
	unsigned int	burst;
	unsigned long	since;
	unsigned int	passed;
	unsigned int	withheld;
	u64		longest;
	u64		worst;
	u64		worst_percent;
};

void watch_limit_end(struct watch_limit *l);
void watch_limit_exit(struct watch_limit *l);
bool watch_limit_pass(struct watch_limit *l, u64 wait, u64 threshold);

/* probe.c */
void watch_probe_init(void);
void watch_probe_exit(void);
bool watch_probe(int cpu);

/* report.c */

/* Is the entry's time, of a throttle or a wait, only a lower bound? */
static inline bool watch_is_saturated(const struct kdtl_entry *e, bool throttled)
{
	return throttled ? kdtl_entry_throttled(e) == KDTL_TIME_MAX : kdtl_entry_wait_saturated(e);
}

DECLARE_PER_CPU(struct watch_cpu, watch_cpus);
int watch_report_init(void);
void watch_report_exit(void);
void watch_report_late(const struct kdtl_span *span, const struct kdtl_entry *e,
		       bool throttled, u64 wait, u64 threshold);
void watch_report_stuck(int cpu, u64 wait, u64 threshold);
void watch_report_going(const struct watch_going *g);
void watch_report_round(void);

/* rules.c */
struct seq_file;

u64 watch_rule_throttled(void);
u64 watch_threshold_of(pid_t pid, u64 time, int cpu);
struct kdtl_config watch_rules_config(void);
int watch_rules_write(char *line);
void watch_rules_show(struct seq_file *m);
void watch_rules_exit(void);

/* show.c */
void watch_show_init(struct kdtl_session *s);
void watch_show_exit(void);

/* stack.c */
void watch_stack_init(void);
void watch_stack_exit(void);
void watch_stack(int cpu, pid_t pid, const char *name);

/* waiting.c */

/**
 * struct watch_waiting - a task that waits for a CPU
 * @pid: its pid in the initial namespace
 * @comm: its name
 * @since: when it was queued, by local_clock()
 */
struct watch_waiting {
	pid_t	pid;
	char	comm[TASK_COMM_LEN];
	u64	since;
};

unsigned int watch_waiting(int cpu, struct watch_waiting *longest);

#endif /* _KDTL_WATCH_H */
