// SPDX-License-Identifier: GPL-2.0
/*
 * A perfmon2 kernel client that samples: the default buffer format, and a
 * thread that reads the buffer in place when it is full.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/kdtl.h>
#include <linux/log2.h>
#include <linux/slab.h>

struct sampler {
	struct completion wake;
	struct kdtl_session *desc;
	struct task_struct *reader;
	unsigned long seen;
};

static struct sampler *sampler;

static void sampler_look(struct sampler *s)
{
	const void *ent_span;
	ssize_t ent_len;
	int ent_cpu;
	const struct kdtl_entry *ent;

	for_each_possible_cpu(ent_cpu) {
		ent_len = kdtl_aux_peek(s->desc, ent_cpu, &ent_span);
		if (ent_len <= 0)
			continue;
		kdtl_for_each_entry(ent, ent_span, ent_len) {
			s->seen++;
			printk(KERN_DEBUG "sampler: CPU %u pid %u at %llu\n", kdtl_entry_cpu(ent),
			       kdtl_entry_pid(ent), (unsigned long long) kdtl_entry_time(ent));
		}
		kdtl_aux_consume(s->desc, ent_cpu, ent_len);
	}
}

static int sampler_thread(void *data)
{
	struct sampler *s = data;
	struct kdtl_msg msg;

	while (!kthread_should_stop()) {
		if (kdtl_read(s->desc, &msg, sizeof(msg), false) != sizeof(msg))
			continue;
		if (msg.type == KDTL_MSG_AUX) {
			sampler_look(s);
		}
	}
	return 0;
}

static int sampler_open(struct sampler *s, size_t size)
{
	struct kdtl_session_attr ctx = {
	};
	struct kdtl_config pmc = { /* TODO kdtl: which? */
		.mask = KDTL_MASK_ALL };
	struct kdtl_counter_req pmd = {
		/* TODO kdtl: which? */
		.counter = 4, .cpu = -1,
		.flags = KDTL_COUNTER_NOTIFY,
		.value = -10000ULL,
		.long_reset = -10000ULL,
		.short_reset = -10000ULL,
	};
	int ret;

	init_completion(&s->wake);
	/* TODO kdtl: the size is that of each CPU's area */
	ctx.aux_pages = roundup_pow_of_two(DIV_ROUND_UP(size, PAGE_SIZE));
	ctx.msg_pages = 1;
	ctx.done = &s->wake;
	s->desc = kdtl_session_create(&ctx);
	ret = PTR_ERR_OR_ZERO(s->desc);
	if (ret)
		return ret;
	if ((ret = kdtl_write_config(s->desc, &pmc, 1)) ||
	    (ret = kdtl_write_counters(s->desc, &pmd, 1)) ||
	    (ret = kdtl_load(s->desc, cpumask_of(raw_smp_processor_id()))))
		goto close;
	s->reader = kthread_run(sampler_thread, s, "sampler");
	if (IS_ERR(s->reader)) {
		ret = PTR_ERR(s->reader);
		goto close;
	}
	ret = kdtl_start(s->desc);
	if (ret)
		goto stop;
	return 0;

stop:
	complete(&s->wake);
	kthread_stop(s->reader);
close:
	kdtl_session_close(s->desc);
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
	kdtl_stop(sampler->desc);
	complete(&sampler->wake);
	kthread_stop(sampler->reader);
	kdtl_session_close(sampler->desc);
	kfree(sampler);
}

module_init(sampler_init);
module_exit(sampler_exit);
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_DESCRIPTION("samples, in perfmon2's way");
