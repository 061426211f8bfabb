// SPDX-License-Identifier: GPL-2.0
/*
 * The paths of cgroups by id, also of those that have gone
 *
 * A container may be gone before anybody reads what its tasks did.  So the path is kept
 * from when the cgroup is made, and the memory of a removed cgroup is reused only when
 * none is free.
 *
 * The probes run inside the cgroup code's locks and cannot allocate.  All memory is
 * allocated when the table of tasks begins.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/cgroup.h>
#include <linux/hash.h>
#include <linux/kdtl_probes.h>
#include <linux/kdtl_root.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "cgroups.h"
#include "seqtry.h"

#define KDTL_MIN_CGROUPS	1024
#define KDTL_MAX_CGROUPS	BIT(16)
#define KDTL_NO_CGROUP		U32_MAX

/**
 * struct kdtl_cgroup - a cgroup, as long as somebody may ask for it
 * @id: its id; 0: this element is free
 * @chain: index of the next cgroup with the same hash
 * @next: index of the next free element, or of the cgroup that was removed next
 * @path: its path; a long path is cut to its end
 */
struct kdtl_cgroup {
	u64	id;
	u32	chain;
	u32	next;
	char	path[KDTL_PATH_LEN];
};

/**
 * struct kdtl_cgroups - all cgroups
 * @lock: protects the rest
 * @nr: number of @all, a power of two
 * @all: the memory
 * @heads: the first of each chain, @nr chains
 * @free: the first free element
 * @gone_first: the cgroup that was removed first
 * @gone_last: the cgroup that was removed last
 * @dropped: how often there was no memory for a path
 */
struct kdtl_cgroups {
	struct kdtl_seqtry	lock;
	u32			nr;
	struct kdtl_cgroup	*all;
	u32			*heads;
	u32			free;
	u32			gone_first;
	u32			gone_last;
	u64			dropped;
};

static struct kdtl_cgroups cgroups = { .lock = KDTL_SEQTRY_INIT(cgroups.lock) };

/* The hierarchy that has the cpu controller. */
static struct cgroup_root *kdtl_cgroup_root(void)
{
#ifdef CONFIG_CGROUP_SCHED
	struct cgroup_root *root = &cgrp_dfl_root;

	rcu_read_lock();
	if (!cgroup_subsys_on_dfl(cpu_cgrp_subsys))
		root = task_css_check(&init_task, cpu_cgrp_id, true)->cgroup->root;
	rcu_read_unlock();
	return root;
#else
	return &cgrp_dfl_root;
#endif
}

/**
 * kdtl_cgroup_of() - which cgroup is a task in?
 * @t: the task
 *
 * Context: any, in an RCU reader.
 * Return: the cgroup's id, in the hierarchy that has the cpu controller.
 */
u64 kdtl_cgroup_of(const struct task_struct *t)
{
#ifdef CONFIG_CGROUP_SCHED
	if (!cgroup_subsys_on_dfl(cpu_cgrp_subsys))
		return cgroup_id(task_css_check(t, cpu_cgrp_id, true)->cgroup);
#endif
	return cgroup_id(task_css_set_check(t, true)->dfl_cgrp);
}

static u32 *kdtl_cgroup_head(u64 id)
{
	return &cgroups.heads[hash_64(id, ilog2(cgroups.nr))];
}

static struct kdtl_cgroup *kdtl_cgroup_find(u64 id)
{
	u32 i = READ_ONCE(*kdtl_cgroup_head(id)), steps = cgroups.nr;

	while (i < cgroups.nr && steps--) {
		if (READ_ONCE(cgroups.all[i].id) == id)
			return &cgroups.all[i];
		i = READ_ONCE(cgroups.all[i].chain);
	}
	return NULL;
}

static void kdtl_cgroup_unchain(struct kdtl_cgroup *c)
{
	u32 *at = kdtl_cgroup_head(c->id);

	while (*at != c - cgroups.all)
		at = &cgroups.all[*at].chain;
	WRITE_ONCE(*at, c->chain);
}

/* Take a free element, or else that of the cgroup that was removed first; or NULL. */
static struct kdtl_cgroup *kdtl_cgroup_take(void)
{
	struct kdtl_cgroup *c;

	if (cgroups.free != KDTL_NO_CGROUP) {
		c = &cgroups.all[cgroups.free];
		cgroups.free = c->next;
	} else if (cgroups.gone_first != KDTL_NO_CGROUP) {
		c = &cgroups.all[cgroups.gone_first];
		cgroups.gone_first = c->next;
		kdtl_cgroup_unchain(c);
	} else {
		return NULL;
	}
	return c;
}

static void kdtl_cgroup_set_path(struct kdtl_cgroup *c, const char *path)
{
	const size_t len = strlen(path);

	if (len < sizeof(c->path))
		strscpy(c->path, path, sizeof(c->path));
	else
		snprintf(c->path, sizeof(c->path), "...%s",
			 path + len - (sizeof(c->path) - 4));
}

static void kdtl_cgroup_add(u64 id, const char *path)
{
	struct kdtl_cgroup *c;
	unsigned long flags;
	bool first = false;

	kdtl_seqtry_write(&cgroups.lock, &flags);
	c = kdtl_cgroup_find(id);
	if (!c) {
		c = kdtl_cgroup_take();
		if (c) {
			WRITE_ONCE(c->id, id);
			WRITE_ONCE(c->chain, *kdtl_cgroup_head(id));
			WRITE_ONCE(*kdtl_cgroup_head(id), c - cgroups.all);
		}
	}
	if (c)
		kdtl_cgroup_set_path(c, path);
	else
		first = !cgroups.dropped++;
	kdtl_seqtry_written(&cgroups.lock, flags);
	if (first)
		pr_warn("more than %u cgroups: the paths of some are not known\n", cgroups.nr);
}

/* Keep the path until its memory is needed. */
static void kdtl_cgroup_gone(u64 id)
{
	struct kdtl_cgroup *c;
	unsigned long flags;
	u32 i;

	kdtl_seqtry_write(&cgroups.lock, &flags);
	c = kdtl_cgroup_find(id);
	if (c) {
		i = c - cgroups.all;
		c->next = KDTL_NO_CGROUP;
		if (cgroups.gone_first == KDTL_NO_CGROUP)
			cgroups.gone_first = i;
		else
			cgroups.all[cgroups.gone_last].next = i;
		cgroups.gone_last = i;
	}
	kdtl_seqtry_written(&cgroups.lock, flags);
}

static bool kdtl_cgroup_is_ours(const struct cgroup *cgrp)
{
	return cgrp->root == kdtl_cgroup_root();
}

/* A cgroup was made, or renamed. */
static void kdtl_cgroup_made(void *data, struct cgroup *cgrp, const char *path)
{
	if (kdtl_cgroup_is_ours(cgrp))
		kdtl_cgroup_add(cgroup_id(cgrp), path);
}

static void kdtl_cgroup_removed(void *data, struct cgroup *cgrp, const char *path)
{
	if (kdtl_cgroup_is_ours(cgrp))
		kdtl_cgroup_gone(cgroup_id(cgrp));
}

static struct kdtl_probe kdtl_cgroup_probes[] = {
	{ "cgroup_mkdir", kdtl_cgroup_made },
	{ "cgroup_rename", kdtl_cgroup_made },
	{ "cgroup_rmdir", kdtl_cgroup_removed },
};

/* Cgroups that are walked in one RCU reader, during which no other task may run. */
#define KDTL_CGROUPS_AT_ONCE	64

/*
 * Let other tasks run, in the middle of a walk.  Hold the current cgroup, which then keeps its
 * place among the others even if it is removed meanwhile.
 */
static void kdtl_cgroups_pause(struct cgroup_subsys_state *css)
{
	/* A cgroup that is about to be freed cannot be held: pause at a later one. */
	if (!css_tryget(css))
		return;
	rcu_read_unlock();
	cond_resched();
	rcu_read_lock();
	css_put(css);
}

/* Call @add, unless it is NULL, for each cgroup that exists.  Returns the number of cgroups. */
static unsigned int kdtl_cgroups_walk(void (*add)(u64 id, const char *path), char *path)
{
	struct cgroup *root = &kdtl_cgroup_root()->cgrp;
	struct cgroup_subsys_state *css;
	unsigned int nr = 0, seen = 0;

	rcu_read_lock();
	css_for_each_descendant_pre(css, &root->self) {
		if (++seen % KDTL_CGROUPS_AT_ONCE == 0)
			kdtl_cgroups_pause(css);
		/* A removed cgroup stays while something is charged to it, maybe for long. */
		if (!(css->flags & CSS_ONLINE))
			continue;
		nr++;
		if (!add)
			continue;
		cgroup_path(css->cgroup, path, PATH_MAX);
		add(cgroup_id(css->cgroup), path);
	}
	rcu_read_unlock();
	return nr;
}

static int kdtl_cgroups_alloc(void)
{
	u32 i;

	cgroups.nr = clamp_t(u32, roundup_pow_of_two(4 * kdtl_cgroups_walk(NULL, NULL)),
			     KDTL_MIN_CGROUPS, KDTL_MAX_CGROUPS);
	cgroups.all = vcalloc(cgroups.nr, sizeof(*cgroups.all));
	cgroups.heads = vcalloc(cgroups.nr, sizeof(*cgroups.heads));
	if (!cgroups.all || !cgroups.heads)
		return -ENOMEM;
	for (i = 0; i < cgroups.nr; i++) {
		cgroups.heads[i] = KDTL_NO_CGROUP;
		cgroups.all[i].next = i + 1;
	}
	cgroups.all[cgroups.nr - 1].next = KDTL_NO_CGROUP;
	cgroups.free = 0;
	cgroups.gone_first = KDTL_NO_CGROUP;
	cgroups.dropped = 0;
	return 0;
}

static void kdtl_cgroups_free(void)
{
	vfree(cgroups.heads);
	vfree(cgroups.all);
	cgroups.heads = NULL;
	cgroups.all = NULL;
}

/**
 * kdtl_cgroups_begin() - begin to keep the paths
 *
 * Context: may sleep; not under the CPU hotplug lock.
 * Return: 0, -ENOMEM, or the error of registering a probe.
 */
int kdtl_cgroups_begin(void)
{
	char *path = kmalloc(PATH_MAX, GFP_KERNEL);
	int err;

	err = path ? kdtl_cgroups_alloc() : -ENOMEM;
	if (!err)
		err = kdtl_probes_register(kdtl_cgroup_probes,
					   ARRAY_SIZE(kdtl_cgroup_probes));
	if (err) {
		kdtl_cgroups_free();
	} else {
		kdtl_cgroups_walk(kdtl_cgroup_add, path);
		kdtl_tables.cgroups = (struct kdtl_root_table) {
			.first		= cgroups.all,
			.nr		= cgroups.nr,
			.size		= sizeof(*cgroups.all),
			.text		= offsetof(struct kdtl_cgroup, path),
			.text_len	= sizeof(cgroups.all->path),
		};
	}
	kfree(path);
	return err;
}

/**
 * kdtl_cgroups_end() - undo kdtl_cgroups_begin(), when nobody asks for paths any more
 *
 * Context: may sleep; not under the CPU hotplug lock.
 */
void kdtl_cgroups_end(void)
{
	kdtl_tables.cgroups.first = NULL;
	kdtl_probes_unregister(kdtl_cgroup_probes, ARRAY_SIZE(kdtl_cgroup_probes));
	if (cgroups.dropped)
		pr_warn("%llu paths of cgroups were dropped\n", cgroups.dropped);
	kdtl_cgroups_free();
}

/**
 * kdtl_cgroups_path() - the path of a cgroup
 * @id: its id
 * @path: filled in
 * @size: of @path
 *
 * Context: any, between kdtl_cgroups_begin() and kdtl_cgroups_end().
 * Return: its length, -E2BIG, -ENOENT or -EAGAIN, see kdtl_cgroup_path().
 */
ssize_t kdtl_cgroups_path(u64 id, char *path, size_t size)
{
	unsigned int tries = KDTL_SEQ_TRIES, seq;
	const struct kdtl_cgroup *c;
	ssize_t len;

	do {
		if (!kdtl_seqtry_begin(&cgroups.lock, &tries, &seq))
			return -EAGAIN;
		c = kdtl_cgroup_find(id);
		len = c ? strscpy(path, c->path, min(size, sizeof(c->path))) : -ENOENT;
	} while (read_seqcount_retry(&cgroups.lock.seq, seq));
	return len;
}
