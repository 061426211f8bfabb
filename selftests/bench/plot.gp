# SPDX-License-Identifier: GPL-2.0
#
# gnuplot -e "results='results.tsv'; dir='.'" plot.gp: draws the figures in
# results as SVG and PNG.

# Prints lines of "label value" for the names in list, in its order.
pick(list) = sprintf("< awk -F '\\t' -v list='%s' 'BEGIN { n = split(list, want, \" \") } { v[$1] = $2 } END { for (i = n; i > 0; i--) if (want[i] in v) { l = want[i]; sub(/^[a-z]*\\./, \"\", l); print l, v[want[i]] } }' %s", list, results)
# Prints "N value" for each "PREFIX.N".
series(prefix) = sprintf("< awk -F '\\t' -v p='%s.' 'index($1, p) == 1 && substr($1, length(p) + 1) ~ /^[0-9]+$/ { print substr($1, length(p) + 1), $2 }' %s", prefix, results)

producers = "dispatch.empty_probe dispatch.record_floor dispatch.relay dispatch.kfifo dispatch.kdtl_sched.1 dispatch.kdtl_sched.2 dispatch.bpf_ringbuf dispatch.kdtl_sched.8 dispatch.trace_ring_buffer dispatch.lttng dispatch.ftrace dispatch.perf"
consumers = "consume.kdtl consume.relay consume.kfifo consume.perf consume.kdtl.single consume.trace_ring_buffer"

# Was anything of this kind measured?
have(prefix) = int(system(sprintf("grep -c '^%s[.]' %s", prefix, results))) > 0

is_kdtl(label) = strstrt(label, "kdtl") > 0
blue = 0x2a5caa
grey = 0x9a9a9a

do for [type in "svg png"] {
	if (type eq "svg") {
		set terminal svg size 800,420 font "sans,12" background "white"
	} else {
		set terminal pngcairo size 800,420 font "sans,10"
	}
	set termoption noenhanced
	set style fill solid
	unset key
	set grid xtics lc rgb "#dddddd"
	set border 3
	set tics nomirror
	set offsets 0, 0, 0.5, 0.5
	set xrange [0:*]

	set output sprintf("%s/dispatch.%s", dir, type)
	set xlabel "instructions added to a context switch"
	plot pick(producers) using ($2 / 2):0:($2 / 2):(0.35):(is_kdtl(strcol(1)) ? blue : grey):ytic(1) \
		with boxxyerror lc rgb variable, \
		"" using 2:0:(sprintf(" %.0f", $2)) with labels left
	set output sprintf("%s/consume.%s", dir, type)
	set xlabel "instructions to read a 48-byte record (perf: its 120 bytes)"
	plot pick(consumers) using ($2 / 2):0:($2 / 2):(0.35):(is_kdtl(strcol(1)) ? blue : grey):ytic(1) \
		with boxxyerror lc rgb variable, \
		"" using 2:0:(sprintf(" %.0f", $2)) with labels left
	unset offsets
	set output sprintf("%s/sessions.%s", dir, type)
	set grid xtics ytics lc rgb "#dddddd"
	set xlabel "sessions on the same CPU"
	set ylabel "instructions added to a context switch"
	set yrange [0:*]
	plot series("scale.sessions") using 1:2 with linespoints lw 2 pt 7 lc rgb blue
	if (have("hv.lost")) {
		set output sprintf("%s/hv.%s", dir, type)
		set key top left
		set logscale x
		set xrange [1000:2000000]
		set yrange [-0.02:0.7]
		set xlabel "the hypervisor's entries a second, out of nowhere"
		set ylabel "part of them that is lost"
		plot series("hv.lost.kdtl") using 1:2 with linespoints lw 2 pt 7 lc rgb blue title "kdtl_vpa", \
			series("hv.lost.kdtl.4096") using 1:2 with linespoints lw 2 pt 6 lc rgb blue title "kdtl_vpa, 4096 bytes", \
			series("hv.lost.vpa_dtl") using 1:2 with linespoints lw 2 pt 5 lc rgb grey title "vpa_dtl", \
			series("hv.lost.debugfs_dtl") using 1:2 with linespoints lw 2 pt 4 lc rgb grey title "debugfs powerpc/dtl"
		unset logscale x
		set xrange [0:*]
	}
	unset key
	unset ylabel
	set autoscale y
	set grid noytics

	if (have("load.pipe")) {
		set offsets 0, 0, 0.5, 0.5
		set output sprintf("%s/load.%s", dir, type)
		set xlabel "per cent that a ping-pong through pipes takes longer"
		plot pick("load.pipe.kdtl load.pipe.bpf_ringbuf load.pipe.lttng load.pipe.ftrace load.pipe.perf") \
			using (50 * ($2 - 1)):0:(50 * ($2 - 1)):(0.35):(is_kdtl(strcol(1)) ? blue : grey):ytic(1) \
			with boxxyerror lc rgb variable, \
			"" using (100 * ($2 - 1)):0:(sprintf(" %.1f", 100 * ($2 - 1))) with labels left
		unset offsets
	}
}
