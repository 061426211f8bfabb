// SPDX-License-Identifier: GPL-2.0
/*
 * AUX pages: allocation as perf does it, and the mirrored mapping
 *
 * perf allocates an AUX area only inside perf_mmap().  A session allocates its
 * own by the same rules (rb_alloc_aux() in kernel/events/ring_buffer.c), so a
 * driver's setup_aux() cannot tell the difference.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/error-injection.h>
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <linux/vmalloc.h>

#include "area.h"
#include "compat.h"

#define KDTL_AUX_GFP	(GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN | __GFP_NORETRY)

/*
 * Allocate pages of the highest order available, from @order down.  The order
 * stays in the first page's private field, where a driver looks for it.
 */
static struct page *kdtl_chunk_alloc(int node, unsigned int order)
{
	struct page *page;

	for (;;) {
		page = alloc_pages_node(node, KDTL_AUX_GFP, order);
		if (page || !order)
			break;
		order--;
	}
	if (page && order) {
		split_page(page, order);
		SetPagePrivate(page);
		set_page_private(page, order);
	}
	return page;
}

/* The order that perf tries first: 0, unless the PMU wants contiguous pages. */
static unsigned int kdtl_first_order(unsigned int nr, int caps, u64 watermark,
				     bool overwrite)
{
	unsigned int order;

	if (!(caps & (PERF_PMU_CAP_AUX_NO_SG | PERF_PMU_CAP_AUX_PREFER_LARGE)))
		return 0;

	order = overwrite ? ilog2(nr) : get_order(watermark);
	return min_t(unsigned int, order, ilog2(KMALLOC_MAX_SIZE >> PAGE_SHIFT));
}

/**
 * kdtl_pages_alloc() - allocate the pages of an AUX area
 * @nr: number of pages, a power of two
 * @cpu: the CPU near which the memory should be
 * @caps: the PMU's PERF_PMU_CAP_AUX_* capabilities
 * @watermark: in bytes; the size to try first if the PMU wants contiguous pages
 * @overwrite: with PERF_PMU_CAP_AUX_NO_SG, all pages must be contiguous
 *
 * Context: may sleep.
 * Return: an array of page addresses; NULL: memory is short.
 */
void **kdtl_pages_alloc(unsigned int nr, int cpu, int caps, u64 watermark,
			bool overwrite)
{
	const unsigned int first = kdtl_first_order(nr, caps, watermark, overwrite);
	const int node = cpu_to_node(cpu);
	unsigned int done = 0, last;
	struct page *page;
	void **pages;

	/* Or other tasks would be killed for want of memory before a page is refused here. */
	if (nr > si_mem_available())
		return NULL;
	pages = kvcalloc(nr, sizeof(*pages), GFP_KERNEL | __GFP_NOWARN);
	if (!pages)
		return NULL;

	while (done < nr) {
		page = kdtl_chunk_alloc(node, min_t(unsigned int, first, ilog2(nr - done)));
		if (!page)
			goto free;
		for (last = done + (1U << page_private(page)); done < last; done++)
			pages[done] = page_address(page++);
	}

	if ((caps & PERF_PMU_CAP_AUX_NO_SG) && overwrite &&
	    1U << page_private(virt_to_page(pages[0])) != nr)
		goto free;

	return pages;

free:
	kdtl_pages_free(pages, done);
	return NULL;
}
ALLOW_ERROR_INJECTION(kdtl_pages_alloc, NULL);

/**
 * kdtl_pages_free() - free what kdtl_pages_alloc() returned
 * @pages: array of page addresses
 * @nr: number of pages
 *
 * Context: may sleep.
 */
void kdtl_pages_free(void **pages, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct page *page = virt_to_page(pages[i]);

		ClearPagePrivate(page);
		set_page_private(page, 0);
		__free_page(page);
	}
	kvfree(pages);
}

/* A function of its own, so that tests can change the answer. */
static noinline bool kdtl_area_aliases(void)
{
	barrier();
	return cpu_dcache_is_aliasing();
}

/* Map @twice, which lists all @nr pages twice in a row, and free it. */
static int kdtl_area_vmap(struct kdtl_area *area, struct page **twice, unsigned int nr,
			  pgprot_t prot)
{
	area->size = (u64)nr << PAGE_SHIFT;
	area->base = vmap(twice, 2 * nr, VM_MAP, prot);
	kvfree(twice);
	return area->base ? 0 : -ENOMEM;
}

/* Make the array for kdtl_area_vmap(), or return ERR_PTR. */
static struct page **kdtl_area_twice(unsigned int nr)
{
	struct page **twice;

	if (kdtl_area_aliases()) {
		pr_warn_ratelimited("this CPU's data cache aliases, so AUX areas cannot be mapped twice\n");
		return ERR_PTR(-EOPNOTSUPP);
	}
	twice = kvcalloc(nr, 2 * sizeof(*twice), GFP_KERNEL | __GFP_NOWARN);
	return twice ?: ERR_PTR(-ENOMEM);
}

/**
 * kdtl_area_map() - map pages twice in a row
 * @area: filled in
 * @pages: array of page addresses
 * @nr: number of pages, a power of two
 *
 * With an aliasing data cache, a read through one mapping may miss what was
 * written through the other one.
 *
 * Context: may sleep.
 * Return: 0; -ENOMEM; or -EOPNOTSUPP with a line in the log: the data cache aliases.
 */
int kdtl_area_map(struct kdtl_area *area, void **pages, unsigned int nr)
{
	struct page **twice = kdtl_area_twice(nr);
	unsigned int i;

	if (IS_ERR(twice))
		return PTR_ERR(twice);
	for (i = 0; i < nr; i++)
		twice[i] = twice[nr + i] = virt_to_page(pages[i]);
	return kdtl_area_vmap(area, twice, nr, PAGE_KERNEL);
}
ALLOW_ERROR_INJECTION(kdtl_area_map, ERRNO);

/**
 * kdtl_area_place() - map pages of a session's caller twice in a row
 * @area: filled in
 * @pages: the pages, which may have no address
 * @nr: number of pages, a power of two
 * @write_combine: see struct kdtl_place
 *
 * Context: may sleep.
 * Return: as kdtl_area_map().
 */
int kdtl_area_place(struct kdtl_area *area, struct page **pages, unsigned int nr,
		    bool write_combine)
{
	struct page **twice = kdtl_area_twice(nr);

	if (IS_ERR(twice))
		return PTR_ERR(twice);
	memcpy(twice, pages, nr * sizeof(*twice));
	memcpy(twice + nr, pages, nr * sizeof(*twice));
	return kdtl_area_vmap(area, twice, nr,
			      write_combine ? pgprot_writecombine(PAGE_KERNEL) : PAGE_KERNEL);
}

/**
 * kdtl_area_unmap() - undo kdtl_area_map()
 * @area: the area, which nobody reads or writes any more
 *
 * Context: may sleep.
 */
void kdtl_area_unmap(struct kdtl_area *area)
{
	vunmap(area->base);
	area->base = NULL;
}
