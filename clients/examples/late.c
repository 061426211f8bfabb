// SPDX-License-Identifier: GPL-2.0
#include <linux/kdtl.h>

static struct kdtl_session *session;

static void late_span(const struct kdtl_span *span, void *unused)
{
	const struct kdtl_entry *e;

	kdtl_span_for_each_entry(e, span)
		if (kdtl_ticks_to_ns(span->info, kdtl_entry_wait(e)) > 10 * NSEC_PER_MSEC)
			pr_info_ratelimited("late: pid %d\n", kdtl_entry_pid(e));
}

static int __init late_init(void)
{
	session = kdtl_session_open(&(struct kdtl_session_attr){ .pmu = "kdtl_sched" },
				    &(struct kdtl_reader){ .span = late_span });
	return PTR_ERR_OR_ZERO(session);
}
module_init(late_init);

static void __exit late_exit(void)
{
	kdtl_session_close(session);
}
module_exit(late_exit);
MODULE_DESCRIPTION("Tasks that waited for a CPU longer than 10 ms");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
