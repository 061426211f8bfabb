#!/usr/bin/awk -f
# SPDX-License-Identifier: GPL-2.0
#
# Prints the reports of a debug kernel's checkers from its console: each with the name of the test
# that ran ("# NAME" of run/tests), and up to 60 lines.
#
#	awk -v races=kdtl -f reports.awk CONSOLE
#
# races: report a data race only if one of the places that race contains this.

function flush_report() {
	if (keep && (!race || hit))
		printf "%s", text
	keep = race = hit = 0
	text = ""
}

function begin(line) {
	flush_report()
	keep = 1
	left = 60
	text = "# in " test ": " line "\n"
}

# Take the time from the line.
{
	line = $0
	sub(/\r$/, "", line)
	sub(/^\[ *[0-9]+\.[0-9]+\](\[ *[TC][0-9]+\])? ?/, "", line)
}

line ~ /^# [a-z0-9-]+$/ {
	flush_report()
	test = substr(line, 3)
	next
}

# The test of warnings provokes these.
test == "warn" && line ~ /^(WARNING|------------\[ cut here)/ { next }

# That test finds out by itself which leaks are kdtl's, and fails if any are.
test == "checkers" && line ~ /^kmemleak: [0-9]+ new suspected memory leaks/ { next }

line ~ /^BUG: KCSAN: / {
	begin(line)
	race = 1
	frames = 0
	if (races == "" || index(line, "[" races))
		hit = 1
	next
}

line ~ /^(BUG|WARNING|UBSAN|ODEBUG|Oops|Kernel panic|INFO: possible)[: ]/ ||
line ~ /^INFO: (trying to register|lockdep is turned off)/ ||
line ~ /^(kmemleak: )?(unreferenced object |[0-9]+ new suspected memory leaks)/ ||
line ~ /^(list_(add|del) corruption|general protection fault|Unable to handle|watchdog: BUG)/ {
	if (keep && left > 50 && !race)	# the same one goes on
		next
	begin(line)
	next
}

keep {
	# Look at the two innermost functions of each of the accesses that race. Skip capable(),
	# which notes in the task's own flags, which the scheduler reads, that it was asked.
	if (race) {
		if (line ~ / (to|at) 0x[0-9a-f]+ of [0-9]+ bytes by /)
			frames = 2
		else if (frames == 2 && line ~ / capable\+0x/)
			frames = 0
		else if (frames-- > 0 && index(line, "[" races))
			hit = 1
	}
	if (line ~ /^=====/ || left-- <= 0)
		flush_report()
	else
		text = text "#   " line "\n"
}

END { flush_report() }
