# SPDX-License-Identifier: GPL-2.0
#
# awk -f count.awk MARKED COUNTS: prints lines of name, value, unit. MARKED has lines.sh's names and
# numbers of calls, COUNTS has the plugin's counts for each call.

BEGIN { OFS = "\t" }

NR == FNR {
	name[++n] = $1
	calls[n] = $2
	next
}

FNR == 1 { at = 1 }

{
	lines += $1
	pages += $2
	code += $3
	if (++seen < calls[at])
		next
	print "native.lines." name[at], sprintf("%.2f", lines / seen), "lines"
	print "native.pages." name[at], sprintf("%.2f", pages / seen), "pages"
	print "native.code." name[at], sprintf("%.2f", code / seen), "lines"
	lines = pages = code = seen = 0
	at++
}

END {
	if (at != n + 1 || seen) {
		print "count.awk: the plugin saw other calls" > "/dev/stderr"
		exit 1
	}
}
