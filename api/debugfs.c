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

#include "../core/counting.h"
#include "../core/root.h"
#include "session.h"

static struct dentry *kdtl_debugfs;

static const char *session_state(struct kdtl_session *s)
{
	static const char * const names[] = {
		[KDTL_CREATED]	= "created",
		[KDTL_STOPPED]	= "stopped",
		[KDTL_STARTED]	= "started",
	};

	return kdtl_session_paused(s) ? "paused" : names[READ_ONCE(s->state)];
}

static int sessions_show(struct seq_file *m, void *unused)
{
	struct kdtl_aux_info info;
	struct kdtl_session *s;

	seq_puts(m, "  id state   mode      pmu        pages watermark   mem KiB     produced       unread         lost owner\n");
	mutex_lock(&kdtl_list_lock);
	list_for_each_entry(s, &kdtl_root.sessions, node) {
		kdtl_aux_info(s, -1, &info);
		seq_printf(m, "%4u %-7s %-9s %-10s %5u %9llu %9llu %12llu %12llu %12llu %s\n",
			   s->id, session_state(s),
			   !s->layout.nr_pages ? "count" :
			   s->layout.overwrite ? "overwrite" : "keep", s->pmu->name,
			   s->layout.nr_pages, s->layout.watermark,
			   (u64)atomic64_read(&s->mem) >> 10, info.produced, info.unread,
			   info.lost, s->owner);
	}
	mutex_unlock(&kdtl_list_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sessions);

static void session_areas(struct seq_file *m, struct kdtl_session *s)
{
	struct kdtl_aux_info info;
	struct kdtl_aux *aux;
	int cpu;

	for_each_cpu(cpu, s->cpus) {
		aux = kdtl_session_aux(s, cpu);
		if (!aux)
			continue;
		kdtl_aux_info(s, cpu, &info);
		seq_printf(m, "%4u %4d %-8s %20llu %20llu %8llu %8llu %12llu\n",
			   s->id, cpu, kdtl_aux_paused(aux) ? "paused" :
			   info.online ? "online" : "offline",
			   info.head, info.tail, info.size, info.unread, info.lost);
	}
}

static int areas_show(struct seq_file *m, void *unused)
{
	struct kdtl_session *s;

	seq_puts(m, "  id  cpu state                    head                 tail     size   unread         lost\n");
	mutex_lock(&kdtl_list_lock);
	list_for_each_entry(s, &kdtl_root.sessions, node)
		session_areas(m, s);
	mutex_unlock(&kdtl_list_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(areas);

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
