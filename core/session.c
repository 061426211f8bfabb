// SPDX-License-Identifier: GPL-2.0
/* Holding a session while a verb works on it. */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/err.h>
#include <linux/printk.h>

#include "session.h"

/**
 * kdtl_session_refuse() - refuse a pointer that is not a session
 * @s: NULL or ERR_PTR
 * @verb: name of the verb
 * @caller: address in the function that called it
 *
 * Context: any.
 * Return: -EINVAL.
 */
int kdtl_session_refuse(const struct kdtl_session *s, const char *verb,
			unsigned long caller)
{
	const long err = PTR_ERR(s);	/* 0 for NULL, where %pe prints an address */

	pr_warn_ratelimited("%ps: %s() without a session (%ld): did kdtl_session_create() fail?\n",
			    (void *)caller, verb, err);
	return -EINVAL;
}

/**
 * kdtl_null_refuse() - refuse a NULL pointer other than the session
 * @s: the session
 * @verb: name of the verb
 * @what: names the pointer
 *
 * Context: any.
 * Return: -EINVAL.
 */
int kdtl_null_refuse(const struct kdtl_session *s, const char *verb, const char *what)
{
	pr_warn_ratelimited("%s: %s(): %s is NULL\n", s->owner, verb, what);
	return -EINVAL;
}

/**
 * kdtl_sleep_refuse() - refuse to sleep in wake(), or elsewhere where nobody may
 * @owner: whose session it is, or is to be
 * @verb: name of the verb
 *
 * Context: any.
 * Return: -EDEADLK.
 */
int kdtl_sleep_refuse(const char *owner, const char *verb)
{
	pr_warn_ratelimited("%s: %s(): not from wake(), an interrupt or a timer, nor under a spinlock\n",
			    owner, verb);
	return -EDEADLK;
}

/**
 * kdtl_session_hold() - keep kdtl_session_close() from freeing the session
 * @s: the session
 *
 * Context: any.
 * Return: 0, or -ESHUTDOWN if the session is being closed.
 */
int kdtl_session_hold(struct kdtl_session *s)
{
	if (READ_ONCE(s->closing) || !refcount_inc_not_zero(&s->users))
		return -ESHUTDOWN;
	return 0;
}

/**
 * kdtl_session_lock() - take kdtl_session::lock, and log a long wait for it
 * @s: the session
 *
 * Context: may sleep.
 */
void kdtl_session_lock(struct kdtl_session *s)
{
	struct kdtl_late late;

	if (mutex_trylock(&s->lock))
		return;
	kdtl_late_begin(&late, s->owner, "a verb waits for another one of the session");
	mutex_lock(&s->lock);
	kdtl_late_end(&late);
}

/**
 * kdtl_session_begin() - the first thing that a verb does: hold the session
 * @s: the session, if the verb's caller has passed one
 * @verb: name of the verb
 * @caller: address in the function that called it
 *
 * Context: may sleep.
 * Return: 0; -EINVAL: @s is NULL or ERR_PTR; -EDEADLK: nobody may sleep here; -ESHUTDOWN: @s
 * is being closed.
 */
int kdtl_session_begin(struct kdtl_session *s, const char *verb,
		       unsigned long caller)
{
	if (IS_ERR_OR_NULL(s))
		return kdtl_session_refuse(s, verb, caller);
	return kdtl_may_sleep(s->owner, verb) ?: kdtl_session_hold(s);
}

/**
 * kdtl_session_lock_live() - kdtl_session_lock(), unless the session is being closed
 * @s: the session, which is held
 *
 * Context: may sleep.
 * Return: 0, or -ESHUTDOWN.
 */
int kdtl_session_lock_live(struct kdtl_session *s)
{
	kdtl_session_lock(s);
	if (!s->closing)
		return 0;
	mutex_unlock(&s->lock);
	return -ESHUTDOWN;
}

/**
 * kdtl_session_enter() - kdtl_session_begin() of a verb that also locks the session
 * @s: the session, if the verb's caller has passed one
 * @verb: name of the verb
 * @caller: address in the function that called it
 *
 * Context: may sleep.
 * Return: as kdtl_session_begin().
 */
int kdtl_session_enter(struct kdtl_session *s, const char *verb,
		       unsigned long caller)
{
	int err = kdtl_session_begin(s, verb, caller);

	if (err)
		return err;
	err = kdtl_session_lock_live(s);
	if (err)
		kdtl_session_release(s);
	return err;
}

/**
 * kdtl_session_leave() - undo kdtl_session_enter()
 * @s: the session
 *
 * Context: may sleep.
 */
void kdtl_session_leave(struct kdtl_session *s)
{
	mutex_unlock(&s->lock);
	kdtl_session_release(s);
}
