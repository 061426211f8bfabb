/* SPDX-License-Identifier: GPL-2.0 */
/* A command that a script writes to a file in debugfs. */
#ifndef _KDTL_FAKE_LINE_H
#define _KDTL_FAKE_LINE_H

#include <linux/errno.h>
#include <linux/uaccess.h>

/* Copies the line and terminates it. Returns -EINVAL if it does not fit. */
static inline int kdtl_fake_line(char *line, size_t size, const char __user *from, size_t len)
{
	if (len >= size)
		return -EINVAL;
	if (copy_from_user(line, from, len))
		return -EFAULT;
	line[len] = '\0';
	return 0;
}

#endif /* _KDTL_FAKE_LINE_H */
