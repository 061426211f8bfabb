// SPDX-License-Identifier: GPL-2.0
/*
 * Areas in reserved memory: the next boot prints what a reset has left of them
 *
 * A machine whose CPUs all hang never gets to panic().  If somebody resets it, memory that
 * the next kernel leaves alone may still have its contents.  So the session's areas are in
 * such memory from the beginning: writing an entry costs nothing more.  A clock is added
 * each second.  last.c reads all of it.
 */
#define pr_fmt(fmt) "kdtl_recorder: " fmt

#include <linux/debugfs.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/utsname.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "../../core/compat.h"
#include "last.h"
#include "reserved.h"
#include "table.h"

static unsigned long long mem_address;
module_param(mem_address, ullong, 0444);
MODULE_PARM_DESC(mem_address, "physical address of reserved memory (memmap=) in which to keep the entries; the next boot prints what a reset has left there");

static unsigned long long mem_size;
module_param(mem_size, ullong, 0444);
MODULE_PARM_DESC(mem_size, "size of the reserved memory in bytes");

static char *mem_name;
module_param(mem_name, charp, 0444);
MODULE_PARM_DESC(mem_name, "name of reserved memory (reserve_mem=) to use instead of an address and a size");

static bool mem_wc;
module_param(mem_wc, bool, 0444);
MODULE_PARM_DESC(mem_wc, "write to reserved memory past the caches, for a machine whose reset drops the caches' contents (default N)");

/**
 * struct reserved - the memory, and what was found there
 * @start: its physical address
 * @size: its size
 * @region: the claim on it; NULL: the kernel has reserved it
 * @pages: its pages
 * @page: its mapping, which begins with the first page
 * @place: what the session gets of it
 * @session: the session while it writes there
 * @timebase: for the clocks
 * @seq: number of the last clock
 * @last: what the last boot left
 * @entries: by CPU, inside @file
 * @nr: their number, by CPU
 * @file: the recording of it
 */
static struct reserved {
	phys_addr_t			start;
	phys_addr_t			size;
	struct resource			*region;
	struct page			**pages;
	struct last_page		*page;
	struct kdtl_place		place;
	struct kdtl_session		*session;
	struct kdtl_timebase		timebase;
	u64				seq;
	struct last			last;
	const struct kdtl_entry		**entries;
	unsigned int			*nr;
	struct debugfs_blob_wrapper	file;
} reserved;

/* ------------------------------------------------------------------ the memory */

/* Find the memory, and make sure that it is nobody else's. */
static int reserved_find(void)
{
	int err = 0;

	if (mem_name) {
		err = kdtl_reserve_mem_find(mem_name, &reserved.start, &reserved.size);
		if (err)
			pr_err("mem_name=%s: %s\n", mem_name, err == -EOPNOTSUPP ?
			       "this kernel has no reserve_mem=" :
			       "there is no reserve_mem= of that name");
		return err;
	}
	reserved.start = mem_address;
	reserved.size = mem_size;
	/* Nor may it be cut off where addresses have 32 bits, or end before it begins. */
	if (!mem_address || !mem_size || reserved.start != mem_address ||
	    reserved.size != mem_size || mem_address + mem_size < mem_address) {
		pr_err("mem_address=%#llx mem_size=%#llx: must both be set, to memory that the machine can have\n",
		       mem_address, mem_size);
		return -EINVAL;
	}
	reserved.region = request_mem_region(reserved.start, reserved.size, "kdtl_recorder");
	if (!reserved.region) {
		pr_err("mem_address=%#llx mem_size=%#llx: is in use: reserve it, on x86 with memmap=%lluK$%#llx\n",
		       mem_address, mem_size, mem_size >> 10, mem_address);
		return -EBUSY;
	}
	return 0;
}

/* Is the memory large enough, and can it be mapped? */
static int reserved_check(unsigned int aux_pages)
{
	const u64 need = ((u64)nr_cpu_ids * aux_pages + 1) << PAGE_SHIFT;
	phys_addr_t at;

	/* Only whole pages are mapped. */
	reserved.size = round_down(reserved.size, PAGE_SIZE);
	if (!PAGE_ALIGNED(reserved.start) || reserved.size < need) {
		pr_err("%pa bytes of memory at %pa: must begin with a page, and %u CPUs with %u pages need %llu bytes\n",
		       &reserved.size, &reserved.start, nr_cpu_ids, aux_pages, need);
		return -EINVAL;
	}
	for (at = reserved.start; at < reserved.start + reserved.size; at += PAGE_SIZE) {
		if (!pfn_valid(PHYS_PFN(at))) {
			pr_err("memory at %pa: the kernel has no struct page for it\n", &at);
			return -EINVAL;
		}
	}
	return 0;
}

static int reserved_map(void)
{
	const unsigned int nr = reserved.size >> PAGE_SHIFT;
	unsigned int i;

	reserved.pages = kvcalloc(nr, sizeof(*reserved.pages), GFP_KERNEL);
	if (!reserved.pages)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		reserved.pages[i] = pfn_to_page(PHYS_PFN(reserved.start) + i);
	reserved.page = vmap(reserved.pages, nr, VM_MAP,
			     mem_wc ? pgprot_writecombine(PAGE_KERNEL) : PAGE_KERNEL);
	return reserved.page ? 0 : -ENOMEM;
}

/* ------------------------------------------------------- what the last boot left */

/* Copy all entries, as a recording. */
static int reserved_take(void)
{
	const unsigned int nr_cpus = reserved.last.head.nr_cpus;

	reserved.entries = kvcalloc(nr_cpus, sizeof(*reserved.entries), GFP_KERNEL);
	reserved.nr = kvcalloc(nr_cpus, sizeof(*reserved.nr), GFP_KERNEL);
	reserved.file.data = vzalloc(last_file_size(&reserved.last));
	if (!reserved.entries || !reserved.nr || !reserved.file.data)
		return -ENOMEM;
	reserved.file.size = last_file(&reserved.last, reserved.file.data, reserved.entries,
				       reserved.nr);
	return 0;
}

static void reserved_forget(void)
{
	vfree(reserved.file.data);
	kvfree(reserved.nr);
	kvfree(reserved.entries);
	reserved.file.data = NULL;
	reserved.nr = NULL;
	reserved.entries = NULL;
}

/**
 * reserved_show() - print what the last boot left, and offer it as a recording
 * @dir: the folder for the file; remove both before reserved_close()
 * @lines: most rows
 * @ms: how far to go back
 *
 * Context: may sleep.
 */
void reserved_show(struct dentry *dir, unsigned int lines, unsigned int ms)
{
	const char *release = reserved.last.head.release;

	if (!reserved.file.data)
		return;
	debugfs_create_blob("last", 0400, dir, &reserved.file);
	pr_warn("reserved memory: this was left by kernel %*pE\n", (int)strlen(release), release);
	table_print_last(&reserved.last, reserved.entries, reserved.nr, lines, ms);
}

/* ------------------------------------------------------------------ this boot */

/* Write the clocks in turn: while one is being written its CRC is wrong, and the other holds. */
static void reserved_put_clock(void)
{
	struct last_clock *c = &reserved.page->clock[reserved.seq % LAST_CLOCKS], now = {};

	if (kdtl_timebase_sync(reserved.session, &reserved.timebase))
		return;
	now.seq = ++reserved.seq;
	now.ticks = reserved.timebase.ticks;
	now.real = reserved.timebase.mono + reserved.timebase.real;
	memcpy(now.boot, reserved.page->head.boot, LAST_BOOT);
	strscpy(now.host, init_utsname()->nodename, sizeof(now.host));
	now.crc = last_clock_crc(&now);
	*c = now;
}

static void reserved_tick(struct work_struct *unused);
static DECLARE_DELAYED_WORK(reserved_work, reserved_tick);

static void reserved_tick(struct work_struct *unused)
{
	reserved_put_clock();
	queue_delayed_work(system_dfl_wq, &reserved_work, HZ);
}

/**
 * reserved_open() - find the memory, and take what the last boot left there
 * @aux_pages: pages of each CPU
 *
 * Nothing happens if no parameter names memory.
 *
 * Context: may sleep.
 * Return: 0, or a negative error with a line in the log; call reserved_close() in both cases.
 */
int reserved_open(unsigned int aux_pages)
{
	const char *why;
	int err;

	if (!mem_name && !mem_address && !mem_size)
		return 0;
	err = reserved_find() ?: reserved_check(aux_pages) ?: reserved_map();
	if (err)
		return err;
	why = last_open(&reserved.last, reserved.page, reserved.size);
	if (!why && reserved.last.head.nr_cpus > nr_cpu_ids)
		why = "it had more CPUs";
	if (!why && reserved_take()) {
		why = "no memory to copy it";
		reserved_forget();
	}
	if (why)
		pr_info("nothing of an earlier boot in reserved memory: %s\n", why);
	reserved.place.pages = reserved.pages + 1;
	reserved.place.nr = nr_cpu_ids * aux_pages;
	reserved.place.write_combine = mem_wc;
	return 0;
}

/**
 * reserved_place() - get the place of the session's areas
 *
 * Context: any.
 * Return: the value for kdtl_session_attr::place.
 */
const struct kdtl_place *reserved_place(void)
{
	return reserved.page ? &reserved.place : NULL;
}

/**
 * reserved_begin() - write the header, so that the next boot can read what follows
 * @s: the session, which is not started yet
 *
 * Before this, the memory has what the last boot left there: whoever could not load the recorder
 * can try again.
 *
 * Context: may sleep.
 * Return: 0 or a negative error.
 */
int reserved_begin(struct kdtl_session *s)
{
	struct last_header head = {
		.magic		= LAST_MAGIC,
		.version	= LAST_VERSION,
		.size		= sizeof(head),
		.page_size	= PAGE_SIZE,
		.nr_cpus	= nr_cpu_ids,
		.aux_pages	= reserved.place.nr / nr_cpu_ids,
	};
	struct kdtl_aux_info info;
	int err;

	if (!reserved.page)
		return 0;
	err = kdtl_aux_info(s, -1, &info) ?: kdtl_timebase_sync(s, &reserved.timebase);
	if (err)
		return err;
	memset(reserved.page, 0, reserved.size);
	head.flags = info.tasks ? LAST_TASKS : 0;
	head.tb_freq = info.tb_freq;
	head.tb_boot = info.tb_boot;
	head.begun = reserved.timebase.ticks;
	get_random_bytes(head.boot, sizeof(head.boot));
	strscpy(head.source, info.source, sizeof(head.source));
	strscpy(head.release, init_utsname()->release, sizeof(head.release));
	head.crc = last_header_crc(&head);
	reserved.page->head = head;
	reserved.session = s;
	reserved_tick(NULL);
	return 0;
}

/**
 * reserved_end() - undo reserved_begin(), if that was done, and leave nothing for the next boot
 *
 * Context: may sleep, before the session is closed.
 */
void reserved_end(void)
{
	if (!reserved.session)
		return;
	cancel_delayed_work_sync(&reserved_work);
	memset(reserved.page, 0, sizeof(*reserved.page));
}

/**
 * reserved_close() - undo reserved_open(), after the session was closed
 *
 * Context: may sleep.
 */
void reserved_close(void)
{
	reserved_forget();
	if (reserved.page)
		vunmap(reserved.page);
	kvfree(reserved.pages);
	if (reserved.region)
		release_mem_region(reserved.region->start, resource_size(reserved.region));
}
