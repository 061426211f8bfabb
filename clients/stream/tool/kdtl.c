// SPDX-License-Identifier: GPL-2.0
/* kdtl(1) - record and show dispatch trace logs */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "kdtl.h"

static const char usage[] =
	"usage: kdtl COMMAND [OPTION]...\n"
	"  list                         list the sources of this machine\n"
	"  record [OPTION]... [COMMAND [ARGUMENT]...]\n"
	"                               record until COMMAND ends, or Ctrl-C\n"
	"      -o FILE      write to FILE (default: kdtl.data)\n"
	"      -d SECONDS   record for SECONDS\n"
	"      -s SOURCE    kdtl_sched or kdtl_vpa (default: the best there is)\n"
	"      -C CPUS      record CPUS, such as 0-3,8 (default: all)\n"
	"      -w MS        record only dispatches after a wait of MS ms or longer\n"
	"      -m PAGES     pages of log per CPU, a power of two\n"
	"      -i           record also when CPUs become idle\n"
	"      -q           print neither progress nor summary\n"
	"  print [OPTION]... [FILE]     print the entries in the order of time\n"
	"      -a           print all that is known of the tasks\n"
	"      -g CGROUP    only of tasks in CGROUP, a path, or below\n"
	"      -p PID       only of the task or the process PID\n"
	"  histogram [FILE]             show how long tasks waited\n"
	"  ctf [FILE] DIRECTORY         convert for babeltrace2 and Trace Compass\n"
	"See kdtl(1).\n";

/* As PAPR and the perf tool name the reasons.  "throttled" and "idle" are not among theirs. */
const char *const dispatch_names[NR_DISPATCH_NAMES] = {
	"external_interrupt", "firmware_internal_event", "H_PROD",
	"decrementer_interrupt", "system_reset", "firmware_internal_event",
	"conferred_cycles", "time_slice", "virtual_memory_page_fault",
	"expropriated_adjunct", "priv_doorbell",
};

const char *const preempt_names[NR_PREEMPT_NAMES] = {
	"unused", "firmware_internal_event", "H_CEDE", "H_CONFER", "time_slice",
	"migration_hibernation_page_fault", "virtual_memory_page_fault",
	"H_CONFER_ADJUNCT", "hcall_adjunct", "HDEC_adjunct",
};

void die(const char *fmt, ...)
{
	const int error = errno;
	va_list args;

	fflush(stdout);
	fputs("kdtl: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	if (error)
		fprintf(stderr, ": %s", strerror(error));
	fputc('\n', stderr);
	exit(1);
}

void usage_error(const char *fmt, ...)
{
	va_list args;

	fputs("kdtl: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\n%s", usage);
	exit(2);
}

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

/* Others chose the names, and may have put what steers a terminal into them. */
const char *printable(char *to, const char *name, size_t len)
{
	char *p = to;

	for (; len && *name; len--, name++) {
		if (*name < ' ' || *name > '~' || *name == '\\')
			p += sprintf(p, "\\x%02x", (unsigned char)*name);
		else
			*p++ = *name;
	}
	*p = '\0';
	return to;
}

/* Three digits and a unit, nine columns wide; a + for "or more". */
void print_ns(uint64_t ns, bool saturated)
{
	const char *const unit[] = { "ns", "us", "ms", saturated ? "s+" : "s " };
	unsigned int i = 0;
	double v = ns;

	for (; v >= 1000 && i < 3; i++)
		v /= 1000;
	printf("%6.*f %s", !i || v >= 100 ? 0 : v >= 10 ? 1 : 2, v, unit[i]);
}

int main(int argc, char **argv)
{
	static const struct {
		const char	*name;
		int		(*fn)(int argc, char **argv);
	} commands[] = {
		{ "list", cmd_list },
		{ "record", cmd_record },
		{ "print", cmd_print },
		{ "histogram", cmd_histogram },
		{ "ctf", cmd_ctf },
	};

	if (argc < 2)
		usage_error("a command is missing");
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")) {
		fputs(usage, stdout);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (!strcmp(argv[1], commands[i].name)) {
			const int ret = commands[i].fn(argc - 1, argv + 1);

			if (fflush(stdout) || ferror(stdout))
				die("standard output");
			return ret;
		}
	}
	usage_error("no such command: %s", argv[1]);
}
