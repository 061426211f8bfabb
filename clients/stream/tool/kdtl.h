/* SPDX-License-Identifier: GPL-2.0 */
/* kdtl(1): declarations shared by its files. */
#ifndef KDTL_TOOL_H
#define KDTL_TOOL_H

#include <endian.h>
#include <getopt.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include <linux/kdtl.h>
#include <linux/kdtl_file.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define NS_PER_US	1000ULL
#define NS_PER_MS	1000000ULL
#define NS_PER_S	1000000000ULL
#define NS_PER_DAY	(24 * 3600 * NS_PER_S)

/* Files of an older version have no chunks: the entries follow the head. */
#define KDTL_FILE_MAGIC_1	"KDTLDATA"

#define KDTL_FILE_SIZE_1	offsetof(struct kdtl_file, tasks_lost)

/**
 * struct clock_pair - struct kdtl_clock_pair in the machine's byte order
 * @ticks: the time base
 * @realtime: ns since 1970
 */
struct clock_pair {
	uint64_t	ticks;
	uint64_t	realtime;
};

/**
 * struct task - a record of a task
 * @t: the record, in the machine's byte order
 * @resets: chunks of KDTL_CHUNK_RESET before it
 */
struct task {
	struct kdtl_task	t;
	size_t			resets;
};

/**
 * struct cgroup - the path of a cgroup
 * @id: its id
 * @path: its path
 */
struct cgroup {
	uint64_t	id;
	const char	*path;
};

/**
 * struct gap - a time in which the hypervisor or an interrupt had a CPU, in which entries of the
 *	CPU were lost, or in which its task could not be preempted
 * @cpu: the CPU
 * @from: when it began, in ns since boot
 * @to: when it was over
 * @lost: entries that were lost
 * @entry: the entry of the interrupt, or of kdtl_wake; or NULL
 */
struct gap {
	unsigned int	cpu;
	uint64_t	from;
	uint64_t	to;
	uint64_t	lost;
	const struct kdtl_entry	*entry;
};

/**
 * struct move - struct kdtl_move in the machine's byte order
 * @cpu: the CPU
 * @online: it came online, or it went offline
 * @ticks: when; 0: it was offline already when the session was set up
 */
struct move {
	unsigned int	cpu;
	bool		online;
	uint64_t	ticks;
};

/**
 * struct log_cpu - a CPU of a session
 * @cpu: the CPU
 * @consumed: number of its entries that were read, if entries do not name their CPU
 * @lost: number of its entries that had been lost at the last loss
 * @moves: how often it had gone offline or come online when it last did
 * @went: when it had gone last, in ticks
 * @came: when it had come last
 * @absent: it was offline when the session was set up
 */
struct log_cpu {
	int		cpu;
	uint64_t	consumed;
	uint64_t	lost;
	uint64_t	moves;
	uint64_t	went;
	uint64_t	came;
	bool		absent;
};

/**
 * struct still - a wait that is not over when the recording ends
 * @entry: what would be the dispatch
 * @ns: for how long the task has waited, or has been held back
 * @told: the kernel reported it, and which task has the CPU
 */
struct still {
	struct kdtl_entry	entry;
	uint64_t		ns;
	bool			told;
};

/* The time between two times; empty if @from is after @to. */
struct span {
	uint64_t	from;
	uint64_t	to;
};

/**
 * struct recording - a file in memory
 * @head: its head, in the machine's byte order
 * @entry: the entries, in the order of the file, as in the file
 * @nr: number of entries
 * @sched: they are from kdtl_sched
 * @task: the records of tasks, for task_at()
 * @nr_tasks: number of records; after a loss some come again
 * @cgroup: the paths, by id
 * @nr_cgroups: number of paths
 * @reset: where the chunks of KDTL_CHUNK_RESET are
 * @nr_resets: number of those
 * @clock: moments at which the time of day is known
 * @nr_clocks: number of those; an older version recorded none
 * @min_wait: dispatches after a shorter wait, in ns, were not recorded; 0: all were
 * @loss: when entries were lost, by CPU and time
 * @nr_losses: number of those; an older version recorded none
 * @move: when CPUs went offline and came online, by CPU and time
 * @nr_moves: number of those
 * @moved: the entries that moves_put() has made, one for each of @move
 * @until: it has all entries up to this moment, in ticks; 0: not known
 * @some_cpus: the machine had CPUs that are not in it
 * @machine: what it was recorded on, as in uname(2); NULL: not known
 * @wait: who waited when it ended, as the kernel said
 * @nr_waits: number of those
 * @began: since when it has each CPU's entries, in ticks; 0: not known
 * @still: what stills_find() has added after its entries
 * @nr_still: number of those
 * @nr_begins: number of those that follow: what had a CPU without entries since @began, as
 *	if it had been dispatched then
 * @linux_cpus: processor_id is Linux's number of the CPU, also if the source is kdtl_vpa
 * @steal: it is known what was stolen
 * @gap: by CPU and time, without overlap
 * @nr_gaps: number of those
 * @irqs: it is known when interrupts had a CPU
 * @taken: @gap, and what interrupts had between: by CPU and time, without overlap
 * @nr_taken: number of those
 */
struct recording {
	struct kdtl_file	head;
	const struct kdtl_entry	**entry;
	size_t			nr;
	bool			sched;
	struct task		*task;
	size_t			nr_tasks;
	struct cgroup		*cgroup;
	size_t			nr_cgroups;
	const void		**reset;
	size_t			nr_resets;
	struct clock_pair	*clock;
	size_t			nr_clocks;
	uint64_t		min_wait;
	struct gap		*loss;
	size_t			nr_losses;
	struct move		*move;
	size_t			nr_moves;
	struct kdtl_entry	*moved;
	uint64_t		until;
	bool			some_cpus;
	const char		*machine;
	struct kdtl_stream_wait	*wait;
	size_t			nr_waits;
	uint64_t		began;
	struct still		*still;
	size_t			nr_still;
	size_t			nr_begins;
	bool			linux_cpus;
	bool			steal;
	struct gap		*gap;
	size_t			nr_gaps;
	bool			irqs;
	struct gap		*taken;
	size_t			nr_taken;
};

extern const char *const policy_names[];
#define NR_POLICY_NAMES		8

/* Print "kdtl: MESSAGE: ERROR", ERROR being that of errno, and exit with 1. */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* The command line is wrong: print why, and where help is, and exit with 2. */
void usage_error(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/**
 * struct verb - a command of kdtl(1)
 * @name: its name
 * @brief: what it does, one line
 * @usage: the command line, from the name on, and its options
 * @run: does it; returns the exit status
 */
struct verb {
	const char	*name;
	const char	*brief;
	const char	*usage;
	int		(*run)(int argc, char **argv);
};

extern const struct verb verb_list, verb_record, verb_why, verb_report, verb_diff, verb_map,
	verb_top, verb_print, verb_histogram, verb_ctf, verb_export;

/* kdtl.c */
void help(void) __attribute__((noreturn));
extern void (*at_die)(void);	/* NULL: nothing to do before its message */

#define NS_TEXT		24
const char *ns_text(char to[NS_TEXT], uint64_t ns, bool saturated);
void print_ns(uint64_t ns, bool saturated);

/* Room for a name in which each byte is escaped. */
#define PRINTABLE(len)	(4 * (len) + 1)
const char *printable(char *to, const char *name, size_t len);

/* duration.c */
const char *brief_ns(char to[NS_TEXT], uint64_t ns, bool more);
bool read_duration(const char *text, uint64_t unit, uint64_t *ns);
uint64_t parse_duration(const char *option, const char *text, uint64_t unit, uint64_t least,
			uint64_t most);

/* session.c */
void log_cpus(int dev, const cpu_set_t *cpus, struct log_cpu **cpu, size_t *nr);
void log_absent_cpus(int dev, const cpu_set_t *cpus, struct log_cpu **cpu, size_t *nr);

/* device.c */
int open_device(void);
void device_refused(const struct kdtl_stream_attr *attr) __attribute__((noreturn));
void device_setup(int dev, struct kdtl_stream_attr *attr, bool idle_if_known);
struct kdtl_stream_info device_cpu_info(int dev, int cpu);
struct kdtl_stream_info device_info(int dev);
struct kdtl_stream_clock device_clock(int dev);
#define WAITS		4096	/* that are asked for at once */
size_t device_waits(int dev, struct kdtl_stream_wait *wait);

/* file.c */

/* Make room for one more element; @nr is their number. */
#define grow(array, nr) do {							\
	if (!((nr) & ((nr) - 1)))						\
		(array) = resized(array, ((nr) ? 2 * (nr) : 1) * sizeof(*(array)));	\
} while (0)

void *resized(void *array, size_t size);
const char *recording_read(struct recording *r, const char *path);
void recording_check(const struct recording *r, const char *path);
struct recording recording_open(const char *path);
struct recording recording_open_any(const char *path);
void recording_sort(struct recording *r);
void recording_sort_by_cpu(struct recording *r);
void gaps_sort(struct gap *gap, size_t nr);

/* clock.c */
#define TIME_TEXT	40
uint64_t now_ns(void);
uint64_t ticks_at_to_ns(uint64_t freq, uint64_t ticks);
uint64_t ticks_to_ns(const struct recording *r, uint64_t ticks);
/* In ticks. */
struct span entries_span(const struct recording *r);
struct span recording_span(const struct recording *r);
void clock_check(const struct recording *r, const char *path);
uint64_t time_of_day(const struct recording *r, uint64_t ticks);
uint64_t boot_ticks(const struct recording *r, uint64_t ns);
uint64_t day_of(const struct recording *r, uint64_t ns);
const char *time_text(char to[TIME_TEXT], uint64_t ns, const char *format, unsigned int digits);
unsigned int parse_time_option(const struct recording *r, const char *option, const char *text,
			       struct span span[2]);
void repeats_check(const struct recording *r);
int time_width(unsigned int digits);

/* ns since boot. */
static inline uint64_t since_boot(const struct recording *r, uint64_t ticks)
{
	return ticks > r->head.tb_boot ? ticks_to_ns(r, ticks - r->head.tb_boot) : 0;
}

static inline uint64_t entry_time(const struct recording *r, const struct kdtl_entry *e)
{
	return since_boot(r, be64toh(e->timebase));
}

/* The wait that is not over, if the entry is no real one; or NULL. */
static inline const struct still *entry_still(const struct recording *r, const struct kdtl_entry *e)
{
	const struct still *s = (const struct still *)e;

	return r->nr_still && s >= r->still && s < r->still + r->nr_still ? s : NULL;
}

/* Is it neither a dispatch nor a wait, as its task got the CPU before the recording began? */
static inline bool entry_is_begin(const struct recording *r, const struct kdtl_entry *e)
{
	const struct still *s = (const struct still *)e;

	return r->nr_begins && s >= r->still + r->nr_still &&
	       s < r->still + r->nr_still + r->nr_begins;
}

/* What it stands for if moves_put() has made it; or NULL. */
static inline const struct move *entry_move(const struct recording *r, const struct kdtl_entry *e)
{
	return r->moved && e >= r->moved && e < r->moved + r->nr_moves ? &r->move[e - r->moved] : NULL;
}

/*
 * A limit on CPU time held the runner back.  Its wait for a CPU is what it waited since that
 * ended, or 0 if that is not known.
 */
static inline bool entry_is_throttled(const struct kdtl_entry *e)
{
	return e->dispatch_reason == KDTL_DISPATCH_THROTTLED;
}

/* The CPU became idle: no dispatch. */
static inline bool entry_is_idle(const struct kdtl_entry *e)
{
	return e->dispatch_reason == KDTL_DISPATCH_IDLE;
}

/* For how long a limit on CPU time held the runner back. */
static inline uint64_t entry_throttled(const struct recording *r, const struct kdtl_entry *e)
{
	const struct still *still = entry_still(r, e);

	if (!entry_is_throttled(e))
		return 0;
	return still ? still->ns : ticks_to_ns(r, be32toh(e->ready_to_enqueue_time));
}

/* Was that as long as entry_throttled(), or longer? */
static inline bool entry_throttled_saturated(const struct kdtl_entry *e)
{
	return entry_is_throttled(e) && be32toh(e->ready_to_enqueue_time) == KDTL_TIME_MAX;
}

static inline uint64_t entry_wait(const struct recording *r, const struct kdtl_entry *e)
{
	const struct still *still = entry_still(r, e);

	if (entry_is_throttled(e))
		return still ? 0 : ticks_to_ns(r, be32toh(e->enqueue_to_dispatch_time));
	return still ? still->ns : ticks_to_ns(r, (uint64_t)be32toh(e->enqueue_to_dispatch_time) +
						  be32toh(e->ready_to_enqueue_time));
}

/*
 * Is the wait known?  Only such waits are summed up, counted and shown: how long a throttled runner
 * waited after that may not be known.
 */
static inline bool entry_has_wait(const struct recording *r, const struct kdtl_entry *e)
{
	return !entry_is_throttled(e) || entry_wait(r, e);
}

/*
 * The last part of the wait, in which the runner was in the queue of the CPU that it got.  A
 * virtual processor is in no other queue.
 */
static inline uint64_t entry_queued(const struct recording *r, const struct kdtl_entry *e)
{
	if (!r->sched || entry_is_throttled(e) || entry_still(r, e))
		return entry_wait(r, e);
	return ticks_to_ns(r, be32toh(e->enqueue_to_dispatch_time));
}

/* Was the wait as long as entry_wait(), or longer? */
static inline bool entry_wait_saturated(const struct kdtl_entry *e)
{
	return be32toh(e->enqueue_to_dispatch_time) == KDTL_TIME_MAX ||
	       (be32toh(e->ready_to_enqueue_time) == KDTL_TIME_MAX && !entry_is_throttled(e));
}

static inline bool entry_slept_saturated(const struct kdtl_entry *e)
{
	return be32toh(e->waiting_to_ready_time) == KDTL_TIME_MAX;
}

static inline uint64_t entry_slept(const struct recording *r, const struct kdtl_entry *e)
{
	return ticks_to_ns(r, be32toh(e->waiting_to_ready_time));
}

static inline unsigned int entry_cpu(const struct kdtl_entry *e)
{
	return be16toh(e->processor_id);
}

static inline int entry_pid(const struct kdtl_entry *e)
{
	return be64toh(e->fault_addr) >> 32;
}

static inline int entry_prev_pid(const struct kdtl_entry *e)
{
	return (int32_t)be64toh(e->fault_addr);
}

/* The name of the task; may be without a NUL. */
#define COMM_LEN	16
static inline const char *entry_comm(const struct kdtl_entry *e)
{
	return (const char *)e + offsetof(struct kdtl_entry, srr0);
}

/* A record of a task, from or to the byte order of a file. */
static inline struct kdtl_task task_in_file(struct kdtl_task t)
{
	t.seq = htobe64(t.seq);
	t.since = htobe64(t.since);
	t.cgroup = htobe64(t.cgroup);
	t.pid = htobe32(t.pid);
	t.tgid = htobe32(t.tgid);
	t.policy = htobe32(t.policy);
	t.nice = htobe32(t.nice);
	t.rt_priority = htobe32(t.rt_priority);
	t.ns_pid = htobe32(t.ns_pid);
	return t;
}

/* A wait, likewise. */
static inline struct kdtl_stream_wait wait_in_file(struct kdtl_stream_wait w)
{
	w.since = htobe64(w.since);
	w.held = htobe64(w.held);
	w.until = htobe64(w.until);
	w.pid = htobe32(w.pid);
	w.running = htobe32(w.running);
	w.cpu = htobe32(w.cpu);
	return w;
}

/* reasons.c */
const char *dispatch_name(const struct recording *r, unsigned int code);
const char *preempt_name(const struct recording *r, unsigned int code);

/* tasks.c */
void tasks_sort(struct recording *r);
const struct kdtl_task *task_at(const struct recording *r, const struct kdtl_entry *e, int pid,
				uint64_t ticks);
const char *entry_prev_comm(char to[COMM_LEN + 8], const struct recording *r, size_t i,
			    const struct kdtl_task *prev);
const char *cgroup_path(const struct recording *r, uint64_t id);

bool is_in_cgroup(const char *path, const char *top);

/* The task that an entry is about; NULL: not known. */
static inline const struct kdtl_task *entry_task(const struct recording *r,
						 const struct kdtl_entry *e)
{
	return task_at(r, e, entry_pid(e), be64toh(e->timebase));
}

/**
 * struct ran - who had a CPU for how long
 * @pid: its PID; 0: the CPU was idle; below 0: no task, but an interrupt, see kdtl_irq_pid()
 * @ns: how long, in ns
 * @longest: the longest part of that without a break, in ns
 * @from: when that part began, in ns since boot
 * @to: when it ended
 * @entry: the dispatch since which it had the CPU then, or the interrupt's entry
 * @task: what it was for most of that; NULL: not known.  Of who_sort(), as @comm
 * @comm: its name then; may be without a NUL
 */
struct ran {
	int				pid;
	uint64_t			ns;
	uint64_t			longest;
	uint64_t			from;
	uint64_t			to;
	const struct kdtl_entry		*entry;
	const struct kdtl_task		*task;
	const char			*comm;
};

/**
 * struct who - who had a CPU in a span of time
 * @ran: the tasks, longest first
 * @nr: their number
 * @stolen: ns in which the hypervisor had the CPU; nobody else is said to have had it then
 * @unknown: ns of which the recording does not say who had the CPU
 * @elsewhere: ns before that, in which the task waited in the queue of another CPU
 * @room: elements that @ran has room for
 */
struct who {
	struct ran	*ran;
	size_t		nr;
	uint64_t	stolen;
	uint64_t	unknown;
	uint64_t	elsewhere;
	size_t		room;
};

/**
 * struct lasts - when each task left a CPU last, and when it got one
 * @tree: a tree of tsearch(3)
 * @first: the same in a list
 */
struct lasts {
	void		*tree;
	struct last	*first;
};

/* waiting.c */
void lasts_note(struct lasts *l, const struct kdtl_entry *e);
void lasts_prune(struct lasts *l, const struct recording *r, uint64_t ticks);
void lasts_free(struct lasts *l);
struct kdtl_entry entry_begin(const struct recording *r, unsigned int cpu, int pid, uint64_t from,
			      uint64_t until);
void stills_add(struct recording *r, const struct lasts *l, uint64_t since, uint64_t before,
		uint64_t until);
void stills_find(struct recording *r);
uint64_t recording_until(const struct recording *r);

/* offline.c */
void moves_add(struct recording *r, const char *p, size_t size);
void moves_sort(struct recording *r);
const struct move *move_after(const struct recording *r, const struct kdtl_entry *e);
const struct move *move_next(const struct recording *r, const struct move *m);
size_t moves_new(struct log_cpu *c, const struct kdtl_stream_info *info, struct move to[2],
		 bool *missed);
const char *move_text(const struct move *m);
void moves_tell(const struct recording *r, const char *path);

/* moved.c */
void moves_put(struct recording *r);

/* ran.c */
size_t next_of_cpu(const struct recording *r, size_t i);
void losses_tell(const struct recording *r, const char *path);
void losses_place(struct recording *r);
bool ran_between(const struct recording *r, const struct kdtl_entry *e,
		 const struct kdtl_entry *next);
bool ran_until_next(const struct recording *r, size_t i);
const struct kdtl_task *execd_task(const struct recording *r, size_t i);
size_t first_since(const struct recording *r, unsigned int cpu, uint64_t time);
const struct kdtl_task *ran_task(const struct recording *r, const struct kdtl_entry *e, int pid,
				 uint64_t from, uint64_t to, const char **comm);
void who_add(const struct recording *r, size_t i, uint64_t until, uint64_t ns, struct who *w);
void who_sort(const struct recording *r, struct who *w);
void who_ran(const struct recording *r, size_t i, struct who *w);
bool who_before(const struct recording *r, size_t i, unsigned int *cpu, struct who *w);

/* idle.c */
bool has_idle(const struct recording *r);
size_t idle_meanwhile(const struct recording *r, size_t i, size_t *ran);

/* steal.c */
#define STEAL_SUFFIX	".steal"	/* of the recording beside another one */
#define IRQ_SOURCE	"kdtl_irq"
#define IRQ_SUFFIX	".irq"		/* likewise */
const char *name_beside(const char *path, const char *suffix);
bool read_beside(const struct recording *r, struct recording *s, const char *path, bool asked,
		 const char *(*unlike)(const struct recording *r, const struct recording *s));
void steal_open(struct recording *r, const char *path, const char *steal);
void irq_take(struct recording *r, struct recording *s);
void irq_open(struct recording *r, const char *path, const char *irq);
const char *irq_comm(const struct recording *r, int pid);
const char *recording_unlike(const struct recording *r, const struct recording *s);
uint64_t stolen_in(const struct recording *r, unsigned int cpu, uint64_t from, uint64_t to);
uint64_t taken_in(const struct recording *r, unsigned int cpu, uint64_t from, uint64_t to);
uint64_t entry_stolen(const struct recording *r, const struct kdtl_entry *e);
const struct gap *gap_after(const struct gap *gap, size_t nr, unsigned int cpu, uint64_t ns);

/**
 * struct host - the host of a recording, as another recording shows it
 * @r: the host's recording, sorted by CPU
 * @ahead: how many ns its time of day was said to be ahead
 * @fit: for each gap of the guest the number of the host's entry whose wait it is; SIZE_MAX:
 *	not known
 * @has_gaps: the virtual CPU of that number has some
 */
struct host {
	struct recording	r;
	int64_t			ahead;
	size_t			*fit;
	bool			*has_gaps;
};

/* host.c */
void host_open(struct host *h, const struct recording *guest, const char *path, int64_t ahead);
void host_behind(const struct host *h, const struct recording *guest,
		 const struct kdtl_entry *e, struct who *w);

/* text.c */
#define PATH_MIN	8	/* a path that is cut keeps this many columns */
#define TASK_TEXT	(PRINTABLE(COMM_LEN) + 16)
int terminal_width(void);
unsigned int terminal_rows(void);
const char *task_text(char *to, size_t size, const struct recording *r,
		      const struct kdtl_entry *e);
const char *listed_text(char to[TASK_TEXT], const char *comm, int pid);
const char *path_text(char *to, const struct recording *r, const struct kdtl_task *t);
void print_path(const char *path, int width);
bool means_else(const char *name);
const char *word_text(char to[PRINTABLE(KDTL_CGROUP_LEN)], const char *name, size_t len);
const char *short_ns(char to[NS_TEXT], uint64_t ns);
const char *source_text(const struct recording *r);
#define ZONES_TEXT	(2 * TIME_TEXT + 8)
const char *zones_text(char to[ZONES_TEXT], uint64_t begin, uint64_t end);
void print_origin(const struct recording *r);
/*
 * For JSON: a name that is UTF-8 without control characters is left as it is, and any
 * other is as printable() has it.  There must be room for PRINTABLE(@len).
 */
const char *utf8_text(char *to, const char *name, size_t len);

/**
 * struct filter - which entries are wanted
 * @from: not before this time, as it was given; NULL: from the beginning
 * @to: not after this time; NULL: to the end
 * @pid: only of this task, and of the threads of this process; 0: all
 * @within: it may be a PID in the task's own namespace
 * @comm: only of tasks with this name, which may be a pattern; NULL: all
 * @cgroup: only of tasks in this cgroup, or below, which may be a pattern; NULL: all
 * @cpus: only of these CPUs; NULL: all
 * @min_wait: only after a wait, or a throttled time, of at least so many ns
 * @first: @from in ns since 1970, by filter_begin()
 * @last: the first ns behind @to
 */
struct filter {
	const char	*from;
	const char	*to;
	uint32_t	pid;
	bool		within;
	const char	*comm;
	const char	*cgroup;
	cpu_set_t	*cpus;
	uint64_t	min_wait;
	uint64_t	first;
	uint64_t	last;
};

/* What getopt_long() returns for the options of a filter; less is a letter. */
enum {
	OPT_FIRST = 256, OPT_FROM = OPT_FIRST, OPT_TO, OPT_PID, OPT_COMM, OPT_CGROUP, OPT_CPU, OPT_MIN_WAIT,
	OPT_OTHERS,	/* of a verb begin here */
};

#define FILTER_OPTIONS							\
	{ "from", required_argument, NULL, OPT_FROM },			\
	{ "to", required_argument, NULL, OPT_TO },			\
	{ "pid", required_argument, NULL, OPT_PID },			\
	{ "comm", required_argument, NULL, OPT_COMM },			\
	{ "cgroup", required_argument, NULL, OPT_CGROUP },		\
	{ "cpu", required_argument, NULL, OPT_CPU },			\
	{ "min-wait", required_argument, NULL, OPT_MIN_WAIT }

#define FILTER_USAGE							\
	"  --from TIME, --to TIME   [YYYY-MM-DD ]HH:MM[:SS[.FRACTION]], local time, or -5s:\n"	\
	"                           so long before the end\n"			\
	"  --pid PID                only of this task, or of this process\n"	\
	"  --comm NAME              only of tasks with this name, or 'web*'\n"	\
	"  --cgroup PATH            only of tasks in this cgroup, or below, or '/*/web*'\n"	\
	"  --cpu CPUS               only of these CPUs, such as 0-3,8\n"	\
	"  --min-wait TIME          only after such a wait or a longer one; ms, or 50us, 2s"

/* Ends the option names of every command. */
#define OPTIONS_END	{ "help", no_argument, NULL, 'h' }, { }

/* options.c */
int next_option(int argc, char **argv, const char *letters, const struct option *names);
void no_options(int argc, char **argv);
size_t parse_nr(const char *text, const char *what);

/* filter.c */
#define MAX_CPUS	(1 << 16)	/* an entry has 16 bits for the CPU */
cpu_set_t *parse_cpus(const char *option, const char *list);
void filter_option(struct filter *f, int opt, const char *arg);
void tell_approximate(const struct recording *r);
void filter_begin(struct filter *f, const struct recording *r);
bool filter_wants(const struct filter *f, const struct recording *r,
		  const struct kdtl_entry *e);
bool filter_wants_place(const struct filter *f, const struct recording *r, unsigned int cpu,
			uint64_t ticks);
bool filter_wants_execd(const struct filter *f, const struct recording *r,
			const struct kdtl_entry *e, const struct kdtl_task *t);

#define WAKE_SOURCE	"kdtl_wake"
#define WAKE_SUFFIX	".wake"	/* of the recording beside another one */

/* Is it a recording of wake-ups, whose entries are no dispatches? */
static inline bool recording_is_wake(const struct recording *r)
{
	return !strcmp(r->head.source, WAKE_SOURCE);
}

/* wake.c */
void wake_print(const struct recording *r, struct filter *f, size_t nr);
const char *wake_state_word(unsigned int state);
const char *wake_lock_word(unsigned int lock);

/* empty.c */
void tell_empty(const struct filter *f, const struct recording *r, const char *path);

/**
 * struct side - saves what the tasks are, beside the entries
 * @dev: /dev/kdtl
 * @out: the file
 * @path: its name
 * @write: write(2), or what does that for a stream
 * @size: bytes that were written to it
 * @off: the source names no tasks
 * @seq: number of the last record
 * @saved: records that were saved, without those that came again
 * @lost: records that were lost
 * @cgroups: ids whose paths were saved, a tree of tsearch(3)
 */
struct side {
	int		dev;
	int		out;
	const char	*path;
	ssize_t		(*write)(int fd, const void *data, size_t size);
	uint64_t	size;
	bool		off;
	uint64_t	seq;
	uint64_t	saved;
	uint64_t	lost;
	void		*cgroups;
};

/* side.c */
void side_write(struct side *s, const void *data, size_t size);
void write_chunk(struct side *s, enum kdtl_chunk_type type, const void *data, size_t size);
void side_begin(struct side *s, int out);
void side_save(struct side *s);

/* session.c */
void check_cpus(const char *option, const cpu_set_t *cpus);

/* live.c */
const char *record_live(double seconds, const char **steal, const char **irq, const char **wake,
			bool must_wake);
bool record_live_interrupted(void);

/**
 * struct entries - entries as they were read
 * @entry: the entries
 * @nr: their number
 * @room: elements that @entry has room for
 */
struct entries {
	struct kdtl_entry	*entry;
	size_t			nr;
	size_t			room;
};

/**
 * struct live_cpu - a CPU of a live recording
 * @last: its last entry that is older than all others; timebase 0: none
 * @end: says that its last task has it to the end
 * @nr: number of its entries, while they are sorted
 * @first: where the recording has its entries
 * @next: the end of these
 */
struct live_cpu {
	struct kdtl_entry	last;
	struct kdtl_entry	end;
	size_t			nr;
	const struct kdtl_entry	**first;
	const struct kdtl_entry	**next;
};

/**
 * struct live - /dev/kdtl, one interval after the other
 * @dev: /dev/kdtl
 * @r: the last interval and the one before; its other times and paths hold, too
 * @from: begin of the last interval, in ticks
 * @until: its end
 * @lost: entries that were lost in it
 * @asked: CPUs that the session asks for; NULL: all
 * @log: its CPUs, see log_cpus()
 * @nr_log: number of those
 * @went: when a CPU had gone offline last, when that was last looked at, in ticks
 * @came: when a CPU had come online last
 * @idle: the source tells when a CPU becomes idle
 * @before: entries of the interval before the last one
 * @now: entries of the last interval
 * @fresh: entries that were read since
 * @cpu: the CPUs, by number
 * @nr_cpus: the highest number, and 1
 * @seq: number of the last record of a task
 * @sure: losses of records up to this one are known
 * @max_tasks: with more records than these, begin anew; 0: find out
 * @lasts: which tasks may wait
 */
struct live {
	int			dev;
	struct recording	r;
	uint64_t		from;
	uint64_t		until;
	uint64_t		lost;
	const cpu_set_t		*asked;
	struct log_cpu		*log;
	size_t			nr_log;
	uint64_t		went;
	uint64_t		came;
	bool			idle;
	struct entries		before;
	struct entries		now;
	struct entries		fresh;
	struct live_cpu		*cpu;
	size_t			nr_cpus;
	uint64_t		seq;
	uint64_t		sure;
	size_t			max_tasks;
	struct lasts		lasts;
};

/* interval.c */
void live_begin(struct live *l, struct kdtl_stream_attr *attr);
bool live_read(struct live *l);
void live_take(struct live *l);

#endif /* KDTL_TOOL_H */
