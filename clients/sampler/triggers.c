// SPDX-License-Identifier: GPL-2.0
/*
 * Triggers on the waits of cgroups: a file for programs, which works as PSI's files do, and
 * kdtl_trigger_open() for other modules
 *
 * A program opens the file "trigger", writes what it wants to be told of, and polls for POLLPRI:
 *
 *	some 150000 1000000
 *	neighbours 20000 100000 /web
 *
 * The file descriptor is the trigger.
 */
#define pr_fmt(fmt) "kdtl_sampler: " fmt

#include <linux/capability.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/user_namespace.h>
#include <linux/wait.h>

#include "causes.h"
#include "triggers.h"

/* Without CAP_SYS_RESOURCE, windows must be multiples of this, as in PSI. */
#define TRIGGERS_WINDOW		(2U * NSEC_PER_SEC)

/* A name, two numbers and a path. */
#define TRIGGERS_LINE		(64 + CGROUP_PATH)

/**
 * struct triggers_file - an open file
 * @trigger: NULL: nothing was written yet
 * @wait: tasks that poll
 * @told: there was an event that no poll() has returned yet
 * @budgeted: it is one of triggers_used
 */
struct triggers_file {
	struct kdtl_trigger	*trigger;
	wait_queue_head_t	wait;
	atomic_t		told;
	bool			budgeted;
};

static unsigned int max_triggers = 16;
module_param(max_triggers, uint, 0644);
MODULE_PARM_DESC(max_triggers, "maximum number of triggers of all users without CAP_SYS_RESOURCE (default 16)");

static DEFINE_SPINLOCK(triggers_lock);
static unsigned int triggers_used;	/* protected by it */

static_assert(KDTL_PRESSURE_QUOTA == (int)PRESSURE_BY_QUOTA);
static_assert(KDTL_PRESSURE_SOME == (int)CAUSES_SOME);
static_assert(KDTL_PRESSURE_FULL == (int)CAUSES_FULL);
static_assert(KDTL_PRESSURE_ROWS == (int)CAUSES_ROWS);

/* ------------------------------------------------------- what is counted */

/* Called by kdtl_pressure_look(), under sampler.lock.  @hint is the slot that it last had. */
static u64 triggers_total(const char *path, enum kdtl_pressure cause, unsigned int *hint)
{
	struct sampler_cgroup *c = cgroups_by_slot[*hint];

	if (!c || strcmp(c->path, path))
		c = cgroups_of_path(path);
	if (!c)
		return 0;
	*hint = c->slot;
	return causes_ns(c, cause);
}

static struct kdtl_pressure_counter triggers_counter = {
	.owner	= THIS_MODULE,
	.total	= triggers_total,
};

/**
 * triggers_begin() - offer triggers
 * @look: counts what was logged until now, and calls triggers_look()
 *
 * Context: may sleep; cgroups are counted.
 * Return: 0 or -EBUSY.
 */
int triggers_begin(void (*look)(void))
{
	triggers_counter.look = look;
	return kdtl_pressure_begin(&triggers_counter);
}

/**
 * triggers_end() - undo triggers_begin(), if that was done
 *
 * Context: may sleep.
 */
void triggers_end(void)
{
	kdtl_pressure_end(&triggers_counter);
}

/**
 * triggers_look() - tell of what was counted
 *
 * Context: under sampler.lock, may sleep.
 * Return: ms until this must be called again; %UINT_MAX: there is no trigger.
 */
unsigned int triggers_look(void)
{
	return kdtl_pressure_look(&triggers_counter);
}

/* --------------------------------------------------------------- the file */

static void triggers_fire(void *data)
{
	struct triggers_file *f = data;

	atomic_set(&f->told, 1);
	wake_up_interruptible(&f->wait);
}

/* "ROW THRESHOLD WINDOW [CGROUP]", in us.  The path points into @line. */
static int triggers_parse(char *line, struct kdtl_trigger_attr *attr)
{
	u32 threshold, window;
	char *words[3];
	int i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		line = skip_spaces(line);
		words[i] = strsep(&line, " \t\n");
		if (!line)
			line = "";
	}
	if (kstrtou32(words[1], 10, &threshold) || kstrtou32(words[2], 10, &window))
		return -EINVAL;
	i = match_string(causes_names, CAUSES_ROWS, words[0]);
	if (i < 0)
		return -EINVAL;
	attr->cause = i;
	attr->threshold = (u64)threshold * NSEC_PER_USEC;
	attr->window = (u64)window * NSEC_PER_USEC;
	line = skip_spaces(line);
	attr->cgroup = *line ? line : "/";
	return 0;
}

/*
 * May whoever opened the file have that trigger?  Each trigger makes the sampler look at all
 * cgroups, and the more often the shorter its window is.
 */
static int triggers_take(struct file *file, struct triggers_file *f, u64 window)
{
	u32 rest;

	if (file_ns_capable(file, &init_user_ns, CAP_SYS_RESOURCE))
		return 0;
	div_u64_rem(window, TRIGGERS_WINDOW, &rest);
	if (rest) {
		pr_warn_ratelimited("a trigger's window is a multiple of 2 s without CAP_SYS_RESOURCE\n");
		return -EINVAL;
	}
	spin_lock(&triggers_lock);
	f->budgeted = triggers_used < READ_ONCE(max_triggers);
	triggers_used += f->budgeted;
	spin_unlock(&triggers_lock);
	if (f->budgeted)
		return 0;
	pr_warn_ratelimited("users without CAP_SYS_RESOURCE have %u triggers, and max_triggers allows no more\n",
			    READ_ONCE(max_triggers));
	return -EUSERS;
}

static void triggers_give(struct triggers_file *f)
{
	spin_lock(&triggers_lock);
	triggers_used -= f->budgeted;
	spin_unlock(&triggers_lock);
	f->budgeted = false;
}

static int triggers_set(struct file *file, struct triggers_file *f, char *line)
{
	struct kdtl_trigger_attr attr = { .fire = triggers_fire, .data = f };
	struct kdtl_trigger *t;
	int err;

	/* As in PSI, a trigger cannot be changed. */
	if (f->trigger)
		return -EBUSY;
	err = triggers_parse(strim(line), &attr);
	if (err)
		return err;
	err = triggers_take(file, f, attr.window);
	if (err)
		return err;
	t = kdtl_trigger_open(&attr);
	if (IS_ERR(t)) {
		triggers_give(f);
		return PTR_ERR(t);
	}
	WRITE_ONCE(f->trigger, t);
	return 0;
}

static ssize_t triggers_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	struct seq_file *m = file->private_data;
	char *line;
	int err;

	if (!len || len > TRIGGERS_LINE)
		return -EINVAL;
	line = memdup_user_nul(buf, len);
	if (IS_ERR(line))
		return PTR_ERR(line);
	mutex_lock(&m->lock);
	err = triggers_set(file, m->private, line);
	mutex_unlock(&m->lock);
	kfree(line);
	return err ?: len;
}

static __poll_t triggers_poll(struct file *file, poll_table *wait)
{
	struct triggers_file *f = ((struct seq_file *)file->private_data)->private;

	if (!READ_ONCE(f->trigger))
		return DEFAULT_POLLMASK | EPOLLERR | EPOLLPRI;
	poll_wait(file, &f->wait, wait);
	return DEFAULT_POLLMASK | (atomic_xchg(&f->told, 0) ? EPOLLPRI : 0);
}

/* The inode's private data is the function that prints the file's text. */
static int triggers_open(struct inode *inode, struct file *file)
{
	struct triggers_file *f = kzalloc(sizeof(*f), GFP_KERNEL);
	int err;

	if (!f)
		return -ENOMEM;
	init_waitqueue_head(&f->wait);
	err = single_open(file, inode->i_private, f);
	if (err)
		kfree(f);
	return err;
}

static int triggers_release(struct inode *inode, struct file *file)
{
	struct triggers_file *f = ((struct seq_file *)file->private_data)->private;

	kdtl_trigger_close(f->trigger);
	triggers_give(f);
	kfree(f);
	return single_release(inode, file);
}

const struct file_operations triggers_fops = {
	.owner		= THIS_MODULE,
	.open		= triggers_open,
	.read		= seq_read,
	.write		= triggers_write,
	.poll		= triggers_poll,
	.llseek		= seq_lseek,
	.release	= triggers_release,
};
