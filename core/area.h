/* SPDX-License-Identifier: GPL-2.0 */
/* AUX pages: allocation as perf does it, and the mirrored mapping. */
#ifndef _KDTL_AREA_H
#define _KDTL_AREA_H

#include <linux/kdtl_pmu.h>

void **kdtl_pages_alloc(unsigned int nr, int cpu, int caps, u64 watermark,
			bool overwrite);
void kdtl_pages_free(void **pages, unsigned int nr);

int kdtl_area_map(struct kdtl_area *area, void **pages, unsigned int nr);
int kdtl_area_place(struct kdtl_area *area, struct page **pages, unsigned int nr,
		    bool write_combine);
void kdtl_area_unmap(struct kdtl_area *area);

#endif /* _KDTL_AREA_H */
