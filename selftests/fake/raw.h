/* SPDX-License-Identifier: GPL-2.0 */
/* A third party's PMU driver: writes to AUX areas by itself. */
#ifndef _KDTL_FAKE_RAW_H
#define _KDTL_FAKE_RAW_H

#include <linux/atomic.h>
#include <linux/kdtl_pmu.h>
#include <linux/percpu.h>

/* Events that may be active on a CPU at once. */
#define KDTL_RAW_EVENTS		32

struct kdtl_raw;

/**
 * struct kdtl_raw_area - what setup_aux() of a driver with its own returns
 * @raw: the driver
 * @pages: as setup_aux() got them; perf's array, valid until free_aux()
 * @nr_pages: how many
 * @cpu: of the event
 * @overwrite: the writer waits for no reader
 * @writers: transactions that are open
 */
struct kdtl_raw_area {
	struct kdtl_raw	*raw;
	void		**pages;
	int		nr_pages;
	int		cpu;
	bool		overwrite;
	atomic_t	writers;
};

/**
 * struct kdtl_raw_cpu - a CPU's active events
 * @events: all of them
 * @handles: of those whose transaction is held open
 * @privs: what kdtl_raw_begin() returned for them
 * @nr: how many
 */
struct kdtl_raw_cpu {
	struct perf_event		*events[KDTL_RAW_EVENTS];
	struct perf_output_handle	handles[KDTL_RAW_EVENTS];
	void				*privs[KDTL_RAW_EVENTS];
	unsigned int			nr;
};

/**
 * struct kdtl_raw - the driver
 * @p: what it registers
 * @cpu: the CPUs' active events
 * @hold: keep a transaction open from add() to del(), as hardware tracers do
 * @refuse: what add() returns
 * @fail_setup: how many more calls of setup_aux() succeed before one fails;
 *	negative: all succeed
 * @setups: calls of setup_aux() that succeeded
 * @frees: calls of free_aux()
 * @bad_frees: of these, in atomic context or with a transaction open
 * @on_setup: looks at the pages
 */
struct kdtl_raw {
	struct kdtl_pmu			p;
	struct kdtl_raw_cpu __percpu	*cpu;
	bool				hold;
	int				refuse;
	int				fail_setup;
	atomic_t			setups;
	atomic_t			frees;
	atomic_t			bad_frees;
	void				(*on_setup)(struct kdtl_raw_area *area);
};

int kdtl_raw_register(struct kdtl_raw *raw, const char *name, int caps,
		      bool own_setup);
void kdtl_raw_unregister(struct kdtl_raw *raw);

void *kdtl_raw_begin(struct perf_output_handle *handle, struct perf_event *event);
void kdtl_raw_end(struct perf_output_handle *handle, void *priv, unsigned long size);

/* Call @fn for each active event of @cpu, there, with interrupts off. */
int kdtl_raw_on(struct kdtl_raw *raw, int cpu,
		void (*fn)(struct perf_event *event, void *arg), void *arg);

#endif /* _KDTL_FAKE_RAW_H */
