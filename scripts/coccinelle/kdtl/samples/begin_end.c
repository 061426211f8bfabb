// SPDX-License-Identifier: GPL-2.0
/* What begin_end.cocci finds, BAD, and what it must not. */
#include <linux/kdtl_pmu.h>

static int bad_early(struct perf_event *event, bool stop)
{
	struct perf_output_handle handle;
	struct kdtl_area *area;

	area = kdtl_aux_output_begin(&handle, event);
	if (!area)
		return -ENOSPC;
	if (stop)
		return -EAGAIN; /* BAD */
	kdtl_aux_output_end(&handle, KDTL_ENTRY_SIZE);
	return 0;
}

static int bad_goto(struct perf_event *event, size_t size)
{
	struct perf_output_handle handle;
	void *area = kdtl_aux_output_begin(&handle, event);
	int err = 0;

	if (area == NULL)
		goto out;
	if (size > handle.size)
		goto full;
	kdtl_aux_output_end(&handle, size);
out:
	return err;
full:
	return -ENOSPC; /* BAD */
}

static int bad_tested(struct perf_event *event)
{
	struct perf_output_handle handle;

	if (!kdtl_aux_output_begin(&handle, event))
		return -ENOSPC;
	if (kdtl_aux_output_skip(&handle, KDTL_ENTRY_SIZE))
		return -ENOSPC; /* BAD */
	kdtl_aux_output_end(&handle, 0);
	return 0;
}

static void bad_fall(struct perf_event *event)
{
	struct perf_output_handle handle;
	void *area;

	area = kdtl_aux_output_begin(&handle, event);
	if (area)
		kdtl_aux_output_skip(&handle, KDTL_ENTRY_SIZE);
} /* BAD, patch: by hand */

/* The caller ends the transaction. */
static void *good_begin(struct perf_output_handle *handle, struct perf_event *event)
{
	void *area = kdtl_aux_output_begin(handle, event);

	if (area)
		pr_debug("%lu bytes\n", handle->size);
	return area;
}

static int good(struct perf_event *event, size_t size)
{
	struct perf_output_handle handle;
	void *area;
	int err = 0;

	area = kdtl_aux_output_begin(&handle, event);
	if (!area)
		return -ENOSPC;
	if (size > handle.size) {
		err = -ENOSPC;
		size = 0;
	}
	kdtl_aux_output_end(&handle, size);
	return err;
}

static void good_void(struct perf_event *event)
{
	struct perf_output_handle handle;
	struct kdtl_area *area = kdtl_aux_output_begin(&handle, event);

	if (!area)
		return;
	memset(area->base, 0, KDTL_ENTRY_SIZE);
	kdtl_aux_output_end(&handle, KDTL_ENTRY_SIZE);
}

static bool good_goto(struct perf_event *event)
{
	struct perf_output_handle handle;

	if (!kdtl_aux_output_begin(&handle, event))
		return false;
	if (kdtl_aux_output_skip(&handle, KDTL_ENTRY_SIZE))
		goto end;
	kdtl_aux_output_flag(&handle, PERF_AUX_FLAG_PARTIAL);
end:
	kdtl_aux_output_end(&handle, 0);
	return true;
}
