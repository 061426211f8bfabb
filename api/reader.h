/* SPDX-License-Identifier: GPL-2.0 */
/* A session has one reader: its client, a merge or a reader that kdtl runs. */
#ifndef _KDTL_READER_H
#define _KDTL_READER_H

#include "../core/session.h"

/* Has the session nothing to consume? */
static inline bool kdtl_reader_none(const struct kdtl_session *s)
{
	return !s->layout.nr_pages || s->layout.overwrite;
}

/* aux.c */
int kdtl_reader_refuse(const struct kdtl_session *s, const char *what);
ssize_t kdtl_reader_peek(struct kdtl_session *s, int cpu, const void **span);
u64 kdtl_reader_lost(struct kdtl_session *s, int cpu, size_t from, size_t to);
int kdtl_reader_consume(struct kdtl_session *s, int cpu, size_t bytes);

/* merge.c */
void kdtl_merge_detach(struct kdtl_merge *m);

/* reader.c */
int kdtl_reader_check(const struct kdtl_reader *reader, void *caller);
int kdtl_reader_start(struct kdtl_session *s, const struct kdtl_reader *reader);
void kdtl_reader_mute(struct kdtl_session *s);
void kdtl_reader_end(struct kdtl_session *s);
bool kdtl_reader_await_look(struct kdtl_session *s);
int kdtl_reader_pause(struct kdtl_session *s);
void kdtl_reader_resume(struct kdtl_session *s);

#endif /* _KDTL_READER_H */
