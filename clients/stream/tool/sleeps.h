/* SPDX-License-Identifier: GPL-2.0 */
/* Chains of a recording and of the wake-ups beside it. */
#ifndef KDTL_TOOL_SLEEPS_H
#define KDTL_TOOL_SLEEPS_H

#include <linux/kdtl_wake.h>

#include "chain.h"
#include "kdtl.h"

/* For kept_longest(): any task. */
#define KEPT_ANY	(-1)

/**
 * struct kepts - when tasks, or the idle one, could not be preempted: from when they were told to
 *	leave a CPU until they left
 * @kept: by CPU and time, without overlap
 * @nr: their number
 */
struct kepts {
	struct gap	*kept;
	size_t		nr;
};

/**
 * struct sleeps - a recording as chain_walk() takes it
 * @log: what chain_walk() takes
 * @turn: its turns; their @i is the number of an entry, SIZE_MAX: none
 * @note: its notes
 * @entry: an entry of kdtl_wake for each note
 * @had: its CPUs
 * @taken: what the hypervisor and interrupts took
 * @kepts: who could not be preempted
 * @machine: where it was recorded, as uname(2) has it; "": not known
 */
struct sleeps {
	struct chain_log		log;
	struct chain_turn		*turn;
	struct chain_note		*note;
	const struct kdtl_wake_entry	**entry;
	struct chain_had		*had;
	struct chain_had		*taken;
	struct kepts			kepts;
	const char			*machine;
};

/**
 * struct chains_wanted - what kdtl why --chain is asked for
 * @path: the recording
 * @wake: the recording of its wake-ups; NULL: the one beside it
 * @filter: for the dispatches that end the times without a CPU; its @min_wait is 0
 * @min_ns: only times without a CPU of at least so many ns
 * @when: only those that had begun, and were not over, at these times
 * @nr_when: number of @when; 0: all
 * @span: all that task @filter->pid did between the times of @filter instead
 * @asked: even those in which nobody was late
 * @nr: how many; 0: a few
 * @all: with all parts, however short
 * @brief: a line of NAME=VALUE for each
 */
struct chains_wanted {
	const char		*path;
	const char		*wake;
	const struct filter	*filter;
	uint64_t		min_ns;
	const struct span	*when;
	unsigned int		nr_when;
	bool			span;
	bool			asked;
	size_t			nr;
	bool			all;
	bool			brief;
};

/**
 * struct late - a time for which a task had no CPU
 * @pid: the task
 * @from: when it began, in ns since boot
 * @to: when it ended
 * @i: the number of an entry of the task
 * @score: for how much of that somebody was late, see chain_late()
 */
struct late {
	int		pid;
	uint64_t	from;
	uint64_t	to;
	size_t		i;
	uint64_t	score;
};

/* late.c */
#define CHAIN_ROOM	(1 << 14)	/* parts of a chain */
struct late *find_late(const struct sleeps *s, const struct recording *r,
		       const struct chains_wanted *o, size_t *nr);
int why_chain(const struct recording *r, const struct chains_wanted *o);

/* sleeps.c */
void sleeps_open(struct sleeps *s, const struct recording *r, const char *path,
		 const char *wake);
bool sleeps_beside(struct sleeps *s, const struct recording *r, const char *path);
void kepts_open(struct kepts *k, const struct recording *r, const char *path, const char *wake);
size_t *sleeps_wakes(const struct sleeps *s, size_t nr);
unsigned int sleeps_cpu(const struct sleeps *s, int pid, uint64_t ns);
const char *sleeps_comm(const struct sleeps *s, const struct recording *r, int pid, uint64_t ns);

/* kept.c */
void kepts_take(struct kepts *k, const struct recording *wake);
const struct kdtl_wake_entry *kept_longest(const struct kepts *k, unsigned int cpu, int pid,
					   uint64_t from, uint64_t to);
const struct kdtl_wake_entry *kept_before(const struct kepts *k, const struct recording *r,
					  const struct kdtl_entry *e);

/* why_json.c */
void why_json(const struct recording *r, const struct kepts *k, size_t i, const char *limit);

/* syscalls.c */
const char *syscall_name(const char *machine, unsigned int nr);

/* syscalls-generic.c */
const char *generic_syscall_name(unsigned int nr);

/* chains.c */
void print_chain(const struct sleeps *s, const struct recording *r, const struct chain *c,
		 bool all);
void print_chain_brief(const struct sleeps *s, const struct recording *r, const struct chain *c);
uint64_t part_late(const struct sleeps *s, const struct chain *c, size_t i);
uint64_t chain_late(const struct sleeps *s, const struct chain *c);
const char *waker_text(char to[TASK_TEXT], const struct sleeps *s, const struct recording *r,
		       const struct chain_part *p);
int sleep_text(char *to, size_t size, const struct sleeps *s, const struct chain_part *p);

/* offcpu.c */
enum off_cpu { OFF_CPU_NOT, OFF_CPU_REASON, OFF_CPU_WAKER };
enum off_cpu parse_off_cpu(const char *text);
int report_off_cpu(const struct recording *r, const struct chains_wanted *o, enum off_cpu by,
		   bool json, int width);

static inline uint64_t part_ns(const struct chain_part *p)
{
	return p->to - p->from;
}

#endif /* KDTL_TOOL_SLEEPS_H */
