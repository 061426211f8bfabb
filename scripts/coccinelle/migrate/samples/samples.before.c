// SPDX-License-Identifier: GPL-2.0
/*
 * A perfmon2 kernel client that samples: the default buffer format, and a
 * thread that reads the buffer in place when it is full.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/perfmon.h>
#include <linux/perfmon_dfl_smpl.h>
#include <linux/slab.h>

struct sampler {
	struct completion wake;
	void *desc;
	void *buf;
	struct task_struct *reader;
	unsigned long seen;
};

static struct sampler *sampler;

static void sampler_look(struct sampler *s)
{
	struct pfm_dfl_smpl_hdr *hdr = s->buf;
	struct pfm_dfl_smpl_entry *ent = (struct pfm_dfl_smpl_entry *)(hdr + 1);
	u64 i;

	for (i = 0; i < hdr->hdr_count; i++) {
		s->seen++;
		printk(KERN_DEBUG "sampler: CPU %u pid %u at %llu\n", ent->cpu,
		       ent->pid, (unsigned long long)ent->tstamp);
		ent++;
	}
}

static int sampler_thread(void *data)
{
	struct sampler *s = data;
	union pfm_msg msg;

	while (!kthread_should_stop()) {
		if (pfmk_read(s->desc, &msg, sizeof(msg), 0) != sizeof(msg))
			continue;
		if (msg.type == PFM_MSG_OVFL) {
			sampler_look(s);
			pfmk_restart(s->desc);
		}
	}
	return 0;
}

static int sampler_open(struct sampler *s, size_t size)
{
	struct pfm_dfl_smpl_arg arg;
	struct pfarg_ctx ctx = {
		.ctx_smpl_buf_id = PFM_DFL_SMPL_UUID,
		.ctx_flags = PFM_FL_SYSTEM_WIDE,
	};
	struct pfarg_pmc pmc = { .reg_num = 4, .reg_value = 0x53003c };
	struct pfarg_pmd pmd = {
		.reg_num = 4,
		.reg_flags = PFM_REGFL_OVFL_NOTIFY,
		.reg_value = -10000ULL,
		.reg_long_reset = -10000ULL,
		.reg_short_reset = -10000ULL,
		.reg_smpl_eventid = 1,
	};
	struct pfarg_load load = { .load_set = 0 };
	struct pfarg_start start = { .start_set = 0 };
	int ret;

	memset(&arg, 0, sizeof(arg));
	arg.buf_size = size;
	init_completion(&s->wake);
	ret = pfmk_create_context(&ctx, &arg, sizeof(arg), &s->wake, &s->desc, &s->buf);
	if (ret)
		return ret;
	if ((ret = pfmk_write_pmcs(s->desc, &pmc, 1)) ||
	    (ret = pfmk_write_pmds(s->desc, &pmd, 1)) ||
	    (ret = pfmk_load_context(s->desc, &load)))
		goto close;
	s->reader = kthread_run(sampler_thread, s, "sampler");
	if (IS_ERR(s->reader)) {
		ret = PTR_ERR(s->reader);
		goto close;
	}
	ret = pfmk_start(s->desc, &start);
	if (ret)
		goto stop;
	return 0;

stop:
	complete(&s->wake);
	kthread_stop(s->reader);
close:
	pfmk_close(s->desc);
	return ret;
}

static int __init sampler_init(void)
{
	int ret;

	sampler = kzalloc(sizeof(*sampler), GFP_KERNEL);
	if (!sampler)
		return -ENOMEM;
	ret = sampler_open(sampler, 65536);
	if (ret)
		kfree(sampler);
	return ret;
}

static void __exit sampler_exit(void)
{
	pfmk_stop(sampler->desc);
	complete(&sampler->wake);
	kthread_stop(sampler->reader);
	if (pfmk_close(sampler->desc))
		printk(KERN_ERR "sampler: still busy\n");
	kfree(sampler);
}

module_init(sampler_init);
module_exit(sampler_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("samples, in perfmon2's way");
