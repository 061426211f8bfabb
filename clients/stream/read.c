// SPDX-License-Identifier: GPL-2.0
/* read() and poll(): whole entries, CPU by CPU. */
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "stream.h"

/**
 * stream_peek() - find what a reader has not had of a CPU
 * @st: the stream
 * @cpu: whose
 * @span: set to the first byte
 *
 * Context: any.
 * Return: bytes, whole entries.
 */
u64 stream_peek(struct stream *st, int cpu, const void **span)
{
	struct stream_cpu *sc = per_cpu_ptr(st->percpu, cpu);
	ssize_t len;
	u64 n = 0;

	*span = NULL;
	/* A chunk that comes back moves the tail and ahead. */
	spin_lock(&sc->lock);
	len = kdtl_aux_peek(st->session, cpu, span);
	if (len > 0) {
		n = len - sc->ahead;
		*span += sc->ahead;
	}
	spin_unlock(&sc->lock);
	return stream_whole(n);
}

/* The most that is unread of a CPU. */
static u64 stream_unread(struct stream *st)
{
	const void *span;
	u64 most = 0;
	int cpu;

	for_each_cpu(cpu, st->cpus)
		most = max(most, stream_peek(st, cpu, &span));
	return most;
}

/* Is it worth reading? */
static bool stream_readable(struct stream *st)
{
	/* Before the look: a wake-up after it is for something else. */
	const unsigned int wakes = atomic_read(&st->wakes);
	const u64 unread = stream_unread(st);

	if (!unread)
		WRITE_ONCE(st->seen, wakes);
	return unread >= st->watermark || (unread && wakes != READ_ONCE(st->seen));
}

/* The same of a mapped file, of which only the user knows what is unread. */
static bool stream_mapped_readable(struct stream *st)
{
	const unsigned int wakes = atomic_read(&st->wakes);

	return xchg(&st->seen, wakes) != wakes || stream_unread(st) >= st->watermark;
}

/**
 * stream_wait() - wait until there is something to read
 * @st: the stream, set up
 * @noblock: do not wait
 *
 * Context: under st->verbs, which is released meanwhile.
 * Return: 1: there may be something; 0: there will be nothing more; -EAGAIN:
 * there is nothing now; -ERESTARTSYS.
 */
int stream_wait(struct stream *st, bool noblock)
{
	int err;

	if (st->overwrite)
		return -EINVAL;
	if (READ_ONCE(st->aux_maps))
		return -EBUSY;
	if (noblock)
		return stream_unread(st) ? 1 : st->running ? -EAGAIN : 0;

	while (st->running && !stream_readable(st)) {
		mutex_unlock(&st->verbs);
		err = wait_event_interruptible(st->waitq, stream_readable(st) ||
					       !READ_ONCE(st->running));
		mutex_lock(&st->verbs);
		if (err)
			return err;
	}
	return stream_unread(st) ? 1 : 0;
}

/* As much as there is; the next call begins with the CPU where this one ends. */
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
		st->next = cpumask_next(st->next, st->cpus);
		if (st->next >= nr_cpu_ids)
			st->next = cpumask_first(st->cpus);
	}
	return done;
}

/**
 * stream_read() - read whole entries
 * @file: of /dev/kdtl
 * @buf: where to
 * @count: its size
 * @pos: not used
 *
 * Return: bytes; 0: stopped, and all has been read; or
 *
 * * -EINVAL: @count is less than an entry, or it is in overwrite mode
 * * -EBUSY: the AUX area is mapped
 * * -EAGAIN, -EFAULT, -ERESTARTSYS
 * * of an error of the defaults, see kdtl_session_create()
 */
ssize_t stream_read(struct file *file, char __user *buf, size_t count, loff_t *pos)
{
	struct stream *st = file->private_data;
	ssize_t ret;

	if (count < KDTL_ENTRY_SIZE)
		return -EINVAL;
	ret = mutex_lock_interruptible(&st->verbs);
	if (ret)
		return ret;
	ret = stream_begin(st);
	if (!ret)
		ret = stream_wait(st, file->f_flags & O_NONBLOCK);
	if (ret > 0)
		ret = stream_copy(st, buf, count);
	mutex_unlock(&st->verbs);
	return ret;
}

/**
 * stream_poll() - would read() wait?
 * @file: of /dev/kdtl
 * @pt: poll table
 *
 * Of a mapped file: has it been woken since the last poll()?  What the mapping
 * says is brought up to date.
 *
 * Return: EPOLLIN: read() would not wait; EPOLLHUP: and there will be no more;
 * EPOLLERR: it cannot be set up.
 */
__poll_t stream_poll(struct file *file, struct poll_table_struct *pt)
{
	struct stream *st = file->private_data;
	__poll_t events = 0;
	int err;

	mutex_lock(&st->verbs);
	err = stream_begin(st);
	mutex_unlock(&st->verbs);
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
