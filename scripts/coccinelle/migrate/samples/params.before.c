// SPDX-License-Identifier: GPL-2.0
/*
 * A perfmon2 kernel client that hands everything around: handles, requests and
 * contexts are parameters, the buffer is a variable.
 */
#include <linux/completion.h>
#include <linux/module.h>
#include <linux/perfmon.h>
#include <linux/perfmon_dfl_smpl.h>

static DECLARE_COMPLETION(wake);
static void *handle;
static void *buffer;

static int params_program(void *desc, struct pfarg_pmc *pc, struct pfarg_pmd *pd,
			  struct pfarg_setdesc *set)
{
	int ret;

	set->set_id = 1;
	set->set_flags = PFM_SETFL_OVFL_SWITCH;
	ret = pfmk_create_evtsets(desc, set, 1);
	if (ret && PFM_REG_HAS_ERROR(set->set_flags))
		return -EEXIST;
	pc->reg_num = 1;
	pc->reg_value = 0x12;
	pd->reg_num = 1;
	pd->reg_value = pd->reg_short_reset;
	pd->reg_reset_pmds[0] = 1UL << 1;
	pd->reg_smpl_pmds[0] = 0;
	ret = pfmk_write_pmcs(desc, pc, 1);
	if (!ret)
		ret = pfmk_write_pmds(desc, pd, 1);
	return ret;
}

static int params_create(struct pfarg_ctx *ctx)
{
	ctx->ctx_flags = PFM_FL_SYSTEM_WIDE;
	return pfmk_create_context(ctx, NULL, 0, &wake, &handle, &buffer);
}

static u64 params_duration(void *desc, struct pfarg_setinfo *info)
{
	info->set_id = 1;
	if (pfmk_getinfo_evtsets(desc, info, 1))
		return 0;
	return info->set_act_duration + info->set_runs;
}

static unsigned int params_entries(void)
{
	struct pfm_dfl_smpl_hdr *hdr = buffer;
	struct pfm_dfl_smpl_entry *entry;
	unsigned int nr = 0;
	int i;

	entry = (struct pfm_dfl_smpl_entry *)(hdr + 1);
	for (i = 0; i < hdr->hdr_count; i++) {
		nr += entry->cpu == 0;
		entry = (struct pfm_dfl_smpl_entry *)((u64 *)(entry + 1) + 1);
	}
	return nr;
}

static bool params_poll(void *desc, union pfm_msg *msg)
{
	if (pfmk_read(desc, msg, sizeof(*msg), 1) == sizeof(*msg))
		return msg->type == PFM_MSG_OVFL;
	return false;
}

static int __init params_init(void)
{
	struct pfarg_ctx ctx = {};
	struct pfarg_pmc pc = {};
	struct pfarg_pmd pd = {};
	struct pfarg_setdesc set = {};
	struct pfarg_load load = {};
	int ret;

	if ((ret = params_create(&ctx)))
		return ret;
	ret = params_program(handle, &pc, &pd, &set);
	if (!ret)
		ret = pfmk_load_context(handle, &load);
	if (!ret)
		ret = pfmk_start(handle, NULL);
	if (ret)
		pfmk_close(handle);
	return ret;
}

static void __exit params_exit(void)
{
	struct pfarg_setinfo info = {};
	union pfm_msg msg;
	int ret;

	while (params_poll(handle, &msg)) {
		printk(KERN_INFO "params: %u\n", params_entries());
		ret = pfmk_restart(handle);
		if (ret)
			break;
	}
	printk(KERN_INFO "params: %llu\n",
	       (unsigned long long)params_duration(handle, &info));
	ret = pfmk_close(handle);
	if (ret)
		printk(KERN_ERR "params: %d\n", ret);
}

module_init(params_init);
module_exit(params_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("hands requests around, in perfmon2's way");
