// SPDX-License-Identifier: GPL-2.0
/* kdtl list: the sources, and the one that is used by default. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kdtl.h"

#define DEVICES	"/sys/bus/event_source/devices"

/* Set up a session, but never start it: it has one page per CPU for a moment. */
static bool source_info(const char *source, struct kdtl_stream_info *info)
{
	struct kdtl_stream_attr attr = { .aux_pages = 1 };
	const int fd = open_device();
	bool ok;

	if (strlen(source) >= sizeof(attr.source)) {
		close(fd);
		return false;
	}
	strcpy(attr.source, source);
	*info = (struct kdtl_stream_info){ .cpu = -1 };
	ok = !ioctl(fd, KDTL_IOC_SETUP, &attr) && !ioctl(fd, KDTL_IOC_INFO, info);
	close(fd);
	return ok;
}

static int list(int argc, char **argv)
{
	struct kdtl_stream_info def, info;
	unsigned int nr = 0;
	struct dirent *d;
	DIR *dir;

	no_options(argc, argv);
	if (argv[optind])
		usage_error("list: unexpected argument %s", argv[optind]);
	if (!source_info("", &def))
		die("there is no source: load the module kdtl_sched, kdtl_steal or kdtl_vpa");
	dir = opendir(DEVICES);
	if (!dir)
		die(DEVICES);
	printf("%-16s %12s\n", "source", "ticks/s");
	while ((d = readdir(dir))) {
		if (strncmp(d->d_name, "kdtl", 4))
			continue;
		if (!source_info(d->d_name, &info)) {
			printf("%-16s %12s  %s\n", d->d_name, "-", strerror(errno));
			continue;
		}
		printf("%-16s %12llu%s\n", info.source,
		       (unsigned long long)info.tb_freq,
		       strcmp(info.source, def.source) ? "" : "  default");
		nr++;
	}
	closedir(dir);
	return nr == 0;
}

const struct verb verb_list = {
	.name = "list",
	.brief = "list the sources of this machine",
	.usage = "list",
	.run = list,
};
