/* SPDX-License-Identifier: GPL-2.0 */
/* kdtl record: declarations shared by its files. */
#ifndef KDTL_RECORD_H
#define KDTL_RECORD_H

#include <signal.h>
#include <sys/types.h>

#include "kdtl.h"

/* The ring's parts: one is filled, the others have at least the seconds asked for. */
#define RING_PARTS	5

/**
 * struct part - a part of the ring, or a file: it needs nothing that comes before it
 * @fd: where it is
 * @since: when it began, CLOCK_MONOTONIC in ns
 * @entries: their number
 * @lost: entries that were lost before it began
 * @tasks_lost: records of tasks that were lost before it began
 */
struct part {
	int		fd;
	uint64_t	since;
	uint64_t	entries;
	uint64_t	lost;
	uint64_t	tasks_lost;
};

/**
 * struct look - what one round of record_loop() has read from a session
 * @clock: when the previous round ended: an entry that was made after it is in this one
 * @entry: the entries
 * @nr: their number
 */
struct look {
	struct clock_pair	clock;
	struct kdtl_entry	*entry;
	size_t			nr;
};

/**
 * struct record - a recording that is made
 * @path: the file; "-": standard output
 * @suffix: end of the names of all its files; NULL: none
 * @wants_steal: make a recording of stolen time beside it
 * @wants_irq: make a recording of interrupts beside it
 * @wants_wake: make a recording of wake-ups beside it
 * @beside: the next recording that is made beside this one; NULL: none
 * @command: what runs meanwhile; NULL: nothing
 * @seconds: for how long; 0: until something else ends it
 * @ring: keep the last so many seconds in memory; 0: write all
 * @on_alarm: write the ring when kdtl_watch has an alarm
 * @max_size: limit on a file's size, or on the ring's; 0: none
 * @rotate: keep so many old files, and go on in a new one at the limit
 * @quiet: print neither progress nor a summary
 * @idle_if_known: leave idle out if the source does not tell
 * @attr: attributes of the session
 * @cpus: CPUs that the session asks for
 * @dev: /dev/kdtl
 * @pipe: the pipe from there to the file
 * @nameless: entries do not name their CPU, as those of kdtl_vpa
 * @cpu: its CPUs, see log_cpus()
 * @nr_cpus: number of those
 * @next_cpu: the place from which the next read goes on, if entries do not name their CPU
 * @lost: entries that had been lost when that was last looked at
 * @looked: when it was last looked at, in ticks
 * @went: when a CPU had gone offline last, in ticks
 * @came: when a CPU had come online last
 * @began: when the session had been started, in ticks
 * @wait: the waits that the kernel last reported, as in the file
 * @nr_waits: number of those
 * @asked: the kernel reported them before this moment, in ticks, and they are not written yet; or 0
 * @until: entries up to this moment were read, in ticks
 * @head: head of the file
 * @part: the ring's parts, oldest first; only the last one is used without --ring
 * @nr: their number
 * @start: when it began, CLOCK_MONOTONIC in ns
 * @entries: number of all entries that were read
 * @clock: the last clock pair that was recorded
 * @look: of stolen time with @rotate: the last look, and the one before it
 * @turn: go on in the next part if it is time; NULL: there is no ring
 * @wait_for_reader: wait until a stream takes more; false: it does not
 * @full: the limit is reached
 * @failed: the ring could not be written once
 * @side: what goes beside the entries
 */
struct record {
	const char		*path;
	const char		*suffix;
	bool			wants_steal;
	bool			wants_irq;
	bool			wants_wake;
	struct record		*beside;
	char			**command;
	double			seconds;
	double			ring;
	bool			on_alarm;
	uint64_t		max_size;
	unsigned int		rotate;
	bool			quiet;
	bool			idle_if_known;
	struct kdtl_stream_attr	attr;
	cpu_set_t		*cpus;

	int			dev;
	int			pipe[2];
	bool			nameless;
	struct log_cpu		*cpu;
	size_t			nr_cpus;
	size_t			next_cpu;
	uint64_t		lost;
	uint64_t		looked;
	uint64_t		went;
	uint64_t		came;
	uint64_t		began;
	struct kdtl_stream_wait	*wait;
	size_t			nr_waits;
	uint64_t		asked;
	uint64_t		until;
	struct kdtl_file	head;
	struct part		part[RING_PARTS];
	unsigned int		nr;
	uint64_t		start;
	uint64_t		entries;
	struct clock_pair	clock;
	struct look		look[2];
	void			(*turn)(struct record *r);
	bool			(*wait_for_reader)(int fd);
	bool			full;
	bool			failed;
	struct side		side;
};

static inline bool record_is_stream(const struct record *r)
{
	return !strcmp(r->path, "-");
}

/* The word for its entries in messages. */
static inline const char *record_unit(const struct record *r)
{
	return r->suffix || r->attr.mask & KDTL_MASK_IDLE ? "entries" : "dispatches";
}

/* The part that is written now. */
static inline struct part *record_part(struct record *r)
{
	return &r->part[r->nr - 1];
}

/* record.c */
void record_catch_signals(sigset_t *mask);
void record_release_signals(const sigset_t *mask);
int record_loop(struct record *r, const sigset_t *mask);

/* stream.c */
void stream_begin(struct record *r);
ssize_t stream_write(int fd, const void *data, size_t size);

/* session.c */
bool session_has_source(const char *source);
void session_open(struct record *r);
bool session_open_steal(struct record *r, struct record *steal, const char *path, bool must);
bool session_open_irq(struct record *r, struct record *irq, const char *path, bool must);
bool session_open_wake(struct record *r, struct record *wake, const char *path, bool must);
void session_start(struct record *r);
void session_stop(const struct record *r);
void session_close(struct record *r);

/* output.c */
void output_begin_part(struct record *r, int fd);
void output_clock(struct record *r, bool set);
void output_filter(struct record *r);
void output_set_head(struct record *r, const struct part *first, uint64_t entries);
int output_create(const struct record *r);
void output_begin(struct record *r, int fd);
bool output_drain(struct record *r);
void output_next_look(struct record *r);
void output_ask(struct record *r);
void output_waits(struct record *r);
void output_end(struct record *r);

/* ring.c */
void ring_begin(struct record *r);
void ring_write(struct record *r);
int ring_open_alarms(void);
bool ring_alarm_came(int fd);

/* workload.c */
void workload_start(char **command, const sigset_t *mask, bool ring);
bool workload_ended(void);
int workload_end(int sig);

#endif /* KDTL_RECORD_H */
