// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_fake_hv - plays the hypervisor that writes the dispatch trace log
 *
 * It is for a machine whose hypervisor accepts H_REGISTER_VPA for a log and
 * never writes to it, like QEMU's software emulation.  This module then writes
 * the entries and counts them in lppaca::dtl_idx, in the order that KVM's
 * __kvmppc_create_dtl_entry() does, or wrongly in ways that a test asks for.
 *
 * It learns where the log is as a hypervisor does: from the hypervisor call,
 * through the kernel's own hcall_entry and hcall_exit tracepoints.  kdtl_vpa
 * needs no knowledge of this module, and its hypervisor calls are tested as well.
 * This module writes to a log only after the call that registers it has ended:
 * during the call the machine's own hypervisor reads the log's size from the
 * first entry.  A kprobe makes hypervisor calls fail.
 *
 * To detect other writers it keeps a copy of the log, and fills the log with a
 * pattern after the last slot.  To detect writes around the log, boot with
 * slub_debug=FZPU.
 *
 * Driven by selftests/guest/fakehv.sh through debugfs, kdtl_fake_hv/:
 *
 * ctl, write only:
 *	play CPU STEP...	do the steps on the CPU in one go, interrupts off
 *	within CPU STEP...	do the steps once, as soon as the driver hands out entries and
 *				finds that one of them is wrong
 *	run CPU FROM NS N	write N entries every NS ns until halt: if FROM is
 *				CPU, by a timer, which never runs while the log is
 *				read; else by a thread on CPU FROM, at any time
 *	halt CPU		undo run
 *	refuse REG DEREG	registering a log returns REG, giving it back DEREG
 *				(0, as after loading: they work)
 *	limit BYTES		larger logs are refused with H_PARAMETER (0: none are)
 *
 * STEP is one of fakehv_ops. A =N behind it says how often, or how much.
 *
 * info: a line of key=value for each CPU.
 */
#define pr_fmt(fmt) "kdtl_fake_hv: " fmt

#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/hrtimer.h>
#include <linux/kdtl_probes.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <asm/dtl.h>
#include <asm/firmware.h>
#include <asm/hvcall.h>
#include <asm/lppaca.h>
#include <asm/paca.h>
#include <asm/time.h>

#include "../../core/compat.h"
#include "kdtl_fake_hv.h"
#include "line.h"

#define FAKEHV_MAX_LOG		SZ_64K
#define FAKEHV_OTHER_LOG	DISPATCH_LOG_BYTES
#define FAKEHV_MAX_STEPS	8
#define FAKEHV_PATTERN		0x5a

/**
 * enum fakehv_op - what the hypervisor does
 * @FAKEHV_PUT: write n entries and count each
 * @FAKEHV_HALF: write n entries only up to their time base, which stays old; count each
 * @FAKEHV_ZERO: write and count n entries with time base 0
 * @FAKEHV_OLD: write and count n entries with the time base of the one before
 * @FAKEHV_FUTURE: write and count n entries from an hour ahead
 * @FAKEHV_WRITE: write n entries, count none yet
 * @FAKEHV_COUNT: count n entries that FAKEHV_WRITE wrote
 * @FAKEHV_SKIP: count n entries that are not written
 * @FAKEHV_JUMP: add n to the count, at once
 * @FAKEHV_UNMASK: clear the enable mask
 * @FAKEHV_TAKE: clear the enable mask and forget the log, as if someone else had taken it
 * @FAKEHV_STEAL: register someone else's log instead, with the mask n
 */
enum fakehv_op {
	FAKEHV_PUT,
	FAKEHV_HALF,
	FAKEHV_ZERO,
	FAKEHV_OLD,
	FAKEHV_FUTURE,
	FAKEHV_WRITE,
	FAKEHV_COUNT,
	FAKEHV_SKIP,
	FAKEHV_JUMP,
	FAKEHV_UNMASK,
	FAKEHV_TAKE,
	FAKEHV_STEAL,
};

static const char * const fakehv_ops[] = {
	[FAKEHV_PUT]	= "put",
	[FAKEHV_HALF]	= "half",
	[FAKEHV_ZERO]	= "zero",
	[FAKEHV_OLD]	= "old",
	[FAKEHV_FUTURE]	= "future",
	[FAKEHV_WRITE]	= "write",
	[FAKEHV_COUNT]	= "count",
	[FAKEHV_SKIP]	= "skip",
	[FAKEHV_JUMP]	= "jump",
	[FAKEHV_UNMASK]	= "unmask",
	[FAKEHV_TAKE]	= "take",
	[FAKEHV_STEAL]	= "steal",
};

/**
 * struct fakehv_step - what to do, and how often
 * @op: what
 * @n: see enum fakehv_op
 */
struct fakehv_step {
	enum fakehv_op	op;
	u64		n;
};

/**
 * struct fakehv_cpu - a CPU's hypervisor
 * @lock: protects all but @timer, @writer, @ns and @burst
 * @offered: the log that is being registered, until the call returns
 * @log: the log that it writes to; NULL: none is registered
 * @kept: another log may replace @log: its return was refused, or its mask was cleared
 * @stolen: @log is @other
 * @other: someone else's log
 * @copy: what @log must contain
 * @bytes: size of the log
 * @slots: entries in it
 * @index: dispatches since the log was registered, as the guest sees them
 * @slot: where the next entry goes
 * @uncounted: entries written and not yet counted
 * @seq: number of the next entry
 * @last_tb: time base of the entry before
 * @counted: dispatches since the module was loaded, without jumps
 * @registrations: how many there were
 * @refusals: calls about a log that were refused
 * @complaint: what was wrong about a registration or the log, or NULL
 * @timer: writes entries, on this CPU
 * @writer: writes entries, on another CPU
 * @ns: ns between bursts
 * @burst: entries at a time
 */
struct fakehv_cpu {
	raw_spinlock_t		lock;
	struct kdtl_entry	*offered;
	struct kdtl_entry	*log;
	bool			kept;
	bool			stolen;
	struct kdtl_entry	other[FAKEHV_OTHER_LOG / sizeof(struct kdtl_entry)];
	u8			copy[FAKEHV_MAX_LOG];
	unsigned int		bytes;
	unsigned int		slots;
	u64			index;
	unsigned int		slot;
	u64			uncounted;
	u64			seq;
	u64			last_tb;
	u64			counted;
	u64			registrations;
	u64			refusals;
	const char		*complaint;
	struct hrtimer		timer;
	struct task_struct	*writer;
	u64			ns;
	unsigned int		burst;
};

static bool papr;
module_param(papr, bool, 0644);
MODULE_PARM_DESC(papr, "write only reasons that PAPR defines, which the perf tool's decoder needs (default 0)");

static struct fakehv_cpu *cpus;		/* by CPU */
static long refuse_reg, refuse_dereg;
static unsigned int limit;
static DEFINE_MUTEX(ctl_lock);		/* one command at a time */
static struct dentry *fakehv_dir;

/* ------------------------------------------------------- writing to the log */

static void fakehv_complain(struct fakehv_cpu *c, const char *complaint)
{
	if (!c->complaint)
		c->complaint = complaint;
}

static void fakehv_check_log(struct fakehv_cpu *c)
{
	if (c->log && memcmp(c->log, c->copy, c->bytes))
		fakehv_complain(c, "someone else wrote to the log");
}

static void fakehv_write(struct fakehv_cpu *c, int cpu, enum fakehv_op op)
{
	const u64 seq = c->seq++;
	struct kdtl_entry *e = &c->log[c->slot];
	u64 tb = max(get_tb(), c->last_tb + 1);

	/* Without papr, 2^16 entries in a row have every pair of codes there is, PAPR's or not. */
	e->dispatch_reason = papr ? seq % (KDTL_DISPATCH_PRIV_DOORBELL + 1) : seq;
	e->preempt_reason = papr ? seq % (KDTL_PREEMPT_HDEC_ADJUNCT + 1) : seq + (seq >> 8);
	e->processor_id = cpu_to_be16(cpu);
	e->enqueue_to_dispatch_time = cpu_to_be32(seq * 3);
	e->ready_to_enqueue_time = cpu_to_be32(seq * 5);
	e->waiting_to_ready_time = cpu_to_be32(~seq);
	if (op == FAKEHV_HALF)
		goto written;

	if (op == FAKEHV_ZERO)
		tb = 0;
	else if (op == FAKEHV_OLD)
		tb = c->last_tb;
	else if (op == FAKEHV_FUTURE)
		tb += 3600ULL * tb_ticks_per_sec;
	else
		c->last_tb = tb;
	e->timebase = cpu_to_be64(tb);
	e->fault_addr = cpu_to_be64(~seq);
	e->srr0 = cpu_to_be64(seq);
	e->srr1 = cpu_to_be64(fakehv_sum(e));
written:
	memcpy(c->copy + c->slot * sizeof(*e), e, sizeof(*e));
	if (++c->slot == c->slots)
		c->slot = 0;
	c->uncounted++;
}

static void fakehv_tell(struct fakehv_cpu *c, int cpu, u64 more)
{
	c->index += more;
	/* The entries are there before the index. Pairs with V in kdtl_vpa_fresh(). */
	virt_wmb();
	WRITE_ONCE(lppaca_of(cpu).dtl_idx, cpu_to_be64(c->index));
}

static void fakehv_count(struct fakehv_cpu *c, int cpu)
{
	c->uncounted--;
	c->counted++;
	fakehv_tell(c, cpu, 1);
}

static void fakehv_step(struct fakehv_cpu *c, int cpu, const struct fakehv_step *s)
{
	u64 i;

	switch (s->op) {
	case FAKEHV_PUT:
	case FAKEHV_HALF:
	case FAKEHV_ZERO:
	case FAKEHV_OLD:
	case FAKEHV_FUTURE:
		for (i = 0; i < s->n; i++) {
			fakehv_write(c, cpu, s->op);
			fakehv_count(c, cpu);
		}
		break;
	case FAKEHV_WRITE:
		for (i = 0; i < s->n; i++)
			fakehv_write(c, cpu, FAKEHV_PUT);
		break;
	case FAKEHV_COUNT:
		for (i = 0; i < s->n && c->uncounted; i++)
			fakehv_count(c, cpu);
		break;
	case FAKEHV_SKIP:
		c->slot = (c->slot + s->n) % c->slots;
		c->counted += s->n;
		fakehv_tell(c, cpu, s->n);
		break;
	case FAKEHV_JUMP:
		fakehv_tell(c, cpu, s->n);
		c->slot = c->index % c->slots;
		break;
	case FAKEHV_STEAL:
		c->stolen = true;
		c->log = c->other;
		c->bytes = sizeof(c->other);
		c->slots = ARRAY_SIZE(c->other);
		memcpy(c->copy, c->other, c->bytes);
		c->index = 0;
		c->slot = 0;
		c->uncounted = 0;
		WRITE_ONCE(lppaca_of(cpu).dtl_idx, 0);
		WRITE_ONCE(lppaca_of(cpu).dtl_enable_mask, s->n);
		break;
	case FAKEHV_TAKE:
		c->stolen = false;
		c->log = NULL;
		fallthrough;
	case FAKEHV_UNMASK:
		/* A driver that finds the mask cleared registers the log again. */
		c->kept = true;
		WRITE_ONCE(lppaca_of(cpu).dtl_enable_mask, 0);
		break;
	}
}

/* A hypervisor runs while its virtual processor does not: interrupts are off. */
static bool fakehv_steps(int cpu, const struct fakehv_step *steps, unsigned int nr)
{
	struct fakehv_cpu *c = &cpus[cpu];
	unsigned long flags;
	unsigned int i;
	bool registered;

	raw_spin_lock_irqsave(&c->lock, flags);
	registered = c->log;
	for (i = 0; c->log && i < nr; i++)
		fakehv_step(c, cpu, &steps[i]);
	raw_spin_unlock_irqrestore(&c->lock, flags);
	return registered;
}

/**
 * struct fakehv_play - steps for a CPU
 * @cpu: the CPU
 * @steps: what to do
 * @nr: how many
 * @registered: there was a log to write to
 */
struct fakehv_play {
	int			cpu;
	struct fakehv_step	steps[FAKEHV_MAX_STEPS];
	unsigned int		nr;
	bool			registered;
};

static void fakehv_play_cpu(void *arg)
{
	struct fakehv_play *play = arg;

	play->registered = fakehv_steps(smp_processor_id(), play->steps, play->nr);
}

static int fakehv_parse(struct fakehv_play *play, char *words)
{
	struct fakehv_step *s;
	char *word, *op;
	int err;

	while ((word = strsep(&words, " "))) {
		if (play->nr == FAKEHV_MAX_STEPS)
			return -E2BIG;
		s = &play->steps[play->nr++];
		op = strsep(&word, "=");
		err = match_string(fakehv_ops, ARRAY_SIZE(fakehv_ops), op);
		if (err < 0)
			return err;
		s->op = err;
		s->n = 1;
		/* A jump may go back, so the number may be negative. */
		err = word ? kstrtos64(word, 0, (s64 *)&s->n) : 0;
		if (err)
			return err;
	}
	return 0;
}

static int fakehv_play(int cpu, char *words)
{
	struct fakehv_play play = { .cpu = cpu };
	int err;

	err = fakehv_parse(&play, words) ?:
	      smp_call_function_single(cpu, fakehv_play_cpu, &play, 1);
	return err ?: play.registered ? 0 : -ENODEV;
}

/*
 * These steps are what others write while a virtual processor stands still between two steps of
 * a poll.  It is enough to do them where the driver, while it hands out what it has copied, counts
 * one entry as lost.
 */
static struct fakehv_play within;

static int fakehv_within_pre(struct kprobe *kp, struct pt_regs *regs)
{
	/* The number that kdtl_pmu_lost() gets: it is more than 1 for entries that were lapped. */
	if (regs->gpr[4] == 1 && raw_smp_processor_id() == READ_ONCE(within.cpu)) {
		WRITE_ONCE(within.cpu, -1);
		fakehv_steps(raw_smp_processor_id(), within.steps, within.nr);
	}
	return 0;
}

static struct kprobe fakehv_within_kprobe = {
	.symbol_name	= "kdtl_pmu_lost",
	.pre_handler	= fakehv_within_pre,
};

static void fakehv_within_end(void)
{
	if (fakehv_within_kprobe.addr)
		unregister_kprobe(&fakehv_within_kprobe);
	fakehv_within_kprobe.addr = NULL;
	fakehv_within_kprobe.flags = 0;
}

static int fakehv_within(int cpu, char *words)
{
	int err;

	fakehv_within_end();
	within = (struct fakehv_play){ .cpu = cpu };
	err = fakehv_parse(&within, words) ?: register_kprobe(&fakehv_within_kprobe);
	if (err)
		fakehv_within_kprobe.addr = NULL;
	return err;
}

/* -------------------------------------------------------------- at any rate */

static enum hrtimer_restart fakehv_timer(struct hrtimer *timer)
{
	struct fakehv_cpu *c = container_of(timer, struct fakehv_cpu, timer);
	const struct fakehv_step put = { FAKEHV_PUT, c->burst };

	fakehv_steps(c - cpus, &put, 1);
	hrtimer_forward_now(timer, ns_to_ktime(c->ns));
	return HRTIMER_RESTART;
}

static void fakehv_timer_start(void *arg)
{
	struct fakehv_cpu *c = arg;

	hrtimer_start(&c->timer, ns_to_ktime(c->ns), HRTIMER_MODE_REL_PINNED_HARD);
}

static int fakehv_writer(void *arg)
{
	struct fakehv_cpu *c = arg;
	const struct fakehv_step put = { FAKEHV_PUT, c->burst };
	const u64 pause = mul_u64_u64_div_u64(c->ns, tb_ticks_per_sec, NSEC_PER_SEC);
	u64 tb;

	while (!kthread_should_stop()) {
		fakehv_steps(c - cpus, &put, 1);
		tb = get_tb();
		do {
			cond_resched();
		} while (get_tb() - tb < pause);
	}
	return 0;
}

static int fakehv_run(int cpu, int from, u64 ns, unsigned int burst)
{
	struct fakehv_cpu *c = &cpus[cpu];
	struct task_struct *writer;

	if (c->writer || hrtimer_active(&c->timer))
		return -EBUSY;
	c->ns = ns;
	c->burst = burst;
	if (from == cpu)
		return smp_call_function_single(cpu, fakehv_timer_start, c, 1);

	writer = kthread_create_on_cpu(fakehv_writer, c, from, "kdtl_fake_hv/%u");
	if (IS_ERR(writer))
		return PTR_ERR(writer);
	c->writer = writer;
	wake_up_process(writer);
	return 0;
}

static void fakehv_halt(int cpu)
{
	struct fakehv_cpu *c = &cpus[cpu];

	hrtimer_cancel(&c->timer);
	if (c->writer)
		kthread_stop(c->writer);
	c->writer = NULL;
}

/* -------------------------------------------------------- hypervisor calls */

static u32 fakehv_log_size(u64 addr)
{
	const struct kdtl_entry *log = __va(addr);

	/* According to PAPR, the second word is the log's size. */
	return be32_to_cpu(log->enqueue_to_dispatch_time);
}

static void fakehv_offer(struct fakehv_cpu *c, u64 addr)
{
	struct kdtl_entry *log = __va(addr);

	c->registrations++;
	/*
	 * Registering the same log again starts over: a driver does so if its
	 * mask was cleared.
	 */
	if (c->log && c->log != log && !c->kept)
		fakehv_complain(c, "a log is registered over another");
	c->log = NULL;
	c->offered = log;
}

static void fakehv_register(struct fakehv_cpu *c)
{
	struct kdtl_entry *log = c->offered;
	u32 size = fakehv_log_size(__pa(log));

	if (!is_power_of_2(size) || size < DISPATCH_LOG_BYTES || size > FAKEHV_MAX_LOG) {
		fakehv_complain(c, "no good size for a log");
		return;
	}
	if (!IS_ALIGNED(__pa(log), size))
		fakehv_complain(c, "the log is not aligned to its size");
	c->bytes = size;
	c->slots = size / sizeof(*log);
	memset(&log[c->slots], FAKEHV_PATTERN, size % sizeof(*log));
	memcpy(c->copy, log, size);
	c->index = 0;
	c->slot = 0;
	c->seq = 0;
	c->uncounted = 0;
	c->kept = false;
	c->stolen = false;
	c->log = log;
}

static void fakehv_deregister(struct fakehv_cpu *c)
{
	if (!c->log)
		fakehv_complain(c, "no log is there to be given back");
	if (c->stolen)
		fakehv_complain(c, "someone else's log is given back");
	fakehv_check_log(c);
	c->log = NULL;
}

static struct fakehv_cpu *fakehv_of(unsigned long hw)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		if (get_hard_smp_processor_id(cpu) == hw)
			return &cpus[cpu];
	}
	return NULL;
}

static void fakehv_hcall_entry(void *unused, unsigned long opcode, unsigned long *args)
{
	struct fakehv_cpu *c;
	unsigned long func, flags;

	if (opcode != H_REGISTER_VPA)
		return;
	func = (args[0] >> H_VPA_FUNC_SHIFT) & H_VPA_FUNC_MASK;
	if (func != H_VPA_REG_DTL && func != H_VPA_DEREG_DTL)
		return;
	c = fakehv_of(args[1]);
	if (!c)
		return;
	raw_spin_lock_irqsave(&c->lock, flags);
	if (func == H_VPA_REG_DTL)
		fakehv_offer(c, args[2]);
	else
		fakehv_deregister(c);
	raw_spin_unlock_irqrestore(&c->lock, flags);
}

/*
 * A CPU registers its own log with interrupts off: no other call comes in
 * between.
 */
static void fakehv_hcall_exit(void *unused, unsigned long opcode, long retval,
			      unsigned long *retbuf)
{
	struct fakehv_cpu *c = &cpus[raw_smp_processor_id()];
	unsigned long flags;

	if (opcode != H_REGISTER_VPA)
		return;
	raw_spin_lock_irqsave(&c->lock, flags);
	if (c->offered && !retval)
		fakehv_register(c);
	c->offered = NULL;
	raw_spin_unlock_irqrestore(&c->lock, flags);
}

/* A log whose return was refused is still written to. */
static int fakehv_refuse_pre(struct kprobe *kp, struct pt_regs *regs)
{
	const unsigned long func = (regs->gpr[4] >> H_VPA_FUNC_SHIFT) & H_VPA_FUNC_MASK;
	struct fakehv_cpu *c;
	unsigned int max;
	long rc = 0;

	if (regs->gpr[3] != H_REGISTER_VPA)
		return 0;
	if (func == H_VPA_REG_DTL) {
		rc = READ_ONCE(refuse_reg);
		max = READ_ONCE(limit);
		if (!rc && max && fakehv_log_size(regs->gpr[6]) > max)
			rc = H_PARAMETER;
	} else if (func == H_VPA_DEREG_DTL) {
		rc = READ_ONCE(refuse_dereg);
	}
	if (!rc)
		return 0;
	c = fakehv_of(regs->gpr[5]);
	if (c) {
		c->refusals++;
		c->kept |= func == H_VPA_DEREG_DTL;
	}
	/* Return to the caller, with the refusal. */
	regs->gpr[3] = rc;
	regs_set_return_ip(regs, regs->link);
	return 1;
}

/*
 * The post handler makes the probe a trap, so the pre handler can change where
 * execution goes on.
 */
static void fakehv_refuse_post(struct kprobe *kp, struct pt_regs *regs,
			       unsigned long flags)
{
}

static struct kprobe fakehv_kprobe = {
	.symbol_name	= "plpar_hcall_norets",
	.pre_handler	= fakehv_refuse_pre,
	.post_handler	= fakehv_refuse_post,
};

/* ------------------------------------------------------------------ debugfs */

static bool fakehv_is_cpu(unsigned int cpu)
{
	return cpu < nr_cpu_ids && cpu_possible(cpu);
}

static int fakehv_command(char *cmd)
{
	unsigned int cpu, from, n;
	long reg, dereg;
	u64 ns;
	int at = 0;

	if (sscanf(cmd, "play %u %n", &cpu, &at) == 1 && at && fakehv_is_cpu(cpu))
		return fakehv_play(cpu, cmd + at);
	if (sscanf(cmd, "within %u %n", &cpu, &at) == 1 && at && fakehv_is_cpu(cpu))
		return fakehv_within(cpu, cmd + at);
	if (sscanf(cmd, "run %u %u %llu %u", &cpu, &from, &ns, &n) == 4 &&
	    fakehv_is_cpu(cpu) && fakehv_is_cpu(from))
		return fakehv_run(cpu, from, ns, n);
	if (sscanf(cmd, "halt %u", &cpu) == 1 && fakehv_is_cpu(cpu)) {
		fakehv_halt(cpu);
		return 0;
	}
	if (sscanf(cmd, "refuse %ld %ld", &reg, &dereg) == 2) {
		WRITE_ONCE(refuse_reg, reg);
		WRITE_ONCE(refuse_dereg, dereg);
		return 0;
	}
	if (sscanf(cmd, "limit %u", &n) == 1) {
		WRITE_ONCE(limit, n);
		return 0;
	}
	return -EINVAL;
}

static ssize_t fakehv_ctl_write(struct file *file, const char __user *ubuf,
				size_t count, loff_t *pos)
{
	char cmd[128];
	int err;

	err = kdtl_fake_line(cmd, sizeof(cmd), ubuf, count);
	if (err)
		return err;
	mutex_lock(&ctl_lock);
	err = fakehv_command(strim(cmd));
	mutex_unlock(&ctl_lock);
	return err ?: count;
}

static const struct file_operations fakehv_ctl_fops = {
	.owner	= THIS_MODULE,
	.write	= fakehv_ctl_write,
};

static int fakehv_info_show(struct seq_file *m, void *unused)
{
	struct fakehv_cpu *c;
	unsigned long flags;
	int cpu;

	for_each_possible_cpu(cpu) {
		c = &cpus[cpu];
		raw_spin_lock_irqsave(&c->lock, flags);
		fakehv_check_log(c);
		seq_printf(m, "cpu=%d registered=%d bytes=%u slots=%u registrations=%llu refusals=%llu counted=%llu seq=%llu index=%llu mask=%u complaint=%s\n",
			   cpu, !!c->log, c->bytes, c->slots, c->registrations,
			   c->refusals, c->counted, c->seq, c->index,
			   READ_ONCE(lppaca_of(cpu).dtl_enable_mask),
			   c->complaint ?: "none");
		raw_spin_unlock_irqrestore(&c->lock, flags);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(fakehv_info);

/* -------------------------------------------------------------------- module */

static struct kdtl_probe fakehv_probes[] = {
	{ "hcall_entry", fakehv_hcall_entry },
	{ "hcall_exit", fakehv_hcall_exit },
};

static int __init fakehv_init(void)
{
	struct fakehv_cpu *c;
	int cpu, err;

	if (!firmware_has_feature(FW_FEATURE_SPLPAR))
		return -ENODEV;
	err = kdtl_probes_find(fakehv_probes, ARRAY_SIZE(fakehv_probes));
	if (err)
		return err;
	cpus = vzalloc(array_size(nr_cpu_ids, sizeof(*cpus)));
	if (!cpus)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		c = &cpus[cpu];
		raw_spin_lock_init(&c->lock);
		hrtimer_setup(&c->timer, fakehv_timer, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_HARD);
	}
	err = register_kprobe(&fakehv_kprobe);
	if (err)
		goto free;
	err = kdtl_probes_register(fakehv_probes, ARRAY_SIZE(fakehv_probes));
	if (err)
		goto unregister;
	fakehv_dir = debugfs_create_dir("kdtl_fake_hv", NULL);
	debugfs_create_file("ctl", 0200, fakehv_dir, NULL, &fakehv_ctl_fops);
	debugfs_create_file("info", 0400, fakehv_dir, NULL, &fakehv_info_fops);
	return 0;

unregister:
	unregister_kprobe(&fakehv_kprobe);
free:
	vfree(cpus);
	return err;
}

static void __exit fakehv_exit(void)
{
	int cpu;

	debugfs_remove(fakehv_dir);
	for_each_possible_cpu(cpu)
		fakehv_halt(cpu);
	kdtl_probes_unregister(fakehv_probes, ARRAY_SIZE(fakehv_probes));
	fakehv_within_end();
	unregister_kprobe(&fakehv_kprobe);
	vfree(cpus);
}

module_init(fakehv_init);
module_exit(fakehv_exit);

MODULE_DESCRIPTION("Plays the hypervisor that writes the dispatch trace log, for tests of kdtl_vpa");
MODULE_LICENSE("GPL");
