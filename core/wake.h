/* SPDX-License-Identifier: GPL-2.0 */
/* Waking a session's reader. */
#ifndef _KDTL_WAKE_H
#define _KDTL_WAKE_H

struct kdtl_session;

void kdtl_session_wake(struct kdtl_session *s);
bool kdtl_session_take_wake(struct kdtl_session *s);
bool kdtl_session_take_foreign(struct kdtl_session *s);

#endif /* _KDTL_WAKE_H */
