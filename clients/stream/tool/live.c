// SPDX-License-Identifier: GPL-2.0
/* What happens now, for the commands that show it at once. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record.h"

static int stopped;

/*
 * Record what all CPUs do for @seconds, or until Ctrl-C, into memory.  Returns the path of
 * the recording, for recording_open(); the next call closes it.
 */
const char *record_live(double seconds)
{
	struct record r = {
		.path = "the recording in memory", .seconds = seconds, .quiet = true,
		.idle_if_known = true,
		.attr.mask = KDTL_MASK_ALL | KDTL_MASK_IDLE,
	};
	static char path[32];
	static int out = -1;
	sigset_t mask;

	if (out >= 0)
		close(out);
	out = memfd_create("kdtl", MFD_CLOEXEC);
	if (out < 0)
		die("memfd_create");
	record_catch_signals(&mask);
	session_open(&r);
	output_begin(&r, out);
	session_start(&r);
	stopped = record_loop(&r, &mask);
	session_stop(&r);
	while (output_drain(&r))
		;
	output_end(&r);
	session_close(&r);
	record_release_signals(&mask);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", out);
	return path;
}

/* The last record_live() ended early, since Ctrl-C or another signal came. */
bool record_live_interrupted(void)
{
	return stopped;
}
