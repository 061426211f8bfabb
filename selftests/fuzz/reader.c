// SPDX-License-Identifier: GPL-2.0
/* Verbs of readers: wait, messages, AUX areas, merge. */
#define pr_fmt(fmt) "kdtl_fuzz: " fmt

#include <linux/mm_types.h>

#include "../fake/kdtl_fake_pmu.h"
#include "fuzz.h"

/* From now on, a thread that sleeps interruptibly does so inside the verb. */
static void fuzz_will_sleep(struct fuzz_thread *t, struct fuzz_slot *slot)
{
	/* Pairs with the acquire in fuzz_may_close(). */
	smp_store_release(&t->sleeps, slot);
}

static long fuzz_kdtl_wait(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	long timeout = fuzz_below(t, 3);
	long ret;

	*want = FUZZ_ANY;
	if (!t->solo && fuzz_one_in(t, 8)) {
		timeout = MAX_SCHEDULE_TIMEOUT;
		fuzz_will_sleep(t, slot);
	}
	ret = kdtl_wait(t->s, timeout);
	WRITE_ONCE(t->sleeps, NULL);
	if (ret > 1 || (ret == -ETIMEDOUT && timeout == MAX_SCHEDULE_TIMEOUT))
		fuzz_fail(t, "timeout %ld", timeout);
	return ret;
}

static long fuzz_kdtl_read(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	const bool block = !t->solo && fuzz_one_in(t, 8);
	struct kdtl_msg msg = {};
	long ret;

	if (fuzz_one_in(t, 32)) {
		*want = -EINVAL;
		if (fuzz_one_in(t, 2))
			return kdtl_read(t->s, NULL, sizeof(msg), true);
		return kdtl_read(t->s, &msg, FUZZ_PICK(t, size_t, 0, 1, SIZE_MAX,
						       sizeof(msg) - 1, sizeof(msg) + 1),
				 fuzz_one_in(t, 2));
	}
	*want = FUZZ_ANY;
	if (block)
		fuzz_will_sleep(t, slot);
	ret = kdtl_read(t->s, &msg, sizeof(msg), !block);
	WRITE_ONCE(t->sleeps, NULL);
	if (ret > 0 && (ret != sizeof(msg) || msg.size != sizeof(msg) ||
			msg.type < KDTL_MSG_AUX || msg.type > KDTL_MSG_END ||
			(msg.type == KDTL_MSG_END ? msg.cpu != -1 :
			 !cpumask_test_cpu(msg.cpu, &slot->cpus))))
		fuzz_fail(t, "message of type %u, %u bytes, CPU %d", msg.type, msg.size,
			  msg.cpu);
	if (ret == (block ? -EAGAIN : 0))
		fuzz_fail(t, "%s", block ? "does not wait" : "has waited");
	return ret;
}

/* Whether the whole entries are as they were written, if they are of this module's source. */
static bool fuzz_entries_good(struct fuzz_slot *slot, const void *span, size_t len)
{
	const struct kdtl_entry *e;

	if (!slot->fuzz_pmu)
		return true;
	kdtl_for_each_entry(e, span, len) {
		if (!kdtl_fake_entry_seq(e))
			return false;
	}
	return true;
}

static long fuzz_kdtl_aux_peek(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	const void *span = NULL;
	bool good;
	const int cpu = fuzz_cpu(t, slot, &good);
	long ret;

	/* Another reader's consume would be refused after this peek. */
	if (!mutex_trylock(&slot->reader))
		return FUZZ_NONE;
	ret = kdtl_aux_peek(t->s, cpu, &span);
	mutex_unlock(&slot->reader);
	*want = good ? FUZZ_ANY : -EINVAL;
	/* Another thread's merge may come and go; meanwhile the area is busy. */
	if (good && !slot->overwrite && slot->aux_pages && ret < 0 &&
	    (ret != -EBUSY || (t->solo && !slot->merge)))
		fuzz_fail(t, "CPU %d: %ld", cpu, ret);
	if (good && t->solo && slot->merge && ret != -EBUSY)
		fuzz_fail(t, "CPU %d: %ld beside a merge", cpu, ret);
	if (ret > 0 && (!span || ret > (u64)slot->aux_pages << PAGE_SHIFT))
		fuzz_fail(t, "CPU %d: a span of %ld bytes at %p", cpu, ret, span);
	return ret;
}

/* Another thread's load may come in between; then the call is refused. */
static long fuzz_consume(struct fuzz_thread *t, struct fuzz_slot *slot, int cpu, long *want)
{
	const void *span = NULL;
	size_t bytes;
	long len, ret;
	bool good;

	len = kdtl_aux_peek(t->s, cpu, &span);
	if (len < 0)
		return FUZZ_NONE;
	good = fuzz_entries_good(slot, span, len);
	*want = 0;
	switch (fuzz_below(t, 8)) {
	case 0:
		bytes = 0;
		break;
	case 1:
		bytes = len + 1;
		*want = -EINVAL;
		break;
	case 2:
		bytes = SIZE_MAX - fuzz_below(t, 2);
		*want = -EINVAL;
		break;
	case 3:
		bytes = fuzz_below(t, len + 1);
		bytes -= bytes % KDTL_ENTRY_SIZE;
		break;
	case 4:
		bytes = fuzz_below(t, len + 1);
		if (bytes % KDTL_ENTRY_SIZE && bytes != len)
			*want = -EINVAL;
		break;
	default:
		bytes = len;
	}
	ret = kdtl_aux_consume(t->s, cpu, bytes);
	if (!ret && bytes == len && !good)
		fuzz_fail(t, "CPU %d: a torn entry in %ld bytes", cpu, len);
	return ret;
}

static long fuzz_kdtl_aux_consume(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	bool good;
	const int cpu = fuzz_cpu(t, slot, &good);
	long ret = FUZZ_NONE;

	if (!good) {
		*want = -EINVAL;
		return kdtl_aux_consume(t->s, cpu, fuzz_below(t, 2));
	}
	if (!mutex_trylock(&slot->reader))
		return FUZZ_NONE;
	if (!slot->merge)
		ret = fuzz_consume(t, slot, cpu, want);
	mutex_unlock(&slot->reader);
	return ret;
}

static long fuzz_kdtl_aux_snapshot(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	size_t len = FUZZ_PICK(t, size_t, 0, 1, KDTL_ENTRY_SIZE, 2 * KDTL_ENTRY_SIZE + 1,
			       sizeof(t->req.entry));
	u64 missed = 1, *to = fuzz_one_in(t, 4) ? NULL : &missed;
	bool good;
	const int cpu = fuzz_cpu(t, slot, &good);
	const long ret = kdtl_aux_snapshot(t->s, cpu, t->req.entry, len, to);

	*want = good && slot->overwrite ? FUZZ_ANY : -EINVAL;
	if (*want == FUZZ_ANY && ret < 0 && ret != -EAGAIN)
		fuzz_fail(t, "CPU %d: %ld", cpu, ret);
	if (ret <= 0)
		return ret;
	if (ret > len || ret % KDTL_ENTRY_SIZE)
		fuzz_fail(t, "CPU %d: %ld of %zu bytes", cpu, ret, len);
	else if (slot->fuzz_pmu && !fuzz_entries_good(slot, t->req.entry, ret))
		fuzz_fail(t, "CPU %d: a torn entry in %ld bytes", cpu, ret);
	return ret;
}

static long fuzz_kdtl_aux_info(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	struct kdtl_aux_info info;
	bool good;
	const int cpu = fuzz_cpu(t, slot, &good);
	const long ret = kdtl_aux_info(t->s, cpu, &info);
	const u64 areas = cpu == -1 ? cpumask_weight(&slot->cpus) : 1;

	*want = good || cpu == -1 ? 0 : -EINVAL;
	if (ret)
		return ret;
	if (info.produced != info.consumed + info.lost + info.unread ||
	    info.unread * KDTL_ENTRY_SIZE > areas * info.size ||
	    info.size != (u64)slot->aux_pages << PAGE_SHIFT || !info.source ||
	    (!slot->overwrite && info.head - info.tail > areas * info.size))
		fuzz_fail(t, "CPU %d: %llu produced, %llu consumed, %llu lost, %llu unread, head %llu, tail %llu",
			  cpu, info.produced, info.consumed, info.lost, info.unread,
			  info.head, info.tail);
	return ret;
}

/* Asks for a mapping of a size that no area has. */
static long fuzz_kdtl_aux_mmap(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	struct vm_area_struct *vma = (void *)&t->req;
	bool good;

	memset(vma, 0, sizeof(*vma));
	vma->vm_start = PAGE_SIZE;
	vma->vm_end = PAGE_SIZE * FUZZ_PICK(t, unsigned long, 1, 4, 8, 1 << 20);
	*want = -EINVAL;
	return kdtl_aux_mmap(t->s, fuzz_cpu(t, slot, &good), vma);
}

/* --------------------------------------------------------------------- merge */

static long fuzz_merge_create(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	struct kdtl_merge *m;

	*want = slot->overwrite || !slot->aux_pages ? -EINVAL : 0;
	m = kdtl_merge_create(t->s);
	if (IS_ERR(m)) {
		kdtl_merge_destroy(m);
		return PTR_ERR(m);
	}
	slot->merge = m;
	slot->time = 0;
	return 0;
}

static void fuzz_merge_next(struct fuzz_thread *t, struct fuzz_slot *slot)
{
	unsigned int nr = fuzz_below(t, 100);
	const struct kdtl_entry *e;

	while (nr-- && (e = kdtl_merge_next(slot->merge))) {
		if (!cpumask_test_cpu(kdtl_merge_cpu(slot->merge), &slot->cpus))
			fuzz_fail(t, "CPU %d", kdtl_merge_cpu(slot->merge));
		/* Another thread's load may have begun anew. */
		if (!t->solo)
			continue;
		if (kdtl_entry_time(e) < slot->time)
			fuzz_fail(t, "%llu after %llu", kdtl_entry_time(e),
				  slot->time);
		slot->time = kdtl_entry_time(e);
	}
}

static long fuzz_kdtl_merge(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	long ret = 0;

	if (!mutex_trylock(&slot->reader))
		return FUZZ_NONE;
	*want = 0;
	if (!slot->merge) {
		ret = fuzz_merge_create(t, slot, want);
	} else if (fuzz_one_in(t, 4)) {
		kdtl_merge_destroy(slot->merge);
		slot->merge = NULL;
	} else {
		if (fuzz_one_in(t, 2))
			kdtl_merge_sync(slot->merge);
		fuzz_merge_next(t, slot);
	}
	mutex_unlock(&slot->reader);
	return ret;
}

const struct fuzz_verb fuzz_reader_verbs[] = {
	{ "kdtl_wait", 4, fuzz_kdtl_wait, false, { -ETIMEDOUT, -ESHUTDOWN } },
	{ "kdtl_read", 6, fuzz_kdtl_read, false, { -EAGAIN, -EINVAL, -ESHUTDOWN } },
	{ "kdtl_aux_peek", 4, fuzz_kdtl_aux_peek, false, { -EINVAL, -EBUSY } },
	{ "kdtl_aux_consume", 8, fuzz_kdtl_aux_consume, false, { -EINVAL } },
	{ "kdtl_aux_snapshot", 4, fuzz_kdtl_aux_snapshot, false, { -EINVAL, -EAGAIN } },
	{ "kdtl_aux_info", 6, fuzz_kdtl_aux_info, false, { -EINVAL } },
	{ "kdtl_aux_mmap", 1, fuzz_kdtl_aux_mmap, false, { -EINVAL } },
	{ "kdtl_merge_*", 8, fuzz_kdtl_merge, false, { -EINVAL } },
	{ }
};
