# SPDX-License-Identifier: GPL-2.0
#
# Makes two passes over lines of name, value, unit: adds the ratio of each value to the floor of its
# kind, and to the best alternative to kdtl. "-" means that there is nothing to compare with.

BEGIN {
	OFS = "\t"
	floor_of["dispatch"] = "dispatch.record_floor"
	floor_of["wakeup"] = "wakeup.floor"
	floor_of["bandwidth"] = "bandwidth.memread"
	# These are complete tracers; the others are parts to build one from.
	peer["dispatch.ftrace"] = peer["dispatch.perf"] = 1
	peer["dispatch.lttng"] = peer["dispatch.bpf_ringbuf"] = 1
	peer["consume.trace_ring_buffer"] = peer["consume.kfifo"] = 1
	peer["consume.relay"] = peer["consume.perf"] = 1
	# These are Linux's own readers of the hypervisor's log.
	peer["hv.rest.vpa_dtl"] = peer["hv.rest.debugfs_dtl"] = 1
	peer["hv.consume.debugfs_dtl"] = 1
	peer["hv.sudden.vpa_dtl"] = peer["hv.rate.vpa_dtl"] = 1
	peer["hv.entry.vpa_dtl.80000"] = 1
}

# The kind is the first two words of hv.*; of hv.entry.WHO.RATE also the rate; and of
# native.STATE.WHO.WHAT all but WHO, which may have a number.
{
	kind = $1
	if ($1 ~ /^native\./) {
		split($1, word, ".")
		what = $1
		sub(/^native\.[^.]*\.[^.]*(\.[0-9]+)?/, "", what)
		kind = "native." word[2] what
		floor_of[kind] = "native." word[2] ".record_floor" what
		peer["native." word[2] ".trace_ring_buffer" what] = 1
	} else if (split($1, word, ".") > 2 && word[1] == "hv") {
		kind = word[1] "." word[2]
		if (word[2] == "entry")
			kind = kind "." word[split($1, word, ".")]
	} else {
		sub(/\..*/, "", kind)
	}
}

NR == FNR {
	value[$1] = $2
	if (($1 in peer) && (!(kind in best) || $2 + 0 < best[kind]))
		best[kind] = $2 + 0
	next
}

function ratio(to)
{
	return to + 0 > 0 ? sprintf("%.2f", $2 / to) : "-"
}

$1 == "dispatch.nothing" {
	print $0, "-", "-"
	next
}

{
	print $0, ratio(value[floor_of[kind]]), ratio(best[kind])
}
