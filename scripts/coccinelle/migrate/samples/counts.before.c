// SPDX-License-Identifier: GPL-2.0
/*
 * A perfmon2 kernel client that counts: two event sets that take turns, and a
 * thread that is told when a counter overflows.
 */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/perfmon.h>
#include <linux/sched.h>

#define COUNTS_SETS	2
#define COUNTS_TURN	10000	/* us */
#define COUNTS_PERIOD	100000

static struct completion wake;
static struct task_struct *reader;
static void *session;

static struct pfarg_setdesc sets[COUNTS_SETS] = {
	{ .set_id = 0, .set_flags = PFM_SETFL_TIME_SWITCH, .set_timeout = COUNTS_TURN },
	{ .set_id = 1, .set_flags = PFM_SETFL_TIME_SWITCH, .set_timeout = COUNTS_TURN },
};

static struct pfarg_pmc controls[COUNTS_SETS] = {
	{ .reg_num = 0, .reg_set = 0, .reg_value = 0x1300c0 },
	{ .reg_num = 0, .reg_set = 1, .reg_value = 0x13003c },
};

static struct pfarg_pmd counters[COUNTS_SETS];

static int counts_program(void *desc)
{
	int i, err;

	err = pfmk_create_evtsets(desc, sets, COUNTS_SETS);
	if (err)
		return err;
	err = pfmk_write_pmcs(desc, controls, COUNTS_SETS);
	if (err) {
		for (i = 0; i < COUNTS_SETS; i++)
			if (PFM_REG_HAS_ERROR(controls[i].reg_flags))
				printk(KERN_ERR "counts: PMC %d\n", i);
		return err;
	}
	for (i = 0; i < COUNTS_SETS; i++) {
		counters[i].reg_num = 0;
		counters[i].reg_set = i;
		counters[i].reg_flags = PFM_REGFL_OVFL_NOTIFY | PFM_REGFL_RANDOM;
		counters[i].reg_value = -(u64)COUNTS_PERIOD;
		counters[i].reg_long_reset = -(u64)COUNTS_PERIOD;
		counters[i].reg_short_reset = -(u64)COUNTS_PERIOD;
		counters[i].reg_random_mask = 0xff;
		counters[i].reg_random_seed = 5;
	}
	return pfmk_write_pmds(desc, counters, COUNTS_SETS);
}

static void counts_show(void *desc)
{
	struct pfarg_setinfo info;
	struct pfarg_pmd one;

	memset(&info, 0, sizeof(info));
	info.set_id = 1;
	if (!pfmk_getinfo_evtsets(desc, &info, 1))
		printk(KERN_INFO "counts: set 1 ran %llu times, %u us left\n",
		       (unsigned long long)info.set_runs, info.set_timeout);

	memset(&one, 0, sizeof(one));
	one.reg_num = 0;
	one.reg_set = 1;
	if (!pfmk_read_pmds(desc, &one, 1))
		printk(KERN_INFO "counts: %llu\n", (unsigned long long)one.reg_value);
	if (pfmk_read_pmds(desc, counters, COUNTS_SETS))
		printk(KERN_ERR "counts: cannot read\n");
}

static int counts_reader(void *unused)
{
	union pfm_msg msg;
	ssize_t len;

	while (!kthread_should_stop()) {
		len = pfmk_read(session, &msg, sizeof(msg), 0);
		if (len < 0)
			break;
		if (len == 0)
			continue;
		if (msg.type == PFM_MSG_END)
			break;
		if (msg.type != PFM_MSG_OVFL)
			continue;
		printk(KERN_INFO "counts: CPU %u set %u overflow %llx\n",
		       msg.pfm_ovfl_msg.msg_ovfl_cpu,
		       msg.pfm_ovfl_msg.msg_active_set,
		       (unsigned long long)msg.pfm_ovfl_msg.msg_ovfl_pmds[0]);
		if (pfmk_restart(session))
			break;
	}
	while (!kthread_should_stop())
		schedule_timeout_interruptible(HZ);
	return 0;
}

static int counts_open(void **desc)
{
	struct pfarg_ctx ctx;

	memset(&ctx, 0, sizeof(ctx));
	ctx.ctx_flags = PFM_FL_SYSTEM_WIDE;
	return pfmk_create_context(&ctx, NULL, 0, &wake, desc, NULL);
}

static int counts_begin(void)
{
	struct pfarg_load load;
	int err;

	err = counts_open(&session);
	if (err)
		return err;
	err = counts_program(session);
	if (err)
		goto close;
	memset(&load, 0, sizeof(load));
	load.load_pid = smp_processor_id();
	err = pfmk_load_context(session, &load);
	if (err)
		goto close;
	err = pfmk_start(session, NULL);
	if (err)
		goto unload;
	reader = kthread_run(counts_reader, NULL, "counts");
	if (!IS_ERR(reader))
		return 0;
	err = PTR_ERR(reader);
	pfmk_stop(session);
unload:
	pfmk_unload_context(session);
close:
	pfmk_close(session);
	return err;
}

static int __init counts_init(void)
{
	init_completion(&wake);
	return counts_begin();
}

static int counts_end(void)
{
	struct pfarg_setinfo gone;
	int err;

	complete(&wake);
	kthread_stop(reader);
	err = pfmk_stop(session);
	if (err)
		return err;
	counts_show(session);
	pfmk_unload_context(session);
	memset(&gone, 0, sizeof(gone));
	gone.set_id = 1;
	err = pfmk_delete_evtsets(session, &gone, 1);
	if (err)
		printk(KERN_ERR "counts: set 1 stays\n");
	return pfmk_close(session);
}

static void __exit counts_exit(void)
{
	counts_end();
}

module_init(counts_init);
module_exit(counts_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("counts events, in perfmon2's way");
