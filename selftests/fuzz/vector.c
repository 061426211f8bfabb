// SPDX-License-Identifier: GPL-2.0
/* Verbs that take vectors of requests: config, counters, event sets. */
#define pr_fmt(fmt) "kdtl_fuzz: " fmt

#include "fuzz.h"

#define FUZZ_ALL_SETS	(BIT(FUZZ_SETS + 1) - 1)

/* An event set's id, mostly one of those in @of. *@bit is its bit. */
static u16 fuzz_id(struct fuzz_thread *t, u32 of, u32 *bit)
{
	u16 id = fuzz_below(t, FUZZ_SETS + 1);

	while (of & FUZZ_ALL_SETS && !(of & BIT(id)) && !fuzz_one_in(t, 32))
		id = fuzz_below(t, FUZZ_SETS + 1);
	*bit = BIT(id);
	return id == FUZZ_SETS ? U16_MAX : id;
}

/* The number of elements: mostly a few. */
static unsigned int fuzz_nr(struct fuzz_thread *t)
{
	switch (fuzz_below(t, 64)) {
	case 0:
	case 1:
		return 0;
	case 2:
		return KDTL_MAX_REQUESTS;
	case 3:
	case 4:
		return FUZZ_PICK(t, unsigned int, KDTL_MAX_REQUESTS + 1, INT_MAX,
				 (1U << 31) + 1, UINT_MAX);
	default:
		return 1 + fuzz_below(t, 4);
	}
}

/* The number of elements to fill in: there is no room for more than a request may have. */
static unsigned int fuzz_fill(unsigned int nr)
{
	return nr <= KDTL_MAX_REQUESTS ? nr : 0;
}

/*
 * What a call with a vector must return: @state if the session's state forbids
 * the call, else @element, which the first bad element decides.
 */
static long fuzz_want(unsigned int nr, const void *base, long state, long element)
{
	if (state || !nr)
		return state;
	if (nr > KDTL_MAX_REQUESTS)
		return -E2BIG;
	return base ? element : -EINVAL;
}

/* -EBUSY if the session is started or paused, or loaded unless @loaded: then it may not change. */
static long fuzz_idle(struct fuzz_thread *t, struct fuzz_slot *slot, bool loaded)
{
	if (slot->state == FUZZ_CREATED)
		return 0;
	return loaded && slot->state == FUZZ_STOPPED && t->solo &&
	       !fuzz_paused(slot, t->s) ? 0 : -EBUSY;
}

/* The first bad element must have the error that was returned, and those before it none. */
static void fuzz_check_error(struct fuzz_thread *t, long ret, unsigned int bad,
			     unsigned int i, int error)
{
	if (i < bad && error)
		fuzz_fail(t, "element %u is good, and has error %d", i, error);
	if (i == bad && error != ret)
		fuzz_fail(t, "element %u is bad: it has error %d, not %ld", i, error, ret);
}

static long fuzz_kdtl_write_config(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	const unsigned int nr = fuzz_nr(t), fill = fuzz_fill(nr);
	struct kdtl_config *req = fuzz_one_in(t, 64) ? NULL : t->req.config;
	unsigned int i, bad = UINT_MAX;
	long ret;
	u32 bit;

	for (i = 0; req && i < fill; i++) {
		req[i] = (struct kdtl_config) {
			.set	= fuzz_id(t, slot->sets, &bit),
			.mask	= fuzz_below(t, FUZZ_MASKS + 1),
			.period	= fuzz_ns(t),
			.min_wait = fuzz_one_in(t, 2) ? 0 : fuzz_ns(t),
			.error	= -EBADE,
		};
		if (fuzz_one_in(t, 64))
			req[i].mask = FUZZ_PICK(t, u32, 32, 63, 1U << 31, U32_MAX);
		if (bad == UINT_MAX &&
		    (!(slot->sets & bit) || req[i].mask > FUZZ_MASKS ||
		     (req[i].min_wait && !slot->aux_pages)))
			bad = i;
	}
	*want = fuzz_want(nr, req, fuzz_idle(t, slot, true),
			  bad == UINT_MAX ? 0 : -EINVAL);
	ret = kdtl_write_config(t->s, req, nr);
	if (t->solo && req && ret != -EBUSY)
		for (i = 0; i < fill; i++)
			fuzz_check_error(t, ret, bad, i, req[i].error);
	return ret;
}

/* A counter's value: some wrap soon, others never. */
static u64 fuzz_value(struct fuzz_thread *t)
{
	switch (fuzz_below(t, 4)) {
	case 0:
		return 0;
	case 1:
		return fuzz_u64(t);
	default:
		return -(u64)FUZZ_PICK(t, u32, 1, 1, 1, 2, 5, 20, 1000);
	}
}

static bool fuzz_counter(struct fuzz_thread *t, struct fuzz_slot *slot,
			 struct kdtl_counter_req *req)
{
	bool good;
	u32 bit;

	*req = (struct kdtl_counter_req) {
		.set		= fuzz_id(t, slot->sets, &bit),
		.counter	= fuzz_below(t, KDTL_NR_COUNTERS),
		.cpu		= -1,
		.value		= fuzz_value(t),
		.long_reset	= fuzz_value(t),
		.short_reset	= fuzz_value(t),
		.error		= -EBADE,
	};
	/* Often pick a counter that entries move, so that it overflows. */
	if (fuzz_one_in(t, 2))
		req->counter = FUZZ_PICK(t, u16, KDTL_CTR_ENTRIES, KDTL_CTR_CEDE,
					 KDTL_CTR_BYTES, KDTL_CTR_LOST);
	good = slot->sets & bit;
	if (fuzz_one_in(t, 128)) {
		req->counter = FUZZ_PICK(t, u16, KDTL_NR_COUNTERS, 32, 64, U16_MAX);
		good = false;
	}
	return good;
}

static long fuzz_kdtl_write_counters(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	const unsigned int nr = fuzz_nr(t), fill = fuzz_fill(nr);
	struct kdtl_counter_req *req = fuzz_one_in(t, 64) ? NULL : t->req.counter;
	unsigned int i, bad = UINT_MAX;
	bool good;
	long ret;

	for (i = 0; req && i < fill; i++) {
		good = fuzz_counter(t, slot, &req[i]);
		req[i].flags = fuzz_one_in(t, 2) ? KDTL_COUNTER_NOTIFY : fuzz_below(t, 4);
		req[i].random_mask = fuzz_one_in(t, 2) ? 0 : fuzz_u64(t) >> fuzz_below(t, 64);
		req[i].resets = fuzz_one_in(t, 2) ? 0 : fuzz_below(t, BIT(KDTL_NR_COUNTERS));
		if (fuzz_one_in(t, 128)) {
			req[i].flags = FUZZ_PICK(t, u32, 4, 7, 1U << 31, U32_MAX);
			good = false;
		} else if (fuzz_one_in(t, 128)) {
			req[i].resets = FUZZ_PICK(t, u32, BIT(KDTL_NR_COUNTERS), 1U << 31,
						  U32_MAX);
			good = false;
		} else if (fuzz_one_in(t, 128)) {
			req[i].cpu = FUZZ_PICK(t, int, 1, 77, -2, INT_MIN);
			good = false;
		} else if (fuzz_one_in(t, 8)) {
			req[i].cpu = 0;
		}
		if (!good && bad == UINT_MAX)
			bad = i;
	}
	*want = fuzz_want(nr, req, fuzz_idle(t, slot, true),
			  bad == UINT_MAX ? 0 : -EINVAL);
	ret = kdtl_write_counters(t->s, req, nr);
	if (t->solo && req && ret != -EBUSY)
		for (i = 0; i < fill; i++)
			fuzz_check_error(t, ret, bad, i, req[i].error);
	return ret;
}

static long fuzz_kdtl_read_counters(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	const unsigned int nr = fuzz_nr(t), fill = fuzz_fill(nr);
	struct kdtl_counter_req *req = fuzz_one_in(t, 64) ? NULL : t->req.counter;
	unsigned int i, bad = UINT_MAX;
	bool good, cpu_good;
	long ret;

	for (i = 0; req && i < fill; i++) {
		good = fuzz_counter(t, slot, &req[i]);
		if (fuzz_one_in(t, 4)) {
			req[i].cpu = fuzz_cpu(t, slot, &cpu_good);
			good &= cpu_good || req[i].cpu == -1;
		}
		if (!good && bad == UINT_MAX)
			bad = i;
	}
	*want = fuzz_want(nr, req, 0, bad == UINT_MAX ? 0 : -EINVAL);
	ret = kdtl_read_counters(t->s, req, nr);
	if (t->solo && req)
		for (i = 0; i < fill; i++)
			fuzz_check_error(t, ret, bad, i, req[i].error);
	return ret;
}

/* ---------------------------------------------------------------- event sets */

static long fuzz_kdtl_create_evtsets(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	const unsigned int nr = fuzz_nr(t), fill = fuzz_fill(nr);
	struct kdtl_evtset *req = fuzz_one_in(t, 64) ? NULL : t->req.evtset;
	u32 bit, seen = 0, twins = 0, bits = 0;
	long ret, element = 0;
	unsigned int i;

	for (i = 0; req && i < fill; i++) {
		req[i] = (struct kdtl_evtset) {
			.id	= fuzz_id(t, ~(slot->sets | seen) | BIT(0), &bit),
			.error	= -EBADE,
		};
		twins |= seen & bit;
		seen |= bit;
		bits |= bit;
		if (fuzz_one_in(t, 2))
			req[i].timeout = fuzz_ns(t);
		else
			req[i].overflows = FUZZ_PICK(t, u32, 0, 1, 3, U32_MAX);
		if (fuzz_one_in(t, 32)) {
			req[i].timeout = 1;
			req[i].overflows = 1;
		}
		if (element)
			continue;
		if (req[i].timeout && req[i].overflows)
			element = -EINVAL;
		else if (req[i].id && slot->sets & bit)
			element = -EEXIST;
	}
	if (!element && twins)
		element = -EEXIST;
	*want = fuzz_want(nr, req, fuzz_idle(t, slot, false), element);
	ret = kdtl_create_evtsets(t->s, req, nr);
	if (!ret)
		slot->sets |= bits;
	return ret;
}

static long fuzz_kdtl_delete_evtsets(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	const unsigned int nr = fuzz_nr(t), fill = fuzz_fill(nr);
	struct kdtl_evtset *req = fuzz_one_in(t, 64) ? NULL : t->req.evtset;
	unsigned int i, bad = UINT_MAX;
	u32 bit, bits = 0;
	long ret;

	for (i = 0; req && i < fill; i++) {
		req[i] = (struct kdtl_evtset) {
			.id	= fuzz_id(t, slot->sets & ~BIT(0), &bit),
			.error	= -EBADE,
		};
		if (bad == UINT_MAX && (bit == BIT(0) || !(slot->sets & bit)))
			bad = i;
		bits |= bit;
	}
	*want = fuzz_want(nr, req, fuzz_idle(t, slot, false),
			  bad == UINT_MAX ? 0 : -EINVAL);
	ret = kdtl_delete_evtsets(t->s, req, nr);
	if (!ret)
		slot->sets &= ~bits;
	if (t->solo && req && ret != -EBUSY)
		for (i = 0; i < fill; i++)
			fuzz_check_error(t, ret, bad, i, req[i].error);
	return ret;
}

static long fuzz_kdtl_getinfo_evtsets(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	const unsigned int nr = fuzz_nr(t), fill = fuzz_fill(nr);
	struct kdtl_evtset_info *req = fuzz_one_in(t, 64) ? NULL : t->req.info;
	unsigned int i, bad = UINT_MAX;
	bool good;
	long ret;
	u32 bit;

	for (i = 0; req && i < fill; i++) {
		req[i] = (struct kdtl_evtset_info) {
			.id	= fuzz_id(t, slot->sets, &bit),
			.cpu	= -1,
			.error	= -EBADE,
		};
		good = true;
		if (fuzz_one_in(t, 4)) {
			req[i].cpu = fuzz_cpu(t, slot, &good);
			good |= req[i].cpu == -1;
		}
		if ((!good || !(slot->sets & bit)) && bad == UINT_MAX)
			bad = i;
	}
	*want = fuzz_want(nr, req, 0, bad == UINT_MAX ? 0 : -EINVAL);
	ret = kdtl_getinfo_evtsets(t->s, req, nr);
	if (!t->solo || !req)
		return ret;
	for (i = 0; i < fill; i++) {
		fuzz_check_error(t, ret, bad, i, req[i].error);
		if (!ret && req[i].remaining > req[i].timeout)
			fuzz_fail(t, "set %u: %llu ns of %llu remain", req[i].id,
				  req[i].remaining, req[i].timeout);
	}
	return ret;
}

const struct fuzz_verb fuzz_vector_verbs[] = {
	{ "kdtl_write_config", 6, fuzz_kdtl_write_config, false,
	  { -EBUSY, -EINVAL, -E2BIG, -ESHUTDOWN } },
	{ "kdtl_write_counters", 8, fuzz_kdtl_write_counters, false,
	  { -EBUSY, -EINVAL, -E2BIG, -ESHUTDOWN } },
	{ "kdtl_read_counters", 4, fuzz_kdtl_read_counters, false,
	  { -EINVAL, -E2BIG, -ESHUTDOWN } },
	{ "kdtl_create_evtsets", 8, fuzz_kdtl_create_evtsets, false,
	  { -EBUSY, -EINVAL, -EEXIST, -ENOMEM, -E2BIG, -ESHUTDOWN } },
	{ "kdtl_delete_evtsets", 4, fuzz_kdtl_delete_evtsets, false,
	  { -EBUSY, -EINVAL, -E2BIG, -ESHUTDOWN } },
	{ "kdtl_getinfo_evtsets", 4, fuzz_kdtl_getinfo_evtsets, false,
	  { -EINVAL, -E2BIG, -ESHUTDOWN } },
	{ }
};
