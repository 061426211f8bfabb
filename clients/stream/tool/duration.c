// SPDX-License-Identifier: GPL-2.0
/* Durations on the command line: all options that take one take the same units. */
#include <stdio.h>
#include <stdlib.h>

#include "kdtl.h"

/* 146 years: two of them fit into a time in ns that has a sign. */
#define MAX_NS	(INT64_MAX / 2)

static const struct {
	const char	*name;
	uint64_t	ns;
} units[] = {
	{ "ns", 1 }, { "us", NS_PER_US }, { "ms", NS_PER_MS }, { "s", NS_PER_S },
	{ "min", 60 * NS_PER_S }, { "h", 3600 * NS_PER_S },
};

static const char *unit_name(uint64_t ns)
{
	size_t i = 0;

	while (units[i].ns != ns)
		i++;
	return units[i].name;
}

/* Read a number with a unit, by default @unit (in ns), to the next ns.  False: it is no number. */
bool read_duration(const char *text, uint64_t unit, uint64_t *ns)
{
	char *end;
	const double number = strtod(text, &end);
	double factor = *end ? 0 : unit;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (!strcmp(end, units[i].name))
			factor = units[i].ns;
	}
	if (end == text || !factor || !(number >= 0 && number * factor < MAX_NS))
		return false;
	*ns = number * factor + 0.5;
	/* Not 0, which would be no bound. */
	if (number > 0 && !*ns)
		*ns = 1;
	return true;
}

/* Three digits and a unit, as narrow as can be; a + for "or more". */
const char *brief_ns(char to[NS_TEXT], uint64_t ns, bool more)
{
	static const char *const unit[] = { "ns", "us", "ms", "s" };
	unsigned int i = 0;
	double v = ns;

	/* A value that rounds to 1000 is 1.00 of the next unit. */
	for (; v >= 999.5 && i < ARRAY_SIZE(unit) - 1; i++)
		v /= 1000;
	snprintf(to, NS_TEXT, "%.*f%s%s", !i || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2, v, unit[i],
		 more ? "+" : "");
	return to;
}

/* An option's duration: at least @least ns, and at most @most ns if that is not 0. */
uint64_t parse_duration(const char *option, const char *text, uint64_t unit, uint64_t least,
			uint64_t most)
{
	char from[NS_TEXT], to[NS_TEXT];
	uint64_t ns;

	if (!read_duration(text, unit, &ns))
		usage_error("%s %s: must be a time such as 50ms, in ns, us, ms, s, min or h (default: %s)",
			    option, text, unit_name(unit));
	if (ns < least)
		usage_error("%s %s: must be at least %s", option, text, brief_ns(from, least, false));
	if (most && ns > most)
		usage_error("%s %s: must be at most %s", option, text, brief_ns(to, most, false));
	return ns;
}
