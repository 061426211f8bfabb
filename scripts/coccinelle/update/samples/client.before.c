// SPDX-License-Identifier: GPL-2.0
/* A client of kdtl 0.1, with the names that have changed since. */
#include <linux/kdtl.h>
#include <linux/module.h>

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A client of kdtl 0.1");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_SOFTDEP("pre: kdtl_sched kdtl_vpa");

#define CLIENT_FLAGS	(KDTL_SESSION_OVERWRITE | KDTL_SESSION_BLOCK)

static unsigned int flags = CLIENT_FLAGS;
module_param(flags, uint, 0444);

static struct kdtl_session *session;

static bool client_pauses(const struct kdtl_session_attr *attr)
{
	return attr->flags & KDTL_SESSION_BLOCK;
}

static int __init client_init(void)
{
	struct kdtl_session_attr attr = {
		.aux_pages = 4,
		.msg_pages = 1,
		.flags = KDTL_SESSION_BLOCK,
	};
	int err;

	attr.flags |= flags;
	if (!client_pauses(&attr))
		return -EINVAL;
	session = kdtl_session_create(&attr);
	if (IS_ERR(session))
		return PTR_ERR(session);
	kdtl_alarm("client");
	err = kdtl_load(session, NULL);
	if (!err)
		err = kdtl_start(session);
	if (err)
		kdtl_session_close(session);
	return err;
}
module_init(client_init);

static void __exit client_exit(void)
{
	kdtl_session_close(session);
}
module_exit(client_exit);
