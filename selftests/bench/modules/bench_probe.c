// SPDX-License-Identifier: GPL-2.0
/*
 * bench_probe - what a module could attach to sched_switch instead of kdtl
 *
 * The same 48-byte record goes into each kind of buffer that the kernel offers.  Nothing is read
 * meanwhile and nothing is woken, so only the producer is measured.  The buffers hold a whole run,
 * so no record is refused.
 */
#define pr_fmt(fmt) "bench_probe: " fmt

#include <linux/debugfs.h>
#include <linux/kfifo.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/relay.h>
#include <linux/ring_buffer.h>
#include <linux/tracepoint.h>
#include <linux/vmalloc.h>
#include <trace/events/sched.h>

#include "../../../core/compat.h"
#include "probe.h"
#include "record.h"

static char *what = "empty";
module_param(what, charp, 0444);
MODULE_PARM_DESC(what, "what the probe does: empty (default), record, records, relay, kfifo, ring_buffer, or all: for bench_native");

static unsigned int records = 65536;
module_param(records, uint, 0444);
MODULE_PARM_DESC(records, "records of each CPU, a power of two (default 65536)");

/* ----------------------------------------------------- empty: a tracer's floor */

static void bench_empty(void *data, bool preempt, struct task_struct *prev,
			struct task_struct *next, unsigned int prev_state)
{
}

static int bench_nothing_init(void)
{
	return 0;
}

static void bench_nothing(void)
{
}

/* ---------------------------------------------------- record: a record's floor */

#define BENCH_RINGS	8

/* A ring that overwrites needs one mask, no test for room, and one release. */
struct bench_ring {
	struct bench_record	*base;
	unsigned long		head;
};

static DEFINE_PER_CPU(struct bench_ring [BENCH_RINGS], bench_rings);
static u64 bench_mask __read_mostly;

static void bench_record(void *data, bool preempt, struct task_struct *prev,
			 struct task_struct *next, unsigned int prev_state)
{
	struct bench_ring *ring = this_cpu_ptr(bench_rings);
	const unsigned long head = ring->head;

	bench_record_fill(&ring->base[head & bench_mask], prev, next, prev_state);
	/* Nobody reads; a reader would acquire head and then read. */
	smp_store_release(&ring->head, head + 1);
}

static void bench_rings_exit(void)
{
	int cpu, i;

	for_each_possible_cpu(cpu) {
		for (i = 0; i < BENCH_RINGS; i++) {
			vfree(per_cpu(bench_rings, cpu)[i].base);
			per_cpu(bench_rings, cpu)[i].base = NULL;
		}
	}
}

static int bench_rings_init(unsigned int nr)
{
	const size_t size = array_size(records, sizeof(struct bench_record));
	struct bench_ring *ring;
	int cpu, i;

	bench_mask = records - 1;
	for_each_possible_cpu(cpu) {
		ring = per_cpu(bench_rings, cpu);
		for (i = 0; i < nr; i++) {
			if (!ring[i].base)
				ring[i].base = vzalloc_node(size, cpu_to_node(cpu));
			if (!ring[i].base) {
				bench_rings_exit();
				return -ENOMEM;
			}
		}
	}
	return 0;
}

static int bench_record_init(void)
{
	return bench_rings_init(1);
}

/* ------------------------------------- records: the floor of each further record */

/*
 * Put the same record into each ring, which is the least that sessions need.  The words are built
 * in registers: had they been written to memory in smaller pieces, reading them would stall.
 */
static void bench_records(void *data, bool preempt, struct task_struct *prev,
			  struct task_struct *next, unsigned int prev_state)
{
	const u64 time = bench_now(), pids = (u64)next->pid << 32 | (u32)prev->pid,
		  where = (u64)next->prio << 32 | raw_smp_processor_id();
	struct bench_ring *ring = this_cpu_ptr(bench_rings);
	struct bench_ring *const end = ring + BENCH_RINGS;

	for (; ring < end; ring++) {
		const unsigned long head = ring->head;
		u64 *to = (u64 *)&ring->base[head & bench_mask];

		to[0] = time;
		to[1] = pids;
		to[2] = where;
		to[3] = prev_state;
		memcpy(&to[4], next->comm, TASK_COMM_LEN);
		/* As in bench_record(). */
		smp_store_release(&ring->head, head + 1);
	}
}

static_assert(sizeof(struct bench_record) == 4 * sizeof(u64) + TASK_COMM_LEN);

static int bench_records_init(void)
{
	return bench_rings_init(BENCH_RINGS);
}

/* ------------------------------------------------------------------------ relay */

#define BENCH_SUBBUFS	16

static struct rchan *bench_chan;

static void bench_relay(void *data, bool preempt, struct task_struct *prev,
			struct task_struct *next, unsigned int prev_state)
{
	struct bench_record r;

	bench_record_fill(&r, prev, next, prev_state);
	/* The switch has interrupts off, so relay's cheaper variant will do. */
	__relay_write(bench_chan, &r, sizeof(r));
}

static void bench_relay_reset(void)
{
	relay_reset(bench_chan);
}

static struct dentry *bench_relay_create(const char *name, struct dentry *parent,
					 umode_t mode, struct rchan_buf *buf,
					 int *is_global)
{
	return debugfs_create_file(name, mode, parent, buf, &relay_file_operations);
}

static int bench_relay_remove(struct dentry *dentry)
{
	debugfs_remove(dentry);
	return 0;
}

static const struct rchan_callbacks bench_relay_callbacks = {
	.create_buf_file	= bench_relay_create,
	.remove_buf_file	= bench_relay_remove,
};

static int bench_relay_init(void)
{
	const size_t size = array_size(records, sizeof(struct bench_record));

	bench_chan = relay_open("bench_probe", NULL, size / BENCH_SUBBUFS,
				BENCH_SUBBUFS, &bench_relay_callbacks, NULL);
	return bench_chan ? 0 : -ENOMEM;
}

static void bench_relay_exit(void)
{
	relay_close(bench_chan);
}

/* ------------------------------------------------------------------------ kfifo */

static DEFINE_PER_CPU(struct kfifo, bench_fifo);

static void bench_kfifo(void *data, bool preempt, struct task_struct *prev,
			struct task_struct *next, unsigned int prev_state)
{
	struct bench_record r;

	bench_record_fill(&r, prev, next, prev_state);
	kfifo_in(this_cpu_ptr(&bench_fifo), &r, sizeof(r));
}

static void bench_kfifo_reset(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		kfifo_reset(per_cpu_ptr(&bench_fifo, cpu));
}

static void bench_kfifo_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		vfree(per_cpu_ptr(&bench_fifo, cpu)->kfifo.data);
}

static int bench_kfifo_init(void)
{
	const size_t size = roundup_pow_of_two(array_size(records,
							  sizeof(struct bench_record)));
	int cpu;

	for_each_possible_cpu(cpu) {
		void *buf = vzalloc_node(size, cpu_to_node(cpu));

		if (!buf) {
			bench_kfifo_exit();
			return -ENOMEM;
		}
		kfifo_init(per_cpu_ptr(&bench_fifo, cpu), buf, size);
	}
	return 0;
}

/* ------------------------------------------------------- ring_buffer: ftrace's */

static struct trace_buffer *bench_buffer;

static void bench_ring_buffer(void *data, bool preempt, struct task_struct *prev,
			      struct task_struct *next, unsigned int prev_state)
{
	struct ring_buffer_event *event;

	event = ring_buffer_lock_reserve(bench_buffer, sizeof(struct bench_record));
	if (!event)
		return;
	bench_record_fill(ring_buffer_event_data(event), prev, next, prev_state);
	/* v6.3, "ring_buffer: Remove unused "event" parameter" */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	ring_buffer_unlock_commit(bench_buffer, event);
#else
	ring_buffer_unlock_commit(bench_buffer);
#endif
}

static int bench_ring_buffer_init(void)
{
	/* This leaves room for the buffer's own headers. */
	bench_buffer = ring_buffer_alloc(2 * array_size(records, sizeof(struct bench_record)),
					 RB_FL_OVERWRITE);
	return bench_buffer ? 0 : -ENOMEM;
}

static void bench_ring_buffer_exit(void)
{
	ring_buffer_free(bench_buffer);
}

/* -------------------------------------------------------------------------------- */

static const struct bench_kind bench_kinds[] = {
	{ "empty", bench_empty, bench_nothing_init, bench_nothing, bench_nothing },
	{ "record", bench_record, bench_record_init, bench_nothing, bench_rings_exit },
	{ "records", bench_records, bench_records_init, bench_nothing, bench_rings_exit },
	{ "relay", bench_relay, bench_relay_init, bench_relay_reset, bench_relay_exit },
	{ "kfifo", bench_kfifo, bench_kfifo_init, bench_kfifo_reset, bench_kfifo_exit },
	{ "ring_buffer", bench_ring_buffer, bench_ring_buffer_init, bench_nothing,
	  bench_ring_buffer_exit },
};

/**
 * bench_kind_find() - find a kind, for a module that calls the probes itself
 * @name: its name, as for what=
 *
 * Return: the kind, or NULL if there is none of this name.
 */
const struct bench_kind *bench_kind_find(const char *name)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(bench_kinds); i++) {
		if (!strcmp(bench_kinds[i].name, name))
			return &bench_kinds[i];
	}
	return NULL;
}
EXPORT_SYMBOL_GPL(bench_kind_find);

static const struct bench_kind *bench_kind;
static struct tracepoint *bench_tp;

static void bench_find_tp(struct tracepoint *tp, void *priv)
{
	if (!strcmp(tp->name, "sched_switch"))
		bench_tp = tp;
}

/* Called for what=all. */
static int bench_all_init(void)
{
	int i, err;

	for (i = 0; i < ARRAY_SIZE(bench_kinds); i++) {
		err = bench_kinds[i].init();
		if (err) {
			while (i--)
				bench_kinds[i].exit();
			return err;
		}
	}
	return 0;
}

static void bench_all_exit(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(bench_kinds); i++)
		bench_kinds[i].exit();
}

static int __init bench_probe_init(void)
{
	const bool all = !strcmp(what, "all");
	int err;

	bench_kind = bench_kind_find(what);
	if ((!bench_kind && !all) || !is_power_of_2(records) || records < BENCH_SUBBUFS) {
		pr_err("what=%s records=%u: no such thing, or no power of two from %d\n",
		       what, records, BENCH_SUBBUFS);
		return -EINVAL;
	}
	if (all)
		return bench_all_init();
	for_each_kernel_tracepoint(bench_find_tp, NULL);
	if (!bench_tp) {
		pr_err("this kernel has no sched_switch tracepoint\n");
		return -ENODEV;
	}

	err = bench_kind->init();
	if (err)
		return err;
	err = tracepoint_probe_register(bench_tp, bench_kind->probe, NULL);
	if (err)
		bench_kind->exit();
	return err;
}

static void __exit bench_probe_exit(void)
{
	if (!bench_kind) {
		bench_all_exit();
		return;
	}
	tracepoint_probe_unregister(bench_tp, bench_kind->probe, NULL);
	tracepoint_synchronize_unregister();
	bench_kind->exit();
}

module_init(bench_probe_init);
module_exit(bench_probe_exit);

MODULE_DESCRIPTION("Benchmark: other ways to record every switch");
MODULE_LICENSE("GPL");
