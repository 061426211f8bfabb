// SPDX-License-Identifier: GPL-2.0
/*
 * A perfmon2 kernel client that hands everything around: handles, requests and
 * contexts are parameters, the buffer is a variable.
 */
#include <linux/completion.h>
#include <linux/module.h>
#include <linux/kdtl.h>
#include <linux/log2.h>

static DECLARE_COMPLETION(wake);
static struct kdtl_session *handle;

static int params_program(struct kdtl_session *desc, struct kdtl_config *pc, struct kdtl_counter_req *pd,
			  struct kdtl_evtset *set)
{
	int ret;

	set->id = 1;
	/* TODO kdtl: after how many overflows? */
	set->overflows = 1;
	ret = kdtl_create_evtsets(desc, set, 1);
	if (ret && set->error)
		return -EEXIST;
	/* TODO kdtl: which dispatches? KDTL_MASK_* */
	pc->mask = KDTL_MASK_ALL;
	/* TODO kdtl: which counter? enum kdtl_counter */
	pd->counter = 1;
	pd->cpu = -1;
	pd->value = pd->short_reset;
	/* TODO kdtl: which counters? 1 << counter */
	pd->resets = 1UL << 1;
	ret = kdtl_write_config(desc, pc, 1);
	if (!ret)
		ret = kdtl_write_counters(desc, pd, 1);
	return ret;
}

static int params_create(struct kdtl_session_attr *ctx)
{
	/* TODO kdtl: pages of each CPU's area, a power of two */
	ctx->aux_pages = 64;
	ctx->msg_pages = 1;
	ctx->done = &wake;
	handle = kdtl_session_create(ctx);
	return PTR_ERR_OR_ZERO(handle);
}

static u64 params_duration(struct kdtl_session *desc, struct kdtl_evtset_info *info)
{
	info->id = 1;
	info->cpu = -1;
	if (kdtl_getinfo_evtsets(desc, info, 1))
		return 0;
	return info->active /* TODO kdtl: ns, not cycles */ + info->runs;
}

static unsigned int params_entries(void)
{
	const void *entry_span;
	ssize_t entry_len;
	int entry_cpu;
	const struct kdtl_entry *entry;
	unsigned int nr = 0;

	for_each_possible_cpu(entry_cpu) {
		entry_len = kdtl_aux_peek(handle, entry_cpu, &entry_span);
		if (entry_len <= 0)
			continue;
		kdtl_for_each_entry(entry, entry_span, entry_len) {
			nr += kdtl_entry_cpu(entry) == 0;
		}
		kdtl_aux_consume(handle, entry_cpu, entry_len);
	}
	return nr;
}

static bool params_poll(struct kdtl_session *desc, struct kdtl_msg *msg)
{
	if (kdtl_read(desc, msg, sizeof(*msg), true) == sizeof(*msg))
		return msg->type == KDTL_MSG_AUX;
	return false;
}

static int __init params_init(void)
{
	struct kdtl_session_attr ctx = {};
	struct kdtl_config pc = {};
	struct kdtl_counter_req pd = {};
	struct kdtl_evtset set = {};
	int ret;

	if ((ret = params_create(&ctx)))
		return ret;
	ret = params_program(handle, &pc, &pd, &set);
	if (!ret)
		ret = kdtl_load(handle, cpumask_of(raw_smp_processor_id()));
	if (!ret)
		ret = kdtl_start(handle);
	if (ret)
		kdtl_session_close(handle);
	return ret;
}

static void __exit params_exit(void)
{
	struct kdtl_evtset_info info = {};
	struct kdtl_msg msg;
	int ret;

	while (params_poll(handle, &msg)) {
		printk(KERN_INFO "params: %u\n", params_entries());
		ret = 0;
		if (ret)
			break;
	}
	printk(KERN_INFO "params: %llu\n",
	       (unsigned long long)params_duration(handle, &info));
	kdtl_session_close(handle);
	ret = 0;
	if (ret)
		printk(KERN_ERR "params: %d\n", ret);
}

module_init(params_init);
module_exit(params_exit);
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_DESCRIPTION("hands requests around, in perfmon2's way");
