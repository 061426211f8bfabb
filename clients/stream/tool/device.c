// SPDX-License-Identifier: GPL-2.0
/* /dev/kdtl, and what to do about its errors. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include "kdtl.h"

int open_device(void)
{
	const int fd = open("/dev/kdtl", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	if (errno == ENOENT)
		die("/dev/kdtl: load the module kdtl_stream");
	if (errno == EACCES)
		die("/dev/kdtl: needs CAP_PERFMON; root has it");
	die("/dev/kdtl");
}

/* SETUP has failed, and errno says why. */
void device_refused(const struct kdtl_stream_attr *attr)
{
	if (errno == ENODEV && !attr->source[0])
		die("there is no source: load the module kdtl_sched, kdtl_steal or kdtl_vpa");
	if (errno == ENODEV)
		die("no source %s: see kdtl list", attr->source);
	if (errno == EOPNOTSUPP && !strcmp(attr->source, WAKE_SOURCE))
		die("-s " WAKE_SOURCE ": its entries are no dispatches: --wake records them beside those of kdtl_sched");
	if (errno == EOPNOTSUPP)
		die("-i: the source does not tell when a CPU becomes idle");
	if (errno == EPERM)
		die("the log would exceed RLIMIT_MEMLOCK: use fewer pages (record -m) or CPUs (record -C, top --cpu)");
	if (errno == EUSERS)
		die("a CPU has as many sessions of users without CAP_SYS_ADMIN as kdtl_stream allows (max_sessions)");
	die("cannot set up the session; the kernel's log may say why");
}

/*
 * Set up the session.  If @attr asks for idle time and the source does not tell it, the
 * session goes without, if @idle_if_known.
 */
void device_setup(int dev, struct kdtl_stream_attr *attr, bool idle_if_known)
{
	int err = ioctl(dev, KDTL_IOC_SETUP, attr);

	if (err && errno == EOPNOTSUPP && idle_if_known) {
		attr->mask = KDTL_MASK_ALL;
		err = ioctl(dev, KDTL_IOC_SETUP, attr);
	}
	if (err)
		device_refused(attr);
}

struct kdtl_stream_info device_cpu_info(int dev, int cpu)
{
	struct kdtl_stream_info info = { .cpu = cpu };

	if (ioctl(dev, KDTL_IOC_INFO, &info))
		die("/dev/kdtl");
	return info;
}

/* The sums over the CPUs. */
struct kdtl_stream_info device_info(int dev)
{
	return device_cpu_info(dev, -1);
}

struct kdtl_stream_clock device_clock(int dev)
{
	struct kdtl_stream_clock clock;

	if (ioctl(dev, KDTL_IOC_CLOCK, &clock))
		die("/dev/kdtl");
	return clock;
}

/* Who waits now, in @wait, which has room for WAITS.  0 if nobody does, or if nobody knows. */
size_t device_waits(int dev, struct kdtl_stream_wait *wait)
{
	struct kdtl_stream_waits req = { .waits = (uintptr_t)wait, .nr = WAITS };

	if (ioctl(dev, KDTL_IOC_WAITS, &req))
		return 0;
	/* @req.nr counts all that wait, even if there was no room for them. */
	if (req.nr > WAITS)
		req.nr = WAITS;
	return req.nr;
}
