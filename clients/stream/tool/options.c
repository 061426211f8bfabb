// SPDX-License-Identifier: GPL-2.0
/* The command line of a command: what all of them have in common. */
#include <stdio.h>
#include <stdlib.h>

#include "kdtl.h"

/* Does more than one name begin as this argument does? */
static bool is_ambiguous(const char *arg, const struct option *names)
{
	const size_t len = strcspn(arg + 2, "=");
	unsigned int nr = 0;

	for (; names->name; names++)
		nr += !strncmp(names->name, arg + 2, len);
	return nr > 1;
}

/* Refuse what getopt_long() does not know, or an option with a value that it does not take. */
static void refuse(char **argv, const char *letters, const struct option *names)
{
	const char *arg = argv[optind - 1];

	/* Others may follow the letter, so it need not be that argument's. */
	if (optopt && optopt < OPT_FIRST && !strchr(letters, optopt))
		usage_error("%s: no option -%c", argv[0], optopt);
	if (optopt)
		usage_error("%s: %s: takes no value", argv[0], arg);
	if (is_ambiguous(arg, names))
		usage_error("%s: %s: more than one option begins so", argv[0], arg);
	usage_error("%s: no option %s", argv[0], arg);
}

/*
 * The next option, as getopt_long() returns it; -1: there are no more.  Options may follow other
 * arguments, unless @letters begin with a +.  They have ":h", and @names OPTIONS_END.
 */
int next_option(int argc, char **argv, const char *letters, const struct option *names)
{
	int opt;

	opterr = 0;
	opt = getopt_long(argc, argv, letters, names, NULL);
	if (opt == 'h')
		help();
	if (opt == ':' && optopt < OPT_FIRST)
		usage_error("%s: -%c needs a value", argv[0], optopt);
	if (opt == ':')
		usage_error("%s: %s needs a value", argv[0], argv[optind - 1]);
	if (opt == '?')
		refuse(argv, letters, names);
	return opt;
}

/* For a command without options: only arguments follow, from argv[optind] on. */
void no_options(int argc, char **argv)
{
	static const struct option names[] = { OPTIONS_END };

	while (next_option(argc, argv, ":h", names) != -1)
		;
}

/* The option -n: so many of @what. */
size_t parse_nr(const char *text, const char *what)
{
	char *end;
	const size_t nr = strtoul(text, &end, 10);

	if (*end || !nr || *text == '-')
		usage_error("-n %s: must be a number of %s", text, what);
	return nr;
}
