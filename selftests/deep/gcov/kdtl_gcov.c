// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_gcov: tells which lines have run, on kernels that were built without gcov
 *
 * The other modules are built with gcc's counters (selftests/deep/coverage.sh) and with
 * -fprofile-info-section=_kprobe_blacklist.  That is a section of pointers that the module loader
 * finds and notes in struct module; kprobes skips those of them that do not point to a function.
 * When a module goes, its counters are added to what was counted before.  debugfs has them as the
 * .gcda files that the gcov tool reads.
 *
 * Load it first: the other modules need __gcov_merge_add().
 */
#define pr_fmt(fmt) "kdtl_gcov: " fmt

#include <linux/debugfs.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>

#if !defined(CONFIG_CC_IS_GCC) || __GNUC__ < 12 || __GNUC__ > 13
#error "kdtl_gcov knows the layout of gcc 12 and 13"
#endif

/* The format that gcc 12 and 13 emit. */
#define GCOV_COUNTERS		8
#define GCOV_MAGIC		0x67636461	/* "gcda" */
#define GCOV_TAG_FUNCTION	0x01000000
#define GCOV_TAG_COUNTER(type)	(0x01a10000 + ((type) << 17))

struct gcov_ctr_info {
	u32	num;
	s64	*values;
};

struct gcov_info;

struct gcov_fn_info {
	const struct gcov_info	*key;
	u32			ident;
	u32			lineno_checksum;
	u32			cfg_checksum;
	struct gcov_ctr_info	ctrs[];	/* of the counters with a merge function */
};

struct gcov_info {
	u32			version;
	struct gcov_info	*next;
	u32			stamp;
	u32			checksum;
	const char		*filename;
	void			(*merge[GCOV_COUNTERS])(s64 *counters, u32 nr);
	u32			n_functions;
	struct gcov_fn_info	**functions;
};

/**
 * struct gcov_unit - the counters of a source file, over all times that it was loaded
 * @node: in the list of all units
 * @name: the name of its .gcda file
 * @stamp: tells one build from another
 * @blob: the content of the .gcda file
 */
struct gcov_unit {
	struct list_head		node;
	char				*name;
	u32				stamp;
	struct debugfs_blob_wrapper	blob;
};

static LIST_HEAD(gcov_units);
static DEFINE_MUTEX(gcov_lock);		/* protects the list and its units */
static struct dentry *gcov_dir;

/* Only its address matters: it marks counters that are to be added up. */
void __gcov_merge_add(s64 *counters, u32 nr);
void __gcov_merge_add(s64 *counters, u32 nr)
{
}
EXPORT_SYMBOL_GPL(__gcov_merge_add);

/* Writes to @to or, if that is NULL, only counts bytes. */
struct gcov_writer {
	void	*to;
	size_t	pos;
	bool	add;	/* add counters to those that are there */
};

static void gcov_put32(struct gcov_writer *w, u32 value)
{
	if (w->to)
		memcpy(w->to + w->pos, &value, sizeof(value));
	w->pos += sizeof(value);
}

static void gcov_put_counter(struct gcov_writer *w, s64 value)
{
	s64 old = 0;

	if (w->to) {
		if (w->add)
			memcpy(&old, w->to + w->pos, sizeof(old));
		value += old;
		memcpy(w->to + w->pos, &value, sizeof(value));
	}
	w->pos += sizeof(value);
}

static void gcov_write_fn(struct gcov_writer *w, const struct gcov_info *info,
			  const struct gcov_fn_info *fn)
{
	const struct gcov_ctr_info *ctr = fn->ctrs;
	unsigned int type;
	u32 i;

	gcov_put32(w, GCOV_TAG_FUNCTION);
	gcov_put32(w, 3 * sizeof(u32));
	gcov_put32(w, fn->ident);
	gcov_put32(w, fn->lineno_checksum);
	gcov_put32(w, fn->cfg_checksum);
	for (type = 0; type < GCOV_COUNTERS; type++) {
		if (!info->merge[type])
			continue;
		gcov_put32(w, GCOV_TAG_COUNTER(type));
		gcov_put32(w, ctr->num * sizeof(s64));
		for (i = 0; i < ctr->num; i++)
			gcov_put_counter(w, ctr->values[i]);
		ctr++;
	}
}

static size_t gcov_write(struct gcov_writer *w, const struct gcov_info *info)
{
	u32 i;

	gcov_put32(w, GCOV_MAGIC);
	gcov_put32(w, info->version);
	gcov_put32(w, info->stamp);
	gcov_put32(w, info->checksum);
	for (i = 0; i < info->n_functions; i++) {
		/* The linker may have kept the copy of a function that another file has. */
		if (info->functions[i] && info->functions[i]->key == info)
			gcov_write_fn(w, info, info->functions[i]);
	}
	return w->pos;
}

static struct gcov_unit *gcov_find(const char *name)
{
	struct gcov_unit *unit;

	list_for_each_entry(unit, &gcov_units, node) {
		if (!strcmp(unit->name, name))
			return unit;
	}
	return NULL;
}

/* The name of a debugfs file must have no slashes. */
static char *gcov_flat_name(const char *path)
{
	char *name = kstrdup(path, GFP_KERNEL);

	if (name)
		strreplace(name, '/', '#');
	return name;
}

static int gcov_unit_add(char *name, const struct gcov_info *info)
{
	struct gcov_writer w = {};
	struct gcov_unit *unit;

	unit = kzalloc(sizeof(*unit), GFP_KERNEL);
	if (!unit)
		return -ENOMEM;
	unit->blob.size = gcov_write(&w, info);
	unit->blob.data = kvzalloc(unit->blob.size, GFP_KERNEL);
	if (!unit->blob.data) {
		kfree(unit);
		return -ENOMEM;
	}
	w = (struct gcov_writer) { .to = unit->blob.data };
	gcov_write(&w, info);
	unit->name = name;
	unit->stamp = info->stamp;
	list_add_tail(&unit->node, &gcov_units);
	debugfs_create_blob(name, 0400, gcov_dir, &unit->blob);
	return 0;
}

static int gcov_take(const struct gcov_info *info)
{
	char *name = gcov_flat_name(info->filename);
	struct gcov_unit *unit;
	struct gcov_writer w;
	int err;

	if (!name)
		return -ENOMEM;
	unit = gcov_find(name);
	if (!unit) {
		err = gcov_unit_add(name, info);
		if (err)
			kfree(name);
		return err;
	}
	kfree(name);
	if (unit->stamp != info->stamp)
		return -ESTALE;
	w = (struct gcov_writer) { .to = unit->blob.data, .add = true };
	gcov_write(&w, info);
	return 0;
}

static int gcov_module_event(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct module *mod = data;
	const struct gcov_info *info;
	unsigned int i;
	int err;

	if (event != MODULE_STATE_GOING || strncmp(mod->name, "kdtl", 4))
		return NOTIFY_DONE;

	mutex_lock(&gcov_lock);
	for (i = 0; i < mod->num_kprobe_blacklist; i++) {
		info = (const struct gcov_info *)mod->kprobe_blacklist[i];
		err = gcov_take(info);
		if (err)
			pr_err("%s: not counted (%d)\n", info->filename, err);
	}
	mutex_unlock(&gcov_lock);
	return NOTIFY_OK;
}

static struct notifier_block gcov_module_nb = {
	.notifier_call = gcov_module_event,
};

static int __init kdtl_gcov_init(void)
{
	gcov_dir = debugfs_create_dir("kdtl_gcov", NULL);
	return register_module_notifier(&gcov_module_nb);
}

static void __exit kdtl_gcov_exit(void)
{
	struct gcov_unit *unit, *next;

	unregister_module_notifier(&gcov_module_nb);
	debugfs_remove(gcov_dir);
	list_for_each_entry_safe(unit, next, &gcov_units, node) {
		kvfree(unit->blob.data);
		kfree(unit->name);
		kfree(unit);
	}
}

module_init(kdtl_gcov_init);
module_exit(kdtl_gcov_exit);

MODULE_DESCRIPTION("gcov counters of kdtl's modules");
MODULE_LICENSE("GPL");
