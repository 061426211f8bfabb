/* SPDX-License-Identifier: GPL-2.0 */
/* The clocks and counters of event sets, by CPU. */
#ifndef _KDTL_COUNTER_H
#define _KDTL_COUNTER_H

#include "../aux.h"
#include "set.h"

/* The state of @set on the area's CPU. */
static inline struct kdtl_set_cpu *kdtl_set_here(struct kdtl_aux *aux,
						 struct kdtl_set *set)
{
	return per_cpu_ptr(set->cpu, aux->cpu);
}

void kdtl_clocks_begin(struct kdtl_aux *aux);
void kdtl_clocks_end(struct kdtl_aux *aux);

u64 kdtl_counter_now(struct kdtl_aux *aux, struct kdtl_set *set,
		     enum kdtl_counter c);
u64 kdtl_counter_read(struct kdtl_aux *aux, struct kdtl_set *set,
		      enum kdtl_counter c, bool base);
void kdtl_counter_write(struct kdtl_aux *aux, struct kdtl_set *set,
			enum kdtl_counter c, u64 value);
void kdtl_counters_reset(struct kdtl_aux *aux, u32 which, bool long_reset);

#endif /* _KDTL_COUNTER_H */
