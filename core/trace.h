/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trace events about sessions
 *
 * None of them is on the path of an entry that only has to be stored: the sessions
 * themselves log those.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kdtl

#if !defined(_KDTL_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _KDTL_TRACE_H

#include <linux/string.h>
#include <linux/tracepoint.h>

#include "session.h"

/* A verb has changed the session's state; @what names the verb. */
TRACE_EVENT(kdtl_session,

	TP_PROTO(const struct kdtl_session *s, const char *what),

	TP_ARGS(s, what),

	TP_STRUCT__entry(
		__field(u32,		id)
		__array(char,		what, 12)
		__array(char,		owner, KDTL_OWNER_LEN)
	),

	TP_fast_assign(
		__entry->id = s->id;
		strscpy(__entry->what, what, sizeof(__entry->what));
		memcpy(__entry->owner, s->owner, KDTL_OWNER_LEN);
	),

	TP_printk("session=%u %s owner=%s", __entry->id, __entry->what,
		  __entry->owner)
);

/* A CPU has written up to the next watermark: the reader is about to be woken. */
TRACE_EVENT(kdtl_watermark,

	TP_PROTO(const struct kdtl_aux *aux, u64 position),

	TP_ARGS(aux, position),

	TP_STRUCT__entry(
		__field(u32,	id)
		__field(int,	cpu)
		__field(u64,	head)
		__field(u64,	unread)
	),

	TP_fast_assign(
		__entry->id = aux->session->id;
		__entry->cpu = aux->cpu;
		__entry->head = position;
		__entry->unread = position - kdtl_u64_read(&aux->tail);
	),

	TP_printk("session=%u cpu=%d head=%llu unread=%llu", __entry->id,
		  __entry->cpu, __entry->head, __entry->unread)
);

/*
 * A run of lost entries begins (over=0) or ends (over=1).  run counts the entries
 * of this run so far, lost those since the session was loaded.
 */
TRACE_EVENT(kdtl_lost,

	TP_PROTO(const struct kdtl_aux *aux, u64 run, bool over),

	TP_ARGS(aux, run, over),

	TP_STRUCT__entry(
		__field(u32,	id)
		__field(int,	cpu)
		__field(u64,	run)
		__field(u64,	lost)
		__field(bool,	over)
	),

	TP_fast_assign(
		__entry->id = aux->session->id;
		__entry->cpu = aux->cpu;
		__entry->run = run;
		__entry->lost = aux->lost;
		__entry->over = over;
	),

	TP_printk("session=%u cpu=%d run=%llu lost=%llu over=%d", __entry->id,
		  __entry->cpu, __entry->run, __entry->lost, __entry->over)
);

#ifdef CONFIG_KDTL_COUNTERS
/* Counters of the active set have overflowed together; each is a bit, 1 << counter. */
TRACE_EVENT(kdtl_overflow,

	TP_PROTO(const struct kdtl_aux *aux, u16 set, u32 counters),

	TP_ARGS(aux, set, counters),

	TP_STRUCT__entry(
		__field(u32,	id)
		__field(int,	cpu)
		__field(u32,	counters)
		__field(u16,	set)
	),

	TP_fast_assign(
		__entry->id = aux->session->id;
		__entry->cpu = aux->cpu;
		__entry->counters = counters;
		__entry->set = set;
	),

	TP_printk("session=%u cpu=%d set=%u counters=%#x", __entry->id,
		  __entry->cpu, __entry->set, __entry->counters)
);

/* A CPU switches to another event set. */
TRACE_EVENT(kdtl_set_switch,

	TP_PROTO(const struct kdtl_aux *aux, u16 from, u16 to),

	TP_ARGS(aux, from, to),

	TP_STRUCT__entry(
		__field(u32,	id)
		__field(int,	cpu)
		__field(u16,	from)
		__field(u16,	to)
	),

	TP_fast_assign(
		__entry->id = aux->session->id;
		__entry->cpu = aux->cpu;
		__entry->from = from;
		__entry->to = to;
	),

	TP_printk("session=%u cpu=%d from=%u to=%u", __entry->id, __entry->cpu,
		  __entry->from, __entry->to)
);
#endif

#endif /* _KDTL_TRACE_H */

/* The -I in Kbuild finds it, in and out of tree. */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
