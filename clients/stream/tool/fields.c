// SPDX-License-Identifier: GPL-2.0
/* What is known of an entry, field by field: for kdtl export. */
#include <inttypes.h>
#include <stdio.h>

#include <linux/kdtl_wake.h>

#include "export.h"
#include "sleeps.h"

static struct field *add(struct fields *f, const char *name, enum field_kind kind)
{
	struct field *field = &f->field[f->nr++];

	*field = (struct field){ .name = name, .kind = kind };
	return field;
}

static void add_number(struct fields *f, const char *name, int64_t value)
{
	add(f, name, FIELD_NUMBER)->number = value;
}

/* Times may be as large as a clock can show. */
static void add_time(struct fields *f, const char *name, uint64_t ns)
{
	add(f, name, FIELD_TIME)->number = ns;
}

static void add_bool(struct fields *f, const char *name, bool value)
{
	add(f, name, FIELD_BOOL)->number = value;
}

static void add_text(struct fields *f, const char *name, const char *text, size_t len)
{
	struct field *field = add(f, name, FIELD_TEXT);

	field->text = text;
	field->len = len;
}

static void add_hex(struct fields *f, const char *name, uint64_t value)
{
	struct field *field = add(f, name, FIELD_TEXT);

	field->len = snprintf(field->digits, sizeof(field->digits), "%016" PRIx64, value);
}

static void add_code(struct fields *f, const char *name, const char *text, unsigned int code)
{
	struct field *field = add(f, name, FIELD_TEXT);

	field->text = text;
	field->len = text ? strlen(text) :
		(size_t)snprintf(field->digits, sizeof(field->digits), "%u", code);
}

static void add_task(struct fields *f, const struct recording *r, const struct kdtl_entry *e)
{
	const struct kdtl_task *t = entry_pid(e) ? entry_task(r, e) : NULL;
	const char *path = t ? cgroup_path(r, t->cgroup) : NULL;

	if (t) {
		add_number(f, "tgid", t->tgid);
		add_code(f, "policy", t->policy < NR_POLICY_NAMES ?
			 policy_names[t->policy] : NULL, t->policy);
		add_number(f, "nice", t->nice);
		add_number(f, "rt_priority", t->rt_priority);
	} else {
		add(f, "tgid", FIELD_UNKNOWN);
		add(f, "policy", FIELD_UNKNOWN);
		add(f, "nice", FIELD_UNKNOWN);
		add(f, "rt_priority", FIELD_UNKNOWN);
	}
	if (path)
		add_text(f, "cgroup", path, strnlen(path, KDTL_CGROUP_LEN));
	else
		add(f, "cgroup", FIELD_UNKNOWN);
}

/* Who had the CPU meanwhile; the format decides how much of it is shown. */
static void add_behind(struct fields *f, const struct recording *r, size_t i)
{
	const struct kdtl_entry *e = r->entry[i];

	f->who.nr = 0;
	f->who.stolen = 0;
	f->who.unknown = 0;
	f->who.elsewhere = 0;
	if (!entry_is_idle(e))
		who_ran(r, i, &f->who);
	add(f, "behind", FIELD_BEHIND);
	add_time(f, "behind_unknown_ns", f->who.unknown + f->who.elsewhere);
	if (r->steal)
		add_time(f, "stolen_ns", f->who.stolen);
	else
		add(f, "stolen_ns", FIELD_UNKNOWN);
}

/* Programs that keep numbers as doubles round what is larger than 2^53. */
static void add_digits(struct fields *f, const char *name, uint64_t value)
{
	struct field *field = add(f, name, FIELD_TEXT);

	field->len = snprintf(field->digits, sizeof(field->digits), "%" PRIu64, value);
}

/* Fields that later versions added come last. */
static void add_more(struct fields *f, const struct recording *r, const struct line *line)
{
	const struct kdtl_entry *e = r->entry[line->i];

	add_digits(f, "time_ns_text", time_of_day(r, be64toh(e->timebase)));
	add_digits(f, "since_boot_ns_text", entry_time(r, e));
	/* Recordings of older versions do not say when entries were lost. */
	if (r->head.lost && !r->nr_losses) {
		add(f, "lost", FIELD_UNKNOWN);
		add(f, "lost_since_boot_ns", FIELD_UNKNOWN);
		add(f, "lost_after", FIELD_UNKNOWN);
		return;
	}
	add_time(f, "lost", line->lost);
	if (line->lost)
		add_time(f, "lost_since_boot_ns", line->lost_since);
	else
		add(f, "lost_since_boot_ns", FIELD_UNKNOWN);
	add_time(f, "lost_after", line->lost_after);
}

static void add_word(struct fields *f, const char *name, const char *word)
{
	if (word)
		add_text(f, name, word, strlen(word));
	else
		add(f, name, FIELD_UNKNOWN);
}

/* Add who did it: a task, or none. */
static void add_by(struct fields *f, const struct kdtl_wake_entry *w)
{
	const bool none = w->kind == KDTL_WAKE_CONTENDED || w->kind == KDTL_WAKE_KEPT;
	const bool known = kdtl_wake_by(w) || !none;

	add_word(f, "by", w->flags & KDTL_WAKE_HARDIRQ ? "interrupt" :
		 w->flags & KDTL_WAKE_SOFTIRQ ? "softirq" :
		 kdtl_wake_by(w) ? "task" : known ? "idle" : NULL);
	if (known && !(w->flags & KDTL_WAKE_IRQ))
		add_number(f, "by_pid", kdtl_wake_by(w));
	else
		add(f, "by_pid", FIELD_UNKNOWN);
}

/* Add the system call in which the task sleeps, and its first argument. */
static void add_call(struct fields *f, const struct recording *r, const struct kdtl_wake_entry *w)
{
	const unsigned int nr = kdtl_wake_syscall(w);

	if (nr == KDTL_WAKE_NO_SYSCALL) {
		add(f, "syscall", FIELD_UNKNOWN);
		add(f, "syscall_name", FIELD_UNKNOWN);
		add(f, "syscall_arg", FIELD_UNKNOWN);
		return;
	}
	add_number(f, "syscall", nr);
	add_word(f, "syscall_name", syscall_name(r->machine ?: "", nr));
	if (w->kind == KDTL_WAKE_WOKEN)
		add_hex(f, "syscall_arg", kdtl_wake_arg(w));
	else
		add(f, "syscall_arg", FIELD_UNKNOWN);
}

static void add_lock(struct fields *f, const struct kdtl_wake_entry *w)
{
	if (w->kind == KDTL_WAKE_CONTENDED) {
		add_word(f, "lock", wake_lock_word(kdtl_wake_state(w)));
		add_hex(f, "lock_id", kdtl_wake_arg(w));
	} else {
		add(f, "lock", FIELD_UNKNOWN);
		add(f, "lock_id", FIELD_UNKNOWN);
	}
}

/*
 * A wake-up, move, contended lock, new task, or task that was late to leave.  The entries do not
 * say on which CPU one was lost.
 */
static void wake_fields(struct fields *f, const struct recording *r, const struct kdtl_entry *e)
{
	static const char *const events[] = { "woken", "moved", "contended", "new", "kept" };
	const struct kdtl_wake_entry *w = (const struct kdtl_wake_entry *)e;
	const unsigned int kind = w->kind - KDTL_WAKE_WOKEN;
	const bool woken = w->kind == KDTL_WAKE_WOKEN;

	f->nr = 0;
	add_time(f, "time_ns", time_of_day(r, kdtl_wake_time(w)));
	add_bool(f, "time_approximate", !r->nr_clocks);
	add_time(f, "since_boot_ns", entry_time(r, e));
	add_code(f, "event", kind < ARRAY_SIZE(events) ? events[kind] : NULL, w->kind);
	add_text(f, "comm", kdtl_wake_comm(w), strnlen(kdtl_wake_comm(w), COMM_LEN));
	add_number(f, "pid", kdtl_wake_pid(w));
	add_by(f, w);
	add_number(f, "cpu", kdtl_wake_cpu(w));
	if (w->kind == KDTL_WAKE_MOVED)
		add_number(f, "to_cpu", kdtl_wake_arg(w));
	else
		add(f, "to_cpu", FIELD_UNKNOWN);
	add_bool(f, "queued", w->flags & KDTL_WAKE_QUEUED);
	add_bool(f, "iowait", w->flags & KDTL_WAKE_IOWAIT);
	add_word(f, "state", woken ? wake_state_word(kdtl_wake_state(w)) : NULL);
	add_call(f, r, w);
	add_lock(f, w);
	add_digits(f, "time_ns_text", time_of_day(r, kdtl_wake_time(w)));
	add_digits(f, "since_boot_ns_text", entry_time(r, e));
	if (w->kind == KDTL_WAKE_KEPT)
		add_time(f, "kept_ns", kdtl_wake_arg(w));
	else
		add(f, "kept_ns", FIELD_UNKNOWN);
}

/* All that is known of an entry.  The entries must be sorted by CPU. */
void entry_fields(struct fields *f, const struct recording *r, const struct line *line)
{
	const struct kdtl_entry *e = r->entry[line->i];

	if (recording_is_wake(r)) {
		wake_fields(f, r, e);
		return;
	}
	f->nr = 0;
	add_time(f, "time_ns", time_of_day(r, be64toh(e->timebase)));
	add_bool(f, "time_approximate", !r->nr_clocks);
	add_time(f, "since_boot_ns", entry_time(r, e));
	add_number(f, "cpu", entry_cpu(e));
	if (entry_has_wait(r, e))
		add_time(f, "waited_ns", entry_wait(r, e));
	else
		add(f, "waited_ns", FIELD_UNKNOWN);
	add_bool(f, "waited_saturated", entry_wait_saturated(e));
	add_time(f, "slept_ns", entry_slept(r, e));
	add_bool(f, "slept_saturated", entry_slept_saturated(e));
	add_time(f, "throttled_ns", entry_throttled(r, e));
	add_bool(f, "throttled_saturated", entry_throttled_saturated(e));
	add_code(f, "dispatch_reason", dispatch_name(r, e->dispatch_reason), e->dispatch_reason);
	add_code(f, "preempt_reason", preempt_name(r, e->preempt_reason), e->preempt_reason);
	if (!r->sched) {
		add_hex(f, "fault_addr", be64toh(e->fault_addr));
		add_hex(f, "srr0", be64toh(e->srr0));
		add_hex(f, "srr1", be64toh(e->srr1));
		add_more(f, r, line);
		return;
	}
	add_text(f, "comm", entry_comm(e), strnlen(entry_comm(e), COMM_LEN));
	add_number(f, "pid", entry_pid(e));
	add_number(f, "prev_pid", entry_prev_pid(e));
	add_task(f, r, e);
	add_behind(f, r, line->i);
	add_more(f, r, line);
}
