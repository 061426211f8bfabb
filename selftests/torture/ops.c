// SPDX-License-Identifier: GPL-2.0
/* kdtl_torture: random verbs, on sessions that other threads use too. */
#include <linux/delay.h>
#include <linux/perf_event.h>

#include "torture.h"

/* torture_op_desc::flags */
#define OP_WILD		0x01	/* not for a steady session: changes what is logged */
#define OP_ALONE	0x02	/* no other verb may run in the session meanwhile */
#define OP_SLEEPS	0x04	/* may sleep long, so it does not hold the slot's verbs */
#define OP_VERB		0x08	/* is a single verb, which holds the session itself */

/* Returns a random CPU, which may be offline. */
static int op_cpu(struct torture_thread *t)
{
	return cpumask_next(torture_random(t, nr_cpu_ids) - 1, cpu_possible_mask) %
		nr_cpu_ids;
}

static int op_load(struct torture_thread *t, struct torture_slot *slot,
		   struct kdtl_session *s)
{
	return torture_load(slot, s);
}

static int op_unload(struct torture_thread *t, struct torture_slot *slot,
		     struct kdtl_session *s)
{
	return kdtl_unload(s);
}

static int op_start(struct torture_thread *t, struct torture_slot *slot,
		    struct kdtl_session *s)
{
	return kdtl_start(s);
}

static int op_stop(struct torture_thread *t, struct torture_slot *slot,
		   struct kdtl_session *s)
{
	return kdtl_stop(s);
}

static int op_restart(struct torture_thread *t, struct torture_slot *slot,
		      struct kdtl_session *s)
{
	return kdtl_restart(s);
}

/* Returns a random event set that exists; the caller holds sets_lock. */
static u16 op_set(struct torture_thread *t, struct torture_slot *slot)
{
	const u16 set = torture_random(t, TORTURE_SETS);

	return slot->sets & BIT(set) ? set : 0;
}

static int op_write_config(struct torture_thread *t, struct torture_slot *slot,
			   struct kdtl_session *s)
{
	struct kdtl_config req = {
		.mask	= torture_random(t, TORTURE_MASKS + 1),
		.period	= torture_random(t, 3) ? 0 : 200000,
	};
	int err;

	mutex_lock(&slot->sets_lock);
	req.set = op_set(t, slot);
	err = kdtl_write_config(s, &req, 1);
	mutex_unlock(&slot->sets_lock);
	return err;
}

/* Never writes the two counters that torture_check() compares. */
static int op_write_counters(struct torture_thread *t, struct torture_slot *slot,
			     struct kdtl_session *s)
{
	const u64 start = -(u64)torture_random(t, 300);
	struct kdtl_counter_req req = {
		.counter	= KDTL_CTR_CEDE + torture_random(t, 4),
		.flags		= torture_random(t, 4),
		.value		= start,
		.long_reset	= start,
		.short_reset	= start,
		.random_mask	= 15,
		.resets		= torture_random(t, 2) ? BIT(KDTL_CTR_QUEUED) : 0,
	};
	int err;

	mutex_lock(&slot->sets_lock);
	req.set = op_set(t, slot);
	err = kdtl_write_counters(s, &req, 1);
	mutex_unlock(&slot->sets_lock);
	return err;
}

static int op_read_counters(struct torture_thread *t, struct torture_slot *slot,
			    struct kdtl_session *s)
{
	struct kdtl_counter_req req = {
		.counter	= torture_random(t, KDTL_NR_COUNTERS),
		.cpu		= torture_random(t, 2) ? op_cpu(t) : -1,
	};
	int err;

	mutex_lock(&slot->sets_lock);
	req.set = op_set(t, slot);
	err = kdtl_read_counters(s, &req, 1);
	mutex_unlock(&slot->sets_lock);
	return err;
}

static int op_create_evtsets(struct torture_thread *t, struct torture_slot *slot,
			     struct kdtl_session *s)
{
	struct kdtl_evtset req = { .id = torture_random(t, TORTURE_SETS) };
	int err = 0;

	if (torture_random(t, 2))
		req.timeout = 200000 + torture_random(t, 2000000);
	else
		req.overflows = 1 + torture_random(t, 3);
	mutex_lock(&slot->sets_lock);
	if (!req.id || !(slot->sets & BIT(req.id)))
		err = kdtl_create_evtsets(s, &req, 1);
	if (!err)
		slot->sets |= BIT(req.id);
	mutex_unlock(&slot->sets_lock);
	return err;
}

static int op_delete_evtsets(struct torture_thread *t, struct torture_slot *slot,
			     struct kdtl_session *s)
{
	struct kdtl_evtset req;
	int err = 0;

	mutex_lock(&slot->sets_lock);
	req.id = op_set(t, slot);
	if (req.id) {
		err = kdtl_delete_evtsets(s, &req, 1);
		if (!err) {
			slot->sets &= ~BIT(req.id);
			slot->sets_gone = true;
		}
	}
	mutex_unlock(&slot->sets_lock);
	return err;
}

static int op_getinfo_evtsets(struct torture_thread *t, struct torture_slot *slot,
			      struct kdtl_session *s)
{
	struct kdtl_evtset_info req = { .cpu = torture_random(t, 2) ? op_cpu(t) : -1 };
	int err;

	mutex_lock(&slot->sets_lock);
	req.id = op_set(t, slot);
	err = kdtl_getinfo_evtsets(s, &req, 1);
	mutex_unlock(&slot->sets_lock);
	return err;
}

static int op_read(struct torture_thread *t, struct torture_slot *slot,
		   struct kdtl_session *s)
{
	struct kdtl_msg msg;
	const int ret = kdtl_read(s, &msg, sizeof(msg), true);

	return ret == sizeof(msg) ? 0 : ret;
}

static int op_read_wait(struct torture_thread *t, struct torture_slot *slot,
			struct kdtl_session *s)
{
	struct kdtl_msg msg;
	const int ret = kdtl_read(s, &msg, sizeof(msg), false);

	return ret == sizeof(msg) ? 0 : ret;
}

static int op_wait(struct torture_thread *t, struct torture_slot *slot,
		   struct kdtl_session *s)
{
	const int ret = kdtl_wait(s, torture_random(t, HZ / 10));

	return min(ret, 0);
}

static int op_read_aux(struct torture_thread *t, struct torture_slot *slot,
		       struct kdtl_session *s)
{
	if (slot->flags & TORTURE_OVERWRITE)
		torture_snapshot(t, slot, s, op_cpu(t));
	else
		torture_drain(t, slot, s, op_cpu(t), torture_random(t, 2) ?
			      TORTURE_ALL : TORTURE_DAWDLE);
	return 0;
}

static int op_chase(struct torture_thread *t, struct torture_slot *slot,
		    struct kdtl_session *s)
{
	const int cpu = op_cpu(t);
	unsigned int i;

	/* Entries of this CPU are not chased: none are written while this thread runs. */
	if (slot->flags & TORTURE_OVERWRITE || cpu == raw_smp_processor_id())
		return 0;
	for (i = 0; i < 8; i++)
		torture_drain(t, slot, s, cpu, TORTURE_CHASE);
	return 0;
}

static int op_aux_info(struct torture_thread *t, struct torture_slot *slot,
		       struct kdtl_session *s)
{
	torture_look(slot, s, op_cpu(t));
	return 0;
}

static int op_check(struct torture_thread *t, struct torture_slot *slot,
		    struct kdtl_session *s)
{
	torture_check(slot, s);
	return 0;
}

/**
 * struct torture_op_desc - something that a thread may do
 * @name: its name
 * @weight: how often it is chosen, relative to the others
 * @flags: OP_*
 * @may: what it may return beside 0
 * @fn: the function that does it
 */
struct torture_op_desc {
	const char	*name;
	unsigned int	weight;
	unsigned int	flags;
	int		may[3];
	int		(*fn)(struct torture_thread *t, struct torture_slot *slot,
			      struct kdtl_session *s);
};

static const struct torture_op_desc torture_ops[] = {
	{ "load", 12, OP_WILD | OP_ALONE, { -EBUSY }, op_load },
	{ "unload", 3, OP_WILD | OP_VERB, {}, op_unload },
	{ "start", 20, OP_WILD | OP_VERB, { -EINVAL, -EBUSY }, op_start },
	{ "stop", 8, OP_WILD | OP_VERB, { -EINVAL }, op_stop },
	{ "restart", 8, OP_WILD | OP_VERB, { -EINVAL, -EBUSY }, op_restart },
	{ "write_config", 4, OP_WILD, { -EBUSY }, op_write_config },
	{ "write_counters", 4, OP_WILD, { -EBUSY }, op_write_counters },
	{ "read_counters", 8, 0, {}, op_read_counters },
	{ "create_evtsets", 4, OP_WILD, { -EBUSY }, op_create_evtsets },
	{ "delete_evtsets", 2, OP_WILD, { -EBUSY }, op_delete_evtsets },
	{ "getinfo_evtsets", 4, 0, {}, op_getinfo_evtsets },
	{ "read", 8, OP_WILD | OP_VERB, { -EAGAIN }, op_read },
	{ "read_wait", 1, OP_WILD | OP_SLEEPS | OP_VERB, {}, op_read_wait },
	{ "wait", 4, OP_WILD | OP_SLEEPS | OP_VERB, { -ETIMEDOUT }, op_wait },
	{ "read_aux", 80, 0, {}, op_read_aux },
	{ "chase", 30, 0, {}, op_chase },
	{ "aux_info", 10, 0, {}, op_aux_info },
	{ "check", 2, OP_WILD | OP_ALONE, {}, op_check },
};

static struct {
	atomic_long_t	good;
	atomic_long_t	refused;
} torture_done[ARRAY_SIZE(torture_ops)];

static unsigned int torture_pick(struct torture_thread *t)
{
	unsigned int i, sum = 0;
	u32 luck;

	for (i = 0; i < ARRAY_SIZE(torture_ops); i++)
		sum += torture_ops[i].weight;
	luck = torture_random(t, sum);
	for (i = 0; luck >= torture_ops[i].weight; i++)
		luck -= torture_ops[i].weight;
	return i;
}

static bool torture_may(const struct torture_op_desc *op, int ret)
{
	unsigned int i;

	/* The session may be closed while the thread sleeps in the verb. */
	if (!ret || (ret == -ESHUTDOWN && op->flags & OP_VERB))
		return true;
	for (i = 0; i < ARRAY_SIZE(op->may); i++) {
		if (op->may[i] == ret)
			return true;
	}
	return false;
}

static void torture_lock(struct torture_slot *slot, unsigned int flags)
{
	if (flags & OP_ALONE)
		down_write(&slot->verbs);
	else if (!(flags & OP_SLEEPS))
		down_read(&slot->verbs);
}

static void torture_unlock(struct torture_slot *slot, unsigned int flags)
{
	if (flags & OP_ALONE)
		up_write(&slot->verbs);
	else if (!(flags & OP_SLEEPS))
		up_read(&slot->verbs);
}

/**
 * torture_op() - do something with a slot's session
 * @t: the thread that calls
 * @slot: the slot
 */
void torture_op(struct torture_thread *t, struct torture_slot *slot)
{
	const unsigned int i = torture_pick(t);
	const struct torture_op_desc *op = &torture_ops[i];
	struct kdtl_session *s;
	int ret;

	if (op->flags & OP_WILD && slot->flags & TORTURE_STEADY)
		return;
	torture_lock(slot, op->flags);
	s = torture_enter(t, slot);
	if (!s)
		goto unlock;
	WRITE_ONCE(t->in_verb, op->flags & OP_VERB);
	ret = op->fn(t, slot, s);
	WRITE_ONCE(t->in_verb, false);
	torture_leave(t);
	if (!torture_may(op, ret))
		torture_err(TORTURE_VERB, "slot %u: %s: %d", slot->id, op->name, ret);
	atomic_long_inc(ret ? &torture_done[i].refused : &torture_done[i].good);
unlock:
	torture_unlock(slot, op->flags);
}

/**
 * torture_ops_show() - tell how often each thing was done, and how often it was refused
 * @buf: is filled with NAME=GOOD/REFUSED...
 * @size: the size of @buf
 */
void torture_ops_show(char *buf, size_t size)
{
	unsigned int i;
	int len = 0;

	for (i = 0; i < ARRAY_SIZE(torture_ops); i++)
		len += scnprintf(buf + len, size - len, " %s=%ld/%ld", torture_ops[i].name,
				 atomic_long_read(&torture_done[i].good),
				 atomic_long_read(&torture_done[i].refused));
}
