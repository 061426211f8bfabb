// SPDX-License-Identifier: GPL-2.0
/*
 * A perfmon2 kernel client that counts: two event sets that take turns, and a
 * thread that is told when a counter overflows.
 */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/kdtl.h>
#include <linux/sched.h>

#define COUNTS_SETS	2
#define COUNTS_TURN	10000	/* us */
#define COUNTS_PERIOD	100000

static struct completion wake;
static struct task_struct *reader;
static struct kdtl_session *session;

static struct kdtl_evtset sets[COUNTS_SETS] = {
	{ .id = 0, .timeout = (u64)(COUNTS_TURN) * NSEC_PER_USEC },
	{ .id = 1, .timeout = (u64)(COUNTS_TURN) * NSEC_PER_USEC },
};

static struct kdtl_config controls[COUNTS_SETS] = {
	{ .set = 0, /* TODO kdtl: which? */
		.mask = KDTL_MASK_ALL },
	{ .set = 1, /* TODO kdtl: which? */
			.mask = KDTL_MASK_ALL },
};

static struct kdtl_counter_req counters[COUNTS_SETS];

static int counts_program(struct kdtl_session *desc)
{
	int i, err;

	err = kdtl_create_evtsets(desc, sets, COUNTS_SETS);
	if (err)
		return err;
	err = kdtl_write_config(desc, controls, COUNTS_SETS);
	if (err) {
		for (i = 0; i < COUNTS_SETS; i++)
			if (controls[i].error)
				printk(KERN_ERR "counts: PMC %d\n", i);
		return err;
	}
	for (i = 0; i < COUNTS_SETS; i++) {
		/* TODO kdtl: which counter? enum kdtl_counter */
		counters[i].counter = 0;
		counters[i].cpu = -1;
		counters[i].set = i;
		counters[i].flags = KDTL_COUNTER_NOTIFY | KDTL_COUNTER_RANDOM;
		counters[i].value = -(u64)COUNTS_PERIOD;
		counters[i].long_reset = -(u64)COUNTS_PERIOD;
		counters[i].short_reset = -(u64)COUNTS_PERIOD;
		counters[i].random_mask = 0xff;
	}
	return kdtl_write_counters(desc, counters, COUNTS_SETS);
}

static void counts_show(struct kdtl_session *desc)
{
	struct kdtl_evtset_info info;
	struct kdtl_counter_req one;

	memset(&info, 0, sizeof(info));
	info.id = 1;
	info.cpu = -1;
	if (!kdtl_getinfo_evtsets(desc, &info, 1))
		printk(KERN_INFO "counts: set 1 ran %llu times, %u us left\n",
		       (unsigned long long)info.runs, (u32)div_u64(info.remaining, NSEC_PER_USEC));

	memset(&one, 0, sizeof(one));
	/* TODO kdtl: which counter? enum kdtl_counter */
	one.counter = 0;
	one.cpu = -1;
	one.set = 1;
	if (!kdtl_read_counters(desc, &one, 1))
		printk(KERN_INFO "counts: %llu\n", (unsigned long long)one.value);
	if (kdtl_read_counters(desc, counters, COUNTS_SETS))
		printk(KERN_ERR "counts: cannot read\n");
}

static int counts_reader(void *unused)
{
	struct kdtl_msg msg;
	ssize_t len;

	while (!kthread_should_stop()) {
		len = kdtl_read(session, &msg, sizeof(msg), false);
		if (len < 0)
			break;
		if (len == 0)
			continue;
		if (msg.type == KDTL_MSG_END)
			break;
		if (msg.type != KDTL_MSG_OVERFLOW)
			continue;
		printk(KERN_INFO "counts: CPU %u set %u overflow %llx\n",
		       msg.cpu,
		       msg.set,
		       (unsigned long long)msg.overflow.counters);
		if (kdtl_restart(session))
			break;
	}
	while (!kthread_should_stop())
		schedule_timeout_interruptible(HZ);
	return 0;
}

static int counts_open(struct kdtl_session **desc)
{
	struct kdtl_session_attr ctx;

	memset(&ctx, 0, sizeof(ctx));
	ctx.flags = KDTL_SESSION_OVERWRITE | KDTL_SESSION_PAUSE;
	ctx.aux_pages = 1;
	ctx.msg_pages = 1;
	ctx.done = &wake;
	*desc = kdtl_session_create(&ctx);
	return PTR_ERR_OR_ZERO(*desc);
}

static int counts_begin(void)
{
	int err;

	err = counts_open(&session);
	if (err)
		return err;
	err = counts_program(session);
	if (err)
		goto close;
	err = kdtl_load(session, cpumask_of(raw_smp_processor_id()));
	if (err)
		goto close;
	err = kdtl_start(session);
	if (err)
		goto unload;
	reader = kthread_run(counts_reader, NULL, "counts");
	if (!IS_ERR(reader))
		return 0;
	err = PTR_ERR(reader);
	kdtl_stop(session);
unload:
	kdtl_unload(session);
close:
	kdtl_session_close(session);
	return err;
}

static int __init counts_init(void)
{
	init_completion(&wake);
	return counts_begin();
}

static int counts_end(void)
{
	struct kdtl_evtset gone;
	int err;

	complete(&wake);
	kthread_stop(reader);
	err = kdtl_stop(session);
	if (err)
		return err;
	counts_show(session);
	kdtl_unload(session);
	memset(&gone, 0, sizeof(gone));
	gone.id = 1;
	err = kdtl_delete_evtsets(session, &gone, 1);
	if (err)
		printk(KERN_ERR "counts: set 1 stays\n");
	kdtl_session_close(session);
	return 0;
}

static void __exit counts_exit(void)
{
	counts_end();
}

module_init(counts_init);
module_exit(counts_exit);
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_DESCRIPTION("counts events, in perfmon2's way");
