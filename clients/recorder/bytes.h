/* SPDX-License-Identifier: GPL-2.0 */
/* The newest bytes of a PMU that kdtl does not know, in the kernel's log. */
#ifndef _KDTL_RECORDER_BYTES_H
#define _KDTL_RECORDER_BYTES_H

#include <linux/kdtl_answers.h>

/**
 * struct bytes - the copy of a CPU's bytes, allocated before it is needed
 * @s: an overwrite session with KDTL_SESSION_RAW
 * @buf: the copy
 * @size: the most bytes that are printed
 * @cpu: the CPU that they are from
 * @len: number of bytes, or an errno
 */
struct bytes {
	struct kdtl_session	*s;
	u8			*buf;
	size_t			size;
	int			cpu;
	ssize_t			len;
};

int bytes_alloc(struct bytes *b, struct kdtl_session *s, size_t size);
void bytes_free(struct bytes *b);
void bytes_print(struct bytes *b, const struct kdtl_alarm *about, bool task);

#endif /* _KDTL_RECORDER_BYTES_H */
