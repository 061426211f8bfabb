// SPDX-License-Identifier: GPL-2.0
/*
 * Each verb in each state
 *
 * states.def says what each verb does in each state.  This test puts a session into each state, by
 * each way that leads there, calls each verb, and checks what it returns and which state the
 * session is in afterwards.  Documentation/states.rst shows the same table.
 *
 * The source is the test's own, for its detach(): kdtl_session_close() calls that while the session
 * refuses everything and is not freed yet.
 */
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/workqueue.h>

#include "kapi.h"

enum states_state {
	STATES_CREATED,
	STATES_STOPPED,
	STATES_STARTED,
	STATES_PAUSED,
	STATES_UNLOADED,
	STATES_NR,
	STATES_CLOSED,
	STATES_STAYS,
};

static const char * const states_names[] = {
	[STATES_CREATED]	= "created",
	[STATES_STOPPED]		= "stopped",
	[STATES_STARTED]	= "started",
	[STATES_PAUSED]		= "paused",
	[STATES_UNLOADED]	= "unloaded",
	[STATES_CLOSED]		= "closed",
};

/* ------------------------------------------------------------------- source */

/*
 * The clock is the same on all CPUs, so that one kdtl_merge_sync() is enough.  local_clock() would
 * not do, because it may stand still on an idle CPU.
 */
static atomic64_t states_clock;

static u64 states_now(struct kdtl_pmu *p)
{
	return atomic64_inc_return(&states_clock);
}

static struct kdtl_session *states_closing;
static void (*states_while_closing)(struct kdtl_session *s);

static void states_detach(struct kdtl_pmu *p)
{
	if (states_while_closing)
		states_while_closing(states_closing);
}

static struct kdtl_pmu states_pmu = {
	.pmu.module	= THIS_MODULE,
	.name		= "kdtl_states",
	.mask		= KDTL_MASK_ALL,
	.tb_freq	= NSEC_PER_SEC,
	.sync		= states_now,
	.detach		= states_detach,
};

static void states_nothing(struct irq_work *work)
{
}

/* Runs on the CPU.  When it returns, the irq_work that the entry raised has run. */
static long states_emit(void *unused)
{
	struct irq_work last = IRQ_WORK_INIT_HARD(states_nothing);
	struct kdtl_entry e = {
		.processor_id	= cpu_to_be16(raw_smp_processor_id()),
		.timebase	= cpu_to_be64(states_now(&states_pmu)),
	};

	local_irq_disable();
	kdtl_pmu_output(&states_pmu, &e, KDTL_KIND_CEDE);
	irq_work_queue(&last);
	local_irq_enable();
	irq_work_sync(&last);
	return 0;
}

/* ------------------------------------------------------------ ways to states */

/* The entry posts a message, and pauses the session if that pauses on overflows. */
static void states_start(struct kdtl_session *s, int cpu)
{
	kdtl_load(s, NULL);
	kdtl_start(s);
	work_on_cpu(cpu, states_emit, NULL);
}

static void states_way_none(struct kdtl_session *s)
{
}

static void states_way_load(struct kdtl_session *s)
{
	kdtl_load(s, NULL);
}

static void states_way_start(struct kdtl_session *s)
{
	states_start(s, cpumask_first(cpu_online_mask));
}

static void states_way_stop(struct kdtl_session *s)
{
	states_way_start(s);
	kdtl_stop(s);
}

static void states_way_pause(struct kdtl_session *s)
{
	struct kdtl_counter_req req = {
		.counter	= KDTL_CTR_ENTRIES,
		.flags		= KDTL_COUNTER_NOTIFY,
		.value		= -1,
	};

	kdtl_write_counters(s, &req, 1);
	states_way_start(s);
}

static void states_way_pause_stop(struct kdtl_session *s)
{
	states_way_pause(s);
	kdtl_stop(s);
}

static void states_way_restart(struct kdtl_session *s)
{
	states_way_pause(s);
	kdtl_restart(s);
}

static void states_way_unload(struct kdtl_session *s)
{
	states_way_start(s);
	kdtl_unload(s);
}

static void states_way_unload_paused(struct kdtl_session *s)
{
	states_way_pause(s);
	kdtl_unload(s);
}

static void states_way_reload(struct kdtl_session *s)
{
	states_way_unload_paused(s);
	kdtl_load(s, NULL);
}

static const struct states_way {
	const char		*name;
	enum states_state	to;
	bool			data;		/* there is something to read */
	bool			stopped;	/* paused, and stopped, too */
	void			(*go)(struct kdtl_session *s);
} states_ways[] = {
	{ "create", STATES_CREATED, false, false, states_way_none },
	{ "load", STATES_STOPPED, false, false, states_way_load },
	{ "stop", STATES_STOPPED, true, false, states_way_stop },
	{ "reload", STATES_STOPPED, false, false, states_way_reload },
	{ "start", STATES_STARTED, true, false, states_way_start },
	{ "restart", STATES_STARTED, true, false, states_way_restart },
	{ "pause", STATES_PAUSED, true, false, states_way_pause },
	{ "pause and stop", STATES_PAUSED, true, true, states_way_pause_stop },
	{ "unload", STATES_UNLOADED, true, false, states_way_unload },
	{ "unload paused", STATES_UNLOADED, true, false, states_way_unload_paused },
};

/* -------------------------------------------------------------------- verbs */

/* Each of these returns what its verb returns; lengths and counts are positive. */
static ssize_t do_kdtl_load(struct kdtl_session *s)
{
	return kdtl_load(s, NULL);
}

static ssize_t do_kdtl_unload(struct kdtl_session *s)
{
	return kdtl_unload(s);
}

static ssize_t do_kdtl_start(struct kdtl_session *s)
{
	return kdtl_start(s);
}

static ssize_t do_kdtl_stop(struct kdtl_session *s)
{
	return kdtl_stop(s);
}

static ssize_t do_kdtl_restart(struct kdtl_session *s)
{
	return kdtl_restart(s);
}

static ssize_t do_kdtl_write_config(struct kdtl_session *s)
{
	struct kdtl_config req = { .mask = KDTL_MASK_ALL };

	return kdtl_write_config(s, &req, 1);
}

static ssize_t do_kdtl_write_counters(struct kdtl_session *s)
{
	struct kdtl_counter_req req = { .counter = KDTL_CTR_CEDE };

	return kdtl_write_counters(s, &req, 1);
}

static ssize_t do_kdtl_read_counters(struct kdtl_session *s)
{
	struct kdtl_counter_req req = { .counter = KDTL_CTR_CEDE, .cpu = -1 };

	return kdtl_read_counters(s, &req, 1);
}

static ssize_t do_kdtl_create_evtsets(struct kdtl_session *s)
{
	struct kdtl_evtset req = { .id = 2 };

	return kdtl_create_evtsets(s, &req, 1);
}

/* The session is created with set 1. */
static ssize_t do_kdtl_delete_evtsets(struct kdtl_session *s)
{
	struct kdtl_evtset req = { .id = 1 };

	return kdtl_delete_evtsets(s, &req, 1);
}

static ssize_t do_kdtl_getinfo_evtsets(struct kdtl_session *s)
{
	struct kdtl_evtset_info req = { .id = 1, .cpu = -1 };

	return kdtl_getinfo_evtsets(s, &req, 1);
}

static ssize_t do_kdtl_read(struct kdtl_session *s)
{
	struct kdtl_msg msg;

	return kdtl_read(s, &msg, sizeof(msg), true);
}

static ssize_t do_kdtl_wait(struct kdtl_session *s)
{
	return kdtl_wait(s, 0);
}

static ssize_t do_kdtl_aux_peek(struct kdtl_session *s)
{
	const void *span;

	return kdtl_aux_peek(s, cpumask_first(cpu_online_mask), &span);
}

/* Give back what there is and one byte more, which is always refused. */
static ssize_t do_kdtl_aux_consume(struct kdtl_session *s)
{
	const int cpu = cpumask_first(cpu_online_mask);
	const ssize_t len = do_kdtl_aux_peek(s);
	int err;

	if (len < 0)
		return len;
	if (kdtl_aux_consume(s, cpu, len + 1) != -EINVAL)
		return -EBADE;
	err = kdtl_aux_consume(s, cpu, len);
	return err ?: len;
}

static ssize_t do_kdtl_aux_gap(struct kdtl_session *s)
{
	size_t at;
	u64 lost;

	return kdtl_aux_gap(s, cpumask_first(cpu_online_mask), &at, &lost);
}

static ssize_t do_kdtl_aux_snapshot(struct kdtl_session *s)
{
	struct kdtl_entry e;

	return kdtl_aux_snapshot(s, cpumask_first(cpu_online_mask), &e, sizeof(e), NULL);
}

static ssize_t do_kdtl_aux_info(struct kdtl_session *s)
{
	struct kdtl_aux_info info;

	return kdtl_aux_info(s, cpumask_first(cpu_online_mask), &info);
}

static ssize_t do_kdtl_timebase_sync(struct kdtl_session *s)
{
	struct kdtl_timebase tb = {};

	return kdtl_timebase_sync(s, &tb);
}

static void states_waits(const struct kdtl_waiting *w, void *data)
{
}

/* This source does not know tasks. */
static ssize_t do_kdtl_waiting(struct kdtl_session *s)
{
	return kdtl_waiting(s, states_waits, NULL);
}

static ssize_t do_kdtl_merge_next(struct kdtl_session *s)
{
	struct kdtl_merge *m = kdtl_merge_create(s);
	ssize_t nr = 0;

	if (IS_ERR(m))
		return PTR_ERR(m);
	kdtl_merge_sync(m);
	while (kdtl_merge_next(m))
		nr++;
	kdtl_merge_destroy(m);
	return nr;
}

static ssize_t do_kdtl_flush(struct kdtl_session *s)
{
	return kdtl_flush(s);
}

static ssize_t do_kdtl_session_close(struct kdtl_session *s)
{
	kdtl_session_close(s);
	return 0;
}

/* -------------------------------------------------------------------- table */

/**
 * struct states_cell - what a verb does in a state
 * @ret: what the verb returns; a positive number counts as 0
 * @then: the state of the session afterwards
 * @empty: the verb reports that there is nothing to read
 * @out: the verb is not called in this state
 */
struct states_cell {
	int			ret;
	enum states_state	then;
	bool			empty;
	bool			out;
};

#define TO(s)	{ .then = STATES_ ## s }
#define OK	{ .then = STATES_STAYS }
#define SAME	{ .then = STATES_STAYS }
#define NONE	{ .then = STATES_STAYS, .empty = true }
#define NO(e)	{ .then = STATES_STAYS, .ret = -(e) }
#define OUT	{ .out = true }

static const struct states_verb {
	const char		*name;
	ssize_t			(*call)(struct kdtl_session *s);
	struct states_cell	in[STATES_NR];
	struct states_cell	closing;
} states_verbs[] = {
#define KDTL_VERB(verb, created, stopped, started, paused, unloaded, close)	\
	{ #verb, do_ ## verb, { created, stopped, started, paused, unloaded }, close },
#include "states.def"
#undef KDTL_VERB
};

/* Is this what the verb returns if there is nothing to read? */
static bool states_is_empty(const struct states_verb *verb, ssize_t ret)
{
	if (verb->call == do_kdtl_read)
		return ret == -EAGAIN;
	if (verb->call == do_kdtl_wait)
		return ret == -ETIMEDOUT;
	return ret == 0;
}

static struct kdtl_session *states_session(struct kunit *test,
					   const struct states_verb *verb)
{
	const struct kdtl_session_attr attr = {
		.pmu		= states_pmu.name,
		.aux_pages	= 1,
		.msg_pages	= 1,
		.watermark	= KDTL_ENTRY_SIZE,
		.flags		= KDTL_SESSION_PAUSE |
				  (verb->call == do_kdtl_aux_snapshot ?
				   KDTL_SESSION_OVERWRITE : 0),
	};
	struct kdtl_evtset one = { .id = 1 };
	struct kdtl_session *s = kapi_create(test, &attr);

	if (s)
		KUNIT_EXPECT_EQ(test, kdtl_create_evtsets(s, &one, 1), 0);
	return s;
}

/*
 * Which state is the session in?  What it refuses tells.  kdtl_restart() comes last, because it
 * alone could change the state.
 */
static enum states_state states_probe(struct kdtl_session *s, enum states_state like)
{
	if (!kdtl_create_evtsets(s, NULL, 0))
		return like == STATES_CREATED ? STATES_CREATED : STATES_UNLOADED;
	if (!kdtl_write_config(s, NULL, 0))
		return STATES_STOPPED;
	return kdtl_restart(s) == -EBUSY ? STATES_STARTED : STATES_PAUSED;
}

static void states_cell(struct kunit *test, const struct states_verb *verb,
			const struct states_way *way)
{
	const struct states_cell *cell = &verb->in[way->to];
	enum states_state then = cell->then == STATES_STAYS ? way->to : cell->then;
	struct kdtl_session *s = states_session(test, verb);
	ssize_t ret;

	if (!s)
		return;
	way->go(s);
	KUNIT_EXPECT_FALSE_MSG(test, cell->out, "%s in %s: no cell", verb->name,
			       states_names[way->to]);
	if (then == STATES_CLOSED)
		test->priv = NULL;
	ret = verb->call(s);
	if (cell->ret)
		KUNIT_EXPECT_EQ_MSG(test, ret, (ssize_t)cell->ret, "%s in %s (%s)",
				    verb->name, states_names[way->to], way->name);
	else if (cell->empty || (!way->data && states_is_empty(verb, ret)))
		KUNIT_EXPECT_TRUE_MSG(test, states_is_empty(verb, ret),
				      "%s in %s (%s): %zd", verb->name,
				      states_names[way->to], way->name, ret);
	else
		KUNIT_EXPECT_GE_MSG(test, ret, (ssize_t)0, "%s in %s (%s)",
				    verb->name, states_names[way->to], way->name);
	if (then == STATES_CLOSED)
		return;

	/* kdtl_restart() does not start a session that was stopped while paused. */
	if (way->stopped && then == STATES_STARTED)
		then = STATES_STOPPED;
	KUNIT_EXPECT_EQ_MSG(test, states_probe(s, then), then,
			    "after %s in %s (%s)", verb->name,
			    states_names[way->to], way->name);
	kapi_close(test);
}

static void states_table(struct kunit *test)
{
	unsigned int v, w;

	for (v = 0; v < ARRAY_SIZE(states_verbs); v++) {
		for (w = 0; w < ARRAY_SIZE(states_ways); w++)
			states_cell(test, &states_verbs[v], &states_ways[w]);
	}
	kunit_info(test, "%zu verbs in %zu states, reached in %zu ways",
		   ARRAY_SIZE(states_verbs), (size_t)STATES_NR + 1,
		   ARRAY_SIZE(states_ways) + 1);
}

/* A verb that reads finds data exactly after those ways that leave some. */
static void states_data(struct kunit *test)
{
	unsigned int v, w;
	ssize_t ret;

	for (v = 0; v < ARRAY_SIZE(states_verbs); v++) {
		const struct states_verb *verb = &states_verbs[v];

		if (verb->call != do_kdtl_read && verb->call != do_kdtl_wait &&
		    verb->call != do_kdtl_aux_peek &&
		    verb->call != do_kdtl_aux_consume &&
		    verb->call != do_kdtl_aux_snapshot &&
		    verb->call != do_kdtl_merge_next)
			continue;
		for (w = 0; w < ARRAY_SIZE(states_ways); w++) {
			struct kdtl_session *s = states_session(test, verb);

			if (!s)
				return;
			states_ways[w].go(s);
			ret = verb->call(s);
			KUNIT_EXPECT_EQ_MSG(test, ret > 0, states_ways[w].data,
					    "%s (%s): %zd", verb->name,
					    states_ways[w].name, ret);
			kapi_close(test);
		}
	}
}

static struct kunit *states_test;
static unsigned int states_closing_cells;

static void states_check_closing(struct kdtl_session *s)
{
	unsigned int v;

	for (v = 0; v < ARRAY_SIZE(states_verbs); v++) {
		const struct states_verb *verb = &states_verbs[v];

		if (verb->closing.out)
			continue;
		states_closing_cells++;
		KUNIT_EXPECT_EQ_MSG(states_test, verb->call(s),
				    (ssize_t)verb->closing.ret,
				    "%s while closing", verb->name);
	}
}

/* kdtl_session_close() calls detach() near its end; all verbs are called there. */
static void states_closing_table(struct kunit *test)
{
	unsigned int w;

	states_test = test;
	states_while_closing = states_check_closing;
	for (w = 0; w < ARRAY_SIZE(states_ways); w++) {
		states_closing = states_session(test, &states_verbs[0]);
		if (!states_closing)
			break;
		states_ways[w].go(states_closing);
		states_closing_cells = 0;
		kapi_close(test);
		KUNIT_EXPECT_GT(test, states_closing_cells, 10U);
	}
	states_while_closing = NULL;
}

static int states_suite_init(struct kunit_suite *suite)
{
	return kdtl_pmu_register(&states_pmu);
}

static void states_suite_exit(struct kunit_suite *suite)
{
	kdtl_pmu_unregister(&states_pmu);
}

static struct kunit_case states_cases[] = {
	KUNIT_CASE(states_table),
	KUNIT_CASE(states_data),
	KUNIT_CASE(states_closing_table),
	{}
};

struct kunit_suite kdtl_states_suite = {
	.name		= "kdtl_states",
	.suite_init	= states_suite_init,
	.suite_exit	= states_suite_exit,
	.init		= kapi_init,
	.exit		= kapi_exit,
	.test_cases	= states_cases,
};
