/* SPDX-License-Identifier: GPL-2.0 */
/* Vectors of requests: checked as a whole before anything is done. */
#ifndef _KDTL_REQUEST_H
#define _KDTL_REQUEST_H

#include "../core/session.h"

/**
 * struct kdtl_vector - a vector of requests of any type
 * @base: first element
 * @nr: how many
 * @size: of an element
 * @error: offset of its int error
 */
struct kdtl_vector {
	void		*base;
	unsigned int	nr;
	size_t		size;
	size_t		error;
};

#define KDTL_VECTOR(req, n) {				\
	.base	= (req),				\
	.nr	= (n),					\
	.size	= sizeof(*(req)),			\
	.error	= offsetof(typeof(*(req)), error),	\
}

int kdtl_vector_check(struct kdtl_session *s, const struct kdtl_vector *v,
		      int (*check)(struct kdtl_session *s, void *element));
void kdtl_vector_apply(struct kdtl_session *s, const struct kdtl_vector *v,
		       void (*apply)(struct kdtl_session *s, void *element));
int kdtl_vector_fail(const struct kdtl_vector *v, unsigned int i, int err);

static inline void *kdtl_vector_at(const struct kdtl_vector *v, unsigned int i)
{
	return v->base + i * v->size;
}

int kdtl_no_set(struct kdtl_session *s, u16 id);
bool kdtl_session_has_cpu(struct kdtl_session *s, int cpu);

#endif /* _KDTL_REQUEST_H */
