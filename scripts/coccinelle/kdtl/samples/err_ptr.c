// SPDX-License-Identifier: GPL-2.0
/* What err_ptr.cocci finds, BAD, and what it must not. */
#include <linux/err.h>
#include <linux/kdtl_verbs.h>

static const struct kdtl_session_attr attr = { .aux_pages = 1 };

static struct kdtl_session *session;

static int bad_null(void)
{
	session = kdtl_session_create(&attr);
	if (!session) /* BAD */
		return -ENOMEM;
	return kdtl_load(session, NULL);
}

static int bad_opened(void)
{
	session = kdtl_session_open(&attr, NULL);
	return session == NULL ? -ENOMEM : 0; /* BAD */
}

static int bad_unlooked(void)
{
	struct kdtl_session *s;
	int err;

	s = kdtl_session_create(&attr);
	err = kdtl_load(s, NULL); /* BAD */
	kdtl_session_close(s);
	return err;
}

static void bad_merge(struct kdtl_session *s)
{
	struct kdtl_merge *m = kdtl_merge_create(s);

	if (m == NULL) /* BAD */
		return;
	kdtl_merge_destroy(m);
}

static int good(void)
{
	struct kdtl_session *s;
	int err;

	s = kdtl_session_create(&attr);
	if (IS_ERR(s))
		return PTR_ERR(s);
	err = kdtl_load(s, NULL);
	kdtl_session_close(s);
	return err;
}

static int good_zero(struct kdtl_session **to)
{
	int err;

	*to = kdtl_session_create(&attr);
	err = PTR_ERR_OR_ZERO(*to);
	if (!err)
		err = kdtl_load(*to, NULL);
	return err;
}

/* The session is only created to see whether there is a source. */
static bool good_close(void)
{
	struct kdtl_session *s = kdtl_session_create(&attr);
	bool there = !IS_ERR(s);

	kdtl_session_close(s);
	return there;
}
