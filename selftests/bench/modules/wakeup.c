// SPDX-License-Identifier: GPL-2.0
/*
 * How long it takes from an entry to the running reader
 *
 * The floor is the least that is allowed where entries are made: an irq_work that completes what a
 * thread waits for.  That is a real-time thread, so it runs as soon as it is woken; the task that
 * loads this module writes.
 *
 * The result is the median.  A mean would grow by ten instructions if a timer interrupt came in one
 * wake-up of a thousand.
 */
#include <linux/completion.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/sort.h>

#include "reader.h"

#define BENCH_WAKE_UPS	1000

static const struct kdtl_entry bench_entry;
static struct kdtl_session *bench_session;
static DECLARE_COMPLETION(bench_wake);
static DECLARE_COMPLETION(bench_seen);
static u64 bench_written;
static u32 bench_took[BENCH_WAKE_UPS];

static int bench_floor_wait(void)
{
	return wait_for_completion_killable(&bench_wake);
}

static int bench_kdtl_wait(void)
{
	return kdtl_wait(bench_session, MAX_SCHEDULE_TIMEOUT);
}

static void bench_floor_work(struct irq_work *work)
{
	complete(&bench_wake);
}

static struct irq_work bench_work = IRQ_WORK_INIT_HARD(bench_floor_work);

static void bench_floor_write(void)
{
	irq_work_queue(&bench_work);
}

static void bench_kdtl_write(void)
{
	kdtl_pmu_output(&bench_source, &bench_entry, KDTL_KIND_CEDE);
}

struct bench_waker {
	const char	*name;
	int		(*wait)(void);
	void		(*write)(void);
};

static const struct bench_waker bench_wakers[] = {
	{ "wakeup.floor", bench_floor_wait, bench_floor_write },
	{ "wakeup.kdtl", bench_kdtl_wait, bench_kdtl_write },
};

static int bench_reader(void *data)
{
	const struct bench_waker *w = data;
	const void *span;
	unsigned int i;
	ssize_t len;

	for (i = 0; i < BENCH_WAKE_UPS; i++) {
		if (w->wait() < 0)
			break;
		bench_took[i] = get_cycles() - bench_written;
		/* Read as a reader does; the area is empty if nobody wrote to it. */
		len = kdtl_aux_peek(bench_session, BENCH_CPU, &span);
		kdtl_aux_consume(bench_session, BENCH_CPU, len);
		complete(&bench_seen);
	}
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return i == BENCH_WAKE_UPS ? 0 : -EIO;
}

static int bench_compare(const void *a, const void *b)
{
	const u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

static int bench_wakeup_one(const struct bench_waker *w)
{
	struct task_struct *reader;
	unsigned long flags;
	unsigned int i;
	int err;

	reinit_completion(&bench_wake);
	reader = kthread_create(bench_reader, (void *)w, "bench_reader");
	if (IS_ERR(reader))
		return PTR_ERR(reader);
	kthread_bind(reader, BENCH_CPU);
	sched_set_fifo(reader);
	wake_up_process(reader);

	for (i = 0; i < BENCH_WAKE_UPS; i++) {
		local_irq_save(flags);
		bench_written = get_cycles();
		w->write();
		local_irq_restore(flags);
		/* After a second it is clear that the reader was not woken. */
		if (!wait_for_completion_timeout(&bench_seen, HZ))
			break;
	}
	err = i == BENCH_WAKE_UPS ? 0 : -EIO;
	/* A reader that still waits can then finish its loop. */
	if (err)
		complete_all(&bench_wake);
	if (kthread_stop(reader))
		err = -EIO;
	if (err)
		return err;
	sort(bench_took, BENCH_WAKE_UPS, sizeof(*bench_took), bench_compare, NULL);
	bench_result(w->name, bench_took[BENCH_WAKE_UPS / 2], 1);
	return 0;
}

/**
 * bench_wakeup() - measure how long a reader takes to be running
 *
 * Return: 0, or -EIO if the reader was not woken once.
 */
int bench_wakeup(void)
{
	int i, err = 0;

	/* With the smallest watermark, each entry wakes the reader. */
	bench_session = bench_reader_open(cpumask_of(BENCH_CPU), 1, KDTL_ENTRY_SIZE,
					  &bench_wake);
	if (IS_ERR(bench_session))
		return PTR_ERR(bench_session);
	for (i = 0; i < ARRAY_SIZE(bench_wakers) && !err; i++)
		err = bench_wakeup_one(&bench_wakers[i]);
	kdtl_session_close(bench_session);
	return err;
}
