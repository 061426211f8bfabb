// SPDX-License-Identifier: GPL-2.0
/* What session_leak.cocci finds, BAD, and what it must not. */
#include <linux/err.h>
#include <linux/kdtl_verbs.h>
#include <linux/module.h>
#include <linux/slab.h>

struct owner {
	struct kdtl_session *s;
};

static struct kdtl_session *session;

static const struct kdtl_session_attr attr = { .aux_pages = 1 };

static struct kdtl_session *bad_open(void)
{
	struct kdtl_session *s;
	int err;

	s = kdtl_session_create(&attr);
	if (IS_ERR(s))
		return s;
	err = kdtl_load(s, NULL);
	if (err)
		return ERR_PTR(err); /* BAD */
	return s;
}

static int bad_goto(struct owner *o)
{
	struct kdtl_session *s = kdtl_session_create(&attr);
	int err;

	if (IS_ERR(s))
		return PTR_ERR(s);
	err = kdtl_load(s, NULL);
	if (err)
		goto out;
	err = kdtl_start(s);
	if (err)
		goto out;
	o->s = s;
	return 0;
out:
	return err; /* BAD */
}

static int bad_opened(struct owner *o)
{
	struct kdtl_session *s = kdtl_session_open(&attr, NULL);

	if (IS_ERR(s))
		return PTR_ERR(s);
	if (!o)
		return -EINVAL; /* BAD */
	o->s = s;
	return 0;
}

static int bad_zero(struct owner *o)
{
	struct kdtl_session *s;
	int err;

	s = kdtl_session_create(&attr);
	err = PTR_ERR_OR_ZERO(s);
	if (err)
		return err;
	if (kdtl_load(s, NULL))
		return -EIO; /* BAD */
	o->s = s;
	return 0;
}

static int __init bad_init(void)
{
	int err;

	session = kdtl_session_create(&attr);
	if (IS_ERR(session))
		return PTR_ERR(session);
	err = kdtl_load(session, NULL);
	if (err)
		return err; /* BAD, patch: by hand */
	err = kdtl_start(session);
	if (err)
		kdtl_session_close(session);
	return err;
}
module_init(bad_init);

static int good(struct owner *o)
{
	struct kdtl_session *s;
	int err;

	s = kdtl_session_create(&attr);
	if (IS_ERR(s))
		return PTR_ERR(s);
	err = kdtl_load(s, NULL);
	if (!err)
		err = kdtl_start(s);
	if (err) {
		kdtl_session_close(s);
		return err;
	}
	o->s = s;
	return 0;
}

static struct owner *good_owner(void)
{
	struct owner *o = kzalloc(sizeof(*o), GFP_KERNEL);
	struct kdtl_session *s;

	if (!o)
		return NULL;
	s = kdtl_session_create(&attr);
	if (IS_ERR(s)) {
		kfree(o);
		return ERR_CAST(s);
	}
	o->s = s;
	return o;
}

/* The caller has the session, and closes it whether this succeeds or not. */
static int good_global(void)
{
	int err;

	session = kdtl_session_create(&attr);
	if (IS_ERR(session))
		return PTR_ERR(session);
	err = kdtl_load(session, NULL);
	if (err)
		return err;
	return kdtl_start(session);
}
