// SPDX-License-Identifier: GPL-2.0
/*
 * Reading the entries of all CPUs in order of time, without a thread:
 * debugfs/kdtl_inorder shows what was logged since it was last read
 */
#include <linux/debugfs.h>
#include <linux/kdtl_verbs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

static struct kdtl_session *session;
static struct kdtl_merge *merge;
static struct dentry *file;

static unsigned long is_open;
static const struct kdtl_entry *next;	/* not shown yet */

/* If seq_file's buffer is full, it discards the last entry and asks for the same one again. */
static void *inorder_start(struct seq_file *m, loff_t *pos)
{
	return (void *)next;
}

static void *inorder_next(struct seq_file *m, void *unused, loff_t *pos)
{
	++*pos;
	next = kdtl_merge_next(merge);
	return (void *)next;
}

static void inorder_stop(struct seq_file *m, void *unused)
{
}

/* The ticks of kdtl_sched are ns, so nothing is converted. */
static int inorder_show(struct seq_file *m, void *at)
{
	const struct kdtl_entry *e = at;
	const char *comm = kdtl_entry_comm(e);
	const u64 lost = kdtl_merge_lost(merge);

	if (lost)
		seq_printf(m, "%llu CPU %d: %llu were lost before\n", kdtl_entry_time(e),
			   kdtl_merge_cpu(merge), lost);
	seq_printf(m, "%llu CPU %d: %*pE:%d waited %llu ns%s\n", kdtl_entry_time(e),
		   kdtl_merge_cpu(merge), (int)strlen(comm), comm, kdtl_entry_pid(e),
		   kdtl_entry_wait(e), kdtl_entry_wait_saturated(e) ? " or more" : "");
	return 0;
}

static const struct seq_operations inorder_ops = {
	.start	= inorder_start,
	.next	= inorder_next,
	.stop	= inorder_stop,
	.show	= inorder_show,
};

static int inorder_open(struct inode *inode, struct file *f)
{
	int err;

	if (test_and_set_bit_lock(0, &is_open))
		return -EBUSY;
	err = seq_open(f, &inorder_ops);
	/* If the last reader did not read to the end, go on with its next entry. */
	if (!err && !next) {
		kdtl_merge_sync(merge);
		next = kdtl_merge_next(merge);
	}
	if (err)
		clear_bit_unlock(0, &is_open);
	return err;
}

static int inorder_release(struct inode *inode, struct file *f)
{
	clear_bit_unlock(0, &is_open);
	return seq_release(inode, f);
}

static const struct file_operations inorder_fops = {
	.owner		= THIS_MODULE,
	.open		= inorder_open,
	.read		= seq_read,
	.release	= inorder_release,
};

static int __init inorder_init(void)
{
	const struct kdtl_session_attr attr = { .pmu = "kdtl_sched" };
	int err;

	session = kdtl_session_create(&attr);
	if (IS_ERR(session))
		return PTR_ERR(session);
	merge = kdtl_merge_create(session);
	err = PTR_ERR_OR_ZERO(merge);
	if (!err)
		err = kdtl_load(session, NULL);
	if (!err)
		err = kdtl_start(session);
	if (err)
		goto close;
	file = debugfs_create_file("kdtl_inorder", 0400, NULL, NULL, &inorder_fops);
	return 0;

close:
	kdtl_merge_destroy(merge);
	kdtl_session_close(session);
	return err;
}

static void __exit inorder_exit(void)
{
	debugfs_remove(file);
	kdtl_merge_destroy(merge);
	kdtl_session_close(session);
}

late_initcall(inorder_init);
module_exit(inorder_exit);

MODULE_DESCRIPTION("kdtl example: the entries of all CPUs in the order of time");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_INFO(weakdep, "kdtl_sched");
