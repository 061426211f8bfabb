/* SPDX-License-Identifier: GPL-2.0 */
/* Waking a session's reader. */
#ifndef _KDTL_WAKE_H
#define _KDTL_WAKE_H

#include <linux/types.h>

struct kdtl_aux;
struct kdtl_session;
struct swait_queue;

void kdtl_session_wake(struct kdtl_session *s);
void kdtl_session_wake_for(struct kdtl_aux *aux);
void kdtl_session_due(struct kdtl_aux *aux);
bool kdtl_session_readable(struct kdtl_session *s);
u8 kdtl_session_take_wake(struct kdtl_session *s, u8 bits, struct swait_queue *wait);
void kdtl_session_wake_others(struct kdtl_session *s);
void kdtl_session_end_wakes(struct kdtl_session *s, bool shared);
bool kdtl_session_unread(struct kdtl_session *s);
bool kdtl_session_take_foreign(struct kdtl_session *s);

#endif /* _KDTL_WAKE_H */
