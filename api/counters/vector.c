// SPDX-License-Identifier: GPL-2.0
/* Vectors of requests: all elements are checked before any is applied. */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/kdtl_counters.h>

#include "vector.h"

/**
 * kdtl_vector_fail() - mark the element that makes the call fail
 * @v: the vector
 * @i: index of the element
 * @err: errno
 *
 * Return: @err.
 */
int kdtl_vector_fail(const struct kdtl_vector *v, unsigned int i, int err)
{
	*(int *)(kdtl_vector_at(v, i) + v->error) = err;
	return err;
}

/* Check every element, and mark the first bad one. */
static int kdtl_vector_check(struct kdtl_session *s, const struct kdtl_vector *v,
			     int (*check)(struct kdtl_session *s, void *element))
{
	unsigned int i;
	int err;

	if (!v->nr)
		return 0;
	if (v->nr > KDTL_MAX_REQUESTS) {
		pr_warn("%s: %u requests at once, at most %u are allowed\n",
			s->owner, v->nr, KDTL_MAX_REQUESTS);
		return -E2BIG;
	}
	if (!v->base) {
		pr_warn("%s: %u requests, but their array is NULL\n", s->owner, v->nr);
		return -EINVAL;
	}
	for (i = 0; i < v->nr; i++) {
		err = check(s, kdtl_vector_at(v, i));
		kdtl_vector_fail(v, i, err);
		if (err)
			return err;
	}
	return 0;
}

/* A paused session counts as started. */
static bool kdtl_vector_is_now(struct kdtl_session *s, enum kdtl_vector_when when)
{
	switch (when) {
	case KDTL_VECTOR_NOT_LOADED:
		return s->state == KDTL_CREATED;
	case KDTL_VECTOR_NOT_STARTED:
		return s->state == KDTL_CREATED ||
		       (s->state == KDTL_STOPPED && !atomic_read(&s->nr_paused));
	case KDTL_VECTOR_ALWAYS:
		break;
	}
	return true;
}

/**
 * kdtl_vector_call() - run a verb on a vector of requests: all or nothing
 * @s: the session
 * @v: the vector
 * @verb: the verb
 *
 * Context: task, may sleep.
 * Return: 0, or the errno of the session's state or of the first bad element.
 */
int kdtl_vector_call(struct kdtl_session *s, const struct kdtl_vector *v,
		     const struct kdtl_vector_verb *verb)
{
	int err = kdtl_session_enter(s, v->verb, v->caller);
	unsigned int i;

	if (err)
		return err;
	err = kdtl_entries_check(s, v->verb);
	if (!err && !kdtl_vector_is_now(s, verb->when))
		err = -EBUSY;
	if (!err)
		err = kdtl_vector_check(s, v, verb->check);
	if (!err && verb->prepare)
		err = verb->prepare(s, v);
	for (i = 0; !err && i < v->nr; i++)
		verb->apply(s, kdtl_vector_at(v, i));
	kdtl_session_leave(s);
	return err;
}

/* Check the set of a request.  Returns 0, or -EINVAL with a line in the log. */
int kdtl_set_id_check(struct kdtl_session *s, u16 id)
{
	if (kdtl_session_set(s, id))
		return 0;
	pr_warn("%s: there is no event set %u\n", s->owner, id);
	return -EINVAL;
}

/* Check the cpu of a request.  Returns 0, or -EINVAL with a line in the log. */
int kdtl_cpu_check(struct kdtl_session *s, int which)
{
	return which == -1 || kdtl_session_has_cpu(s, which) ? 0 :
		kdtl_cpu_refuse(s, which, __func__, _RET_IP_);
}
