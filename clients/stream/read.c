// SPDX-License-Identifier: GPL-2.0
/* read() and poll(): whole entries, CPU by CPU. */
#include <linux/poll.h>
#include <linux/uaccess.h>

#include "stream.h"

/* Copy as much as there is; the next call goes on with the CPU where this ends. */
static ssize_t stream_copy(struct stream *st, char __user *buf, size_t count)
{
	const size_t room = count - count % KDTL_ENTRY_SIZE;
	unsigned int nr = cpumask_weight(st->cpus);
	const void *span;
	size_t done = 0;
	u64 len;

	while (nr--) {
		len = min_t(u64, stream_peek(st, st->next, &span), room - done);
		if (len && copy_to_user(buf + done, span, len))
			return done ?: -EFAULT;
		if (len)
			stream_consume(st, st->next, len);
		done += len;
		if (done == room)
			break;
		stream_next_cpu(st);
	}
	return done;
}

/**
 * stream_read() - read whole entries
 * @file: of /dev/kdtl
 * @buf: where to
 * @count: size of @buf
 * @pos: not used
 *
 * Context: system call.
 * Return: bytes; 0: stopped, and all has been read; or
 *
 * * -EINVAL: @count is less than an entry, or the file is in overwrite mode
 * * -EBUSY: the AUX area is mapped
 * * -EAGAIN, -EFAULT, -ERESTARTSYS
 * * if the file was not set up, an error of kdtl_session_create()
 */
ssize_t stream_read(struct file *file, char __user *buf, size_t count, loff_t *pos)
{
	struct stream *st = file->private_data;
	unsigned int wakes;
	ssize_t ret;

	if (count < KDTL_ENTRY_SIZE)
		return -EINVAL;
	ret = stream_wait(st, file->f_flags & O_NONBLOCK);
	if (ret <= 0)
		return ret;
	wakes = atomic_read(&st->wakes);
	ret = stream_copy(st, buf, count);
	/* With room left, all entries that these wake-ups were for have been read. */
	if (ret >= 0 && count - ret >= KDTL_ENTRY_SIZE)
		WRITE_ONCE(st->seen, wakes);
	mutex_unlock(&st->verbs);
	return ret;
}

/**
 * stream_poll() - would read() wait?
 * @file: of /dev/kdtl
 * @pt: poll table
 *
 * If the AUX area is mapped, this says whether there was a wake-up since the
 * last poll(), and brings the mapped positions up to date.
 *
 * Context: system call.
 * Return: EPOLLIN: read() would not wait; EPOLLHUP: stopped, and all has been
 * read; EPOLLERR: it cannot be started.
 */
__poll_t stream_poll(struct file *file, struct poll_table_struct *pt)
{
	struct stream *st = file->private_data;
	__poll_t events = 0;
	int err;

	/* The mutex's holder may wait for user memory, and so for a process that serves it. */
	err = mutex_lock_killable(&st->verbs);
	if (!err) {
		err = stream_start_default(st);
		mutex_unlock(&st->verbs);
	}
	if (err)
		return EPOLLERR;

	poll_wait(file, &st->waitq, pt);
	stream_publish(st);
	if (READ_ONCE(st->aux_maps) ? stream_mapped_readable(st) : stream_readable(st))
		events = EPOLLIN | EPOLLRDNORM;
	if (!READ_ONCE(st->running))
		events |= stream_unread(st) ? EPOLLIN | EPOLLRDNORM : EPOLLHUP;
	return events;
}
