/* SPDX-License-Identifier: GPL-2.0 */
/* Vectors of requests: all elements are checked before any is applied. */
#ifndef _KDTL_VECTOR_H
#define _KDTL_VECTOR_H

#include "../request.h"

/**
 * struct kdtl_vector - a vector of requests of any type
 * @base: first element
 * @nr: number of elements
 * @size: size of an element
 * @error: offset of the field "int error" in an element
 * @verb: name of the verb that was called
 * @caller: address in the function that called it
 */
struct kdtl_vector {
	void		*base;
	unsigned int	nr;
	size_t		size;
	size_t		error;
	const char	*verb;
	unsigned long	caller;
};

#define KDTL_VECTOR(req, n) ((const struct kdtl_vector) {	\
	.base	= (req),				\
	.nr	= (n),					\
	.size	= sizeof(*(req)),			\
	.error	= offsetof(typeof(*(req)), error),	\
	.verb	= __func__,				\
	.caller	= _RET_IP_,				\
})

/* The states in which a verb may be called. */
enum kdtl_vector_when {
	KDTL_VECTOR_ALWAYS,
	KDTL_VECTOR_NOT_STARTED,
	KDTL_VECTOR_NOT_LOADED,
};

/**
 * struct kdtl_vector_verb - what a verb does with its vector
 * @when: in other states the verb returns -EBUSY
 * @check: check an element; returns 0 or an errno
 * @prepare: take the resources for all elements, which have been checked; may be
 *	NULL
 * @apply: apply an element; cannot fail
 *
 * All are called under kdtl_session::lock.
 */
struct kdtl_vector_verb {
	enum kdtl_vector_when	when;
	int	(*check)(struct kdtl_session *s, void *element);
	int	(*prepare)(struct kdtl_session *s, const struct kdtl_vector *v);
	void	(*apply)(struct kdtl_session *s, void *element);
};

int kdtl_vector_call(struct kdtl_session *s, const struct kdtl_vector *v,
		     const struct kdtl_vector_verb *verb);
int kdtl_vector_fail(const struct kdtl_vector *v, unsigned int i, int err);

static inline void *kdtl_vector_at(const struct kdtl_vector *v, unsigned int i)
{
	return v->base + i * v->size;
}

int kdtl_set_id_check(struct kdtl_session *s, u16 id);
int kdtl_cpu_check(struct kdtl_session *s, int which);

/* Does a request for CPU @which (-1: all) include @cpu? */
static inline bool kdtl_cpu_meant(int which, int cpu)
{
	return which == -1 || which == cpu;
}

#endif /* _KDTL_VECTOR_H */
