/* SPDX-License-Identifier: GPL-2.0 */
/* The writer's side of an AUX area. */
#ifndef _KDTL_WRITER_H
#define _KDTL_WRITER_H

#include "aux.h"

u64 kdtl_aux_room(struct kdtl_aux *aux);
void kdtl_aux_set_stop(struct kdtl_aux *aux);
void kdtl_aux_lost(struct kdtl_aux *aux, u64 nr, u64 flag);
void kdtl_aux_lost_end(struct kdtl_aux *aux);
void kdtl_aux_write(struct kdtl_aux *aux, const struct kdtl_entry *e);
void kdtl_aux_advance(struct kdtl_aux *aux, u64 size);

void kdtl_aux_report(struct kdtl_aux *aux, bool settled);
void kdtl_aux_wake(struct irq_work *work);
void kdtl_aux_settle(struct kdtl_aux *aux);
void kdtl_aux_period_start(struct kdtl_aux *aux);

#endif /* _KDTL_WRITER_H */
