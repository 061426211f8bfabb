// SPDX-License-Identifier: GPL-2.0
/*
 * Counts by cgroup
 *
 * A machine may have thousands of cgroups, and each that is counted separately takes
 * memory here and time series in Prometheus. So their number is limited: the others are
 * counted as one, and a cgroup makes room when its tasks were not dispatched, and kept nobody
 * waiting, for a while.
 */
#define pr_fmt(fmt) "kdtl_sampler: " fmt

#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/overflow.h>
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
#define CGROUP_PARENT	(U64_MAX - 1)	/* a parent whose id is not known yet */

#define CGROUPS_MOST	1024
#define CGROUPS_NO_REAL	2	/* unknown and other */

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
MODULE_PARM_DESC(cgroups, "number of cgroups that are counted separately (0 to 1024, default 64)");

LIST_HEAD(cgroups);
struct sampler_cgroup *cgroups_by_slot[2 * CGROUPS_MOST + CGROUPS_NO_REAL];	/* NULL: free */
static DEFINE_HASHTABLE(cgroups_by_id, CGROUPS_BITS);
static unsigned int cgroups_nr;		/* those for which cgroup_is_real() */
static unsigned int cgroups_nr_around;
static u64 cgroups_others[1 << CGROUPS_BITS];	/* ids for which there was no room */
static u64 cgroups_cleaned;
static const struct cgroups_ops *cgroups_calls;
struct kdtl_tasks *cgroups_tasks;	/* NULL: cgroups are not counted */

/**
 * cgroups_begin() - begin to keep track of tasks, to count by cgroup
 * @lock: sampler.lock, as the session's reader runs already
 * @ops: functions to call
 *
 * Context: may sleep.
 * Return: 0 or the error of kdtl_tasks_open() or of @ops->begin.
 */
int cgroups_begin(struct mutex *lock, const struct cgroups_ops *ops)
{
	struct kdtl_tasks *t = kdtl_tasks_open();
	int err;

	if (IS_ERR(t))
		return PTR_ERR(t);
	mutex_lock(lock);
	err = ops->begin();
	cgroups_calls = ops;
	cgroups_tasks = err ? NULL : t;
	mutex_unlock(lock);
	if (err)
		kdtl_tasks_close(t);
	return err;
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
 * cgroups_slots() - how many cgroups there may be
 *
 * Context: any.
 * Return: the number of slots.
 */
unsigned int cgroups_slots(void)
{
	return 2 * cgroups_max + CGROUPS_NO_REAL;
}

static bool cgroup_is_real(u64 id)
{
	return id != CGROUP_UNKNOWN && id != CGROUP_OTHER && id != CGROUP_PARENT;
}

/* Count a cgroup that comes (@n is 1) or goes (-1). */
static void cgroup_count(const struct sampler_cgroup *c, int n)
{
	if (c->id == CGROUP_PARENT)
		cgroups_nr_around += n;
	else if (cgroup_is_real(c->id))
		cgroups_nr += n;
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

/**
 * cgroups_of_path() - the counts of a cgroup
 * @path: its path
 *
 * Context: under sampler.lock.
 * Return: the counts, or NULL: it is not counted separately.
 */
struct sampler_cgroup *cgroups_of_path(const char *path)
{
	struct sampler_cgroup *c;

	list_for_each_entry(c, &cgroups, list) {
		if (!strcmp(c->path, path))
			return c;
	}
	return NULL;
}

/* The cgroup's path for people and Prometheus: its name may have any byte, so some are escaped. */
static const char *cgroup_path(u64 id)
{
	static char path[CGROUP_PATH / 4], text[CGROUP_PATH];
	int len;

	if (id == CGROUP_OTHER)
		return "other";
	if (id == CGROUP_UNKNOWN)
		return "unknown";
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

/* Those in the cgroup, which were not seen for as long, go in the same walk of the list. */
static void cgroup_free(struct sampler_cgroup *c)
{
	unsigned int i;

	cgroup_count(c, -1);
	cgroups_by_slot[c->slot] = NULL;
	cgroups_calls->forget(c->slot);
	hash_del(&c->hash);
	list_del(&c->list);
	windows_free(&c->windows);
	for (i = 0; i < KDTL_HIST_OCTAVES; i++)
		kfree(c->hist[i]);
	kfree(c);
}

/* A cgroup that is in the list, but not inside another one yet. */
static struct sampler_cgroup *cgroup_alloc(u64 id, const char *path)
{
	const size_t size = strlen(path) + 1;
	struct sampler_cgroup *c;

	c = kzalloc(struct_size(c, path, size), GFP_KERNEL);
	if (!c)
		return NULL;
	c->id = id;
	/* There are no more cgroups than slots. */
	while (cgroups_by_slot[c->slot])
		c->slot++;
	cgroups_by_slot[c->slot] = c;
	memcpy(c->path, path, size);
	hash_add(cgroups_by_id, &c->hash, id);
	list_add_tail(&c->list, &cgroups);
	cgroup_count(c, 1);
	return c;
}

/*
 * Find the nearest ancestors of @c that are counted, or can be.  The id of one that is new is not
 * known, and not needed, before an entry of one of its own tasks comes.  Whoever makes cgroups may
 * make hundreds, each in the one before, so this does not call itself.  Returns the outermost
 * cgroup that is new.
 */
static struct sampler_cgroup *cgroup_put_inside(struct sampler_cgroup *c)
{
	char *around = kstrdup(c->path, GFP_KERNEL), *end;
	struct sampler_cgroup *parent;

	/* A very long path lacks its beginning. */
	while (around && around[0] == '/' && around[1]) {
		end = strrchr(around, '/');
		end[end == around] = '\0';
		parent = cgroups_of_path(around);
		if (parent) {
			c->parent = parent;
			break;
		}
		if (cgroups_nr_around < cgroups_max)
			parent = cgroup_alloc(CGROUP_PARENT, around);
		if (parent) {
			c->parent = parent;
			c = parent;
		}
	}
	kfree(around);
	return c;
}

static struct sampler_cgroup *cgroup_new(u64 id, const char *path)
{
	struct sampler_cgroup *c = cgroup_alloc(id, path), *outer, *at;

	if (!c)
		return NULL;
	outer = cgroup_put_inside(c);
	/* Those around a cgroup begin before it does. */
	while (outer != c) {
		for (at = c; at->parent != outer; at = at->parent)
			;
		cgroups_calls->new(outer);
		outer = at;
	}
	cgroups_calls->new(c);
	return c;
}

/* Find the cgroup with this id, or begin to count it; return "other" if there is no room. */
static struct sampler_cgroup *cgroup_get(u64 id)
{
	struct sampler_cgroup *c = cgroup_of_id(id);
	const char *path;

	if (c)
		return c;
	path = cgroup_path(id);
	c = cgroups_of_path(path);
	if (c && (c->id != CGROUP_PARENT || cgroups_nr < cgroups_max)) {
		/*
		 * The cgroup was removed and made again, or was known only as a parent.  It keeps
		 * its counts, as Prometheus refuses the same path twice.
		 */
		cgroup_count(c, -1);
		hash_del(&c->hash);
		c->id = id;
		hash_add(cgroups_by_id, &c->hash, id);
		cgroup_count(c, 1);
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
 * @ticks: when, by the session's time base, which is in ns if entries name tasks
 * @id: set to the cgroup's id; 0: not known
 *
 * Context: under sampler.lock, may sleep.
 * Return: the cgroup, "other" or "unknown"; NULL: there is no memory.
 */
struct sampler_cgroup *cgroups_find(pid_t pid, u64 ticks, u64 *id)
{
	u64 counted = CGROUP_UNKNOWN;
	struct sampler_cgroup *c, *each;
	struct kdtl_task task;

	*id = 0;
	if (!kdtl_task_at(cgroups_tasks, pid, ticks, &task))
		counted = *id = task.cgroup;
	if (*id && cgroups_others[hash_64(*id, CGROUPS_BITS)] == *id)
		counted = CGROUP_OTHER;
	c = cgroup_get(counted);
	/* It is in use, and so are those around it. */
	for (each = c; each; each = each->parent)
		each->seen = max(each->seen, ticks);
	return c;
}

/**
 * cgroups_is_unknown() - are these the counts of tasks of which nothing is known?
 * @c: the counts
 *
 * Context: any.
 * Return: true if so.
 */
bool cgroups_is_unknown(const struct sampler_cgroup *c)
{
	return c->id == CGROUP_UNKNOWN;
}

/* Count a wait in the histogram, whose parts are allocated when they are first used. */
static void cgroup_hist(struct sampler_cgroup *c, const struct sampler_wait *wait)
{
	const unsigned int bucket = wait->bucket;
	u64 **octave = &c->hist[bucket / KDTL_HIST_STEPS];

	if (!*octave)
		*octave = kcalloc(KDTL_HIST_STEPS, sizeof(**octave), GFP_KERNEL);
	if (*octave)
		(*octave)[bucket % KDTL_HIST_STEPS]++;
	else
		pr_warn_once("no memory for the waits of a cgroup\n");
}

/**
 * cgroups_stats() - what was counted of a cgroup's own dispatches
 * @c: the cgroup
 * @st: all zero; filled in
 *
 * Context: under sampler.lock.
 */
void cgroups_stats(const struct sampler_cgroup *c, struct sampler_stats *st)
{
	unsigned int i;

	st->counts = c->counts;
	for (i = 0; i < KDTL_HIST_OCTAVES; i++) {
		if (c->hist[i])
			memcpy(&st->hist[i * KDTL_HIST_STEPS], c->hist[i],
			       KDTL_HIST_STEPS * sizeof(*st->hist));
	}
}

/**
 * cgroups_add() - count a dispatch in its task's cgroup
 * @e: the entry
 * @wait: what it says about the wait
 *
 * Context: under sampler.lock, may sleep.
 * Return: the cgroup, or NULL: cgroups are not counted, or there is no memory.
 */
struct sampler_cgroup *cgroups_add(const struct kdtl_entry *e,
				   const struct sampler_wait *wait)
{
	struct sampler_cgroup *c;
	u64 id;

	if (!cgroups_tasks)
		return NULL;
	if (wait->time > cgroups_cleaned + NSEC_PER_SEC)
		cgroups_clean(wait->time);
	c = cgroups_find(kdtl_entry_pid(e), kdtl_entry_time(e), &id);
	if (!c)
		return NULL;
	stats_count(&c->counts, wait);
	if (stats_in_hist(wait))
		cgroup_hist(c, wait);
	windows_add_to(&c->windows, NUMA_NO_NODE, wait);
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
		if (windows_are_over(c->seen, now))
			windows_free(&c->windows);
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
