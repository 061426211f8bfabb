// SPDX-License-Identifier: GPL-2.0
/* kdtl(1) - record and show dispatch trace logs */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kdtl.h"

/* Listed in the order in which people need them. */
static const struct verb *const verbs[] = {
	&verb_list, &verb_record, &verb_why, &verb_report, &verb_diff, &verb_map,
	&verb_top, &verb_print, &verb_histogram, &verb_ctf, &verb_export,
};

/* The verb that runs; NULL: not known yet. */
static const struct verb *verb;

static void print_usage(void)
{
	if (verb) {
		printf("usage: kdtl %s\nSee kdtl(1).\n", verb->usage);
		return;
	}
	puts("usage: kdtl COMMAND [OPTION]...");
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		printf("  %-10s %s\n", verbs[i]->name, verbs[i]->brief);
	fputs("kdtl help COMMAND shows the options of a command, kdtl --version the version.\n"
	      "See kdtl(1).\n", stdout);
}

/* As sched_setscheduler(2) numbers the policies. */
const char *const policy_names[NR_POLICY_NAMES] = {
	"other", "fifo", "rr", "batch", "4", "idle", "deadline", "ext",
};

void (*at_die)(void);

void die(const char *fmt, ...)
{
	const int error = errno;
	va_list args;

	if (at_die)
		at_die();
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
	fprintf(stderr, "; see kdtl %s%s--help\n", verb ? verb->name : "", verb ? " " : "");
	exit(2);
}

/* Escape a name: whoever chose it may have put codes into it that steer a terminal. */
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
const char *ns_text(char to[NS_TEXT], uint64_t ns, bool saturated)
{
	const char *const unit[] = { "ns", "us", "ms", saturated ? "s+" : "s " };
	unsigned int i = 0;
	double v = ns;

	for (; v >= 1000 && i < 3; i++)
		v /= 1000;
	snprintf(to, NS_TEXT, "%6.*f %s", !i || v >= 100 ? 0 : v >= 10 ? 1 : 2, v, unit[i]);
	return to;
}

void print_ns(uint64_t ns, bool saturated)
{
	char text[NS_TEXT];

	fputs(ns_text(text, ns, saturated), stdout);
}

static bool is_help(const char *arg)
{
	return !strcmp(arg, "-h") || !strcmp(arg, "--help") || !strcmp(arg, "help");
}

static void find_verb(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (!strcmp(name, verbs[i]->name))
			verb = verbs[i];
	}
	if (!verb)
		usage_error("no such command: %s", name);
}

/* Fail if the output could not be written. */
static void check_output(void)
{
	if (fflush(stdout) || ferror(stdout))
		die("standard output");
}

/* Print what the command takes, and exit. */
void help(void)
{
	print_usage();
	check_output();
	exit(0);
}

/* Open the standard files, or a recording might become standard error and get the messages. */
static void open_standard_files(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDONLY);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	int ret;

	open_standard_files();
	if (argc < 2)
		usage_error("a command is missing");
	if (is_help(argv[1])) {
		if (argv[2])
			find_verb(argv[2]);
		help();
	}
	if (!strcmp(argv[1], "--version")) {
		puts("kdtl " KDTL_VERSION);
		return 0;
	}
	find_verb(argv[1]);
	ret = verb->run(argc - 1, argv + 1);
	check_output();
	return ret;
}
