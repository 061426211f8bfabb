// SPDX-License-Identifier: GPL-2.0
/* kdtl record -o -: the stream's reader may stall, and must not keep the recording from ending. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "record.h"

/* The recording that goes there. */
static const struct record *streamed;

void stream_begin(struct record *r)
{
	streamed = r;
	r->side.write = stream_write;
}

/* Give up the entries that are in no file and in no pipe: they are gone. */
static void give_up(void)
{
	const struct kdtl_stream_info info = device_info(streamed->dev);
	/* Nobody knows how many of the entries that are being written have gone out. */
	const uint64_t read = info.consumed - streamed->entries;

	errno = 0;
	die("standard output: its reader has stalled, so the recording ends without its last %llu %s; %llu more were lost",
	    (unsigned long long)(read + info.unread), record_unit(streamed),
	    (unsigned long long)info.lost);
}

/*
 * Like write(2), but never sleeps, so that a signal is not kept waiting: a pipe that can be written
 * to has room for PIPE_BUF bytes.
 */
ssize_t stream_write(int fd, const void *data, size_t size)
{
	ssize_t n;

	do {
		if (!streamed->wait_for_reader(fd))
			give_up();
		n = send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == ENOTSOCK)
			n = write(fd, data, size < PIPE_BUF ? size : PIPE_BUF);
	} while (n < 0 && errno == EAGAIN);
	return n;
}
