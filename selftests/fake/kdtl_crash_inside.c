// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_crash_inside - crash the kernel inside kdtl, to test what reads in a panic
 *
 *	insmod kdtl_crash_inside.ko how=fanout
 *		a BUG() while an entry is written: in the scheduler, under the
 *		runqueue lock, after the last dispatch of a thread kdtl_crash
 *	insmod kdtl_crash_inside.ko how=locks
 *		a panic in kdtl_load() that holds all of kdtl's locks, while another CPU
 *		is in the middle of an entry, and a reader in the middle of a merge
 *
 * Load it after the recorder: its session then gets each entry of a CPU before the
 * recorder's does, so the recorder does not have the entry that never ends.
 *
 * In a panic it calls on every session what kernel-doc allows there, before the
 * recorder prints its table.  If one of these calls waits, the machine hangs.
 */
#define pr_fmt(fmt) "kdtl_crash_inside: " fmt

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kdtl_pmu.h>
#include <linux/kdtl_verbs.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/panic_notifier.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "../../core/compat.h"
#include "../../core/session.h"

static char *how = "";
module_param(how, charp, 0444);
MODULE_PARM_DESC(how, "where the kernel crashes: fanout or locks");

/* Each entry of this session reaches a watermark, which makes a trace event. */
static struct kdtl_session *session;
static struct kdtl_merge *merge;

/* ------------------------------------------------- in the middle of an entry */

/* The entry of a task that follows this one on a CPU ends in a BUG(); 0: no entry does. */
static pid_t bug_after;

/* While this is set, the next entry that a CPU makes does not end. */
static bool catching;
static atomic_t caught;

/* Called in kdtl's fan-out: in the scheduler, under the runqueue lock. */
static void inside_watermark(void *data, const struct kdtl_aux *aux, u64 head)
{
	const struct kdtl_entry *e = aux->area.base +
		((head - sizeof(*e)) & aux->sink.at->pos_mask);
	const pid_t pid = READ_ONCE(bug_after);

	if (aux->session != session)
		return;
	if (pid && kdtl_entry_prev_pid(e) == pid)
		BUG();
	if (!READ_ONCE(catching))
		return;
	atomic_inc(&caught);
	for (;;)
		cpu_relax();
}

/* Also called for the modules that are loaded already. */
static int inside_tracepoints(struct notifier_block *nb, unsigned long val, void *data)
{
	const struct tp_module *tpm = data;
	struct tracepoint *tp;
	int i;

	if (val != MODULE_STATE_COMING)
		return NOTIFY_DONE;
	for (i = 0; i < tpm->mod->num_tracepoints; i++) {
		tp = tracepoint_ptr_deref(&tpm->mod->tracepoints_ptrs[i]);
		if (!strcmp(tp->name, "kdtl_watermark"))
			WARN_ON(tracepoint_probe_register(tp, inside_watermark, NULL));
	}
	return NOTIFY_DONE;
}

static struct notifier_block tracepoint_nb = { .notifier_call = inside_tracepoints };

static int inside_hang(void *unused)
{
	for (;;) {
		set_current_state(TASK_UNINTERRUPTIBLE);
		schedule();
	}
	return 0;
}

/* Idle makes no entry, so another task has to get the CPU next. */
static int inside_fanout(void *unused)
{
	struct task_struct *next;
	int err;

	/* This thread's first dispatch may be under the name kthreadd: see kdtl_crash.c. */
	usleep_range(1000, 2000);
	err = set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
	next = kthread_create(inside_hang, NULL, "kdtl_crash_next");
	if (err || IS_ERR(next)) {
		pr_err("no thread\n");
		return 0;
	}
	kthread_bind(next, raw_smp_processor_id());
	WRITE_ONCE(bug_after, current->pid);
	wake_up_process(next);
	return inside_hang(NULL);
}

/* ------------------------------------------------------------------ sessions */

/* Calls @fn for each session that is listed, also for this module's. Returns their number. */
static unsigned int with_sessions(void (*fn)(struct kdtl_session *s))
{
	struct list_head *at = &session->node;
	unsigned int nr = 0;

	do {
		/* The head of the list is in kdtl's data, the sessions are in slabs. */
		if (virt_addr_valid(at)) {
			fn(list_entry(at, struct kdtl_session, node));
			nr++;
		}
		at = at->next;
	} while (at != &session->node);
	return nr;
}

/* If a lock cannot be taken, its holder does not go on either. */
static void hold_locks(struct kdtl_session *s)
{
	struct kdtl_aux *aux;
	int cpu;

	(void)mutex_trylock(&s->lock);
	/* The locks are never given back, of which sparse would complain. */
	if (raw_spin_trylock(&s->wake_lock))
		__release(&s->wake_lock);
	if (raw_spin_trylock(&s->done->wait.lock))
		__release(&s->done->wait.lock);
	if (raw_spin_trylock(&s->msgs.lock))
		__release(&s->msgs.lock);
	for_each_possible_cpu(cpu) {
		aux = kdtl_session_aux(s, cpu);
		if (aux)
			raw_write_seqcount_begin(&aux->seq);
	}
}

static u64 entries_read;

static void read_session(struct kdtl_session *s)
{
	static struct kdtl_entry buf[64];
	struct kdtl_aux_info info;
	const void *span;
	ssize_t len;
	int cpu;

	for_each_cpu(cpu, s->cpus) {
		if (kdtl_aux_info(s, cpu, &info))
			continue;
		if (s->layout.overwrite)
			len = kdtl_aux_snapshot(s, cpu, buf, sizeof(buf), NULL);
		else
			len = kdtl_aux_peek(s, cpu, &span);
		if (len > 0 && (s->layout.overwrite || !kdtl_aux_consume(s, cpu, len)))
			entries_read += len / KDTL_ENTRY_SIZE;
	}
}

static int inside_panic(struct notifier_block *nb, unsigned long val, void *data)
{
	unsigned int merged = 0, nr;

	while (merge && kdtl_merge_next(merge))
		merged++;
	nr = with_sessions(read_session);
	pr_emerg("read %llu entries of %u sessions, merged %u\n", entries_read, nr, merged);
	return NOTIFY_DONE;
}

/* This one is called before the recorder's. */
static struct notifier_block panic_nb = {
	.notifier_call	= inside_panic,
	.priority	= INT_MAX,
};

static int inside_session(void)
{
	const struct kdtl_session_attr attr = {
		.pmu		= "kdtl_sched",
		.aux_pages	= 1024,
		.watermark	= KDTL_ENTRY_SIZE,
	};
	int err;

	session = kdtl_session_create(&attr);
	if (IS_ERR(session))
		return PTR_ERR(session);
	err = kdtl_load(session, NULL);
	if (!err)
		err = kdtl_start(session);
	if (!err)
		err = register_tracepoint_module_notifier(&tracepoint_nb);
	if (!err)
		err = atomic_notifier_chain_register(&panic_notifier_list, &panic_nb);
	return err;
}

/* --------------------------------------------------------------- with all locks */

/* Called in kdtl_load(), under the session's lock and the hotplug lock. */
static void *inside_setup_aux(struct perf_event *event, void **pages, int nr_pages,
			      bool overwrite)
{
	unsigned int nr;

	local_irq_disable();
	/* Catch a CPU before the locks are held: one that spins on a lock makes no entry. */
	WRITE_ONCE(catching, true);
	while (!atomic_read(&caught))
		cpu_relax();
	nr = with_sessions(hold_locks);
	panic("the locks of %u sessions are held, and %d CPUs are in the fan-out",
	      nr, atomic_read(&caught));
}

static void inside_free_aux(void *priv)
{
}

static struct kdtl_pmu load_pmu = {
	.pmu.module	= THIS_MODULE,
	.pmu.setup_aux	= inside_setup_aux,
	.pmu.free_aux	= inside_free_aux,
	.name		= "kdtl_crash_load",
	.tb_freq	= NSEC_PER_SEC,
};

static struct kdtl_session *load_session;

/* Called in kdtl_session_create(), under the lock of the sources. */
static int inside_attach(struct kdtl_pmu *p)
{
	return kdtl_load(load_session, NULL);
}

static struct kdtl_pmu create_pmu = {
	.pmu.module	= THIS_MODULE,
	.name		= "kdtl_crash_create",
	.tb_freq	= NSEC_PER_SEC,
	.attach		= inside_attach,
};

static struct kdtl_session *inside_create(struct kdtl_pmu *p)
{
	const struct kdtl_session_attr attr = {
		.pmu		= p->name,
		.aux_pages	= 1,
		.msg_pages	= 1,
		.cpus		= cpumask_of(0),
	};
	int err;

	err = kdtl_pmu_register(p);
	return err ? ERR_PTR(err) : kdtl_session_create(&attr);
}

static int inside_locks(void *unused)
{
	merge = kdtl_merge_create(session);
	if (IS_ERR(merge)) {
		pr_err("no merge\n");
		return 0;
	}
	do {
		kdtl_merge_sync(merge);
	} while (!kdtl_merge_next(merge));
	load_session = inside_create(&load_pmu);
	if (!IS_ERR(load_session))
		inside_create(&create_pmu);
	pr_err("not crashed\n");
	return 0;
}

static int __init inside_init(void)
{
	int (*fn)(void *unused) = !strcmp(how, "fanout") ? inside_fanout :
				  !strcmp(how, "locks") ? inside_locks : NULL;
	int err;

	if (!fn) {
		pr_err("how=%s: fanout or locks\n", how);
		return -EINVAL;
	}
	/* Nothing is undone after an error: the machine is about to crash anyway. */
	__module_get(THIS_MODULE);
	err = inside_session();
	if (err) {
		pr_err("no session (%d)\n", err);
		return 0;
	}
	return PTR_ERR_OR_ZERO(kthread_run(fn, NULL, "kdtl_crash"));
}
module_init(inside_init);

/* There is no exit function, because the threads do not end. */
MODULE_DESCRIPTION("kdtl test: crash the kernel inside kdtl");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
