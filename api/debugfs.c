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
#include "session.h"

static struct dentry *kdtl_debugfs;

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
