// SPDX-License-Identifier: GPL-2.0
/*
 * The list of sessions: kdtl/sessions and kdtl/areas in debugfs
 *
 * These files show authors of clients what their sessions do.  The numbers are those of
 * kdtl_aux_info().
 */
#include <linux/debugfs.h>
#include <linux/kdtl_root.h>
#include <linux/seq_file.h>

#include "../core/root.h"
#include "../core/session.h"
#include "debugfs.h"

/*
 * Protects the list of sessions and their ids.  A session is complete while it is
 * on the list.  No other kdtl lock is taken inside.
 */
static DEFINE_MUTEX(kdtl_list_lock);
static u32 kdtl_last_id;

static struct dentry *kdtl_debugfs;

/**
 * kdtl_session_list() - give a new session its id, and show it
 * @s: the session, complete
 *
 * Context: may sleep.
 */
void kdtl_session_list(struct kdtl_session *s)
{
	mutex_lock(&kdtl_list_lock);
	if (list_empty(&kdtl_root.sessions))
		kdtl_root_begin();
	s->id = ++kdtl_last_id;
	list_add_tail(&s->node, &kdtl_root.sessions);
	mutex_unlock(&kdtl_list_lock);
}

/**
 * kdtl_session_unlist() - undo kdtl_session_list()
 * @s: the session
 *
 * Context: may sleep.
 */
void kdtl_session_unlist(struct kdtl_session *s)
{
	mutex_lock(&kdtl_list_lock);
	list_del(&s->node);
	if (list_empty(&kdtl_root.sessions))
		kdtl_root_end();
	mutex_unlock(&kdtl_list_lock);
}

/**
 * kdtl_session_shares() - does another session use the same completion?
 * @s: the session, no longer in the list
 *
 * Context: may sleep.
 * Return: true if so.
 */
bool kdtl_session_shares(const struct kdtl_session *s)
{
	const struct kdtl_session *other;
	bool shares = false;

	mutex_lock(&kdtl_list_lock);
	list_for_each_entry(other, &kdtl_root.sessions, node)
		shares |= other->done == s->done;
	mutex_unlock(&kdtl_list_lock);
	return shares;
}

/**
 * kdtl_session_hold_of() - find and hold a session of a module
 * @module: the module
 *
 * Context: may sleep.
 * Return: a session that nobody closes, held; NULL: there is none.
 */
struct kdtl_session *kdtl_session_hold_of(const struct module *module)
{
	struct kdtl_session *s, *found = NULL;

	mutex_lock(&kdtl_list_lock);
	list_for_each_entry(s, &kdtl_root.sessions, node) {
		if (s->module != module || kdtl_session_hold(s))
			continue;
		found = s;
		break;
	}
	mutex_unlock(&kdtl_list_lock);
	return found;
}

static void *list_start(struct seq_file *m, loff_t *pos)
{
	mutex_lock(&kdtl_list_lock);
	return seq_list_start_head(&kdtl_root.sessions, *pos);
}

static void *list_next(struct seq_file *m, void *v, loff_t *pos)
{
	return seq_list_next(v, &kdtl_root.sessions, pos);
}

static void list_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&kdtl_list_lock);
}

static const char *session_state(struct kdtl_session *s)
{
	static const char * const names[] = {
		[KDTL_CREATED]	= "created",
		[KDTL_STOPPED]	= "stopped",
		[KDTL_STARTED]	= "started",
	};

	return atomic_read(&s->nr_paused) ? "paused" : names[READ_ONCE(s->state)];
}

static int sessions_show(struct seq_file *m, void *v)
{
	struct kdtl_session *s = list_entry(v, struct kdtl_session, node);
	struct kdtl_aux_info info;

	if (v == &kdtl_root.sessions) {
		seq_puts(m, "  id state   mode      pmu        pages watermark   mem KiB     produced       unread         lost owner\n");
		return 0;
	}
	kdtl_aux_info(s, -1, &info);
	seq_printf(m, "%4u %-7s %-9s %-10s %5u %9llu %9llu %12llu %12llu %12llu %s\n",
		   s->id, session_state(s),
		   !s->layout.nr_pages ? "count" :
		   s->layout.overwrite ? "overwrite" : "keep", s->pmu->name,
		   s->layout.nr_pages, s->layout.watermark,
		   (u64)atomic64_read(&s->mem) >> 10, info.produced, info.unread,
		   info.lost, s->owner);
	return 0;
}

static int areas_show(struct seq_file *m, void *v)
{
	struct kdtl_session *s = list_entry(v, struct kdtl_session, node);
	struct kdtl_aux_info info;
	struct kdtl_aux *aux;
	int cpu;

	if (v == &kdtl_root.sessions) {
		seq_puts(m, "  id  cpu state                    head                 tail     size   unread         lost\n");
		return 0;
	}
	for_each_cpu(cpu, s->cpus) {
		aux = kdtl_session_aux(s, cpu);
		if (!aux)
			continue;
		kdtl_aux_info(s, cpu, &info);
		seq_printf(m, "%4u %4d %-8s %20llu %20llu %8llu %8llu %12llu\n",
			   s->id, cpu, READ_ONCE(aux->paused) ? "paused" :
			   info.online ? "online" : "offline",
			   info.head, info.tail, info.size, info.unread, info.lost);
	}
	return 0;
}

static const struct seq_operations sessions_sops = {
	.start	= list_start,
	.next	= list_next,
	.stop	= list_stop,
	.show	= sessions_show,
};
DEFINE_SEQ_ATTRIBUTE(sessions);

static const struct seq_operations areas_sops = {
	.start	= list_start,
	.next	= list_next,
	.stop	= list_stop,
	.show	= areas_show,
};
DEFINE_SEQ_ATTRIBUTE(areas);

void __init kdtl_debugfs_init(void)
{
	kdtl_debugfs = debugfs_create_dir("kdtl", NULL);
	debugfs_create_file("sessions", 0400, kdtl_debugfs, NULL, &sessions_fops);
	debugfs_create_file("areas", 0400, kdtl_debugfs, NULL, &areas_fops);
}

void kdtl_debugfs_exit(void)
{
	debugfs_remove(kdtl_debugfs);
}
