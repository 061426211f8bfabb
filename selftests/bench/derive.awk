# SPDX-License-Identifier: GPL-2.0
#
# Computes what follows from the figures: awk -v dir=DIR -f derive.awk results.tsv writes goals.tsv,
# rates.tsv, settings.tsv, slower.tsv, clients.tsv and fleet.tsv to DIR.

BEGIN {
	FS = OFS = "\t"
	hz = 2.5e9	# one instruction per cycle at 2.5 GHz
	entry = 48
	limit = 0.005	# of a CPU
	many = 100000	# dispatches a second and CPU
}

{ v[$1] = $2 }

function min(a, b)
{
	return a == "" || (b != "" && b + 0 < a + 0) ? b : a
}

# goal WHAT, "at most" or "at least", the bound, the value (nothing is printed if it is empty)
function goal(what, kind, bound, is)
{
	if (is != "")
		print what, kind " " bound, sprintf("%.2f", is),
			((kind == "at most") ? is <= bound : is >= bound) ? "yes" : "no" \
			> (dir "/goals.tsv")
}

function over(a, b)
{
	return a != "" && b + 0 ? a / b : ""
}

# How many instructions a dispatch takes, logged and read, with an area of so many KiB.
function logged(kib)
{
	return p + c + w / wake_every(kib)
}

# How many entries there are between two wake-ups: half an area.
function wake_every(kib)
{
	return int(kib * 1024 / entry / 2)
}

function percent(instructions, rate)
{
	return sprintf("%.3f %%", 100 * instructions * rate / hz)
}

# A difference of two measurements may be a little below 0.
function setting(what, instructions, kib)
{
	instructions = instructions < 0 ? 0 : instructions
	print what, sprintf("%.0f", instructions), percent(instructions, many),
		instructions * many / hz <= limit ? "yes" : "no", kib ? kib " KiB" : "-" \
		> (dir "/settings.tsv")
}

# If it logs for a part d of the time, and a dispatch costs off otherwise: how large may d be? off +
# d * (logged - off) = limit.
function part(what, off,	d)
{
	d = (limit * hz / many - off) / (logged(256) - off)
	d = d > 1 ? 1 : d < 0 ? 0 : d
	setting(sprintf("%s %.0f %% of the time", what, 100 * d),
		off + d * (logged(256) - off), 256)
}

function rate(r,	fill)
{
	fill = 256 * 1024 / entry / r
	print r, percent(logged(256), r),
		("rate." r) in v ? percent(v["rate." r], r) : "-",
		fill < 1 ? sprintf("%.0f ms", fill * 1000) : sprintf("%.1f s", fill),
		sprintf("%.1f", r / wake_every(256)), sprintf("%.2f MB/s", r * entry / 1e6) \
		> (dir "/rates.tsv")
}

function slower(what, added)
{
	if (added != "" && v["dispatch.nothing"] + 0)
		print what, sprintf("%.0f", added),
			sprintf("%.1f %%", 100 * added / v["dispatch.nothing"]) \
			> (dir "/slower.tsv")
}

# What a fork, an exec, ... take with a client, beyond what they take without one.
function client(what, name,	i, n, whats, line, is)
{
	n = split("fork exec rename renice wake", whats, " ")
	for (i = 1; i <= n; i++) {
		is = v["client." name "." whats[i]]
		if (is == "")
			return
		line = line OFS sprintf(name == "nothing" ? "%.0f" : "%+.0f",
					name == "nothing" ? is : is - v["client.nothing." whats[i]])
	}
	print what line > (dir "/clients.tsv")
}

function fleet(what, one, all)
{
	print what, one, all > (dir "/fleet.tsv")
}

END {
	p = v["dispatch.kdtl_sched.1"]
	c = v["consume.kdtl"]
	w = v["wakeup.kdtl"]
	m = v["dispatch.kdtl_sched.masked"]
	s = v["dispatch.kdtl_sched.stopped"]
	i = v["dispatch.kdtl_sched.idle"]
	cycles = v["native.l2.kdtl_sched.1"]
	mhz = v["native.rate"]
	peer = min(min(v["dispatch.ftrace"], v["dispatch.perf"]),
		   min(v["dispatch.lttng"], v["dispatch.bpf_ringbuf"]))
	if (p == "" || c == "" || w == "" || m == "" || s == "" || i == "") {
		print "derive: dispatch or consume was not measured" > "/dev/stderr"
		exit 1
	}

	goal("a dispatch, one session, to the record floor", "at most", 1.5,
	     over(p, v["dispatch.record_floor"]))
	nr = split("hot l1 l2", state, " ")
	for (j = 1; j <= nr; j++) {
		s1 = "native." state[j] "."
		goal("the same in cycles, " state[j], "at most", 1.5,
		     over(v[s1 "kdtl_sched.1"], v[s1 "record_floor"]))
		goal("the same to the trace ring buffer, " state[j], "at most", 1,
		     over(v[s1 "kdtl_sched.1"], v[s1 "trace_ring_buffer"]))
		goal("each further session, cycles, " state[j], "at most",
		     state[j] == "hot" ? 6 : state[j] == "l1" ? 8 : 15,
		     over(v[s1 "kdtl_sched.8"] - v[s1 "kdtl_sched.1"], 7))
		if (v[s1 "record_floor.8"] != "")
			goal("the same to a further record of the floor, " state[j], "at most", 1.5,
			     over(v[s1 "kdtl_sched.8"] - v[s1 "kdtl_sched.1"],
				  v[s1 "record_floor.8"] - v[s1 "record_floor"]))
	}
	goal("a dispatch, one session, to the cheapest complete peer", "at most", 0.5, over(p, peer))
	# A copy and a release store take 28 instructions.
	goal("each further session, instructions", "at most", 28,
	     over(v["dispatch.kdtl_sched.8"] - p, 7))
	goal("reading large spans, to reading memory", "at least", 0.95,
	     over(v["bandwidth.kdtl"], v["bandwidth.memread"]))
	goal("from entry to reader, to irq_work and complete()", "at most", 1.1,
	     over(w, v["wakeup.floor"]))
	goal("a wake-up with kdtl_wake, instructions", "at most", 120, v["wake.woken"])
	goal("an entry of the hypervisor at 80,000 a second, to Linux's vpa_dtl", "at most", 1.3,
	     over(v["hv.entry.kdtl.80000"], v["hv.entry.vpa_dtl.80000"]))
	goal("the hypervisor's entries without loss, to Linux's vpa_dtl", "at least", 1,
	     over(v["hv.rate.kdtl"], v["hv.rate.vpa_dtl"]))
	goal("the same, at a sudden rate", "at least", 1,
	     over(v["hv.sudden.kdtl"], v["hv.sudden.vpa_dtl"]))

	rate(1000)
	rate(5000)
	rate(20000)
	rate(50000)
	rate(100000)

	setting("everything, 256 KiB for each CPU", logged(256), 256)
	setting("everything, 4 MiB: fewer wake-ups", logged(4096), 4096)
	setting("everything, kept until a snapshot: no reader", p, 256)
	setting("a mask that passes a fourth", m + (logged(256) - m) / 4, 256)
	setting("a mask that passes nothing", m, 256)
	setting("loaded and stopped", s, 256)
	setting("no session", i, 0)
	part("everything, started", s)
	part("everything, a session for", i)

	slower("kdtl_sched, one session", p)
	slower("BPF ring buffer", v["dispatch.bpf_ringbuf"])
	slower("LTTng", v["dispatch.lttng"])
	slower("ftrace", v["dispatch.ftrace"])
	slower("perf", v["dispatch.perf"])

	client("without kdtl", "nothing")
	client("kdtl, its source and kdtl_answers, no session", "kdtl")
	client("sampler", "sampler")
	client("watch", "watch")
	client("recorder", "recorder")
	client("trace, its event off", "trace")
	client("stream, while ``kdtl record`` runs", "record")

	n = 4096
	hosts = 10000
	cpus = 64
	fleet("CPUs", n, hosts * cpus)
	fleet("share of all cycles, one an instruction", percent(logged(256), many), percent(logged(256), many))
	fleet("the same, in whole CPUs", sprintf("%.1f", n * logged(256) * many / hz),
	      sprintf("%.0f", hosts * cpus * logged(256) * many / hz))
	fleet("of these, for reading", sprintf("%.1f", n * (logged(256) - p) * many / hz),
	      sprintf("%.0f", hosts * cpus * (logged(256) - p) * many / hz))
	# Reading is sequential, so its instructions stand for cycles.
	if (cycles != "" && mhz + 0) {
		cold = cycles * many / (mhz * 1e6) + (logged(256) - p) * many / hz
		fleet("share of the time, with cold caches", sprintf("%.2f %%", 100 * cold),
		      sprintf("%.2f %%", 100 * cold))
		fleet("the same, in whole CPUs", sprintf("%.1f", n * cold),
		      sprintf("%.0f", hosts * cpus * cold))
	}
	fleet("entries a second", sprintf("%.2g", n * many), sprintf("%.2g", hosts * cpus * many))
	fleet("written, and read, a second", sprintf("%.1f GB", n * many * entry / 1e9),
	      sprintf("%.1f TB", hosts * cpus * many * entry / 1e12))
	fleet("memory, 256 KiB for each CPU", sprintf("%.1f GiB", n / 4096),
	      sprintf("%.0f GiB (%.0f MiB a host)", hosts * cpus / 4096, cpus / 4))
	fleet("wake-ups a second, 256 KiB", sprintf("%.0f", n * many / wake_every(256)),
	      sprintf("%.2g", hosts * cpus * many / wake_every(256)))
	fleet("wake-ups a second, 4 MiB", sprintf("%.0f", n * many / wake_every(4096)),
	      sprintf("%.2g", hosts * cpus * many / wake_every(4096)))
}
