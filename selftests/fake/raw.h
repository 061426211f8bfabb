/* SPDX-License-Identifier: GPL-2.0 */
/* A PMU driver like a third party's, which writes to AUX areas itself. */
#ifndef _KDTL_FAKE_RAW_H
#define _KDTL_FAKE_RAW_H

#include <linux/atomic.h>
#include <linux/kdtl_pmu.h>
#include <linux/percpu.h>

/* At most so many events are active on a CPU at once. */
#define KDTL_RAW_EVENTS		32

struct kdtl_raw;

/**
 * struct kdtl_raw_area - an area that the driver's own setup_aux() has set up
 * @raw: the driver
 * @pages: as setup_aux() got them; perf's array, valid until free_aux()
 * @nr_pages: number of @pages
 * @cpu: the event's CPU
 * @overwrite: the writer waits for no reader
 * @writers: open transactions
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
 * @events: the active events
 * @handles: by event: its transaction, if that is held open
 * @privs: by event: what kdtl_raw_begin() returned for it
 * @nr: number of active events
 */
struct kdtl_raw_cpu {
	struct perf_event		*events[KDTL_RAW_EVENTS];
	struct perf_output_handle	handles[KDTL_RAW_EVENTS];
	void				*privs[KDTL_RAW_EVENTS];
	unsigned int			nr;
};

/**
 * struct kdtl_raw - the driver
 * @p: what the driver registers with kdtl
 * @cpu: the CPUs' active events
 * @hold: keep a transaction open from add() to del(), as hardware tracers do
 * @refuse: if not 0, add() fails with this errno
 * @fail_setup: how many more calls of setup_aux() succeed before one fails;
 *	negative: all succeed
 * @setups: calls of setup_aux() that succeeded
 * @frees: calls of free_aux()
 * @bad_frees: calls of free_aux() in atomic context or with a transaction open
 * @on_setup: if not NULL, called by setup_aux() to look at the pages
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

/* Calls @fn on @cpu, with interrupts off, for each active event of that CPU. */
int kdtl_raw_on(struct kdtl_raw *raw, int cpu,
		void (*fn)(struct perf_event *event, void *arg), void *arg);

#endif /* _KDTL_FAKE_RAW_H */
