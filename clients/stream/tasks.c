// SPDX-License-Identifier: GPL-2.0
/* Tells user space what the tasks of the entries are, and which tasks wait. */
#include <linux/kdtl_verbs.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "stream.h"

/* Records that a call copies at most: a page of them. */
#define STREAM_TASKS	64

/**
 * stream_tasks() - copy records of tasks
 * @st: the stream
 * @req: which, and where to; is changed only if all went well
 *
 * Context: under stream::verbs.
 * Return: 0 or an errno, see KDTL_IOC_TASKS.
 */
int stream_tasks(struct stream *st, struct kdtl_stream_tasks *req)
{
	const unsigned int room = min_t(u32, req->nr, STREAM_TASKS);
	u64 seq = req->seq, lost = 0;
	struct kdtl_task *tasks;
	int nr;

	if (!room || req->reserved)
		return -EINVAL;
	nr = stream_setup_default(st);
	if (nr)
		return nr;
	if (!st->tasks)
		return -EOPNOTSUPP;
	tasks = kmalloc_array(room, sizeof(*tasks), GFP_KERNEL);
	if (!tasks)
		return -ENOMEM;
	nr = kdtl_tasks_read(st->tasks, &seq, tasks, room, &lost);
	if (nr > 0 && copy_to_user(u64_to_user_ptr(req->tasks), tasks, nr * sizeof(*tasks)))
		nr = -EFAULT;
	kfree(tasks);
	if (nr < 0)
		return nr;
	req->seq = seq;
	req->nr = nr;
	req->lost = lost;
	return 0;
}

/**
 * stream_cgroup() - copy the path of a cgroup
 * @st: the stream
 * @req: which, and where to; is changed only if all went well
 *
 * Context: under stream::verbs.
 * Return: 0 or an errno, see KDTL_IOC_CGROUP.
 */
int stream_cgroup(struct stream *st, struct kdtl_stream_cgroup *req)
{
	char path[KDTL_CGROUP_LEN];
	int len;

	if (!req->len || req->reserved)
		return -EINVAL;
	len = stream_setup_default(st);
	if (len)
		return len;
	if (!st->tasks)
		return -EOPNOTSUPP;
	len = kdtl_cgroup_path(st->tasks, req->id, path, sizeof(path));
	if (len < 0)
		return len;
	if (len >= req->len)
		return -ERANGE;
	if (copy_to_user(u64_to_user_ptr(req->path), path, len + 1))
		return -EFAULT;
	req->len = len;
	return 0;
}

/**
 * struct stream_asked - a call of stream_waits()
 * @to: where the next task goes
 * @room: how many fit there
 * @nr: tasks that wait
 * @err: 0 or an errno
 */
struct stream_asked {
	struct kdtl_stream_wait __user	*to;
	u32				room;
	u32				nr;
	int				err;
};

/* This may sleep, so it copies to user memory directly. */
static void stream_wait_told(const struct kdtl_waiting *w, void *data)
{
	struct stream_asked *asked = data;
	struct kdtl_stream_wait wait = {
		.since = w->since, .held = w->held, .until = w->until, .pid = w->pid,
		.running = w->running, .cpu = w->cpu,
	};

	if (asked->err || asked->nr++ >= asked->room)
		return;
	strscpy_pad(wait.comm, w->comm, sizeof(wait.comm));
	if (copy_to_user(asked->to++, &wait, sizeof(wait)))
		asked->err = -EFAULT;
}

/**
 * stream_waits() - copy who waits for a CPU now
 * @st: the stream
 * @req: where to; is changed only if all went well
 *
 * Context: under stream::verbs.
 * Return: 0 or an errno, see KDTL_IOC_WAITS.
 */
int stream_waits(struct stream *st, struct kdtl_stream_waits *req)
{
	struct stream_asked asked = { .to = u64_to_user_ptr(req->waits), .room = req->nr };
	int err;

	if (req->flags)
		return -EINVAL;
	err = stream_setup_default(st) ?: stream_budget_ask(st);
	if (err)
		return err;
	err = kdtl_waiting(st->session, stream_wait_told, &asked);
	if (err && err != -ETIMEDOUT)
		return err;
	if (asked.err)
		return asked.err;
	req->nr = asked.nr;
	req->flags = err ? KDTL_WAITS_LATE : 0;
	return 0;
}
