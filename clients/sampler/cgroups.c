// SPDX-License-Identifier: GPL-2.0
/*
 * Counts by cgroup
 *
 * A machine may have thousands of cgroups, and each that is counted separately takes
 * memory here and time series in Prometheus. So their number is limited: the others are
 * counted as one, and one that had no dispatch for a while makes room.
 */
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/string_helpers.h>
#include <linux/time64.h>

#include "cgroups.h"

#define CGROUPS_STALE	(300ULL * NSEC_PER_SEC)
#define CGROUPS_BITS	8

/* No cgroup has these ids. */
#define CGROUP_UNKNOWN	0
#define CGROUP_OTHER	U64_MAX
#define CGROUP_HYPERVISOR	(U64_MAX - 1)

#define CGROUPS_MOST	1024
#define CGROUPS_NO_REAL	3	/* unknown, other and the hypervisor */

static int cgroups_set(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 0, CGROUPS_MOST);
}

static const struct kernel_param_ops cgroups_ops = {
	.set = cgroups_set,
	.get = param_get_uint,
};

unsigned int cgroups_max = 64;
module_param_cb(cgroups, &cgroups_ops, &cgroups_max, 0444);
MODULE_PARM_DESC(cgroups, "how many cgroups are counted separately (0 to 1024, default 64)");

LIST_HEAD(cgroups);
struct sampler_cgroup *cgroups_by_slot[CGROUPS_MOST + CGROUPS_NO_REAL];	/* NULL: free */
static DEFINE_HASHTABLE(cgroups_by_id, CGROUPS_BITS);
static unsigned int cgroups_nr;		/* without unknown, other and the hypervisor */
static u64 cgroups_others[1 << CGROUPS_BITS];	/* ids for which there was no room */
static u64 cgroups_cleaned;
static void (*cgroups_forget)(unsigned int slot);
struct kdtl_tasks *cgroups_tasks;	/* NULL: cgroups are not counted */

/**
 * cgroups_begin() - keep what the tasks are, to count by cgroup
 * @lock: sampler.lock, which the reader may hold already
 * @forget: called, with that lock, with the slot of a cgroup that is not counted any more
 *
 * Context: may sleep.
 * Return: 0 or the error of kdtl_tasks_open().
 */
int cgroups_begin(struct mutex *lock, void (*forget)(unsigned int slot))
{
	struct kdtl_tasks *t = kdtl_tasks_open();

	if (IS_ERR(t))
		return PTR_ERR(t);
	mutex_lock(lock);
	cgroups_tasks = t;
	cgroups_forget = forget;
	mutex_unlock(lock);
	return 0;
}

/**
 * cgroups_end() - undo cgroups_begin()
 *
 * Context: may sleep; there is no session any more.
 */
void cgroups_end(void)
{
	cgroups_reset();
	kdtl_tasks_close(cgroups_tasks);
}

/**
 * cgroups_nobody() - a slot that no cgroup has
 *
 * Context: any.
 * Return: the number of slots that cgroups may have.
 */
unsigned int cgroups_nobody(void)
{
	return cgroups_max + CGROUPS_NO_REAL;
}

static bool cgroup_is_real(u64 id)
{
	return id != CGROUP_UNKNOWN && id != CGROUP_OTHER && id != CGROUP_HYPERVISOR;
}

static struct sampler_cgroup *cgroup_of_id(u64 id)
{
	struct sampler_cgroup *c;

	hash_for_each_possible(cgroups_by_id, c, hash, id) {
		if (c->id == id)
			return c;
	}
	return NULL;
}

static struct sampler_cgroup *cgroup_of_path(const char *path)
{
	struct sampler_cgroup *c;

	list_for_each_entry(c, &cgroups, list) {
		if (!strcmp(c->path, path))
			return c;
	}
	return NULL;
}

/* A cgroup's name may have any byte, but people and Prometheus do not read all. */
static const char *cgroup_path(u64 id)
{
	static char path[CGROUP_PATH / 4], text[CGROUP_PATH];
	int len;

	if (id == CGROUP_OTHER)
		return "other";
	if (id == CGROUP_UNKNOWN)
		return "unknown";
	if (id == CGROUP_HYPERVISOR)
		return "hypervisor";
	len = kdtl_cgroup_path(cgroups_tasks, id, path, sizeof(path));
	if (len < 0) {
		snprintf(text, sizeof(text), "#%llu", id);
		return text;
	}
	len = string_escape_mem(path, len, text, sizeof(text) - 1, ESCAPE_HEX | ESCAPE_NAP,
				NULL);
	text[min_t(size_t, len, sizeof(text) - 1)] = '\0';
	return text;
}

static void cgroup_free(struct sampler_cgroup *c)
{
	cgroups_nr -= cgroup_is_real(c->id);
	cgroups_by_slot[c->slot] = NULL;
	cgroups_forget(c->slot);
	hash_del(&c->hash);
	list_del(&c->list);
	kvfree(c);
}

static struct sampler_cgroup *cgroup_new(u64 id, const char *path)
{
	struct sampler_cgroup *c;

	c = kvzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return NULL;
	c->id = id;
	/* There are no more cgroups than slots. */
	while (cgroups_by_slot[c->slot])
		c->slot++;
	cgroups_by_slot[c->slot] = c;
	strscpy(c->path, path, sizeof(c->path));
	hash_add(cgroups_by_id, &c->hash, id);
	list_add_tail(&c->list, &cgroups);
	cgroups_nr += cgroup_is_real(id);
	return c;
}

/* The one of that id, which may be new; if there is no room, the one of all others. */
static struct sampler_cgroup *cgroup_get(u64 id)
{
	struct sampler_cgroup *c = cgroup_of_id(id);
	const char *path;

	if (c)
		return c;
	path = cgroup_path(id);
	c = cgroup_of_path(path);
	if (c) {
		/* It was made again. Prometheus refuses a path that is there twice. */
		hash_del(&c->hash);
		c->id = id;
		hash_add(cgroups_by_id, &c->hash, id);
		return c;
	}
	if (cgroup_is_real(id) && cgroups_nr >= cgroups_max) {
		cgroups_others[hash_64(id, CGROUPS_BITS)] = id;
		return cgroup_get(CGROUP_OTHER);
	}
	return cgroup_new(id, path);
}

/**
 * cgroups_find() - the counts of a task's cgroup
 * @pid: the task
 * @ticks: when, by the session's time base
 * @id: set to the cgroup's id; 0: not known
 *
 * Context: under sampler.lock, may sleep.
 * Return: the cgroup, "other" or "unknown"; NULL: there is no memory.
 */
struct sampler_cgroup *cgroups_find(pid_t pid, u64 ticks, u64 *id)
{
	struct kdtl_task task;

	*id = 0;
	if (kdtl_task_at(cgroups_tasks, pid, ticks, &task))
		return cgroups_unknown();
	*id = task.cgroup;
	if (*id && cgroups_others[hash_64(*id, CGROUPS_BITS)] == *id)
		return cgroup_get(CGROUP_OTHER);
	return cgroup_get(*id);
}

/**
 * cgroups_are_others() - are these the counts of several cgroups?
 * @c: the counts
 *
 * Context: any.
 * Return: true for those for which there was no room.
 */
bool cgroups_are_others(const struct sampler_cgroup *c)
{
	return c->id == CGROUP_OTHER;
}

/**
 * cgroups_unknown() - the counts of tasks of which nothing is known
 *
 * Context: under sampler.lock, may sleep.
 * Return: as cgroups_find().
 */
struct sampler_cgroup *cgroups_unknown(void)
{
	return cgroup_get(CGROUP_UNKNOWN);
}

/**
 * cgroups_hypervisor() - the counts of the hypervisor, which has no tasks here
 *
 * Context: under sampler.lock, may sleep.
 * Return: as cgroups_find().
 */
struct sampler_cgroup *cgroups_hypervisor(void)
{
	return cgroup_get(CGROUP_HYPERVISOR);
}

/**
 * cgroups_add() - count a dispatch in its task's cgroup
 * @e: the entry
 * @wait: what it says
 * @id: set to the cgroup's id; 0: not known
 *
 * Context: under sampler.lock, may sleep.
 * Return: the cgroup, or NULL: cgroups are not counted, or there is no memory.
 */
struct sampler_cgroup *cgroups_add(const struct kdtl_entry *e,
				   const struct sampler_wait *wait, u64 *id)
{
	struct sampler_cgroup *c;

	if (!cgroups_tasks)
		return NULL;
	if (wait->time > cgroups_cleaned + NSEC_PER_SEC)
		cgroups_clean(wait->time);
	c = cgroups_find(kdtl_entry_pid(e), kdtl_entry_time(e), id);
	if (!c)
		return NULL;
	c->seen = max(c->seen, wait->time);
	stats_add(&c->stats, wait);
	windows_add(&c->windows, wait);
	return c;
}

/**
 * cgroups_clean() - forget the cgroups that were not seen for five minutes
 * @now: windows_now()
 *
 * Context: under sampler.lock.
 */
void cgroups_clean(u64 now)
{
	struct sampler_cgroup *c, *next;

	list_for_each_entry_safe(c, next, &cgroups, list) {
		if (c->seen + CGROUPS_STALE < now)
			cgroup_free(c);
	}
	memset(cgroups_others, 0, sizeof(cgroups_others));
	cgroups_cleaned = now;
}

/**
 * cgroups_reset() - count from now on
 *
 * Context: under sampler.lock.
 */
void cgroups_reset(void)
{
	cgroups_clean(U64_MAX);
	cgroups_cleaned = 0;
}
