// SPDX-License-Identifier: GPL-2.0
/* kdtl print, of a recording of kdtl_wake: who woke whom, in words. */
#include <stdio.h>

#include <linux/kdtl_wake.h>

#include "kdtl.h"

static void print_by(const struct kdtl_wake_entry *w)
{
	if (w->flags & KDTL_WAKE_HARDIRQ)
		fputs("by an interrupt", stdout);
	else if (w->flags & KDTL_WAKE_SOFTIRQ)
		fputs("by a softirq", stdout);
	else
		printf("by %d", kdtl_wake_by(w));
}

/* How a task slept, by the kernel's bits, as other tools show it. */
const char *wake_state_word(unsigned int state)
{
	if (state & 0x04)
		return "stopped";
	if (state & 0x08)
		return "traced";
	if (state & 0x40)
		return "parked";
	if (state & 0x02)
		return state & 0x400 ? "idle" : "uninterruptible";
	if (state & 0x01)
		return "interruptible";
	return "in another state";
}

const char *wake_lock_word(unsigned int lock)
{
	static const char *const words[] = {
		[KDTL_WAKE_LOCK_OTHER] = "lock", [KDTL_WAKE_LOCK_MUTEX] = "mutex",
		[KDTL_WAKE_LOCK_READ] = "rwsem_read", [KDTL_WAKE_LOCK_WRITE] = "rwsem_write",
		[KDTL_WAKE_LOCK_RT] = "rt_mutex",
	};

	return words[lock < ARRAY_SIZE(words) ? lock : KDTL_WAKE_LOCK_OTHER];
}

static void print_call(const struct kdtl_wake_entry *w)
{
	const unsigned int nr = kdtl_wake_syscall(w);

	if (nr == KDTL_WAKE_NO_SYSCALL)
		return;
	printf(", in system call %u", nr);
	if (w->kind == KDTL_WAKE_WOKEN)
		printf("(%#llx)", (unsigned long long)kdtl_wake_arg(w));
}

static void print_woken(const struct kdtl_wake_entry *w)
{
	fputs("woken ", stdout);
	print_by(w);
	if (w->flags & KDTL_WAKE_QUEUED)
		fputs(", still on a CPU or in its queue", stdout);
	printf(": %s%s", wake_state_word(kdtl_wake_state(w)),
	       w->flags & KDTL_WAKE_IOWAIT ? ", waits for a disk" : "");
	print_call(w);
	printf(", last on CPU %u", kdtl_wake_cpu(w));
}

static void print_contended(const struct kdtl_wake_entry *w)
{
	static const char *const locks[] = {
		[KDTL_WAKE_LOCK_OTHER]	= "lock",
		[KDTL_WAKE_LOCK_MUTEX]	= "mutex",
		[KDTL_WAKE_LOCK_READ]	= "rwsem, to read,",
		[KDTL_WAKE_LOCK_WRITE]	= "rwsem, to write,",
		[KDTL_WAKE_LOCK_RT]	= "rt_mutex",
	};
	const unsigned int lock = kdtl_wake_state(w);

	printf("is about to sleep for %s %016llx",
	       locks[lock < ARRAY_SIZE(locks) ? lock : KDTL_WAKE_LOCK_OTHER],
	       (unsigned long long)kdtl_wake_arg(w));
	if (kdtl_wake_by(w))
		printf(", which %d holds", kdtl_wake_by(w));
	print_call(w);
}

static void print_wake(const struct recording *r, const struct kdtl_wake_entry *w)
{
	const uint64_t t = since_boot(r, kdtl_wake_time(w));
	char comm[PRINTABLE(COMM_LEN)], ns[NS_TEXT];

	printf("%8llu.%09llu  %-16s %7d  ", (unsigned long long)(t / 1000000000),
	       (unsigned long long)(t % 1000000000), printable(comm, kdtl_wake_comm(w), COMM_LEN),
	       kdtl_wake_pid(w));
	switch (w->kind) {
	case KDTL_WAKE_WOKEN:
		print_woken(w);
		break;
	case KDTL_WAKE_MOVED:
		printf("waits, and is moved from CPU %u to %llu ", kdtl_wake_cpu(w),
		       (unsigned long long)kdtl_wake_arg(w));
		print_by(w);
		break;
	case KDTL_WAKE_CONTENDED:
		print_contended(w);
		break;
	case KDTL_WAKE_NEW:
		printf("is new, on CPU %u, made ", kdtl_wake_cpu(w));
		print_by(w);
		break;
	case KDTL_WAKE_KEPT:
		printf("could not be preempted for %s on CPU %u", short_ns(ns, kdtl_wake_arg(w)),
		       kdtl_wake_cpu(w));
		print_call(w);
		break;
	default:
		printf("?, of kind %u", w->kind);
	}
	putchar('\n');
}

/* The first @nr entries of @r, in the order of time, that @f wants; 0: all of these. */
void wake_print(const struct recording *r, struct filter *f, size_t nr)
{
	char host[PRINTABLE(64)], release[PRINTABLE(64)];
	const struct kdtl_wake_entry *w;
	size_t printed = 0;

	filter_begin(f, r);
	printf("# %s, Linux %s, source %s: %zu entries, %llu lost\n",
	       printable(host, r->head.host, 64), printable(release, r->head.release, 64),
	       WAKE_SOURCE, r->nr, (unsigned long long)r->head.lost);
	puts("#    since boot  task                 pid");
	for (size_t i = 0; i < r->nr && (!nr || printed < nr); i++) {
		w = kdtl_wake_of(r->entry[i]);
		if (!w || !filter_wants(f, r, r->entry[i]))
			continue;
		print_wake(r, w);
		printed++;
	}
}
