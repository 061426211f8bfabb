// SPDX-License-Identifier: GPL-2.0
/*
 * The newest bytes of a PMU that kdtl does not know, for whoever can decode them
 *
 * Such a PMU only says how far it has written when it is stopped, and only its own CPU can stop
 * it.  So a CPU that panics prints only its own bytes; a task can get those of all CPUs.
 */
#define pr_fmt(fmt) "kdtl_recorder: " fmt

#include <linux/printk.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "bytes.h"
#include "table.h"

#define BYTES_PER_ROW	32

/* "00 01 ..." */
#define BYTES_ROW	(3 * BYTES_PER_ROW)

/**
 * bytes_alloc() - allocate what is needed to print a PMU's newest bytes
 * @b: set up
 * @s: an overwrite session with KDTL_SESSION_RAW
 * @size: the most bytes of a CPU to print
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int bytes_alloc(struct bytes *b, struct kdtl_session *s, size_t size)
{
	b->s = s;
	b->size = size;
	b->buf = kmalloc(size, GFP_KERNEL);
	return b->buf ? 0 : -ENOMEM;
}

/**
 * bytes_free() - free what bytes_alloc() has allocated
 * @b: may be zeroed
 *
 * Context: any.
 */
void bytes_free(struct bytes *b)
{
	kfree(b->buf);
}

static void bytes_take(void *arg)
{
	struct bytes *b = arg;

	b->len = kdtl_aux_snapshot(b->s, b->cpu, b->buf, b->size, NULL);
}

/* Let the CPU copy its own bytes.  If it is offline, this one may, as its area does not change. */
static void bytes_take_there(struct bytes *b, int cpu)
{
	b->cpu = cpu;
	if (smp_call_function_single(cpu, bytes_take, b, true))
		bytes_take(b);
}

static void bytes_print_cpu(const struct bytes *b, const char *what, bool rests)
{
	char row[BYTES_ROW];
	ssize_t at;
	u64 begun;

	if (b->len < 0) {
		pr_warn("%s: CPU %d: its bytes cannot be had here (%zd)\n", what, b->cpu, b->len);
		return;
	}
	pr_warn("%s: CPU %d: the last %zd bytes, oldest first\n", what, b->cpu, b->len);
	for (at = 0; at < b->len; at += BYTES_PER_ROW) {
		begun = local_clock();
		hex_dump_to_buffer(b->buf + at, min_t(ssize_t, b->len - at, BYTES_PER_ROW),
				   BYTES_PER_ROW, 1, row, sizeof(row), false);
		pr_warn("CPU %d: %06zx: %s\n", b->cpu, at, row);
		if (rests)
			table_rest(begun);
	}
}

/**
 * bytes_print() - print a PMU's newest bytes
 * @b: the caller is its only user
 * @about: why they are printed; a task prints those of its CPU, or of all CPUs if it has none
 * @task: the caller may sleep; else only the bytes of its own CPU are printed
 *
 * Context: any, including a panic that has stopped the other CPUs, unless @task.  In an NMI a
 * line says that there are no bytes.
 */
void bytes_print(struct bytes *b, const struct kdtl_alarm *about, bool task)
{
	int cpu;

	if (!task) {
		b->cpu = raw_smp_processor_id();
		bytes_take(b);
		bytes_print_cpu(b, about->what, false);
	} else {
		kdtl_for_each_cpu(cpu, b->s) {
			if (about->cpu >= 0 && about->cpu != cpu)
				continue;
			bytes_take_there(b, cpu);
			bytes_print_cpu(b, about->what, true);
		}
	}
	pr_warn("%s: end of bytes\n", about->what);
}
