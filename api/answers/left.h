/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Clean up what a module has left when it goes, and when this module itself goes; and the first
 * check of functions that may sleep.
 */
#ifndef _KDTL_ANSWERS_LEFT_H
#define _KDTL_ANSWERS_LEFT_H

struct module;

void kdtl_alarm_unregister_left(struct module *module);
void kdtl_tasks_close_left(struct module *module);
void kdtl_trigger_close_left(struct module *module);
void kdtl_tasks_exit(void);
void kdtl_answers_rcu_await(void);
int kdtl_answers_may_sleep(const char *verb, unsigned long caller);

#endif /* _KDTL_ANSWERS_LEFT_H */
