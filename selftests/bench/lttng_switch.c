// SPDX-License-Identifier: GPL-2.0
/*
 * lttng_switch EVENT[,EVENT...] COMMAND... - run COMMAND under LTTng's modules
 *
 * Talks to /proc/lttng as LTTng's session daemon does; no daemon is needed, as
 * nothing is read while COMMAND runs.  Discard mode, no timers, a buffer that
 * holds all of it: the cheapest that LTTng can be set to.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "spawn.h"

#define __packed	__attribute__((packed))

/* What lttng-modules 2.13 takes, include/lttng/abi.h. */
#define LTTNG_NAME_LEN	256

struct lttng_channel {
	uint64_t	subbuf_size;
	uint64_t	num_subbuf;
	unsigned int	switch_timer_us;
	unsigned int	read_timer_us;
	uint32_t	output;		/* 1: mmap */
	int		overwrite;
	char		padding[LTTNG_NAME_LEN + 32];
} __packed;

struct lttng_event {
	char		name[LTTNG_NAME_LEN];
	uint32_t	instrumentation;	/* 0: tracepoint */
	uint64_t	token;
	char		padding1[8];
	char		padding2[LTTNG_NAME_LEN + 32];
} __packed;

#define LTTNG_SESSION		_IO(0xF6, 0x45)
#define LTTNG_CHANNEL		_IOW(0xF6, 0x55, struct lttng_channel)
#define LTTNG_SESSION_START	_IO(0xF6, 0x56)
#define LTTNG_SESSION_STOP	_IO(0xF6, 0x57)
#define LTTNG_STREAM		_IO(0xF6, 0x62)
#define LTTNG_EVENT		_IOW(0xF6, 0x63, struct lttng_event)
#define LTTNG_ENABLE		_IO(0xF6, 0x82)

static int call(int fd, unsigned long request, void *arg, const char *what)
{
	int ret = ioctl(fd, request, arg);

	if (ret < 0)
		err(1, "%s", what);
	return ret;
}

int main(int argc, char **argv)
{
	struct lttng_channel channel = {
		.subbuf_size = 1 << 20,
		.num_subbuf = 16,
		.output = 1,
	};
	int lttng, session, chan, fd, status;
	char *name;

	if (argc < 3)
		errx(2, "usage: lttng_switch EVENT[,EVENT...] COMMAND...");
	lttng = open("/proc/lttng", O_RDWR | O_CLOEXEC);
	if (lttng < 0)
		err(1, "/proc/lttng");
	session = call(lttng, LTTNG_SESSION, NULL, "session");
	chan = call(session, LTTNG_CHANNEL, &channel, "channel");
	while (ioctl(chan, LTTNG_STREAM, NULL) >= 0)
		;	/* one a CPU, then -ENOENT */
	for (name = strtok(argv[1], ","); name; name = strtok(NULL, ",")) {
		struct lttng_event event = { 0 };

		snprintf(event.name, sizeof(event.name), "%s", name);
		fd = call(chan, LTTNG_EVENT, &event, name);
		call(fd, LTTNG_ENABLE, NULL, name);
	}
	call(session, LTTNG_SESSION_START, NULL, "start");

	status = spawn(argv + 2);

	call(session, LTTNG_SESSION_STOP, NULL, "stop");
	return status;
}
