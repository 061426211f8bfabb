// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_fuzz.ko: its init function runs programs, and says what it ran
 *
 * A program that goes wrong says how to run it again:
 *
 *	insmod kdtl_fuzz.ko seed=SEED first=N programs=1 trace=1
 */
#define pr_fmt(fmt) "kdtl_fuzz: " fmt

#include <linux/delay.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "fuzz.h"

static unsigned long long seed = 1;
module_param(seed, ullong, 0444);
MODULE_PARM_DESC(seed, "seed of all random numbers (default 1)");

static unsigned int first;
module_param(first, uint, 0444);
MODULE_PARM_DESC(first, "number of the first program (default 0)");

static unsigned int programs = 100;
module_param(programs, uint, 0444);
MODULE_PARM_DESC(programs, "number of programs (default 100)");

static unsigned int calls = 200;
module_param(calls, uint, 0444);
MODULE_PARM_DESC(calls, "number of calls in each thread of a program (default 200)");

static bool trace;
module_param(trace, bool, 0444);
MODULE_PARM_DESC(trace, "log each call before and after it is made (default N)");

/* At most so many failures of a thread are reported. */
#define FUZZ_REPORTED	5

/* The first verb of the first table creates sessions. */
static const struct fuzz_verb * const fuzz_tables[] = {
	fuzz_session_verbs, fuzz_vector_verbs, fuzz_reader_verbs, fuzz_source_verbs,
};

#define FUZZ_VERBS	40

/* All verbs, how often each was called, and how often it was refused. */
static const struct fuzz_verb *fuzz_verbs[FUZZ_VERBS];
static atomic_long_t fuzz_called[FUZZ_VERBS], fuzz_refused[FUZZ_VERBS];
static unsigned int fuzz_nr_verbs, fuzz_weight;
static unsigned int fuzz_program;

void fuzz_fail(struct fuzz_thread *t, const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	if (t->failures++ >= FUZZ_REPORTED)
		return;
	va_start(args, fmt);
	vaf.va = &args;
	pr_err("seed=%llu first=%u: thread %u, call %u, %s: %pV\n", seed, fuzz_program,
	       t->id, t->call, t->verb ? t->verb->name : "the end", &vaf);
	va_end(args);
}

static unsigned int fuzz_choose(struct fuzz_thread *t)
{
	unsigned int i, at = fuzz_below(t, fuzz_weight);

	for (i = 0; at >= fuzz_verbs[i]->weight; i++)
		at -= fuzz_verbs[i]->weight;
	return i;
}

static bool fuzz_documented(const struct fuzz_verb *verb, long ret)
{
	unsigned int i;

	if (ret >= 0)
		return true;
	for (i = 0; i < FUZZ_ERRNOS; i++) {
		if (verb->errnos[i] == ret)
			return true;
	}
	return false;
}

static void fuzz_call(struct fuzz_thread *t, unsigned int nr, struct fuzz_slot *slot)
{
	const struct fuzz_verb *verb = fuzz_verbs[nr];
	long want = FUZZ_ANY, ret;

	t->verb = verb;
	if (trace)
		pr_info("thread %u, call %u: %s(%zu)\n", t->id, t->call, verb->name,
			slot - t->slots);
	ret = verb->run(t, slot, &want);
	if (trace)
		pr_info("thread %u, call %u: %ld\n", t->id, t->call, ret);
	if (ret == FUZZ_NONE)
		return;
	atomic_long_inc(&fuzz_called[nr]);
	if (ret < 0)
		atomic_long_inc(&fuzz_refused[nr]);
	if (!fuzz_documented(verb, ret))
		fuzz_fail(t, "%ld is none of its errors", ret);
	else if (t->solo && want != FUZZ_ANY && min(ret, 0L) != want)
		fuzz_fail(t, "%ld, should be %ld", ret, want);
}

/* Makes one call, on a session that nobody closes meanwhile. */
static void fuzz_step(struct fuzz_thread *t)
{
	struct fuzz_slot *slot = &t->slots[fuzz_below(t, FUZZ_SLOTS)];
	unsigned int nr = fuzz_choose(t);

	/* Most verbs need a session, so mostly create one if there is none. */
	if (!READ_ONCE(slot->s) && !fuzz_one_in(t, 4))
		nr = 0;
	if (fuzz_verbs[nr]->create) {
		fuzz_call(t, nr, slot);
		return;
	}
	spin_lock(&slot->lock);
	t->s = slot->s;
	slot->users += !!t->s;
	spin_unlock(&slot->lock);
	if (!t->s)
		return;
	fuzz_call(t, nr, slot);
	t->s = NULL;
	spin_lock(&slot->lock);
	slot->users--;
	spin_unlock(&slot->lock);
}

static int fuzz_thread(void *arg)
{
	struct fuzz_thread *t = arg;

	for (t->call = 0; t->call < t->calls; t->call++) {
		fuzz_step(t);
		cond_resched();
	}
	t->verb = NULL;
	/* Pairs with fuzz_join(), which reads the failures. */
	smp_store_release(&t->over, true);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

/* Waits until all calls have been made.  A close wakes the threads that sleep for ever. */
static void fuzz_join(struct fuzz_thread *threads, unsigned int nr)
{
	struct fuzz_slot *slot;
	unsigned int i, left;

	do {
		left = 0;
		for (i = 0; i < nr; i++) {
			/* Pairs with the release in fuzz_thread(). */
			if (smp_load_acquire(&threads[i].over))
				continue;
			left++;
			slot = READ_ONCE(threads[i].sleeps);
			if (!slot || !mutex_trylock(&slot->verbs))
				continue;
			fuzz_slot_close(slot, threads, nr);
			mutex_unlock(&slot->verbs);
		}
		usleep_range(100, 200);
	} while (left);
	for (i = 0; i < nr; i++)
		kthread_stop(threads[i].task);
}

/* A session that the program left behind must work as if the program had never run. */
static void fuzz_aftermath(struct fuzz_thread *t, struct fuzz_slot *slot)
{
	/* This is too large for the stack of a 32-bit kernel, and only one thread comes here. */
	static struct kdtl_counter_req counters[KDTL_NR_COUNTERS];
	struct kdtl_config config = {};
	struct kdtl_session *s = slot->s;
	struct kdtl_evtset set = {};
	struct kdtl_aux_info info;
	u64 before, room;
	int cpu, c, err;

	if (!s)
		return;
	kdtl_merge_destroy(slot->merge);
	slot->merge = NULL;
	for (c = 0; c < KDTL_NR_COUNTERS; c++)
		counters[c].counter = c;
	err = kdtl_unload(s) ?: kdtl_write_config(s, &config, 1) ?:
	      kdtl_write_counters(s, counters, KDTL_NR_COUNTERS) ?:
	      kdtl_create_evtsets(s, &set, 1);
	for (c = 1; c <= FUZZ_SETS; c++) {
		set.id = c == FUZZ_SETS ? U16_MAX : c;
		kdtl_delete_evtsets(s, &set, 1);
	}
	err = err ?: kdtl_load(s, NULL) ?: kdtl_start(s);
	if (err) {
		fuzz_fail(t, "the session does not start again: %d", err);
		return;
	}
	if (!slot->fuzz_pmu || !slot->aux_pages)
		return;
	for_each_cpu_and(cpu, &slot->cpus, cpu_online_mask) {
		kdtl_aux_info(s, cpu, &info);
		before = info.produced;
		fuzz_emit(cpu, KDTL_KIND_CEDE, 7, 1);
		kdtl_aux_info(s, cpu, &info);
		room = info.size / KDTL_ENTRY_SIZE;
		if (before || info.produced != 7 || info.lost || room < 7)
			fuzz_fail(t, "CPU %d: %llu entries before, %llu after 7, %llu lost",
				  cpu, before, info.produced, info.lost);
	}
	err = kdtl_stop(s);
	if (err)
		fuzz_fail(t, "the session does not stop: %d", err);
}

static void fuzz_slot_init(struct fuzz_slot *slot)
{
	memset(slot, 0, sizeof(*slot));
	spin_lock_init(&slot->lock);
	mutex_init(&slot->verbs);
	mutex_init(&slot->reader);
	init_completion(&slot->done);
}

static int fuzz_run(struct fuzz_slot *slots, struct fuzz_thread *threads)
{
	unsigned int i, nr, failures = 0;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, seed ^ fuzz_program * 0x9e3779b97f4a7c15ULL);
	/* Every other program has one thread only, which the model follows. */
	nr = prandom_u32_state(&rnd) % (2 * FUZZ_THREADS - 2);
	nr = nr < FUZZ_THREADS - 1 ? nr + 2 : 1;
	for (i = 0; i < FUZZ_SLOTS; i++)
		fuzz_slot_init(&slots[i]);
	memset(threads, 0, FUZZ_THREADS * sizeof(*threads));
	for (i = 0; i < nr; i++) {
		threads[i].id = i;
		threads[i].slots = slots;
		threads[i].solo = nr == 1;
		threads[i].calls = calls;
		prandom_seed_state(&threads[i].rnd, (u64)prandom_u32_state(&rnd) << 32 | i);
		threads[i].task = kthread_create(fuzz_thread, &threads[i], "kdtl_fuzz/%u", i);
		if (IS_ERR(threads[i].task))
			panic("kdtl_fuzz: no thread\n");
	}
	for (i = 0; i < nr; i++)
		wake_up_process(threads[i].task);
	fuzz_join(threads, nr);

	fuzz_refuse_attach = false;
	fuzz_refuse_source = false;
	for (i = 0; i < FUZZ_SLOTS; i++) {
		threads[0].call = i;
		fuzz_aftermath(&threads[0], &slots[i]);
		mutex_lock(&slots[i].verbs);
		fuzz_slot_close(&slots[i], threads, 0);
		mutex_unlock(&slots[i].verbs);
	}
	for (i = 0; i < nr; i++)
		failures += threads[i].failures;
	return failures;
}

/* A leak is reported as this program's, so that it can be found again. */
static bool fuzz_clean(int refs)
{
	if (fuzz_source_clean() && module_refcount(THIS_MODULE) == refs)
		return true;
	pr_err("seed=%llu first=%u: left behind: module held %d times, %d before\n",
	       seed, fuzz_program, module_refcount(THIS_MODULE), refs);
	return false;
}

static void fuzz_tell(unsigned int nr, unsigned int bad, u64 ns)
{
	unsigned long called, refused, sum = 0;
	unsigned int i;

	for (i = 0; i < fuzz_nr_verbs; i++) {
		called = atomic_long_read(&fuzz_called[i]);
		refused = atomic_long_read(&fuzz_refused[i]);
		sum += called;
		pr_notice("%-22s %8lu calls %8lu refused\n", fuzz_verbs[i]->name, called,
			  refused);
		if (!called && nr >= 100) {
			pr_err("seed=%llu: %s was never called\n", seed, fuzz_verbs[i]->name);
			bad++;
		}
	}
	pr_notice("seed %llu: %u programs from %u on, %lu calls, %llu ms: %u failed\n", seed,
		  nr, first, sum, div_u64(ns, NSEC_PER_MSEC), bad);
}

static int __init kdtl_fuzz_init(void)
{
	const u64 start = ktime_get_ns();
	const struct fuzz_verb *verb;
	struct fuzz_thread *threads;
	unsigned int i, bad = 0;
	struct fuzz_slot *slots;
	int err, refs;

	for (i = 0; i < ARRAY_SIZE(fuzz_tables); i++) {
		for (verb = fuzz_tables[i]; verb->name; verb++) {
			fuzz_verbs[fuzz_nr_verbs++] = verb;
			fuzz_weight += verb->weight;
		}
	}
	slots = kvcalloc(FUZZ_SLOTS, sizeof(*slots), GFP_KERNEL);
	threads = kvcalloc(FUZZ_THREADS, sizeof(*threads), GFP_KERNEL);
	err = slots && threads ? fuzz_source_init() : -ENOMEM;
	if (err)
		goto free;

	refs = module_refcount(THIS_MODULE);
	for (i = 0; i < programs; i++) {
		fuzz_program = first + i;
		bad += fuzz_run(slots, threads) || !fuzz_clean(refs);
	}
	fuzz_tell(programs, bad, ktime_get_ns() - start);
	if (bad)
		err = -EBADE;
	fuzz_source_exit();
free:
	kvfree(threads);
	kvfree(slots);
	return err;
}

static void __exit kdtl_fuzz_exit(void)
{
}

module_init(kdtl_fuzz_init);
module_exit(kdtl_fuzz_exit);

MODULE_DESCRIPTION("Random programs of kdtl's verbs");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
