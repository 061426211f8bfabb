#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Each format of kdtl export and kdtl ctf is read by a program that knows it (python3's json
# and csv, babeltrace2), and says what kdtl print says about the same recording.
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/kdtl.sh
. "$here/lib/kdtl.sh"

export TZ=UTC

# rename NAME PYTHON: the task called X has these 16 bytes as its name.
rename()
{
	python3 - "$work/$1.data" "$2" <<-'END'
	import sys
	data = open(sys.argv[1], "rb").read()
	name = eval(sys.argv[2]).ljust(16, b"\0")
	open(sys.argv[1], "wb").write(data.replace(b"X".ljust(16, b"\0"), name))
	END
}

# In this recording the clock gains a fifth of a second in three seconds.
records()
{
	recording all <<-'END' &&
		boot 500000000 1700000000000000000
		lost 3
		clock 500000000 1700000000000000000
		cgroup 1 /system.slice/web.service
		cgroup 2 /batch.slice/a,comma-and-"quotes"
		task 1 100 100 0 0 0 1 web
		task 1 101 100 0 5 0 1 web-thread
		task 1 200 200 1 0 50 2 hog
		run 1000000000 1 0 5 100 0 web
		run 1005000000 1 0 5 200 100 hog
		run 1607000000 1 0 0 300 200 kworker/1:1
		run 1622000000 1 617000000 1000000 100 300 web
		idle 1630000000 1 100
		run 1640000000 0 0 0 100 7 web
		run 1700000000 0 20000000 0 101 100 web-thread
		throttled 1900000000 0 90000000 101 9 web-thread
		run 2000000000 1 2000 0 200 0 hog
		run 2100000000 1 0 0 400 200 X
		run 3500000000 1 1000000 0 100 400 web
		run 9500000000 1 4294967295 0 101 100 web-thread
		clock 3500000000 1700000003200000000
	END
	recording vpa <<-'END' &&
		source kdtl_vpa
		clock 500000000 1700000000000000000
		run 1000000000 1 7000000 0 1 0 xxxx
		run 1500000000 1 400000000 3 2 0 yyyy
	END
	recording empty <<<'clock 500000000 1700000000000000000' &&
	to_old_format && [ "$(kdtl print "$work/all.data" | grep -vc '^#')" -eq 12 ]
}

# Makes a recording of the entries alone, as recordings were before there were chunks.
to_old_format()
{
	python3 "$here/lib/recording.py" --old "$work/all.data" "$work/old.data"
}

# reason SOURCE DISPATCH PREEMPT: makes a recording with an entry of that source, with these codes.
reason()
{
	printf '%s\n' "source $1" 'clock 0 1700000000000000000' 'run 1000000000 1 0 5 100 0 X' |
		recording reason && python3 - "$work/reason.data" "$2" "$3" <<-'END'
	import sys
	data = bytearray(open(sys.argv[1], "rb").read())
	data[-48:-46] = bytes(map(int, sys.argv[2:]))
	open(sys.argv[1], "wb").write(data)
	END
}

# is_named DISPATCH PREEMPT: wherever that entry is shown, these are the words for its codes.
is_named()
{
	local data=$work/reason.data

	rm -rf -- "$work/reasons"
	kdtl print "$data" 2>/dev/null | matches "  $1  *$2  " &&
		kdtl export --format csv "$data" 2>/dev/null | matches ",$1,$2," &&
		kdtl export --format jsonl "$data" 2>/dev/null |
		grep -q "\"dispatch_reason\": *\"$1\", *\"preempt_reason\": *\"$2\"" &&
		kdtl ctf "$data" "$work/reasons" 2>/dev/null && babeltrace2 "$work/reasons" |
		grep -q "dispatch_reason = ( \"$1\" : .* preempt_reason = ( \"$2\" : " && return
	kdtl print "$data"
	return 1
}

reasons()
{
	reason kdtl_sched 2 2 && is_named woken slept &&
		reason kdtl_sched 7 4 && is_named preempted preempted &&
		reason kdtl_sched 8 6 && is_named page_fault page_fault &&
		reason kdtl_sched 128 128 && is_named throttled throttled &&
		reason kdtl_vpa 2 2 && is_named H_PROD H_CEDE &&
		reason kdtl_vpa 7 4 && is_named time_slice time_slice &&
		reason kdtl_vpa 8 6 && is_named virtual_memory_page_fault virtual_memory_page_fault
}

# as_print FORMAT TASKS: makes of JSON lines or CSV on stdin what print -a shows.
as_print()
{
	python3 -c '
import csv, json, sys

def ns_text(ns, more):
    v, unit = float(ns), 0
    while v >= 1000 and unit < 3:
        v, unit = v / 1000, unit + 1
    return "%.*f %s" % (0 if not unit or v >= 100 else 1 if v >= 10 else 2, v,
                        ["ns", "us", "ms", "s+" if more else "s"][unit])

def number(text):
    return int(text) if text else None

if sys.argv[1] == "csv":
    rows = list(csv.DictReader(sys.stdin))
    for row in rows:
        for k, v in row.items():
            if k not in ("comm", "cgroup", "policy", "dispatch_reason", "preempt_reason",
                         "behind", "fault_addr", "srr0", "srr1"):
                row[k] = number(v)
else:
    rows = [json.loads(line) for line in sys.stdin]
for e in rows:
    t = e["since_boot_ns"]
    words = ["%d.%09d" % (t // 10**9, t % 10**9), e["cpu"],
             "? ns" if e["waited_ns"] is None else ns_text(e["waited_ns"], e["waited_saturated"]),
             ns_text(e["slept_ns"], e["slept_saturated"]), e["dispatch_reason"],
             e["preempt_reason"]]
    if "pid" in e:
        no = "?" if e["pid"] else "-"
        words += [e["comm"], e["pid"], e["prev_pid"]]
        if e["tgid"] is not None:
            words += [e["tgid"], e["policy"], e["rt_priority"] or e["nice"]]
        elif sys.argv[2] == "tasks":
            words += [no, no]
        if sys.argv[2] == "tasks":
            words += [e["cgroup"] or no]
    else:
        words += [e["fault_addr"], e["srr0"], e["srr1"]]
    print(*words)' "$@"
}

# same NAME FORMAT TASKS [FILTER]...: print and export show the same.
same()
{
	local name=$1 format=$2 tasks=$3

	shift 3
	kdtl print -a "$@" "$work/$name.data" 2>/dev/null | grep -v '^#' | tr -s ' ' |
		sed 's/^ //' >"$work/printed" &&
		kdtl export --format "$format" "$@" "$work/$name.data" 2>/dev/null |
		as_print "$format" "$tasks" | diff "$work/printed" - && [ -s "$work/printed" ]
}

says_what_print_says()
{
	same all "$1" tasks && same all "$1" tasks --comm web && same all "$1" tasks --cpu 0 &&
		same all "$1" tasks --min-wait 10 && same all "$1" tasks --pid 100 &&
		same all "$1" tasks --from 22:13:21 --to 22:13:22 &&
		same vpa "$1" none && same old "$1" none
}

# jsonl NAME EXPRESSION: the expression in python3 is true; e has the JSON line of each entry.
jsonl()
{
	kdtl export --format jsonl "$work/$1.data" | python3 -c '
import json, sys
e = [json.loads(line) for line in sys.stdin]
assert eval("(" + sys.argv[1] + ")"), e' "$2"
}

# A task waited for 617 ms, 602 behind the hog and 15 behind the kworker; another one for 4.29 s
# or longer, behind a thread that had the CPU for 6 s; and a third was held back for 90 ms.
culprits()
{
	jsonl all '[e[3]["behind"], e[3]["behind_unknown_ns"]] == [[
		{"comm": "hog", "pid": 200, "ns": 602000000},
		{"comm": "kworker/1:1", "pid": 300, "ns": 15000000}], 0]' &&
	jsonl all 'e[11]["behind"] == [{"comm": "web", "pid": 100, "ns": 4294967295}] and
		e[11]["waited_saturated"]' &&
	jsonl all 'e[7]["throttled_ns"] == 90000000 and e[7]["waited_ns"] is None and
		e[7]["behind"] == []' &&
	[ "$(kdtl export --format csv "$work/all.data" | python3 -c '
import csv, sys
print([(r["behind"], r["behind_pid"], r["behind_ns"]) for r in csv.DictReader(sys.stdin)][3])')" = \
		"('hog', '200', '602000000')" ]
}

# Two CPUs have 2,000 dispatches at any ms, after any wait, and gaps of any length, which may
# overlap. For each wait the fields say what a slow model says, which asks for each ms which task
# had the CPU.
shares()
{
	cat >"$work/shares.py" <<-'END'
	import csv, json, random, subprocess, sys
	work, recording, kdtl = sys.argv[1:]
	dice, ms, end = random.Random(20), 10**6, 6000
	lines = ["boot 0 1700000000000000000", "clock 0 1700000000000000000"]
	had = [[None] * end for _ in range(2)]
	stolen = [[False] * end for _ in range(2)]
	waits = {}
	for cpu in range(2):
	    now, pid = 1, 0
	    while now < end:
	        wait, before = dice.choice([0, 0, 1, 5, 30, 90, 700]), pid
	        wait = min(wait, now)
	        pid = dice.choice([0, 100, 200, 300])
	        # Some dispatches name another task as the one before than there was.
	        said = before if dice.random() < .9 else 999
	        if said != before:
	            for t in range(since, now):
	                had[cpu][t] = None
	        if pid:
	            lines.append("run %d %d %d 0 %d %d task" % (now * ms, cpu, wait * ms, pid, said))
	            waits[cpu, now] = wait
	        else:
	            lines.append("idle %d %d %d" % (now * ms, cpu, said))
	        since, length = now, dice.randrange(1, 12)
	        for t in range(now, min(end, now + length)):
	            had[cpu][t] = pid
	        now += length
	    # It is not known for how long the last task had the CPU.
	    for t in range(since, end):
	        had[cpu][t] = None
	gaps = ["source kdtl_steal", "boot 0 1700000000000000000", "clock 0 1700000000000000000"]
	for cpu in range(2):
	    now = 0
	    while now < end - 200:
	        now += dice.choice([1, 3, 10, 100])
	        length = min(now, dice.choice([1, 4, 20, 60]))
	        gaps.append("steal %d %d %d 0 0 0" % (now * ms, cpu, length * ms))
	        for t in range(now - length, now):
	            stolen[cpu][t] = True
	for more, name in (lines, "shares.data"), (gaps, "shares.data.steal"):
	    text = "\n".join(more + ["clock %d %d" % (end * ms, 1700000000000000000 + end * ms)])
	    subprocess.run([sys.executable, recording, work + "/" + name], input=text, text=True,
	                   check=True)
	export = lambda f: subprocess.run([kdtl, "export", "--format", f, work + "/shares.data"],
	                                  stdout=subprocess.PIPE, text=True, check=True).stdout
	tables = list(csv.DictReader(export("csv").splitlines()))
	entries = [json.loads(line) for line in export("jsonl").splitlines()]
	taken = 0
	assert len(tables) == len(entries)
	for row, e in zip(tables, entries):
	    assert row["stolen_ns"] == str(e["stolen_ns"])
	    if e["dispatch_reason"] == "idle":
	        continue
	    cpu, now = e["cpu"], e["since_boot_ns"] // ms
	    wait, who, unknown, took = waits[cpu, now], {}, 0, 0
	    for t in range(now - wait, now):
	        if stolen[cpu][t]:
	            took += 1
	        elif had[cpu][t] is None:
	            unknown += 1
	        else:
	            who[had[cpu][t]] = who.get(had[cpu][t], 0) + 1
	    behind = {b["pid"]: b["ns"] for b in e["behind"]}
	    assert behind == {pid: n * ms for pid, n in who.items()}, (e, who)
	    assert (e["stolen_ns"], e["behind_unknown_ns"]) == (took * ms, unknown * ms), (e, took)
	    assert sum(behind.values()) + e["stolen_ns"] + e["behind_unknown_ns"] == e["waited_ns"]
	    taken += took > 0
	print(len(entries), "entries,", taken, "with stolen time")
	assert taken > 100
	END
	python3 "$work/shares.py" "$work" "$here/lib/recording.py" "$work/tool/kdtl"
}

# Without a recording of stolen time the field is there and says nothing.
stolen_not_known()
{
	jsonl all 'all(x["stolen_ns"] is None for x in e)' &&
		jsonl vpa 'all("stolen_ns" not in x for x in e)' &&
		kdtl export --format csv "$work/all.data" | python3 -c '
import csv, sys
assert all(x["stolen_ns"] == "" for x in csv.DictReader(sys.stdin))'
}

# One second of the time base is 16/15 of a second by the clock.
times_of_day()
{
	jsonl all 'all(x["time_ns"] == 1700000000000000000 + x["since_boot_ns"] * 16 // 15
		for x in e[:10])' &&
		jsonl all 'not any(x["time_approximate"] for x in e)'
}

# name_is PYTHON-BYTES JSON CSV: this is how each format has that name.
name_is()
{
	cp -- "$work/all.data" "$work/name.data" && rename name "$1" &&
		jsonl name "e[9]['comm'] == $2" &&
		kdtl export --format chrome "$work/name.data" | python3 -c '
import json, sys
names = [e["args"]["name"] for e in json.load(sys.stdin)["traceEvents"] if e["name"] == "thread_name"]
assert eval(sys.argv[1]) in names, names' "$2" &&
		kdtl export --format csv "$work/name.data" >"$work/name.csv" &&
		! LC_ALL=C grep '[^ -~]' "$work/name.csv" &&
		python3 -c '
import csv, sys
assert list(csv.DictReader(open(sys.argv[1], newline="")))[9]["comm"] == eval(sys.argv[2])' \
			"$work/name.csv" "$3"
}

# shellcheck disable=SC2028 # python's escapes
names_are_escaped()
{
	name_is 'b"a,b\"c"' "'a,b\"c'" "'a,b\"c'" &&
		name_is 'b"\"},{\\"' "'\"},{\\\\'" "'\"},{' + chr(92) + 'x5c'" &&
		name_is '"gr\u00fc\u00df\U0001f600".encode()' "'gr\u00fc\u00df\U0001f600'" \
			"r'gr\xc3\xbc\xc3\x9f\xf0\x9f\x98\x80'" &&
		name_is 'b"bad\xff\xfe"' "r'bad\xff\xfe'" "r'bad\xff\xfe'" &&
		name_is 'b"cut\xc3"' "r'cut\xc3'" "r'cut\xc3'" &&
		name_is 'b"long\xc0\xaf"' "r'long\xc0\xaf'" "r'long\xc0\xaf'" &&
		name_is 'b"half\xed\xa0\x80"' "r'half\xed\xa0\x80'" "r'half\xed\xa0\x80'" &&
		name_is 'b"\x1b[2J\r\n"' "r'\x1b[2J\x0d\x0a'" "r'\x1b[2J\x0d\x0a'" &&
		name_is 'b"\xc2\x9b2J\x7f"' "r'\xc2\x9b2J\x7f'" "r'\xc2\x9b2J\x7f'" &&
		name_is 'b"0123456789abcdef"' "'0123456789abcdef'" "'0123456789abcdef'" &&
		name_is 'b"=1+2"' "'=1+2'" "r'\x3d1+2'" && name_is 'b"+1"' "'+1'" "r'\x2b1'" &&
		name_is 'b"-1"' "'-1'" "r'\x2d1'" && name_is 'b"@a,\""' "'@a,\"'" "r'\x40a,\"'" &&
		name_is 'b"1=2"' "'1=2'" "'1=2'"
}

# beside SOURCE SUFFIX LINE...: makes all.data.SUFFIX, of the same time as all.data.
beside()
{
	local source=$1 suffix=$2

	shift 2
	printf '%s\n' "source $source" 'boot 500000000 1700000000000000000' \
		'clock 500000000 1700000000000000000' "$@" 'clock 9500000000 1700000009200000000' |
		python3 "$here/lib/recording.py" "$work/all.data.$suffix"
}

# The time that interrupts had in a wait is theirs, and no task's. They and the hypervisor have
# slices in the track of the CPU, also while it is idle.
interrupts()
{
	local status=0

	beside kdtl_irq irq 'irq 1310000000 1 10000000 0 3 net_rx' 'irq 1636000000 1 2000000 1 24 disk' \
		'irq 1607500000 1 1000000 2 0 local_timer' &&
		beside kdtl_steal steal 'steal 1302000000 1 4000000 0 0 0' &&
		jsonl all '[e[3]["behind"], e[3]["behind_unknown_ns"], e[3]["stolen_ns"]] == [[
		{"comm": "hog", "pid": 200, "ns": 589500000},
		{"comm": "kworker/1:1", "pid": 300, "ns": 14500000},
		{"comm": "net_rx", "pid": None, "irq": "softirq", "ns": 8000000},
		{"comm": "local_timer", "pid": None, "irq": "interrupt", "ns": 1000000}], 0, 4000000]' &&
		chrome all | grep -E 'CPU 1.(hog.5000|softirq|interrupt|the hyp|kworker)' | diff - <(cat <<-'END'
			CPUs|CPU 1|hog|5000.000|602000.000
			CPUs|CPU 1|the hypervisor|298000.000|4000.000
			CPUs|CPU 1|softirq net_rx|302000.000|8000.000
			CPUs|CPU 1|interrupt local_timer|606500.000|500.000
			CPUs|CPU 1|kworker/1:1|607000.000|15000.000
			CPUs|CPU 1|interrupt local_timer|607000.000|500.000
			CPUs|CPU 1|interrupt disk|634000.000|2000.000
		END
		) &&
		beside kdtl_irq irq 'irq 1622000000 1 617000000 2 0 local_timer' && rm -- "$work/all.data.steal" &&
		kdtl export --format csv "$work/all.data" | grep -E ',local_timer,-[0-9]+,617000000,0,,' ||
		status=1
	rm -f -- "$work/all.data.irq" "$work/all.data.steal"
	return $status
}

# chrome NAME: checks the rules of the format, and prints the slices in the tracks, as
# "TRACK|NAME|TS|DUR".
chrome()
{
	kdtl export --format chrome "$work/$1.data" 2>/dev/null | python3 -c '
import decimal, json, sys
trace = json.load(sys.stdin, parse_float=decimal.Decimal)
names, last, open_slice, slices = {}, {}, {}, []
for e in trace["traceEvents"]:
    track = (e["pid"], e["tid"])
    assert isinstance(e["name"], str) and e["ph"] in ("M", "B", "E"), e
    assert all(isinstance(i, int) and -2**31 <= i < 2**31 for i in track), e
    if e["ph"] == "M":
        if e["name"].endswith("_name"):
            names[(e["name"],) + track] = e["args"]["name"]
        continue
    # On a track one slice follows the other, or is within it.
    assert e["ts"] >= last.get(track, 0), e
    last[track] = e["ts"]
    if e["ph"] == "B":
        within = bool(open_slice.get(track))
        taken = e["name"].split()[0] in ("interrupt", "softirq", "the")
        assert set(e) == {"name", "ph", "pid", "tid", "ts"} | (set() if taken else {"args"}), e
        assert taken or not within, e
        slices.append([e, None])
        open_slice.setdefault(track, []).append(slices[-1])
        continue
    begin = open_slice[track][-1][0]
    assert set(e) == {"name", "ph", "pid", "tid", "ts"} and e["name"] == begin["name"], e
    assert e["ts"] > begin["ts"], e
    open_slice[track].pop()[1] = e["ts"] - begin["ts"]
assert not any(open_slice.values()), open_slice
for track in last:
    assert ("thread_name",) + track in names, track
    assert ("process_name", track[0], track[0]) in names, track
for e, duration in slices:
    print(names["process_name", e["pid"], e["pid"]], names["thread_name", e["pid"], e["tid"]],
          e["name"], e["ts"], duration, sep="|")'
}

tracks()
{
	chrome all | diff - <(cat <<-'END'
		CPUs|CPU 1|web|0.000|5000.000
		CPUs|CPU 1|hog|5000.000|602000.000
		CPUs|CPU 1|kworker/1:1|607000.000|15000.000
		CPUs|CPU 1|web|622000.000|8000.000
		web|web|waits|5000.000|617000.000
		CPUs|CPU 0|web|640000.000|60000.000
		CPUs|CPU 0|not known|700000.000|200000.000
		web|web-thread|waits|680000.000|20000.000
		web|web-thread|throttled|810000.000|90000.000
		CPUs|CPU 1|hog|1000000.000|100000.000
		hog|hog|waits|999998.000|2.000
		CPUs|CPU 1|X|1100000.000|1400000.000
		CPUs|CPU 1|web|2500000.000|6000000.000
		web|web|waits|2499000.000|1000.000
		web|web-thread|waits|4205032.705|4294967.295
	END
	) && chrome vpa | diff - <(printf '%s\n' 'CPUs|CPU 1|waits|100000.000|400000.000') &&
		chrome old >/dev/null && chrome empty
}

goes_offline()
{
	recording offline <<-'END'
		clock 0 1700000000000000000
		run 1000000000 1 0 0 20 0 cpuhp/1
		offline 1000500000 1
		online 2100000000 1
		run 2200000000 1 0 0 100 20 web
		idle 2500000000 1 100
		offline 2600000000 1
		online 2700000000 1
		online 1800000000 2
		offline 500000000 3
		online 1300000000 3
		offline 3000000000 5
		offline 0 6
		clock 4000000000 1700000004000000000
	END
}

# A CPU that is offline has a slice for that, to the end of the recording if it does not come back,
# also if it has nothing else. Each track is named once.
offline()
{
	goes_offline && kdtl export --format chrome "$work/offline.data" 2>/dev/null | python3 -c '
import decimal, json, sys
trace = json.load(sys.stdin, parse_float=decimal.Decimal)["traceEvents"]
named = [(e["tid"], e["args"]["name"]) for e in trace if e["name"] == "thread_name"]
names = dict(named)
assert len(names) == len(named), named
for e in trace:
    if e["ph"] == "X":
        assert set(e) == {"name", "ph", "pid", "tid", "ts", "dur"}, e
        print(names[e["tid"]], e["name"], e["ts"], e["dur"])
    elif e["ph"] == "B":
        print(names[e["tid"]], e["name"], e["ts"])' | diff - <(cat <<-'END'
		CPU 1 not known 0.000
		CPU 1 web 1200000.000
		CPU 1 offline 500.000 1099500.000
		CPU 1 offline 1600000.000 100000.000
		CPU 2 offline 0.000 800000.000
		CPU 3 offline 0.000 300000.000
		CPU 5 offline 2000000.000 1000000.000
		CPU 6 offline 0.000 3000000.000
	END
	)
}

# The time that a task waited after a limit had held it back is a slice of its own.
waits_after_a_limit()
{
	recording starved <"$here/lib/starved.txt" || return
	chrome starved | grep '^web|' | diff - <(cat <<-'END'
		web|web|throttled|100000.000|200000.000
		web|web|waits|300000.000|2800000.000
	END
	)
}

# woken_by: makes a recording of the tasks on CPUs 0 to 2, and one of wake-ups beside it: by a task,
# by an interrupt, by an interrupt while CPU 2 was idle, and by a task that had left its CPU.
woken_by()
{
	recording woken <<-'END' &&
		clock 0 1700000000000000000
		task 1 132 130 0 -5 0 1 high
		run 1000000000 1 0 0 133 0 low
		run 1100000000 0 0 0 132 0 high
		idle 1130000000 0 132
		run 1565000000 2 0 0 140 0 a[1]
		left 4
		run 1580000000 2 0 0 141 140 b
		left 2
		run 1586000000 0 1000000 455000000 132 0 high
		idle 1600000000 0 132
		idle 1620000000 2 141
		run 1700000000 0 0 100000000 132 0 high
		idle 1710000000 1 133
		idle 1750000000 0 132
		run 1800000000 2 0 180000000 141 0 b
		run 1900000000 0 0 150000000 132 0 high
		clock 2000000000 1700000002000000000
	END
		{
			printf '%s\n' 'source kdtl_wake' "machine $(uname -m)" \
				'woken 1099000000 0 132 133 1 202 1 high' \
				'woken 1585000000 0 132 133 1 202 0 high' \
				'woken 1700000000 0 132 133 1 202 2 high' \
				'woken 1800000000 2 141 0 2 -1 10 b' \
				'woken 1900000000 0 132 133 1 202 0 high' \
				'clock 2000000000 1700000002000000000'
		} | python3 "$here/lib/recording.py" "$work/woken.data.wake"
}

# Prints the text's fields, by ftrace's columns: TASK PID TGID CPU FLAGS TIME EVENT ARGUMENTS.
ftrace_lines()
{
	kdtl export --format ftrace "$@" "$work/woken.data" >"$work/woken.txt" &&
		head -n 1 "$work/woken.txt" | grep -q '^# tracer' && python3 - "$work/woken.txt" <<-'END'
		import re, sys
		columns = re.compile(r"(.{16})-(\d+) +\( *(\d+|-------)\) \[(\d{3})\] "
		                     r"([.a-zA-Z]{4}) +(\d+\.\d{9}): (\w+): (.*)$")
		for text in open(sys.argv[1]):
		    if text.startswith("#"):
		        continue
		    *head, args = columns.match(text).groups()
		    args = [a.split("=")[1] for a in args.split() if a != "==>"]
		    print(*" ".join(head).split(), *args)
	END
}

as_ftrace()
{
	woken_by && ftrace_lines | diff - <(cat <<-'END'
		<idle> 0 ------- 001 .... 1.000000000 sched_switch swapper/1 0 120 R low 133 120
		<idle> 0 ------- 000 .... 1.100000000 sched_switch swapper/0 0 120 R high 132 115
		high 132 130 000 .... 1.130000000 sched_switch high 132 115 S swapper/0 0 120
		<idle> 0 ------- 002 .... 1.565000000 sched_switch swapper/2 0 120 R a[1] 140 120
		<...> 140 ------- 002 .... 1.580000000 sched_switch a[1] 140 120 R+ b 141 120
		<...> 133 ------- 001 .... 1.585000000 sched_waking high 132 115 000
		<idle> 0 ------- 000 .... 1.586000000 sched_switch swapper/0 0 120 R high 132 115
		high 132 130 000 .... 1.600000000 sched_switch high 132 115 S swapper/0 0 120
		b 141 ------- 002 .... 1.620000000 sched_switch b 141 120 S swapper/2 0 120
		<...> 133 ------- 001 ..h. 1.700000000 sched_waking high 132 115 000
		<idle> 0 ------- 000 .... 1.700000000 sched_switch swapper/0 0 120 R high 132 115
		low 133 ------- 001 .... 1.710000000 sched_switch low 133 120 S swapper/1 0 120
		high 132 130 000 .... 1.750000000 sched_switch high 132 115 S swapper/0 0 120
		<idle> 0 ------- 002 ..h. 1.800000000 sched_waking b 141 120 002
		<idle> 0 ------- 002 .... 1.800000000 sched_switch swapper/2 0 120 R b 141 120
		<...> 133 ------- 000 .... 1.900000000 sched_waking high 132 115 000
		<idle> 0 ------- 000 .... 1.900000000 sched_switch swapper/0 0 120 R high 132 115
	END
	) && [ "$(ftrace_lines --comm b | grep -c .)" -eq 3 ] &&
		[ "$(ftrace_lines --from 22:13:21 --to 22:13:21.1 | grep -c .)" -eq 1 ] && wrong_usage 'name no tasks' \
		--format ftrace "$work/vpa.data"
}

# An arrow begins in a slice of the waker's CPU and ends in one of the woken task's, at the right
# times.
arrows()
{
	woken_by && kdtl export --format chrome "$work/woken.data" | python3 -c '
import json, sys
events = json.load(sys.stdin)["traceEvents"]
ends, slices, begin = {}, [], {}
for e in events:
    if e["ph"] in "sf":
        assert set(e) - {"bp"} == {"name", "ph", "pid", "tid", "cat", "id", "ts"}, e
        assert e["ph"] == "s" or e["bp"] == "e", e
        ends.setdefault(e["id"], {})[e["ph"]] = e
    elif e["ph"] == "B":
        begin[e["tid"]] = e
    elif e["ph"] == "E":
        slices.append((e["tid"], begin[e["tid"]]["ts"], e["ts"], e["name"]))
def slice_at(e):
    return [name for tid, a, b, name in slices if tid == e["tid"] and a <= e["ts"] < b]
for e in ends.values():
    print(*slice_at(e["s"]), *slice_at(e["f"]), e["s"]["ts"], e["f"]["ts"])' | diff - <(cat <<-'END'
		low high 585000.0 586000.0
	END
	)
}

# In formats that have only switches, a CPU that is offline is idle, and the task that took it offline
# has it until it goes, and again from when it comes. An event says that this is no idle time.
offline_is_switched()
{
	goes_offline && kdtl export --format ftrace "$work/offline.data" 2>/dev/null |
		sed -n 's/^.*\[00\([0-9]\)\] \.\.\.\. *\([^ ]*\): \([a-z_]*\): /\1 \2 \3 /p' |
		sed 's/\(prev\|next\)_[a-z]*=//g' | diff - <(cat <<-'END'
		6 0.000000000 sched_cpu_hotplug cpu 6 offline error=0
		3 0.500000000 sched_cpu_hotplug cpu 3 offline error=0
		1 1.000000000 sched_switch swapper/1 0 120 R ==> cpuhp/1 20 120
		1 1.000500000 sched_switch cpuhp/1 20 120 S ==> swapper/1 0 120
		1 1.000500000 sched_cpu_hotplug cpu 1 offline error=0
		3 1.300000000 sched_cpu_hotplug cpu 3 online error=0
		2 1.800000000 sched_cpu_hotplug cpu 2 online error=0
		1 2.100000000 sched_cpu_hotplug cpu 1 online error=0
		1 2.100000000 sched_switch swapper/1 0 120 R ==> cpuhp/1 20 120
		1 2.200000000 sched_switch cpuhp/1 20 120 S ==> web 100 120
		1 2.500000000 sched_switch web 100 120 S ==> swapper/1 0 120
		1 2.600000000 sched_cpu_hotplug cpu 1 offline error=0
		1 2.700000000 sched_cpu_hotplug cpu 1 online error=0
		5 3.000000000 sched_cpu_hotplug cpu 5 offline error=0
	END
	) && [ "$(kdtl export --format ftrace --comm web "$work/offline.data" 2>/dev/null |
		grep -vc '^#')" -eq 1 ] || return
	events offline sched_switch | sed 's/\(prev\|next\)_//g' | diff - <(cat <<-'END'
		[1700000001.000000000] 1 comm = "swapper/1", tid = 0, prio = 20, state = 0, comm = "cpuhp/1", tid = 20, prio = 20
		[1700000001.000500000] 1 comm = "cpuhp/1", tid = 20, prio = 20, state = 1, comm = "swapper/1", tid = 0, prio = 20
		[1700000002.100000000] 1 comm = "swapper/1", tid = 0, prio = 20, state = 0, comm = "cpuhp/1", tid = 20, prio = 20
		[1700000002.200000000] 1 comm = "cpuhp/1", tid = 20, prio = 20, state = 1, comm = "web", tid = 100, prio = 20
		[1700000002.500000000] 1 comm = "web", tid = 100, prio = 20, state = 1, comm = "swapper/1", tid = 0, prio = 20
	END
	) && events offline sched_cpu_hotplug | diff - <(cat <<-'END'
		[1700000000.000000000] 6 affected_cpu = 6, error = 0, status = 0
		[1700000000.500000000] 3 affected_cpu = 3, error = 0, status = 0
		[1700000001.000500000] 1 affected_cpu = 1, error = 0, status = 0
		[1700000001.300000000] 3 affected_cpu = 3, error = 0, status = 1
		[1700000001.800000000] 2 affected_cpu = 2, error = 0, status = 1
		[1700000002.100000000] 1 affected_cpu = 1, error = 0, status = 1
		[1700000002.600000000] 1 affected_cpu = 1, error = 0, status = 0
		[1700000002.700000000] 1 affected_cpu = 1, error = 0, status = 1
		[1700000003.000000000] 5 affected_cpu = 5, error = 0, status = 0
	END
	) && [ "$(events offline kdtl:dispatch | grep -c .)" -eq 3 ]
}

# Only wake-ups by tasks are there, in the stream of the CPU that the task had.
wakings()
{
	woken_by && events woken sched_waking | diff - <(cat <<-'END'
		[1700000001.585000000] 1 comm = "high", tid = 132, prio = 15, target_cpu = 0
	END
	)
}

# Wake-ups of another host, beside the recording by mistake, are not used, and that is said.
strange_wakes()
{
	woken_by && { echo 'source kdtl_wake'; echo 'host other'; } |
		python3 "$here/lib/recording.py" "$work/woken.data.wake" &&
		kdtl export --format ftrace "$work/woken.data" 2>"$work/err" >"$work/out" &&
		grep -q 'woken.data.wake: not used: is from another host' "$work/err" &&
		! grep sched_waking "$work/out"
}

# Each slice of a wait says which tasks had the CPU, and when that was.
args_of_slices()
{
	kdtl export --format chrome "$work/all.data" | python3 -c '
import json, sys
t = json.load(sys.stdin)
w = [e for e in t["traceEvents"] if e["name"] == "waits" and e["ts"] == 5000 and e["ph"] == "B"]
assert w[0]["args"]["behind"][0] == {"comm": "hog", "pid": 200, "ns": 602000000}, w
assert w[0]["args"]["time"] == "2023-11-14T22:13:21.196800000", w
assert t["otherData"]["begin_ns"] == 1700000000533333333, t["otherData"]
assert t["otherData"]["lost"] == 3 and not t["otherData"]["begin_approximate"]'
}

approximate_is_said()
{
	local verb

	kdtl why "$work/old.data" | grep approximate &&
		! kdtl why "$work/all.data" | grep approximate &&
		jsonl old 'all(x["time_approximate"] for x in e)' &&
		kdtl export --format chrome "$work/old.data" |
		grep '"begin_approximate":true' || return
	for verb in "export --format csv" "export --format jsonl" "print --from 00:00" "print --to 23:00"; do
		# shellcheck disable=SC2086 # words
		kdtl $verb "$work/old.data" 2>&1 >/dev/null |
			grep -x "kdtl: times of day are approximate: .*older kdtl" ||
			return
		# shellcheck disable=SC2086 # words
		! kdtl $verb "$work/all.data" 2>&1 >/dev/null | grep approximate || return
	done
	! kdtl print "$work/old.data" 2>&1 >/dev/null | grep .
}

# wakes FORMAT [FILTER]...: prints what is exported of the wake-ups, field by field.
wakes()
{
	local format=$1

	shift
	kdtl export --format "$format" "$@" "$work/wakes.data" | python3 -c '
import csv, json, sys
rows = csv.DictReader(sys.stdin) if sys.argv[1] == "csv" else map(json.loads, sys.stdin)
for row in rows:
    print(*("-" if v in (None, "") else int(v) if isinstance(v, bool) else v for v in row.values()))
' "$format"
}

# Exports have which task woke which, and leave out what an entry does not say.
wakes_are_exported()
{
	local format

	recording wakes <<-'END' || return
		source kdtl_wake
		machine aarch64
		clock 0 1700000000000000000
		contended 1000 1 10 20 1 64 first
		shifted 2000 1 3 10 30 first
		woken 3000 1 10 20 1 98 0 first
		woken 4000 1 11 20 2 -1 10 kworker/1:1
		woken 5000 1 12 0 1 63 5 a,b
		made 6000 2 13 20 new
		kept 7000 1 14 12345678 64 stays
	END
	for format in csv jsonl; do
		wakes $format | diff - <(cat <<-'END'
			1700000000000001000 0 1000 contended first 10 task 20 1 - 0 0 - 64 write - mutex 0000000000000000 1700000000000001000 1000 -
			1700000000000002000 0 2000 moved first 10 task 30 1 3 0 0 - - - - - - 1700000000000002000 2000 -
			1700000000000003000 0 3000 woken first 10 task 20 1 - 0 0 interruptible 98 futex 0000000000000000 - - 1700000000000003000 3000 -
			1700000000000004000 0 4000 woken kworker/1:1 11 interrupt - 1 - 0 1 uninterruptible - - - - - 1700000000000004000 4000 -
			1700000000000005000 0 5000 woken a,b 12 softirq - 1 - 1 0 interruptible 63 read 0000000000000000 - - 1700000000000005000 5000 -
			1700000000000006000 0 6000 new new 13 task 20 2 - 0 0 - - - - - - 1700000000000006000 6000 -
			1700000000000007000 0 7000 kept stays 14 - - 1 - 0 0 - 64 write - - - 1700000000000007000 7000 12345678
		END
		) || return
	done
	[ "$(wakes csv --pid 12 | cut -d ' ' -f 5)" = a,b ] &&
		[ "$(wakes csv --comm 'f*st' | wc -l)" -eq 3 ] &&
		kdtl print "$work/wakes.data" | grep ' stays  *14  could not be preempted for 12.3 ms on CPU 1, in system call 64$' &&
		[ "$(kdtl print --comm 'f*st' "$work/wakes.data" | grep -c ' first ')" -eq 3 ] &&
		[ "$(kdtl print -n 2 "$work/wakes.data" | grep -vc '^#')" -eq 2 ] &&
		[ "$(wakes csv --pid 20 | cut -d ' ' -f 4 | tr '\n' ' ')" = 'contended woken new ' ] &&
		wrong_usage 'has wake-ups, which csv and jsonl show' --format chrome "$work/wakes.data" &&
		wrong_usage 'a wake-up has none' --format csv --cpu 1 "$work/wakes.data"
}

# wrong_usage TEXT ARGUMENT...: export refuses these arguments, and says TEXT.
wrong_usage()
{
	local text=$1 said

	shift
	said=$(kdtl export "$@" 2>&1 >/dev/null)
	[ $? -eq 2 ] && grep -F -e "$text" <<<"$said"
}

# jq 1.6 and JavaScript keep numbers as doubles, which round the time of day, and the time since
# boot after 104 days.
exact_in_doubles()
{
	local ns=1700000001123456789 boot=9123456789123456789

	recording double <<-END || return
		boot 0 1700000000123456789
		clock 1000000000 $ns
		run 1000000000 1 20000000 0 1 0 sh
		run 1000000001 1 20000000 0 2 1 hog
	END
	recording late <<-END || return
		run $boot 1 20000000 0 1 0 sh
	END
	kdtl export --format jsonl "$work/double.data" | python3 -c '
import json, sys
e = [json.loads(line, parse_int=float) for line in sys.stdin]
assert e[0]["time_ns"] == e[1]["time_ns"]
print(*(x["time_ns_text"] for x in e))' | diff - <(echo $ns $((ns + 1))) &&
		kdtl export --format chrome "$work/double.data" |
		grep -q "\"begin_ns_text\":\"$ns\"" &&
		kdtl export --format jsonl "$work/late.data" 2>/dev/null |
		grep -q "\"since_boot_ns_text\":\"$boot\"" &&
		kdtl export --format csv "$work/double.data" | matches ",$((ns + 1)),1000000001,0,,0\$"
}

# losses ARGUMENT...: prints CPU, time, and the three fields of each line.
losses()
{
	kdtl export --format csv "$@" "$work/lost.data" 2>/dev/null | python3 -c '
import csv, sys
for x in csv.DictReader(sys.stdin):
    print(x["cpu"], int(x["since_boot_ns"]) // 10**9, x["lost"], x["lost_since_boot_ns"], x["lost_after"])'
}

# Each entry that was lost is counted in one line of its CPU, whichever lines are asked for.
lost_is_said()
{
	recording lost <<-'END' || return
		lost 1111
		clock 1000000000 1700000000000000000
		clock 11000000000 1700000010000000000
		run 1000000000 1 0 0 1 0 sh
		run 2000000000 1 1000 0 2 1 hog
		run 1000000000 0 0 0 3 0 late
		loss 1 2000000001 3000000000 500
		loss 0 2000000001 3000000000 10
		loss 1 3000000001 4000000000 100
		loss 5 3000000001 4000000000 1
		run 5000000000 1 0 0 1 2 sh
		run 6000000000 1 0 0 2 1 hog
		loss 1 7000000000 8000000000 500
	END
	losses | diff - <(printf '%s\n' '0 1 0  10' '1 1 0  0' '1 2 0  0' '1 5 600 2000000001 0' \
		'1 6 0  500') &&
		losses --comm hog | diff - <(printf '%s\n' '1 2 0  0' '1 6 600 2000000001 500') &&
		jsonl lost '[x["lost"] for x in e] == [0, 0, 0, 600, 0] and e[3]["lost_since_boot_ns"] ==
			2000000001 and e[4]["lost_since_boot_ns"] is None' &&
		kdtl export --format csv "$work/lost.data" 2>&1 >/dev/null | diff - <(echo \
"kdtl: $work/lost.data: 1111 entries were lost: 10 of CPU 0 from 22:13:21.000 to 22:13:22.000, 500 of CPU 1 from 22:13:21.000 to 22:13:22.000, 100 of CPU 1 from 22:13:22.000 to 22:13:23.000, and at 2 more times") &&
		jsonl all 'all(x["lost"] is None and x["lost_after"] is None for x in e)' &&
		kdtl export --format csv "$work/all.data" 2>&1 >/dev/null |
		grep -q 'all.data: 3 entries were lost, and it is not known when$'
}

# warnings NAME: prints what babeltrace2 says about a trace, without the trace's name.
warnings()
{
	babeltrace2 "$work/$1.ctf" 2>&1 >/dev/null |
		sed -n 's/^WARNING: Tracer \(.*\) in trace .*\/\(cpu_[0-9]*\)".*/\1 \2/p' | sort
}

# CTF has losses before the first event, in the middle of others, and around them; also for a CPU of
# which there is nothing else.
# Losses have Linux's numbers of CPUs, so an entry with the hypervisor's number of a processor is not
# beside one, and what it has lost is not known.
lost_of_processors()
{
	local cpus

	for cpus in '' cpus; do
		recording "processors$cpus" <<-END || return
			source kdtl_vpa
			lost 7
			clock 0 1700000000000000000
			$cpus
			vpa 1000000000 3 7 0 0
			loss 3 1000000001 1500000000 7
			vpa 2000000000 3 7 0 0
			clock 3000000000 1700000003000000000
		END
		rm -rf -- "$work/processors$cpus.ctf"
		kdtl ctf "$work/processors$cpus.data" "$work/processors$cpus.ctf" 2>&1 | matches ' 7 of CPU 3' || return
	done
	jsonl processors '[x["lost"] for x in e] == [None, None]' &&
		jsonl processorscpus '[x["lost"] for x in e] == [0, 7]' &&
		[ "$(warnings processors | grep -c .) $(warnings processorscpus | grep -c .)" = '0 1' ]
}

lost_in_ctf()
{
	command -v babeltrace2 >/dev/null || return 0
	rm -rf -- "$work/lost.ctf" "$work/around.ctf"
	recording around <<-'END' || return
		lost 9
		clock 0 0
		loss 0 1000000000 2000000000 4
		run 3000000000 0 0 0 1 0 sh
		run 4000000000 0 0 0 2 1 hog
		run 5000000000 0 0 0 1 2 sh
		loss 0 3500000000 4500000000 5
		clock 6000000000 6000000000
	END
	kdtl ctf "$work/lost.data" "$work/lost.ctf" 2>&1 | matches ' 1111 entries were lost: 10 of CPU 0' &&
		warnings lost | diff - <(cat <<-'END'
			discarded 1 event between [22:13:22.000000001] and [22:13:23.000000000] cpu_5
			discarded 10 events between [22:13:21.000000001] and [22:13:22.000000000] cpu_0
			discarded 100 events between [22:13:22.000000001] and [22:13:23.000000000] cpu_1
			discarded 500 events between [22:13:21.000000001] and [22:13:22.000000000] cpu_1
			discarded 500 events between [22:13:26.000000000] and [22:13:27.000000000] cpu_1
		END
		) && [ "$(babeltrace2 "$work/lost.ctf" 2>/dev/null | grep -c dispatch)" -eq 5 ] &&
		kdtl ctf "$work/around.data" "$work/around.ctf" 2>/dev/null &&
		warnings around | diff - <(cat <<-'END'
			discarded 4 events between [00:00:01.000000000] and [00:00:02.000000000] cpu_0
			discarded 5 events between [00:00:03.500000000] and [00:00:04.500000000] cpu_0
		END
		) && babeltrace2 "$work/around.ctf" 2>/dev/null | grep dispatch | cut -c 2-19 |
		diff - <(printf '00:00:0%s.000000000\n' 3 4 5)
}

# spared INPUT OUTPUT ARGUMENT...: OUTPUT is another name of INPUT, which the export reads or has to
# keep, so it is refused.
spared()
{
	local input=$1 output=$2 status=0

	shift 2
	cp -- "$input" "$work/before" &&
		kdtl export --format csv -o "$output" "$@" 2>"$work/err" || status=$?
	cat -- "$work/err"
	[ "$status" -eq 2 ] && cmp "$work/before" "$input" && grep -q -F -e "-o $output: is the" "$work/err"
}

# No file that export reads, or that is beside one, is overwritten.
inputs_are_spared()
{
	local in=$work/in.data steal=$work/in.data.steal suffix

	cp -- "$work/all.data" "$in" && ln -f -- "$in" "$work/other-name" &&
		printf '%s\n' 'source kdtl_steal' 'boot 500000000 1700000000000000000' \
			'clock 500000000 1700000000000000000' \
			'steal 1300000000 1 80000000 1200000000 80000000 0' \
			'clock 3500000000 1700000003200000000' | recording gaps &&
		cp -- "$work/gaps.data" "$steal" && ln -sf -- "$steal" "$work/link" || return
	spared "$in" "$in" "$in" && spared "$in" "$work/other-name" "$in" &&
		spared "$in" "$in" - <"$in" &&
		spared "$steal" "$steal" "$in" && spared "$steal" "$work/link" "$in" &&
		spared "$work/gaps.data" "$work/gaps.data" --steal "$work/gaps.data" "$in" &&
		spared "$steal" "$steal" --steal "$work/gaps.data" "$in" &&
		echo "no recording" >"$steal" && spared "$steal" "$steal" "$in" || return
	for suffix in irq wake; do
		cp -- "$work/gaps.data" "$in.$suffix" && ln -f -- "$in.$suffix" "$work/other-$suffix" &&
			spared "$in.$suffix" "$in.$suffix" "$in" &&
			spared "$in.$suffix" "$work/other-$suffix" "$in" || return
	done
}

# A format must be given. After a failure no output is left, and the input is still there.
mistakes()
{
	local status=0

	kdtl export "$work/all.data" || status=$?
	[ $status -eq 2 ] || return
	status=0
	kdtl export --format xml "$work/all.data" || status=$?
	[ $status -eq 2 ] || return
	cp -- "$work/all.data" "$work/same.data"
	! kdtl export --format csv -o "$work/same.data" "$work/same.data" &&
		cmp "$work/all.data" "$work/same.data" &&
		! kdtl export --format csv -o /dev/full "$work/all.data" && [ -c /dev/full ] &&
		! kdtl export --format csv "$work/all.data" >/dev/full || return
	kdtl export --format csv -o "$work/out.csv" "$work/all.data" &&
		kdtl export --format csv "$work/all.data" | cmp - "$work/out.csv" || return
	(ulimit -f 1; trap '' XFSZ; many 100
	 ! kdtl export --format jsonl -o "$work/out.jsonl" "$work/many.data")
	[ ! -e "$work/out.jsonl" ]
}

without_json()
{
	CFLAGS=-O0 make -s -C "$top/clients/stream/tool" OUTPUT="$work/plain" JSON= &&
		[ "$("$work/plain/kdtl" export --format csv "$work/all.data" | wc -l)" -eq 13 ] &&
		! "$work/plain/kdtl" export --format jsonl "$work/all.data" 2>"$work/err" &&
		grep 'libjson-c-dev' "$work/err" &&
		! "$work/plain/kdtl" export --format chrome "$work/all.data" 2>/dev/null
}

# ------------------------------------------------------------------------ CTF

# events NAME CLASS: prints the events as babeltrace2 shows them, without the host's name.
events()
{
	rm -rf -- "$work/ctf" && kdtl ctf "$work/$1.data" "$work/ctf" &&
		babeltrace2 --clock-seconds --no-delta "$work/ctf" |
		sed -n "s/ host $2: { cpu_id = \([0-9]*\) }, { \(.*\) }\$/ \1 \2/p"
}

switches()
{
	events all sched_switch | sed 's/\(prev\|next\)_//g' | diff - <(cat <<-'END'
		[1700000000.533333333] 1 comm = "swapper/1", tid = 0, prio = 20, state = 0, comm = "web", tid = 100, prio = 20
		[1700000000.538666666] 1 comm = "web", tid = 100, prio = 20, state = 1, comm = "hog", tid = 200, prio = -51
		[1700000001.180800000] 1 comm = "hog", tid = 200, prio = -51, state = 1, comm = "kworker/1:1", tid = 300, prio = 20
		[1700000001.196800000] 1 comm = "kworker/1:1", tid = 300, prio = 20, state = 1, comm = "web", tid = 100, prio = 20
		[1700000001.205333333] 1 comm = "web", tid = 100, prio = 20, state = 1, comm = "swapper/1", tid = 0, prio = 20
		[1700000001.216000000] 0 comm = "", tid = 7, prio = 20, state = 1, comm = "web", tid = 100, prio = 20
		[1700000001.280000000] 0 comm = "web", tid = 100, prio = 20, state = 1, comm = "web-thread", tid = 101, prio = 25
		[1700000001.493333333] 0 comm = "", tid = 9, prio = 20, state = 1, comm = "web-thread", tid = 101, prio = 25
		[1700000001.600000000] 1 comm = "swapper/1", tid = 0, prio = 20, state = 0, comm = "hog", tid = 200, prio = -51
		[1700000001.706666666] 1 comm = "hog", tid = 200, prio = -51, state = 1, comm = "X", tid = 400, prio = 20
		[1700000003.200000000] 1 comm = "X", tid = 400, prio = 20, state = 1, comm = "web", tid = 100, prio = 20
		[1700000009.200000000] 1 comm = "web", tid = 100, prio = 20, state = 1, comm = "web-thread", tid = 101, prio = 25
	END
	)
}

# CTF has LTTng's numbers for the state in which a task left; print and the exports have names.
states()
{
	recording states <<-'END' || return
		clock 1000000000 1700000001000000000
		run 1000000000 0 0 0 1 0 one
		left 2
		run 1000000001 0 0 0 2 1 asleep
		left 130
		run 1000000002 0 0 0 1 2 disk
		left 131
		run 1000000003 0 0 0 2 1 stopped
		left 132
		run 1000000004 0 0 0 1 2 exited
		left 6
		run 1000000005 0 0 0 2 1 fault
		left 4
		run 1000000006 0 0 0 1 2 preempted
		left 128
		run 1000000007 0 0 0 2 1 throttled
	END
	events states sched_switch | sed 's/.*prev_state = \([0-9]*\), next_comm = "\(.*\)", next_tid.*/\2 \1/' |
		diff - <(printf '%s\n' 'one 0' 'asleep 1' 'disk 2' 'stopped 4' 'exited 16' \
			'fault 2' 'preempted 0' 'throttled 0') || return
	events states kdtl:dispatch |
		sed 's/.*preempt_reason = ( "\([^"]*\)".*/\1/' >"$work/names"
	kdtl export --format csv "$work/states.data" |
		python3 -c 'import csv, sys
for row in csv.DictReader(sys.stdin): print(row["preempt_reason"])' | diff - "$work/names" &&
		[ "$(kdtl print "$work/states.data" |
			grep -c ' \(disk_sleep\|stopped\|exited\) ')" -eq 3 ] &&
		diff "$work/names" - <<-'END'
		slept
		slept
		disk_sleep
		stopped
		exited
		page_fault
		preempted
		throttled
	END
}

# Only a task that slept wakes up, when its wait begins.
wakeups()
{
	events all sched_wakeup | diff - <(cat <<-'END'
		[1700000000.533333333] 1 comm = "web", tid = 100, prio = 20, target_cpu = 1
		[1700000000.538666666] 1 comm = "hog", tid = 200, prio = -51, target_cpu = 1
		[1700000000.538666666] 1 comm = "web", tid = 100, prio = 20, target_cpu = 1
	END
	)
}

# CTF has the same times as JSON lines. The hypervisor's log has no tasks to switch.
ctf_times()
{
	events all kdtl:dispatch | sed 's/^\[\([0-9]*\)\.\([0-9]*\)\].*/\1\2/' | sort >"$work/a"
	kdtl export --format jsonl "$work/all.data" | grep -o '"time_ns":[0-9]*' |
		grep -o '[0-9]*$' | sort | diff - "$work/a" && [ -s "$work/a" ] || return
	[ "$(events vpa kdtl:dispatch | wc -l)" -eq 2 ] && ! events vpa 'sched_[a-z]*' | grep . &&
		[ "$(events old kdtl:dispatch | wc -l)" -eq 12 ]
}

# A clock that was set back stands still for a while.
set_back()
{
	recording back <<-'END' &&
		clock 1000000000 1700000001000000000
		run 1000000000 0 0 0 1 0 one
		clock 2000000000 1700000002000000000
		run 2000000000 0 0 0 2 1 two
		clock 2000000001 1700000000000000000
		run 2500000000 0 0 0 1 2 one
		run 5000000000 0 0 0 2 1 two
		clock 5000000000 1700000002999999999
	END
	[ "$(events back kdtl:dispatch | sed 's/ .*//' | tr -d '\n')" = \
		"[1700000001.000000000][1700000002.000000000][1700000002.000000000][1700000002.999999999]" ]
}

# many NR: makes a recording with an entry of each of NR CPUs.
many()
{
	awk -v nr="$1" 'BEGIN { print "clock 1 1700000000000000000"
		for (i = 0; i < nr; i++) print "run", 1000000000 + i, i, 0, 0, 100 + i, 0, "task" }' |
		recording many
}

more_cpus_than_files()
{
	many 1500 && (ulimit -n 64 && rm -rf -- "$work/ctf" &&
		kdtl ctf "$work/many.data" "$work/ctf") &&
		[ "$(find "$work/ctf" -name 'cpu_*' | wc -l)" -eq 1500 ]
}

# A conversion that fails, or finds something in its place, leaves nothing behind.
nothing_half_made()
{
	mkdir -- "$work/place" "$work/place/taken" && cd -- "$work/place" || return
	! kdtl ctf "$work/all.data" taken && rmdir taken || return
	many 100
	(ulimit -f 0; trap '' XFSZ; ! kdtl ctf "$work/many.data" "$work/place/trace/") &&
		! find . -mindepth 1 | grep . &&
		! kdtl ctf "$work/none.data" trace && ! find . -mindepth 1 | grep . &&
		! kdtl ctf "$work/all.data" no/trace &&
		kdtl ctf "$work/all.data" trace/ && [ "$(ls)" = trace ]
}

"$top/scripts/install-deps" tool ctf || skip_all "babeltrace2 cannot be installed"
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-export.XXXXXX")
partial "$work"
plan 36
ok "kdtl builds" builds
ok "recordings are made" records
ok "JSON lines say what print says" says_what_print_says jsonl
ok "so does CSV" says_what_print_says csv
ok "interrupts have parts of waits, and slices" interrupts
ok "reasons are told in the words of tasks, and a hypervisor's in PAPR's" reasons
ok "who had the CPU during a wait" culprits
ok "with stolen time each ms of a wait counts once, for who had the CPU" shares
ok "what was stolen is not known without a recording of it" stolen_not_known
ok "times of day follow a clock that is slewed" times_of_day
ok "in numbers that are doubles, too" exact_in_doubles
ok "what was lost is said of each line" lost_is_said
ok "and in CTF" lost_in_ctf
ok "unless it is not known which CPU an entry is of" lost_of_processors
ok "wake-ups say who woke whom" wakes_are_exported
ok "any name is valid JSON and CSV" names_are_escaped
ok "the trace for Perfetto has tracks by its rules" tracks
ok "a CPU that is offline has a slice, too" offline
ok "what a task waits after a limit is a slice of its own" waits_after_a_limit
ok "and arrows from wakers" arrows
ok "ftrace's text has switches and wakers, line by line" as_ftrace
ok "so has CTF sched_waking" wakings
ok "in both, nobody has a CPU that is offline" offline_is_switched
ok "wake-ups of something else are not used" strange_wakes
ok "its slices tell culprits and times of day" args_of_slices
ok "recordings of an older version say that times are approximate" approximate_is_said
ok "mistakes are told, and failures leave no file" mistakes
ok "no input is overwritten" inputs_are_spared
ok "without json-c there is CSV, and the others tell what to install" without_json
ok "CTF has sched_switch as LTTng does" switches
ok "it says in which state a task left" states
ok "and sched_wakeup" wakeups
ok "its times of day are those of the export" ctf_times
ok "a clock that was set back does not turn CTF back" set_back
ok "more CPUs than there may be open files" more_cpus_than_files
ok "a conversion that fails leaves nothing" nothing_half_made
finish
