// SPDX-License-Identifier: GPL-2.0
/* What happens now, for the commands that show it at once. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record.h"

static int stopped;

/* Make a file in memory, in place of @old, and set its path. */
static int new_file(int old, char path[32])
{
	int fd;

	if (old >= 0)
		close(old);
	fd = memfd_create("kdtl", MFD_CLOEXEC);
	if (fd < 0)
		die("memfd_create");
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

static void finish(struct record *r)
{
	session_stop(r);
	while (output_drain(r))
		;
	output_end(r);
	session_close(r);
}

/*
 * Record into memory what all CPUs do for @seconds, or until Ctrl-C.  Returns the recording's path,
 * for recording_open().  Sets the paths of the recordings beside it: of stolen time and of
 * interrupts, or NULL, and of wake-ups, likewise unless there @must_wake be one.  The next call
 * closes them all.
 */
const char *record_live(double seconds, const char **steal, const char **irq, const char **wake,
			bool must_wake)
{
	struct record r = {
		.path = "the recording in memory", .seconds = seconds, .quiet = true,
		.idle_if_known = true,
		.attr.mask = KDTL_MASK_ALL | KDTL_MASK_IDLE,
	};
	static char path[32], steal_path[32], irq_path[32], wake_path[32];
	static int out = -1, steal_out = -1, irq_out = -1, wake_out = -1;
	struct record stolen, irqs, woken;
	sigset_t mask;

	/* Another source may be the default, but only this one names tasks. */
	if (session_has_source("kdtl_sched"))
		strcpy(r.attr.source, "kdtl_sched");
	out = new_file(out, path);
	record_catch_signals(&mask);
	session_open(&r);
	*steal = NULL;
	*irq = NULL;
	*wake = NULL;
	if (r.attr.source[0] && session_open_steal(&r, &stolen, "what is stolen, in memory", false)) {
		steal_out = new_file(steal_out, steal_path);
		output_begin(&stolen, steal_out);
		session_start(&stolen);
		*steal = steal_path;
	}
	if (r.attr.source[0] && session_open_irq(&r, &irqs, "what interrupts have, in memory", false)) {
		irq_out = new_file(irq_out, irq_path);
		output_begin(&irqs, irq_out);
		session_start(&irqs);
		*irq = irq_path;
	}
	if ((r.attr.source[0] || must_wake) &&
	    session_open_wake(&r, &woken, "who woke whom, in memory", must_wake)) {
		wake_out = new_file(wake_out, wake_path);
		output_begin(&woken, wake_out);
		session_start(&woken);
		*wake = wake_path;
	}
	output_begin(&r, out);
	session_start(&r);
	stopped = record_loop(&r, &mask);
	output_ask(&r);
	for (struct record *each = &r; each; each = each->beside)
		finish(each);
	record_release_signals(&mask);
	return path;
}

/* Did Ctrl-C or another signal end the last record_live() early? */
bool record_live_interrupted(void)
{
	return stopped;
}
