// SPDX-License-Identifier: GPL-2.0
/* Vectors of requests: checked as a whole before anything is done. */
#define pr_fmt(fmt) "kdtl: " fmt

#include "request.h"

/**
 * kdtl_vector_fail() - mark an element as why the call fails
 * @v: the vector
 * @i: which element
 * @err: errno
 *
 * Return: @err.
 */
int kdtl_vector_fail(const struct kdtl_vector *v, unsigned int i, int err)
{
	*(int *)(kdtl_vector_at(v, i) + v->error) = err;
	return err;
}

/**
 * kdtl_vector_check() - check every element, mark the first bad one
 * @s: the session
 * @v: the vector
 * @check: returns 0 or an errno
 *
 * Context: under kdtl_session::lock.
 * Return: 0 or an errno.
 */
int kdtl_vector_check(struct kdtl_session *s, const struct kdtl_vector *v,
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
		pr_warn("%s: %u requests at NULL\n", s->owner, v->nr);
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

/**
 * kdtl_vector_apply() - do what every element asks for
 * @s: the session
 * @v: the vector, checked
 * @apply: does it
 *
 * Context: under kdtl_session::lock.
 */
void kdtl_vector_apply(struct kdtl_session *s, const struct kdtl_vector *v,
		       void (*apply)(struct kdtl_session *s, void *element))
{
	unsigned int i;

	for (i = 0; i < v->nr; i++)
		apply(s, kdtl_vector_at(v, i));
}

/* A request's set is unknown: -EINVAL, and a line that says which. */
int kdtl_no_set(struct kdtl_session *s, u16 id)
{
	pr_warn("%s: there is no event set %u\n", s->owner, id);
	return -EINVAL;
}

/**
 * kdtl_session_has_cpu() - is the CPU one of the session's?
 * @s: the session
 * @cpu: any number
 *
 * Context: any.
 * Return: true, or false with a line in the log.
 */
bool kdtl_session_has_cpu(struct kdtl_session *s, int cpu)
{
	if (cpu >= 0 && cpu < nr_cpu_ids && cpumask_test_cpu(cpu, s->cpus))
		return true;
	pr_warn_ratelimited("%s: CPU %d is not one of the session's %*pbl\n",
			    s->owner, cpu, cpumask_pr_args(s->cpus));
	return false;
}
