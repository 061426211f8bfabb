// SPDX-License-Identifier: GPL-2.0
/*
 * Reading AUX areas in place
 *
 * The reader's half of the protocol in core/aux.c.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/export.h>

#include "../core/compat.h"
#include "../core/session.h"

/* The CPU's area, NULL if there is none (yet), or ERR_PTR(-EINVAL). */
static struct kdtl_aux *kdtl_reader_aux(struct kdtl_session *s, int cpu)
{
	if (cpu < 0 || cpu >= nr_cpu_ids || !cpumask_test_cpu(cpu, s->cpus)) {
		pr_warn_ratelimited("%ps: CPU %d is not one of the session's %*pbl\n",
				    s->owner, cpu, cpumask_pr_args(s->cpus));
		return ERR_PTR(-EINVAL);
	}
	return kdtl_session_aux(s, cpu);
}

/**
 * kdtl_aux_peek() - find a CPU's unread entries, in place
 * @s: the session
 * @cpu: whose
 * @span: set to the first unread byte
 *
 * The span is contiguous, also across the area's end, and stays valid and
 * unchanged until kdtl_aux_consume() gives it back or the session is closed.
 * One reader per CPU at a time.
 *
 * In overwrite mode nothing can be held, so nothing can be peeked.
 *
 * Context: any. Orders like an acquire: reads of the span come after it.
 * Return: length in bytes, 0 if there is nothing to read, or -EINVAL: @cpu is
 * not one of the session's, or it is in overwrite mode.
 */
ssize_t kdtl_aux_peek(struct kdtl_session *s, int cpu, const void **span)
{
	struct kdtl_aux *aux = kdtl_reader_aux(s, cpu);
	u64 head, tail;

	if (IS_ERR_OR_NULL(aux))
		return PTR_ERR(aux);
	if (aux->overwrite)
		return -EINVAL;

	/* C, pairs with B in kdtl_sink_store(): who sees head sees the data. */
	head = smp_load_acquire(&aux->sink.head);
	tail = READ_ONCE(aux->tail);
	*span = aux->area.base + (tail & aux->sink.pos_mask);
	return head - tail;
}
EXPORT_SYMBOL_NS_GPL(kdtl_aux_peek, KDTL_NS);

/**
 * kdtl_aux_consume() - give bytes back to the writer
 * @s: the session
 * @cpu: whose
 * @bytes: how many, from the beginning of the span
 *
 * Context: any. Orders like a release: reads of the span come before it.
 * Return: 0, or -EINVAL and nothing changes: @bytes is more than what is
 * unread, @cpu is not one of the session's, or another reader came between.
 */
int kdtl_aux_consume(struct kdtl_session *s, int cpu, size_t bytes)
{
	struct kdtl_aux *aux = kdtl_reader_aux(s, cpu);
	u64 tail;

	if (IS_ERR(aux))
		return PTR_ERR(aux);
	if (!aux)
		return bytes ? -EINVAL : 0;

	tail = READ_ONCE(aux->tail);
	if (bytes > READ_ONCE(aux->sink.head) - tail) {
		pr_warn_ratelimited("%ps: CPU %d: consume of %zu bytes, but only %llu are unread\n",
				    s->owner, cpu, bytes,
				    READ_ONCE(aux->sink.head) - tail);
		return -EINVAL;
	}
	/* D, pairs with A in kdtl_aux_room(): the bytes are read before reuse. */
	return cmpxchg64_release(&aux->tail, tail, tail + bytes) == tail ?
		0 : -EINVAL;
}
EXPORT_SYMBOL_NS_GPL(kdtl_aux_consume, KDTL_NS);

/**
 * kdtl_aux_info() - a CPU's AUX area at a glance
 * @s: the session
 * @cpu: whose
 * @info: filled in
 *
 * produced = consumed + lost + unread holds in every answer; the numbers do
 * not move any more once the session is stopped.
 *
 * Context: any.
 * Return: 0, or -EINVAL: @cpu is not one of the session's.
 */
int kdtl_aux_info(struct kdtl_session *s, int cpu, struct kdtl_aux_info *info)
{
	struct kdtl_aux *aux = kdtl_reader_aux(s, cpu);

	if (IS_ERR(aux))
		return PTR_ERR(aux);

	memset(info, 0, sizeof(*info));
	info->size = (u64)s->layout.nr_pages << PAGE_SHIFT;
	info->watermark = s->layout.watermark;
	info->tb_freq = s->pmu->tb_freq;
	info->tb_boot = s->pmu->tb_boot;
	if (!aux)
		return 0;

	/* tail, then head: so that this head is not before this tail. */
	info->tail = smp_load_acquire(&aux->tail);
	info->head = READ_ONCE(aux->sink.head);
	info->lost = READ_ONCE(aux->counts.lost);
	info->consumed = (info->tail - aux->start) / KDTL_ENTRY_SIZE;
	info->unread = (info->head - info->tail) / KDTL_ENTRY_SIZE;
	info->produced = info->consumed + info->lost + info->unread;
	info->online = READ_ONCE(aux->event);
	return 0;
}
EXPORT_SYMBOL_NS_GPL(kdtl_aux_info, KDTL_NS);
