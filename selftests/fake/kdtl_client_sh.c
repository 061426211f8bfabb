// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_client_sh - a session whose verbs a shell script calls
 *
 * The session logs CPU 0 of the test source, with a watermark every 20 entries
 * and two event sets: set 0 overflows every 10 entries, and after two overflows
 * set 1 takes over.  From this the script knows exactly how many events of each
 * kind must come.
 *
 *	echo "emit 30" >/sys/module/kdtl_client_sh/parameters/act
 *	echo "emit 30 5000" >...	entries that waited for 5000 ns
 */
#define pr_fmt(fmt) "kdtl_client_sh: " fmt

#include <linux/err.h>
#include <linux/kdtl_counters.h>
#include <linux/kdtl_verbs.h>
#include <linux/module.h>
#include <linux/string.h>

#include "kdtl_fake_pmu.h"

static struct kdtl_session *session;

static int client_consume(void)
{
	const void *span;
	ssize_t len;

	len = kdtl_aux_peek(session, 0, &span);
	return len < 0 ? len : kdtl_aux_consume(session, 0, len);
}

static int client_act(const char *val, const struct kernel_param *kp)
{
	unsigned int nr, wait = 0;

	if (IS_ERR_OR_NULL(session))
		return -ENODEV;
	if (sscanf(val, "emit %u %u", &nr, &wait) >= 1)
		return kdtl_fake_emit(0, KDTL_KIND_CEDE, nr, wait, 0, 0);
	if (sysfs_streq(val, "consume"))
		return client_consume();
	if (sysfs_streq(val, "start"))
		return kdtl_start(session);
	if (sysfs_streq(val, "stop"))
		return kdtl_stop(session);
	if (sysfs_streq(val, "load"))
		return kdtl_load(session, NULL);
	if (sysfs_streq(val, "unload"))
		return kdtl_unload(session);
	if (sysfs_streq(val, "wait"))
		return min(kdtl_wait(session, MAX_SCHEDULE_TIMEOUT), 0);
	return -EINVAL;
}

static const struct kernel_param_ops act_ops = { .set = client_act };
module_param_cb(act, &act_ops, NULL, 0200);
MODULE_PARM_DESC(act, "what the client does: emit N [NS], consume, load, start, stop, unload or wait");

static int __init client_init(void)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.cpus		= cpumask_of(0),
		.aux_pages	= 1,
		.watermark	= 20 * KDTL_ENTRY_SIZE,
	};
	struct kdtl_counter_req counter = {
		.counter	= KDTL_CTR_ENTRIES,
		.flags		= KDTL_COUNTER_NOTIFY,
		.value		= -10ULL,
		.short_reset	= -10ULL,
	};
	struct kdtl_evtset sets[] = { { .overflows = 2 }, { .id = 1 } };
	int err;

	session = kdtl_session_create(&attr);
	if (IS_ERR(session))
		return PTR_ERR(session);
	err = kdtl_create_evtsets(session, sets, ARRAY_SIZE(sets));
	if (!err)
		err = kdtl_write_counters(session, &counter, 1);
	if (err) {
		pr_err("cannot be set up (%d)\n", err);
		kdtl_session_close(session);
	}
	return err;
}

static void __exit client_exit(void)
{
	kdtl_session_close(session);
}

module_init(client_init);
module_exit(client_exit);

MODULE_DESCRIPTION("kdtl test: a session led by a shell script");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
