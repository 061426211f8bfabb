/* SPDX-License-Identifier: GPL-2.0 */
/* Reading areas on behalf of the merge, which is the session's reader. */
#ifndef _KDTL_READER_H
#define _KDTL_READER_H

#include "../core/session.h"

ssize_t kdtl_reader_peek(struct kdtl_session *s, int cpu, const void **span);
u64 kdtl_reader_lost(struct kdtl_session *s, int cpu, size_t from, size_t to);
int kdtl_reader_consume(struct kdtl_session *s, int cpu, size_t bytes);

void kdtl_merge_detach(struct kdtl_merge *m);

#endif /* _KDTL_READER_H */
