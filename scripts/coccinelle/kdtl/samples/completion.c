// SPDX-License-Identifier: GPL-2.0
/* What completion.cocci finds, BAD, and what it must not. */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/kdtl_verbs.h>
#include <linux/slab.h>

struct reader {
	struct completion wake;
	struct kdtl_session *s;
};

struct other {
	struct completion done;
};

static struct reader *bad_open(void)
{
	struct reader *r = kzalloc(sizeof(*r), GFP_KERNEL);
	struct kdtl_session_attr attr = { .aux_pages = 1 };

	if (!r)
		return NULL;
	init_completion(&r->wake);
	attr.done = &r->wake;
	r->s = kdtl_session_create(&attr);
	if (IS_ERR(r->s)) {
		kfree(r);
		return NULL;
	}
	if (kdtl_load(r->s, NULL)) {
		kfree(r); /* BAD */
		return NULL;
	}
	return r;
}

static void bad_close(struct reader *r)
{
	struct kdtl_session *s = r->s;

	kfree(r); /* BAD */
	kdtl_session_close(s);
}

static struct kdtl_session *bad_stack(void)
{
	DECLARE_COMPLETION_ONSTACK(wake);
	struct kdtl_session_attr attr = { .aux_pages = 1, .done = &wake };
	struct kdtl_session *s = kdtl_session_create(&attr);

	if (!IS_ERR(s) && kdtl_load(s, NULL)) {
		kdtl_session_close(s);
		return NULL;
	}
	return s; /* BAD */
}

static void good_close(struct reader *r)
{
	kdtl_session_close(r->s);
	kfree(r);
}

static void good_other(struct other *o)
{
	complete(&o->done);
	kfree(o);
}

static int good_stack(void)
{
	DECLARE_COMPLETION_ONSTACK(wake);
	struct kdtl_session_attr attr = { .aux_pages = 1, .done = &wake };
	struct kdtl_session *s = kdtl_session_create(&attr);
	int err;

	if (IS_ERR(s))
		return PTR_ERR(s);
	err = kdtl_load(s, NULL);
	kdtl_session_close(s);
	return err;
}
