// SPDX-License-Identifier: GPL-2.0
/* The messages about data and CPUs; those of event sets are in set.c. */
#include <linux/perf_event.h>

#include "../counting.h"
#include "msgq.h"
#include "../session.h"

/**
 * kdtl_msg_post_data() - post that there is new data
 * @aux: the CPU's area
 *
 * Context: on the area's CPU with interrupts off, or when no event writes to the area any
 * more; for a raw session under kdtl_raw_aux::lock.
 */
void kdtl_msg_post_data(struct kdtl_aux *aux)
{
	struct kdtl_msg msg = {
		.type	= KDTL_MSG_AUX,
		.cpu	= aux->cpu,
		.set	= aux->set->id,
		.aux	= {
			.offset	= aux->announced,
			.size	= aux->sink.at->head - aux->announced,
			.flags	= aux->flags,
		},
	};

	if (aux->overwrite)
		msg.aux.flags |= PERF_AUX_FLAG_OVERWRITE;
	kdtl_msgq_put(&aux->session->msgs, &msg);
}

/**
 * kdtl_msg_lost() - post that entries were lost
 * @aux: the CPU's area
 *
 * Context: as kdtl_msg_post_data().
 */
void kdtl_msg_lost(struct kdtl_aux *aux)
{
	struct kdtl_msg msg = {
		.type	= KDTL_MSG_LOST,
		.cpu	= aux->cpu,
		.set	= aux->set->id,
		.lost	= {
			.count	= aux->lost - aux->lost_reported,
			.offset	= aux->gap,
		},
	};

	kdtl_msgq_put(&aux->session->msgs, &msg);
}

/**
 * kdtl_msg_cpu() - post whether a CPU is logged from now on
 * @s: the session
 * @cpu: the CPU
 * @online: it is
 * @err: the errno for which it is not, although it is online
 *
 * Context: any but NMI, also under the runqueue lock.
 */
void kdtl_msg_cpu(struct kdtl_session *s, int cpu, bool online, int err)
{
	struct kdtl_aux *aux = kdtl_session_aux(s, cpu);
	struct kdtl_msg msg = {
		.type		= KDTL_MSG_CPU,
		.cpu		= cpu,
		.cpu_state	= { .online = online, .error = err },
	};

	if (aux)
		msg.set = aux->set->id;
	kdtl_msgq_put(&s->msgs, &msg);
}

/**
 * kdtl_msg_end() - post that the session was unloaded, and end its pause
 * @s: the session
 *
 * Context: any but NMI.
 */
void kdtl_msg_end(struct kdtl_session *s)
{
	struct kdtl_msg end = { .type = KDTL_MSG_END, .cpu = -1 };

	atomic_set(&s->nr_paused, 0);
	kdtl_msgq_put(&s->msgs, &end);
}
