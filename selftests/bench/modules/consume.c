// SPDX-License-Identifier: GPL-2.0
/*
 * Reading 48-byte records back, in place or as copies
 *
 * Each word of each record is added up, so that each reader has to get at all of it.  Interrupts
 * are off, so nothing else is in the figures.
 */
#include <linux/kfifo.h>
#include <linux/ring_buffer.h>
#include <linux/vmalloc.h>

#include "reader.h"

#define BENCH_BYTES	(4U << 20)
#define BENCH_RECORDS	(BENCH_BYTES / KDTL_ENTRY_SIZE)

static const struct kdtl_entry bench_entry = {
	.timebase	= cpu_to_be64(1),
};

static __always_inline u64 bench_sum_entry(const void *data)
{
	const u64 *w = data;

	return w[0] + w[1] + w[2] + w[3] + w[4] + w[5];
}

/* This is out of line, so that the same code reads a span and any other memory. */
static noinline u64 bench_sum(const void *data, size_t bytes)
{
	const u64 *word = data;
	u64 sum = 0;

	for (; bytes; bytes -= sizeof(*word))
		sum += *word++;
	return sum;
}

static u64 bench_expected(void)
{
	return BENCH_RECORDS * bench_sum_entry(&bench_entry);
}

static u64 bench_kdtl_fill(void)
{
	unsigned int i;
	u64 t;

	t = get_cycles();
	for (i = 0; i < BENCH_RECORDS; i++)
		kdtl_pmu_output(&bench_source, &bench_entry, KDTL_KIND_CEDE);
	return get_cycles() - t;
}

/* Read all that is unread, entry by entry. */
static u64 bench_kdtl_entries(struct kdtl_session *s)
{
	const struct kdtl_entry *e;
	const void *span;
	ssize_t len;
	u64 sum = 0;

	len = kdtl_aux_peek(s, BENCH_CPU, &span);
	kdtl_for_each_entry(e, span, len)
		sum += bench_sum_entry(e);
	kdtl_aux_consume(s, BENCH_CPU, len);
	return sum;
}

/* Read with a peek and a consume for each entry. */
static u64 bench_kdtl_single(struct kdtl_session *s)
{
	const void *span;
	u64 sum = 0;

	while (kdtl_aux_peek(s, BENCH_CPU, &span) > 0) {
		sum += bench_sum_entry(span);
		kdtl_aux_consume(s, BENCH_CPU, KDTL_ENTRY_SIZE);
	}
	return sum;
}

/* Read all that is unread as plain memory. */
static u64 bench_kdtl_span(struct kdtl_session *s)
{
	const void *span;
	ssize_t len;
	u64 sum;

	len = kdtl_aux_peek(s, BENCH_CPU, &span);
	sum = bench_sum(span, len);
	kdtl_aux_consume(s, BENCH_CPU, len);
	return sum;
}

static int bench_kdtl_read(struct kdtl_session *s, u64 (*read)(struct kdtl_session *),
			   const char *name, u64 nr)
{
	unsigned long flags;
	u64 t, sum;

	local_irq_save(flags);
	bench_kdtl_fill();
	t = get_cycles();
	sum = read(s);
	t = get_cycles() - t;
	local_irq_restore(flags);
	if (sum != bench_expected())
		return -EIO;
	bench_result(name, t, nr);
	return 0;
}

static int bench_consume_kdtl(void)
{
	struct kdtl_session *s = bench_reader_open(cpumask_of(BENCH_CPU),
						   BENCH_BYTES >> PAGE_SHIFT, BENCH_BYTES, NULL);
	unsigned long flags;
	int err;
	u64 t;

	if (IS_ERR(s))
		return PTR_ERR(s);
	local_irq_save(flags);
	t = bench_kdtl_fill();
	bench_kdtl_entries(s);
	local_irq_restore(flags);
	bench_result("produce.kdtl", t, BENCH_RECORDS);

	err = bench_kdtl_read(s, bench_kdtl_entries, "consume.kdtl", BENCH_RECORDS);
	if (!err)
		err = bench_kdtl_read(s, bench_kdtl_single, "consume.kdtl.single",
				      BENCH_RECORDS);
	if (!err)
		err = bench_kdtl_read(s, bench_kdtl_span, "span.kdtl",
				      BENCH_BYTES >> 10);
	kdtl_session_close(s);
	return err;
}

/* The least that reading so much memory costs. */
static int bench_memread(void)
{
	const size_t bytes = BENCH_RECORDS * KDTL_ENTRY_SIZE;
	u64 *buf = vzalloc(bytes);
	unsigned long flags;
	u64 t;

	if (!buf)
		return -ENOMEM;
	local_irq_save(flags);
	t = get_cycles();
	bench_sum(buf, bytes);
	t = get_cycles() - t;
	local_irq_restore(flags);
	vfree(buf);
	bench_result("span.memread", t, BENCH_BYTES >> 10);
	return 0;
}

static int bench_consume_kfifo(void)
{
	struct kdtl_entry e;
	unsigned long flags;
	struct kfifo fifo;
	u64 t, sum = 0;
	unsigned int i;
	void *buf;

	buf = vzalloc(BENCH_BYTES);
	if (!buf)
		return -ENOMEM;
	kfifo_init(&fifo, buf, BENCH_BYTES);
	local_irq_save(flags);
	t = get_cycles();
	for (i = 0; i < BENCH_RECORDS; i++)
		kfifo_in(&fifo, &bench_entry, sizeof(bench_entry));
	bench_result("produce.kfifo", get_cycles() - t, BENCH_RECORDS);
	t = get_cycles();
	while (kfifo_out(&fifo, &e, sizeof(e)) == sizeof(e))
		sum += bench_sum_entry(&e);
	t = get_cycles() - t;
	local_irq_restore(flags);
	vfree(buf);
	if (sum != bench_expected())
		return -EIO;
	bench_result("consume.kfifo", t, BENCH_RECORDS);
	return 0;
}

static int bench_consume_ring_buffer(void)
{
	/* This leaves room for the buffer's own headers. */
	struct trace_buffer *buffer = ring_buffer_alloc(2 * BENCH_BYTES, 0);
	struct ring_buffer_event *event;
	unsigned long flags, lost;
	u64 t, ts, sum = 0;
	unsigned int i;

	if (!buffer)
		return -ENOMEM;
	local_irq_save(flags);
	t = get_cycles();
	for (i = 0; i < BENCH_RECORDS; i++)
		ring_buffer_write(buffer, sizeof(bench_entry), (void *)&bench_entry);
	bench_result("produce.trace_ring_buffer", get_cycles() - t, BENCH_RECORDS);
	t = get_cycles();
	while ((event = ring_buffer_consume(buffer, BENCH_CPU, &ts, &lost)))
		sum += bench_sum_entry(ring_buffer_event_data(event));
	t = get_cycles() - t;
	local_irq_restore(flags);
	ring_buffer_free(buffer);
	if (sum != bench_expected())
		return -EIO;
	bench_result("consume.trace_ring_buffer", t, BENCH_RECORDS);
	return 0;
}

/**
 * bench_consume() - measure all readers
 *
 * Return: 0, or -EIO if one did not get what was written.
 */
int bench_consume(void)
{
	int err;

	err = bench_consume_kdtl();
	if (!err)
		err = bench_memread();
	if (!err)
		err = bench_consume_kfifo();
	if (!err)
		err = bench_consume_ring_buffer();
	return err;
}
