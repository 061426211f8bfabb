// SPDX-License-Identifier: GPL-2.0
/* Entries that stand for a CPU's going offline and coming online, between those of a recording. */
#include <stdio.h>
#include <stdlib.h>

#include "kdtl.h"

/* Is @e an entry of the CPU before @m?  At one moment it is as move_after() says. */
static bool is_before(const struct kdtl_entry *e, const struct move *m)
{
	const uint64_t ticks = be64toh(e->timebase);

	if (entry_cpu(e) != m->cpu)
		return entry_cpu(e) < m->cpu;
	return m->online ? ticks < m->ticks : ticks <= m->ticks;
}

/*
 * An entry for @m, behind @last of its CPU, or NULL, and before entry @i: the CPU becomes idle when
 * it goes, and since it came it has the task that its next entry says it had.  It may have gone
 * before the recording begins.
 */
static struct kdtl_entry entry_of(const struct recording *r, const struct move *m, uint64_t ticks,
				  const struct kdtl_entry *last, size_t i)
{
	const struct kdtl_entry *next = i < r->nr && entry_cpu(r->entry[i]) == m->cpu ?
					r->entry[i] : NULL;
	const int pid = m->online && next ? entry_prev_pid(next) : 0;
	struct kdtl_entry e = {
		.dispatch_reason = pid ? KDTL_DISPATCH_PROD : KDTL_DISPATCH_IDLE,
		.preempt_reason = KDTL_PREEMPT_CEDE,
		.processor_id = htobe16(m->cpu),
		.timebase = htobe64(ticks),
		.fault_addr = htobe64((uint64_t)pid << 32 | (last ? (uint32_t)entry_pid(last) : 0)),
	};
	char comm[COMM_LEN + 8] = "";

	if (pid)
		entry_prev_comm(comm, r, i, task_at(r, next, pid, be64toh(next->timebase)));
	else
		snprintf(comm, sizeof(comm), "swapper/%u", m->cpu);
	memcpy((char *)entry_comm(&e), comm, COMM_LEN);
	return e;
}

/*
 * Put an entry for each move between those of its CPU, for formats whose readers know of switches
 * only.  Both must be sorted by CPU.
 */
void moves_put(struct recording *r)
{
	const uint64_t begin = recording_span(r).from;
	const struct kdtl_entry **entry, *last;
	const struct move *m = r->move;
	size_t nr = 0, i = 0;

	if (!r->nr_moves)
		return;
	entry = resized(NULL, (r->nr + r->nr_moves) * sizeof(*entry));
	r->moved = resized(NULL, r->nr_moves * sizeof(*r->moved));
	for (size_t k = 0; k < r->nr_moves; k++, m++) {
		while (i < r->nr && is_before(r->entry[i], m))
			entry[nr++] = r->entry[i++];
		last = nr && entry_cpu(entry[nr - 1]) == m->cpu ? entry[nr - 1] : NULL;
		r->moved[k] = entry_of(r, m, m->ticks > begin ? m->ticks : begin, last, i);
		entry[nr++] = &r->moved[k];
	}
	while (i < r->nr)
		entry[nr++] = r->entry[i++];
	free(r->entry);
	r->entry = entry;
	r->nr = nr;
}
