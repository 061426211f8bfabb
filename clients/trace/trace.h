/* SPDX-License-Identifier: GPL-2.0 */
/* The trace event that has the entries of all CPUs. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kdtl

#if !defined(_KDTL_CLIENT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _KDTL_CLIENT_TRACE_H

#include <linux/string.h>
#include <linux/tracepoint.h>

#include "client.h"

int kdtl_trace_listen(void);
void kdtl_trace_unlisten(void);

TRACE_EVENT_FN(kdtl_dispatch,

	TP_PROTO(const struct traced *t),

	TP_ARGS(t),

	TP_STRUCT__entry(
		__field(u64,	time)
		__field(u64,	mono)
		__field(u64,	wait)
		__field(u64,	queued)
		__field(u64,	ready)
		__field(u64,	slept)
		__field(u64,	lost)
		__field(u64,	cgroup)
		__field(u64,	culprit_cgroup)
		__field(u64,	culprit_ns)
		__field(int,	cpu)
		__field(pid_t,	pid)
		__field(pid_t,	prev_pid)
		__field(pid_t,	tgid)
		__field(pid_t,	culprit)
		__array(char,	comm, TASK_COMM_LEN)
		__array(char,	culprit_comm, TASK_COMM_LEN)
		__array(char,	dispatch_reason, 36)
		__array(char,	preempt_reason, 36)
		__field(bool,	saturated)
		__dynamic_array(char,	path, strlen(t->path) + 1)
	),

	TP_fast_assign(
		const struct kdtl_entry *e = t->entry;
		const struct kdtl_aux_info *info = t->info;
		const bool tasks = info->tasks;

		__entry->time = kdtl_ticks_to_ns(info, kdtl_entry_time(e) - info->tb_boot);
		__entry->wait = kdtl_ticks_to_ns(info, kdtl_entry_wait(e));
		__entry->queued = kdtl_ticks_to_ns(info, kdtl_entry_queued(e));
		__entry->ready = kdtl_ticks_to_ns(info, kdtl_entry_ready(e));
		__entry->slept = kdtl_ticks_to_ns(info, kdtl_entry_slept(e));
		__entry->mono = t->mono;
		__entry->lost = t->lost;
		__entry->cgroup = t->task.cgroup;
		__entry->culprit_cgroup = t->culprit_cgroup;
		__entry->culprit_ns = kdtl_ticks_to_ns(info, t->culprit.ticks);
		__entry->cpu = t->cpu;
		__entry->pid = tasks ? kdtl_entry_pid(e) : 0;
		__entry->prev_pid = tasks ? kdtl_entry_prev_pid(e) : 0;
		__entry->tgid = t->task.tgid;
		__entry->culprit = t->culprit.pid;
		memcpy(__entry->culprit_comm, t->culprit.comm, TASK_COMM_LEN);
		strscpy(__entry->comm, tasks ? kdtl_entry_comm(e) : "", TASK_COMM_LEN);
		strscpy(__entry->dispatch_reason, tasks ?
			kdtl_task_reason_name(kdtl_entry_dispatch_reason(e)) :
			kdtl_dispatch_reason_name(kdtl_entry_dispatch_reason(e)),
			sizeof(__entry->dispatch_reason));
		strscpy(__entry->preempt_reason, tasks ?
			kdtl_task_preempt_name(kdtl_entry_preempt_reason(e)) :
			kdtl_preempt_reason_name(kdtl_entry_preempt_reason(e)),
			sizeof(__entry->preempt_reason));
		__entry->saturated = kdtl_entry_wait_saturated(e);
		memcpy(__get_dynamic_array(path), t->path, __get_dynamic_array_len(path));
	),

	/* A + for "or more". */
	TP_printk("cpu=%d comm=%s pid=%d prev_pid=%d wait=%llu%s queued=%llu ready=%llu slept=%llu time=%llu [ns] dispatch_reason=%s preempt_reason=%s lost=%llu mono=%llu tgid=%d cgroup=%llu path=%s culprit=%d culprit_comm=%s culprit_ns=%llu culprit_cgroup=%llu",
		  __entry->cpu, __entry->comm, __entry->pid, __entry->prev_pid,
		  __entry->wait, __entry->saturated ? "+" : "", __entry->queued,
		  __entry->ready, __entry->slept, __entry->time,
		  __entry->dispatch_reason, __entry->preempt_reason, __entry->lost,
		  __entry->mono, __entry->tgid, __entry->cgroup, __get_str(path),
		  __entry->culprit, __entry->culprit_comm, __entry->culprit_ns,
		  __entry->culprit_cgroup),

	kdtl_trace_listen, kdtl_trace_unlisten
);

#endif /* _KDTL_CLIENT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
