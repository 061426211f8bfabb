// SPDX-License-Identifier: GPL-2.0
/* What a session may be asked for. */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/cpumask.h>
#include <linux/kdtl_verbs.h>
#include <linux/log2.h>

#include "../core/counting.h"
#include "session.h"

#define KDTL_SESSION_FLAGS	(KDTL_SESSION_OVERWRITE | KDTL_SESSION_PAUSE |	\
				 KDTL_SESSION_NO_AUX | KDTL_SESSION_RAW)

static bool kdtl_pages_valid(const char *owner, const char *what, unsigned int nr)
{
	if (!nr || (is_power_of_2(nr) && nr <= KDTL_MAX_PAGES))
		return true;
	pr_warn_ratelimited("%s: %s=%u: must be a power of two up to %u, or 0\n", owner,
			    what, nr, KDTL_MAX_PAGES);
	return false;
}

/**
 * kdtl_attr_aux_pages() - how many pages an area of such a session has
 * @attr: the attributes
 *
 * Context: any.
 * Return: that number; 0 if there is no area.
 */
unsigned int kdtl_attr_aux_pages(const struct kdtl_session_attr *attr)
{
	if (attr->flags & KDTL_SESSION_NO_AUX)
		return 0;
	return attr->aux_pages ?: KDTL_DEFAULT_AUX_PAGES;
}

/* What is wrong with the caller's memory; NULL: nothing. */
static const char *kdtl_attr_place_invalid(const struct kdtl_session_attr *attr)
{
	const struct kdtl_place *place = attr->place;
	const u64 each = kdtl_attr_aux_pages(attr);
	unsigned int i;

	/*
	 * Entries that a reader has not consumed must stay as they were written, which cannot be
	 * said of memory that belongs to the caller.  A snapshot is a copy of what is there.
	 */
	if (!(attr->flags & KDTL_SESSION_OVERWRITE))
		return "place is allowed only with KDTL_SESSION_OVERWRITE";
	if (attr->flags & KDTL_SESSION_RAW)
		return "place is not allowed with KDTL_SESSION_RAW, whose areas are perf's";
	if (!place->pages)
		return "place->pages is NULL";
	if (place->nr < each * (cpumask_last(attr->cpus ?: cpu_possible_mask) + 1))
		return "place->pages are fewer than aux_pages of each CPU";
	for (i = 0; i < place->nr; i++) {
		if (!place->pages[i])
			return "a page of place->pages is NULL";
	}
	return NULL;
}

/* What is wrong with the attributes, beside numbers and unknown bits; NULL: nothing. */
static const char *kdtl_attr_invalid(const struct kdtl_session_attr *attr)
{
	const struct completion *done = attr->done;

	if (!IS_ENABLED(CONFIG_KDTL_COUNTERS) &&
	    (attr->msg_pages || attr->flags & (KDTL_SESSION_PAUSE | KDTL_SESSION_NO_AUX)))
		return "msg_pages, KDTL_SESSION_PAUSE and _NO_AUX need CONFIG_KDTL_COUNTERS";
	if (attr->flags & KDTL_SESSION_NO_AUX &&
	    (attr->aux_pages || attr->watermark || attr->min_wait ||
	     attr->flags & KDTL_SESSION_OVERWRITE))
		return "KDTL_SESSION_NO_AUX allows no aux_pages, watermark, min_wait or _OVERWRITE";
	if (!(attr->flags & KDTL_SESSION_RAW)) {
		if (attr->config)
			return "config is allowed only with KDTL_SESSION_RAW";
	} else if (!attr->pmu) {
		return "KDTL_SESSION_RAW needs the name of a PMU";
	} else if (attr->mask || attr->min_wait ||
		   attr->flags & (KDTL_SESSION_PAUSE | KDTL_SESSION_NO_AUX)) {
		return "KDTL_SESSION_RAW allows no mask, min_wait, KDTL_SESSION_PAUSE or _NO_AUX";
	}
	/* One that was not initialised is mostly all zeros: a wake-up would follow NULL. */
	if (done && (!done->wait.task_list.next || !done->wait.task_list.prev))
		return "done is not initialised: call init_completion() first";
	if (attr->cpus && !cpumask_intersects(attr->cpus, cpu_possible_mask))
		return "no CPU asked for: cpus must hold at least one possible CPU";
	return attr->place ? kdtl_attr_place_invalid(attr) : NULL;
}

static bool kdtl_bits_valid(const char *owner, const char *what, u32 bits, u32 allowed)
{
	if (!(bits & ~allowed))
		return true;
	pr_warn_ratelimited("%s: %s=%#x: unknown bits, allowed are %#x\n", owner, what, bits,
			    allowed);
	return false;
}

/**
 * kdtl_attr_check() - may a session have these attributes?
 * @owner: who asks, for the log
 * @attr: the attributes, or NULL
 *
 * If not, one line in the log says what is wrong and what is allowed.
 *
 * Context: any.
 * Return: 0 or -EINVAL.
 */
int kdtl_attr_check(const char *owner, const struct kdtl_session_attr *attr)
{
	const char *invalid;
	u64 size;

	if (!attr) {
		pr_warn_ratelimited("%s: kdtl_session_create() needs attributes\n", owner);
		return -EINVAL;
	}
	if (!kdtl_pages_valid(owner, "aux_pages", attr->aux_pages) ||
	    !kdtl_pages_valid(owner, "msg_pages", attr->msg_pages) ||
	    !kdtl_bits_valid(owner, "mask", attr->mask, KDTL_MASK_KNOWN) ||
	    !kdtl_bits_valid(owner, "flags", attr->flags, KDTL_SESSION_FLAGS) ||
	    !kdtl_bits_valid(owner, "msg_types", attr->msg_types, KDTL_MSG_TYPES))
		return -EINVAL;
	invalid = kdtl_attr_invalid(attr);
	if (invalid) {
		pr_warn_ratelimited("%s: %s\n", owner, invalid);
		return -EINVAL;
	}
	size = (u64)kdtl_attr_aux_pages(attr) << PAGE_SHIFT;
	if (attr->watermark > size) {
		pr_warn_ratelimited("%s: watermark=%u: more than the area's %llu bytes\n",
				    owner, attr->watermark, size);
		return -EINVAL;
	}
	return 0;
}
