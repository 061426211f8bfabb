// SPDX-License-Identifier: GPL-2.0
/*
 * lttng_switch [-r KIB] EVENT[,EVENT...] COMMAND... - run COMMAND under LTTng's modules
 *
 * Talks to /proc/lttng as LTTng's session daemon does; no daemon is needed, because nothing is read
 * while COMMAND runs.  Discard mode, no timers and a buffer that holds everything are the cheapest
 * settings of LTTng.  With -r there are KIB for each CPU, in four parts, which are read meanwhile;
 * then prints to stderr how many events were discarded.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "spawn.h"

#define __packed	__attribute__((packed))

/* The interface of lttng-modules 2.13, include/lttng/abi.h. */
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
/* The requests on a stream, include/ringbuffer/vfs.h. */
#define LTTNG_GET_NEXT		_IO(0xF6, 0x05)
#define LTTNG_PUT_NEXT		_IO(0xF6, 0x06)
#define LTTNG_GET_SIZE		_IOR(0xF6, 0x07, unsigned long)
#define LTTNG_GET_MMAP_LEN	_IOR(0xF6, 0x0A, unsigned long)
#define LTTNG_GET_MMAP_OFFSET	_IOR(0xF6, 0x0B, unsigned long)
#define LTTNG_FLUSH		_IO(0xF6, 0x0C)
#define LTTNG_GET_DISCARDED	_IOR(0xF6, 0x22, uint64_t)

#define MAX_CPUS		64
/* The shortest period that is useful: only this timer wakes a reader. */
#define READ_TIMER_US		1000

/* The buffer of one CPU. */
struct stream {
	int		fd;
	const char	*map;
	uint64_t	discarded;
};

static struct stream streams[MAX_CPUS];
static int nr_streams;
static uint64_t sum;	/* makes use of what is read */

static int call(int fd, unsigned long request, void *arg, const char *what)
{
	int ret = ioctl(fd, request, arg);

	if (ret < 0)
		err(1, "%s", what);
	return ret;
}

static void stream_map(struct stream *s)
{
	unsigned long len;

	call(s->fd, LTTNG_GET_MMAP_LEN, &len, "length");
	s->map = mmap(NULL, len, PROT_READ, MAP_PRIVATE, s->fd, 0);
	if (s->map == MAP_FAILED)
		err(1, "mmap");
}

static void stream_read(struct stream *s)
{
	unsigned long size, offset, i;

	while (!ioctl(s->fd, LTTNG_GET_NEXT, NULL)) {
		call(s->fd, LTTNG_GET_SIZE, &size, "size");
		call(s->fd, LTTNG_GET_MMAP_OFFSET, &offset, "offset");
		for (i = 0; i < size / sizeof(sum); i++)
			sum += ((const uint64_t *)(s->map + offset))[i];
		/* This is the total so far. */
		call(s->fd, LTTNG_GET_DISCARDED, &s->discarded, "discarded");
		call(s->fd, LTTNG_PUT_NEXT, NULL, "put");
	}
}

static int read_meanwhile(int session, char **argv)
{
	struct pollfd fds[MAX_CPUS];
	uint64_t discarded = 0;
	int i, status;
	pid_t pid;

	for (i = 0; i < nr_streams; i++) {
		stream_map(&streams[i]);
		fds[i] = (struct pollfd){ .fd = streams[i].fd, .events = POLLIN };
	}
	pid = spawn_only(argv);
	while (!ended(pid, &status)) {
		/* The timeout is needed because the signal may come just before the call. */
		poll(fds, nr_streams, 1000);
		for (i = 0; i < nr_streams; i++)
			stream_read(&streams[i]);
	}
	call(session, LTTNG_SESSION_STOP, NULL, "stop");
	for (i = 0; i < nr_streams; i++) {
		call(streams[i].fd, LTTNG_FLUSH, NULL, "flush");
		stream_read(&streams[i]);
		discarded += streams[i].discarded;
	}
	fprintf(stderr, "lttng_switch: lost %llu\n", (unsigned long long)discarded);
	return status;
}

int main(int argc, char **argv)
{
	const bool reading = argc > 2 && !strcmp(argv[1], "-r");
	struct lttng_channel channel = {
		.subbuf_size = 1 << 20,
		.num_subbuf = 16,
		.output = 1,
	};
	int lttng, session, chan, fd, status;
	char *name;

	if (argc < 3 + 2 * reading)
		errx(2, "usage: lttng_switch [-r KIB] EVENT[,EVENT...] COMMAND...");
	if (reading) {
		channel.num_subbuf = 4;
		channel.subbuf_size = (strtoul(argv[2], NULL, 0) << 10) / 4;
		channel.read_timer_us = READ_TIMER_US;
		argv += 2;
	}
	lttng = open("/proc/lttng", O_RDWR | O_CLOEXEC);
	if (lttng < 0)
		err(1, "/proc/lttng");
	session = call(lttng, LTTNG_SESSION, NULL, "session");
	chan = call(session, LTTNG_CHANNEL, &channel, "channel");
	/* There is one for each CPU; then comes -ENOENT. */
	while (nr_streams < MAX_CPUS && (fd = ioctl(chan, LTTNG_STREAM, NULL)) >= 0)
		streams[nr_streams++].fd = fd;
	for (name = strtok(argv[1], ","); name; name = strtok(NULL, ",")) {
		struct lttng_event event = { 0 };

		snprintf(event.name, sizeof(event.name), "%s", name);
		fd = call(chan, LTTNG_EVENT, &event, name);
		call(fd, LTTNG_ENABLE, NULL, name);
	}
	call(session, LTTNG_SESSION_START, NULL, "start");

	if (reading)
		return read_meanwhile(session, argv + 2);

	status = spawn(argv + 2);

	call(session, LTTNG_SESSION_STOP, NULL, "stop");
	return status;
}
