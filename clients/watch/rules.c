// SPDX-License-Identifier: GPL-2.0
/*
 * How long a task may wait: thresholds by cgroup, by priority and by CPU
 *
 * The session logs waits from the least of all thresholds on.  A task's own threshold is
 * looked up when one of its waits was logged, so rules cost nothing before that.
 */
#include <linux/err.h>
#include <linux/kdtl_counters.h>
#include <linux/kstrtox.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/prio.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/string_helpers.h>

#include "watch.h"

/* The rule does not exist. */
#define RULE_NONE	UINT_MAX

/* Limited because every group is compared with every late task. */
#define RULE_MAX_GROUPS	64

enum rule_class { RULE_RT, RULE_HIGH, RULE_NORMAL, RULE_LOW, RULE_IDLE, RULE_CLASSES };

static const char * const rule_names[RULE_CLASSES] = {
	[RULE_RT]	= "rt",
	[RULE_HIGH]	= "high",
	[RULE_NORMAL]	= "normal",
	[RULE_LOW]	= "low",
	[RULE_IDLE]	= "idle",
};

/**
 * struct rule_group - a threshold for a cgroup and those below it
 * @list: in rule_groups
 * @ms: the threshold; 0: none
 * @path: of the cgroup
 */
struct rule_group {
	struct list_head	list;
	unsigned int		ms;
	char			path[];
};

static LIST_HEAD(rule_groups);
static unsigned int rule_nr_groups;
static unsigned int rule_throttled_ms;
static unsigned int rule_class_ms[RULE_CLASSES] = {
	[RULE_RT ... RULE_LOW]	= RULE_NONE,
	[RULE_IDLE]		= 0,
};

/* Protects the rules; the watching thread takes it for a short while only. */
static DEFINE_MUTEX(rule_lock);

static enum rule_class rule_class_of(const struct kdtl_task *task)
{
	if (watch_is_rt(task))
		return RULE_RT;
	if (task->policy == SCHED_IDLE || task->nice == MAX_NICE)
		return RULE_IDLE;
	if (!task->nice)
		return RULE_NORMAL;
	return task->nice < 0 ? RULE_HIGH : RULE_LOW;
}

/* The group with the longest path that holds for a task of the cgroup @path, or NULL. */
static const struct rule_group *rule_deepest(const char *path)
{
	const struct rule_group *g, *best = NULL;

	list_for_each_entry(g, &rule_groups, list) {
		if (kdtl_path_within(path, g->path) &&
		    (!best || strlen(g->path) > strlen(best->path)))
			best = g;
	}
	return best;
}

static unsigned int rule_ms(const struct kdtl_task *task, const char *path, unsigned int cpu_ms)
{
	const enum rule_class class = rule_class_of(task);
	const struct rule_group *g;

	/* A task that takes only what others leave is expected to wait. */
	if (class == RULE_IDLE)
		return rule_class_ms[RULE_IDLE];
	g = rule_deepest(path);
	if (g)
		return g->ms;
	return rule_class_ms[class] == RULE_NONE ? cpu_ms : rule_class_ms[class];
}

/**
 * watch_threshold_of() - how long a task may wait
 * @pid: the task
 * @time: when, by kdtl_sched's time
 * @cpu: the CPU that it waits for
 *
 * Context: the watching thread.
 * Return: the longest wait that is not reported, in ns; 0: none is.
 */
u64 watch_threshold_of(pid_t pid, u64 time, int cpu)
{
	const struct watch_cpu *w = per_cpu_ptr(&watch_cpus, cpu);
	char path[KDTL_PATH_LEN];
	struct kdtl_task task;
	unsigned int ms;

	if (kdtl_task_at(watch_tasks, pid, time, &task))
		return watch_threshold(w);
	if (kdtl_cgroup_path(watch_tasks, task.cgroup, path, sizeof(path)) < 0)
		path[0] = '\0';
	mutex_lock(&rule_lock);
	ms = rule_ms(&task, path, READ_ONCE(w->threshold_ms));
	mutex_unlock(&rule_lock);
	return (u64)ms * NSEC_PER_MSEC;
}

/**
 * watch_rule_throttled() - for how long a limit may hold a task back
 *
 * Context: any.
 * Return: the longest time that is not reported, in ns; 0: none is.
 */
u64 watch_rule_throttled(void)
{
	return (u64)READ_ONCE(rule_throttled_ms) * NSEC_PER_MSEC;
}

/* 0 and RULE_NONE ask for nothing. */
static unsigned int rule_least(unsigned int least, unsigned int ms)
{
	return ms ? min(least, ms) : least;
}

/**
 * watch_rules_config() - what the session has to log for the rules
 *
 * Context: may sleep.
 * Return: a configuration of set 0: the least threshold, and the kinds of dispatches.
 */
struct kdtl_config watch_rules_config(void)
{
	/* All kinds of dispatches: a task that was throttled may have waited after that. */
	struct kdtl_config config = { .mask = KDTL_MASK_ALL };
	unsigned int least = RULE_NONE, i;
	const struct rule_group *g;
	int cpu;

	mutex_lock(&rule_lock);
	for_each_possible_cpu(cpu)
		least = rule_least(least, READ_ONCE(per_cpu_ptr(&watch_cpus, cpu)->threshold_ms));
	for (i = 0; i < RULE_CLASSES; i++)
		least = rule_least(least, rule_class_ms[i]);
	list_for_each_entry(g, &rule_groups, list)
		least = rule_least(least, g->ms);
	least = rule_least(least, rule_throttled_ms);
	mutex_unlock(&rule_lock);
	config.min_wait = least == RULE_NONE ? U64_MAX : (u64)least * NSEC_PER_MSEC;
	return config;
}

static int rule_set_group(char *path, unsigned int ms)
{
	size_t len = strlen(path);
	struct rule_group *g;

	if (!kdtl_path_valid(path))
		return -EINVAL;
	/* The root keeps its slash. */
	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	list_for_each_entry(g, &rule_groups, list) {
		if (strcmp(g->path, path))
			continue;
		g->ms = ms;
		if (ms == RULE_NONE) {
			list_del(&g->list);
			kfree(g);
			rule_nr_groups--;
		}
		return 0;
	}
	if (ms == RULE_NONE)
		return -ENOENT;
	if (rule_nr_groups == RULE_MAX_GROUPS)
		return -ENOSPC;
	g = kmalloc(struct_size(g, path, len + 1), GFP_KERNEL);
	if (!g)
		return -ENOMEM;
	g->ms = ms;
	strscpy(g->path, path, len + 1);
	list_add_tail(&g->list, &rule_groups);
	rule_nr_groups++;
	return 0;
}

static int rule_set_class(const char *name, unsigned int ms)
{
	const int class = match_string(rule_names, RULE_CLASSES, name);

	if (class < 0)
		return -EINVAL;
	rule_class_ms[class] = class == RULE_IDLE && ms == RULE_NONE ? 0 : ms;
	return 0;
}

/* MS, or "-" for no rule. */
static int rule_parse_ms(const char *text, unsigned int *ms)
{
	if (!strcmp(text, "-")) {
		*ms = RULE_NONE;
		return 0;
	}
	return kstrtouint(text, 10, ms) ?: *ms == RULE_NONE ? -ERANGE : 0;
}

/**
 * watch_rules_write() - set a rule
 * @line: "cgroup PATH MS", "prio CLASS MS" or "throttled MS"; it is changed
 *
 * Context: may sleep.
 * Return: 0; -EINVAL, -ERANGE: it is none of these; -ENOENT: there is no such rule to
 * remove; -ENOSPC: there are too many; -ENOMEM.
 */
int watch_rules_write(char *line)
{
	char *name = strim(line), *kind = strsep(&name, " \t"), *at;
	unsigned int ms;
	int err;

	if (!name)
		return -EINVAL;
	name = skip_spaces(name);
	/* One rule in each write; no cgroup's name has a newline. */
	if (strchr(name, '\n'))
		return -EINVAL;
	/* A cgroup's name may have spaces. */
	at = strrchr(name, ' ');
	err = rule_parse_ms(at ? at + 1 : name, &ms);
	if (err)
		return err;
	if (at) {
		*at = '\0';
		name = strim(name);
	}

	mutex_lock(&rule_lock);
	if (!strcmp(kind, "cgroup") && at)
		err = rule_set_group(name, ms);
	else if (!strcmp(kind, "prio") && at)
		err = rule_set_class(name, ms);
	else if (!strcmp(kind, "throttled") && !at)
		WRITE_ONCE(rule_throttled_ms, ms == RULE_NONE ? 0 : ms);
	else
		err = -EINVAL;
	mutex_unlock(&rule_lock);
	return err;
}

/**
 * watch_rules_show() - print the rules, with \xHH for bytes of a path that are not printable
 * @m: where to
 *
 * Context: may sleep.
 */
void watch_rules_show(struct seq_file *m)
{
	const struct rule_group *g;
	unsigned int i;

	mutex_lock(&rule_lock);
	seq_printf(m, "throttled %u\n", rule_throttled_ms);
	for (i = 0; i < RULE_CLASSES; i++) {
		if (rule_class_ms[i] != RULE_NONE)
			seq_printf(m, "prio %s %u\n", rule_names[i], rule_class_ms[i]);
	}
	list_for_each_entry(g, &rule_groups, list) {
		seq_puts(m, "cgroup ");
		/* A cgroup's name may have any byte, which a terminal would obey. */
		seq_escape_mem(m, g->path, strlen(g->path), ESCAPE_HEX | ESCAPE_NAP, NULL);
		seq_printf(m, " %u\n", g->ms);
	}
	mutex_unlock(&rule_lock);
}

/**
 * watch_rules_exit() - free the rules; nobody uses them any more
 */
void watch_rules_exit(void)
{
	struct rule_group *g, *next;

	list_for_each_entry_safe(g, next, &rule_groups, list)
		kfree(g);
}
