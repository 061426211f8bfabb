// SPDX-License-Identifier: GPL-2.0
/*
 * The watch in debugfs: kdtl_watch/cpus and kdtl_watch/rules
 *
 * The first gives a table, and takes "CPU MS" and "all MS", MS 0 for no threshold.  The
 * second gives and takes thresholds of other kinds, see rules.c.
 */
#define pr_fmt(fmt) "kdtl_watch: " fmt

#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/kdtl_counters.h>
#include <linux/kdtl_verbs.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "watch.h"

static struct dentry *show_dir;

/* Makes the session get the thresholds of both, if two write at once. */
static DEFINE_MUTEX(show_lock);

/* Thresholds have changed: make the session log what they ask for. */
static int show_apply(struct kdtl_session *s)
{
	struct kdtl_config config = watch_rules_config();
	const int err = kdtl_stop(s) ?: kdtl_write_config(s, &config, 1) ?: kdtl_start(s);

	/* Somebody else may have the source now. */
	if (err)
		pr_warn_ratelimited("nothing is logged, as the session cannot start again (%d): write any threshold to try once more\n",
				    err);
	return err;
}

static int cpus_show(struct seq_file *m, void *unused)
{
	struct kdtl_session *s = m->private;
	struct kdtl_aux_info info;
	struct watch_cpu *w;
	int cpu;

	seq_puts(m, " CPU  threshold ms      late     stuck  longest ms      lost throttled\n");
	for_each_possible_cpu(cpu) {
		if (kdtl_aux_info(s, cpu, &info))
			continue;
		w = per_cpu_ptr(&watch_cpus, cpu);
		seq_printf(m, "%4d %13u %9lu %9lu %11lu%c %8llu %9lu\n", cpu,
			   READ_ONCE(w->threshold_ms), READ_ONCE(w->late),
			   READ_ONCE(w->stuck), READ_ONCE(w->longest),
			   READ_ONCE(w->saturated) ? '+' : ' ', info.lost,
			   READ_ONCE(w->throttled));
	}
	return 0;
}

static int cpus_open(struct inode *inode, struct file *file)
{
	return single_open(file, cpus_show, inode->i_private);
}

static ssize_t cpus_write(struct file *file, const char __user *buf, size_t len,
			  loff_t *pos)
{
	struct seq_file *m = file->private_data;
	char line[32], *who, *ms_at;
	unsigned int ms;
	int cpu, err, only = -1;

	if (len >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, buf, len))
		return -EFAULT;
	line[len] = '\0';
	ms_at = strim(line);
	who = strsep(&ms_at, " \t");
	if (!ms_at || kstrtouint(skip_spaces(ms_at), 10, &ms) ||
	    (strcmp(who, "all") && (kstrtoint(who, 10, &only) || only < 0 ||
				    only >= nr_cpu_ids || !cpu_possible(only)))) {
		pr_warn_ratelimited("cpus: write \"CPU MS\" or \"all MS\", MS 0 for no threshold\n");
		return -EINVAL;
	}
	mutex_lock(&show_lock);
	for_each_possible_cpu(cpu) {
		if (only < 0 || cpu == only)
			WRITE_ONCE(per_cpu_ptr(&watch_cpus, cpu)->threshold_ms, ms);
	}
	err = show_apply(m->private);
	mutex_unlock(&show_lock);
	return err ?: len;
}

static const struct file_operations cpus_fops = {
	.owner		= THIS_MODULE,
	.open		= cpus_open,
	.read		= seq_read,
	.write		= cpus_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

static int rules_show(struct seq_file *m, void *unused)
{
	watch_rules_show(m);
	return 0;
}

static int rules_open(struct inode *inode, struct file *file)
{
	return single_open(file, rules_show, inode->i_private);
}

static ssize_t rules_write(struct file *file, const char __user *buf, size_t len,
			   loff_t *pos)
{
	struct seq_file *m = file->private_data;
	char *line;
	int err;

	/* Room for the words beside the path. */
	if (len > PATH_MAX + 32)
		return -EINVAL;
	line = memdup_user_nul(buf, len);
	if (IS_ERR(line))
		return PTR_ERR(line);
	mutex_lock(&show_lock);
	err = watch_rules_write(line) ?: show_apply(m->private);
	mutex_unlock(&show_lock);
	kfree(line);
	if (err == -EINVAL)
		pr_warn_ratelimited("rules: write \"cgroup PATH MS\", \"prio CLASS MS\" or \"throttled MS\", MS 0 for no threshold, - for no rule\n");
	return err ?: len;
}

static const struct file_operations rules_fops = {
	.owner		= THIS_MODULE,
	.open		= rules_open,
	.read		= seq_read,
	.write		= rules_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

/**
 * watch_show_init() - make the files
 * @s: the session
 */
void watch_show_init(struct kdtl_session *s)
{
	show_dir = debugfs_create_dir("kdtl_watch", NULL);
	debugfs_create_file("cpus", 0600, show_dir, s, &cpus_fops);
	debugfs_create_file("rules", 0600, show_dir, s, &rules_fops);
}

/**
 * watch_show_exit() - remove the files, which nobody has open
 */
void watch_show_exit(void)
{
	debugfs_remove(show_dir);
}
