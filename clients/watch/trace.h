/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints for waits that took too long. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kdtl

#if !defined(_KDTL_WATCH_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _KDTL_WATCH_TRACE_H

#include <linux/sched.h>
#include <linux/tracepoint.h>

TRACE_EVENT(kdtl_watch_late,

	TP_PROTO(int cpu, pid_t pid, const char *comm, u64 wait, bool saturated,
		 u64 threshold, bool throttled),

	TP_ARGS(cpu, pid, comm, wait, saturated, threshold, throttled),

	TP_STRUCT__entry(
		__field(int,	cpu)
		__field(pid_t,	pid)
		__array(char,	comm, TASK_COMM_LEN)
		__field(u64,	wait)
		__field(u64,	threshold)
		__field(bool,	saturated)
		__field(bool,	throttled)
	),

	TP_fast_assign(
		__entry->cpu = cpu;
		__entry->pid = pid;
		memcpy(__entry->comm, comm, TASK_COMM_LEN);
		__entry->wait = wait;
		__entry->threshold = threshold;
		__entry->saturated = saturated;
		__entry->throttled = throttled;
	),

	/* A + for "or more". */
	TP_printk("cpu=%d comm=%s pid=%d wait=%llu%s threshold=%llu [ns]%s",
		  __entry->cpu, __entry->comm, __entry->pid, __entry->wait,
		  __entry->saturated ? "+" : "", __entry->threshold,
		  __entry->throttled ? " throttled" : "")
);

TRACE_EVENT(kdtl_watch_going,

	TP_PROTO(int cpu, pid_t pid, const char *comm, u64 wait, u64 threshold, bool throttled),

	TP_ARGS(cpu, pid, comm, wait, threshold, throttled),

	TP_STRUCT__entry(
		__field(int,	cpu)
		__field(pid_t,	pid)
		__array(char,	comm, TASK_COMM_LEN)
		__field(u64,	wait)
		__field(u64,	threshold)
		__field(bool,	throttled)
	),

	TP_fast_assign(
		__entry->cpu = cpu;
		__entry->pid = pid;
		memcpy(__entry->comm, comm, TASK_COMM_LEN);
		__entry->wait = wait;
		__entry->threshold = threshold;
		__entry->throttled = throttled;
	),

	TP_printk("cpu=%d comm=%s pid=%d wait=%llu threshold=%llu [ns]%s",
		  __entry->cpu, __entry->comm, __entry->pid, __entry->wait,
		  __entry->threshold, __entry->throttled ? " throttled" : "")
);

TRACE_EVENT(kdtl_watch_stuck,

	TP_PROTO(int cpu, u64 wait, u64 threshold, pid_t pid, const char *comm),

	TP_ARGS(cpu, wait, threshold, pid, comm),

	TP_STRUCT__entry(
		__field(int,	cpu)
		__field(u64,	wait)
		__field(u64,	threshold)
		__field(pid_t,	pid)
		__array(char,	comm, TASK_COMM_LEN)
	),

	TP_fast_assign(
		__entry->cpu = cpu;
		__entry->wait = wait;
		__entry->threshold = threshold;
		__entry->pid = pid;
		memcpy(__entry->comm, comm, TASK_COMM_LEN);
	),

	/* The task that has the CPU, perhaps the idle task; no name: nobody knows. */
	TP_printk("cpu=%d wait=%llu threshold=%llu [ns] comm=%s pid=%d",
		  __entry->cpu, __entry->wait, __entry->threshold, __entry->comm,
		  __entry->pid)
);

#endif /* _KDTL_WATCH_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
