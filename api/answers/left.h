/* SPDX-License-Identifier: GPL-2.0 */
/* Clean up what a module has left when it goes, and when this module itself goes. */
#ifndef _KDTL_ANSWERS_LEFT_H
#define _KDTL_ANSWERS_LEFT_H

struct module;

void kdtl_alarm_unregister_left(struct module *module);
void kdtl_tasks_close_left(struct module *module);
void kdtl_trigger_close_left(struct module *module);
void kdtl_tasks_exit(void);
void kdtl_answers_rcu_await(void);

#endif /* _KDTL_ANSWERS_LEFT_H */
