# SPDX-License-Identifier: GPL-2.0
#
# awk -f native.awk RAW: prints lines of name, value, unit. RAW has bench_native's lines of many
# boots: boot, state, probe, least, 10th percentile, median, 90th percentile. A figure is the median
# over all boots, less what the switch costs with an empty probe in the same boot.

BEGIN {
	FS = " "
	OFS = "\t"
}

$2 == "rate" {
	mhz = $3
	next
}

$3 == "empty_probe" {
	for (i = 4; i <= 7; i++)
		empty[$1, $2, i] = $i
}

{
	name = $2 "." $3
	if (!(name in boots))
		order[++n] = name
	boots[name]++
	for (i = 4; i <= 7; i++)
		v[name, i, boots[name]] = $i - ($3 == "empty_probe" ? 0 : empty[$1, $2, i])
}

function median(name, i,	a, j, k, m, t)
{
	m = boots[name]
	for (j = 1; j <= m; j++) {
		t = v[name, i, j]
		for (k = j; k > 1 && a[k - 1] > t; k--)
			a[k] = a[k - 1]
		a[k] = t
	}
	return (a[int((m + 1) / 2)] + a[int(m / 2) + 1]) / 2
}

function say(name, suffix, i)
{
	print "native." name suffix, sprintf("%.1f", median(name, i)), "cycles"
}

END {
	print "native.rate", mhz, "MHz"
	for (j = 1; j <= n; j++) {
		# For single switches the slow ones matter, too.
		if (order[j] ~ /^(adjacent|distant)\./) {
			say(order[j], ".p90", 7)
			continue
		}
		say(order[j], "", 5)
		say(order[j], ".least", 4)
		say(order[j], ".median", 6)
	}
}
