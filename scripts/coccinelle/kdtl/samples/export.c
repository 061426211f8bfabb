// SPDX-License-Identifier: GPL-2.0
/* What export.cocci finds, BAD, and what it must not. */
#include <linux/export.h>
#include <linux/kdtl_verbs.h>

int kdtl_bad(struct kdtl_session *s)
{
	return kdtl_start(s);
}
EXPORT_SYMBOL(kdtl_bad); /* BAD */

int kdtl_bad_outside(struct kdtl_session *s)
{
	return kdtl_stop(s);
}
EXPORT_SYMBOL_GPL(kdtl_bad_outside); /* BAD */

int kdtl_bad_open(struct kdtl_session *s)
{
	return kdtl_restart(s);
}
EXPORT_SYMBOL_NS(kdtl_bad_open, KDTL_NS); /* BAD */

int bad_wrapper(struct kdtl_session *s)
{
	return kdtl_unload(s);
}
EXPORT_SYMBOL(bad_wrapper); /* BAD */

int kdtl_good(struct kdtl_session *s)
{
	return kdtl_start(s);
}
EXPORT_SYMBOL_NS_GPL(kdtl_good, KDTL_NS);

int good_wrapper(struct kdtl_session *s)
{
	return kdtl_stop(s);
}
EXPORT_SYMBOL_GPL(good_wrapper);
