#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Each line of kdtl why --json and kdtl report --json is an object that python3's json reads, and
# says what the answers for people say. The recordings say exactly what happened
# (lib/recording.py).
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

records()
{
	recording night <"$here/lib/night.txt" && recording hog <<-'END' && recording vpa <<-'END2' || return
		clock 0 0
		cgroup 1 /web
		task 1 100 100 0 0 0 1 web
		run 1000000000 1 0 5 100 0 web
		left 4
		run 2000000000 1 0 5 200 100 hog
		left 2
		clock 11000000000 11000000000
	END
		source kdtl_vpa
		vpa 1000000000 1 7000000 0 0
	END2
	for seed in 1 2 3; do
		python3 "$here/lib/report_model.py" make "$seed" | recording "$seed" || return
	done
}

# says EXPRESSION ARGUMENT...: the expression in python3 is true for the lines, o[0] and so on.
says()
{
	local expression=$1

	shift
	kdtl "$@" 2>/dev/null >"$work/lines" && python3 -c '
import json, sys
o = [json.loads(line) for line in open(sys.argv[2], encoding="utf-8")]
assert eval("(" + sys.argv[1] + ")"), o' "$expression" "$work/lines"
}

waits()
{
	says 'len(o) == 3 and o[0]["comm"] == "web" and o[0]["pid"] == 100 and o[0]["cpu"] == 1 and
		o[0]["cgroup"] == "/system.slice/web.service" and
		o[0]["begin_ns"] == 1700000001005000000 and o[0]["end_ns"] == 1700000001622000000 and
		o[0]["begin"] == "2023-11-14T22:13:21.005000000" and
		o[0]["end"] == "2023-11-14T22:13:21.622000000" and
		o[0]["waited_ns"] == 617000000 and o[0]["throttled_ns"] == 0 and o[0]["limit"] is None and
		not o[0]["saturated"] and not o[0]["not_over"] and
		[(b["comm"], b["pid"], b["ns"]) for b in o[0]["behind"]] ==
			[("hog", 200, 602000000), ("kworker/1:1", 300, 15000000)] and
		o[0]["behind"][0]["cgroup"].startswith("/batch.slice/") and
		o[0]["stolen_ns"] is None and o[0]["unknown_ns"] == 0 and o[0]["elsewhere_ns"] == 0 and
		o[1]["limit"] == "quota" and o[1]["throttled_ns"] == 90000000 and o[1]["behind"] == [] and
		o[2]["behind"] == [{"comm": "idle", "pid": 0, "cgroup": None, "ns": 2000}]' \
		why --json "$work/night.data" &&
		says 'len(o) == 1 and o[0]["comm"] == "hog"' why --json --comm 'h?g' -n 5 "$work/night.data" &&
		says 'len(o) == 1' why --json -n 1 "$work/night.data" &&
		says 'o[0]["not_over"] and o[0]["saturated"] and o[0]["waited_ns"] == 9000000000' \
			why --json "$work/hog.data" &&
		says 'o[0]["comm"] is None and o[0]["pid"] is None and o[0]["cgroup"] is None and
			o[0]["behind"] == [] and o[0]["unknown_ns"] == 7000000' why --json "$work/vpa.data"
}

# The parts of each wait add up to the wait, and are what --brief says.
adds_up()
{
	local seed

	for seed in 1 2 3; do
		says 'len(o) > 50 and all(sum(b["ns"] for b in w["behind"]) + w["unknown_ns"] +
			w["elsewhere_ns"] == w["waited_ns"] and w["end_ns"] - w["begin_ns"] ==
			w["waited_ns"] + w["throttled_ns"] for w in o)' why --json -n 9999 "$work/$seed.data" &&
			python3 -c '
import json, sys
for o in map(json.loads, open(sys.argv[1])):
    print("%s %d %.3f %.3f" % (o["comm"], o["pid"], o["waited_ns"] / 1e6, o["throttled_ns"] / 1e6))
' "$work/lines" | diff <(kdtl why --brief -n 9999 "$work/$seed.data" 2>/dev/null |
			sed 's/^why: task=\([^ ]*\) pid=\([^ ]*\) waited_ms=\([^ ]*\) .* throttled_ms=\([^ ]*\) .*/\1 \2 \3 \4/') - ||
			return
	done
}

# Whatever a task calls itself, JSON has a string, which is Python's $2 for the name $1.
name_is()
{
	echo 'run 2000000000 0 1000000 0 3 2 X' | recording name && python3 - "$work/name.data" "$1" <<-'END' &&
		import sys
		data = open(sys.argv[1], "rb").read()
		name = eval(sys.argv[2]).ljust(16, b"\0")
		open(sys.argv[1], "wb").write(data.replace(b"X".ljust(16, b"\0"), name))
	END
	says "o[0]['comm'] == $2" why --json "$work/name.data" &&
		says "o[0]['row'] == $3" report --json --by comm "$work/name.data"
}

names()
{
	name_is 'b"\"}, {\""' "'\"}, {\"'" "'\"}, {\"'" && name_is 'b"a\\b"' "r'a\\b'" "r'a\\x5cb'" &&
		name_is 'b"\x1b[2J\n"' "r'\\x1b[2J\\x0a'" "r'\\x1b[2J\\x0a'" &&
		name_is '"ä€".encode()' "'ä€'" "r'\\xc3\\xa4\\xe2\\x82\\xac'" &&
		name_is 'b"\xff\xfe"' "r'\\xff\\xfe'" "r'\\xff\\xfe'" &&
		name_is 'b"sixteen-bytes-16"' "'sixteen-bytes-16'" "'sixteen-bytes-16'"
}

rows()
{
	says '[r["row"] for r in o] == ["web (100)", "web-thread (101)", "hog (200)", "kworker/1:1 (300)"] and
		o[0]["count"] == 2 and o[0]["ran_ns"] == 13000000 and o[0]["waited_ns"] == 617000000 and
		o[0]["p50_ns"] == 0 and o[0]["p99_ns"] == o[0]["max_ns"] == 617000000 and
		o[0]["behind"] == "hog" and o[0]["behind_ns"] == 602000000 and
		o[1]["throttled_ns"] == 90000000 and o[1]["max_ns"] is None and o[1]["behind"] is None and
		o[1]["ran_unknown_ns"] == 1100000000 and "begin" not in o[0]' report --json "$work/night.data" &&
		says 'len(o) == 1 and o[0]["row"] == "web (100)"' report --json -n 1 --sort max "$work/night.data" &&
		says '[(r["row"], r["begin_ns"], r["end"]) for r in o] ==
			[("CPU 1", 1700000001000000000, "2023-11-14T22:13:22.000000000"),
			 ("CPU 0", 1700000001000000000, "2023-11-14T22:13:22.000000000"),
			 ("CPU 1", 1700000002000000000, "2023-11-14T22:13:23.000000000")]' \
			report --json --by cpu --interval 1s "$work/night.data" &&
		says 'o[0]["not_over"] == 1 and o[0]["waited_saturated"]' report --json "$work/hog.data" &&
		says 'o[0]["row"] == "CPU 1" and o[0]["behind"] is None' report --json "$work/vpa.data"
}

# refused TEXT ARGUMENT...: kdtl ends with exit status 2, and one line that has the text.
refused()
{
	local text=$1 status=0

	shift
	kdtl "$@" >"$work/out" 2>"$work/err" || status=$?
	[ "$status" -eq 2 ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" -eq 1 ] &&
		grep -q -F -e "$text" "$work/err"
}

# If there are no lines, a program that reads them gets none, and not half of one.
nothing()
{
	local option

	for option in --all --brief --chain "--host $work/night.data"; do
		# shellcheck disable=SC2086 # words
		refused 'why: --json has all of each wait' why --json $option "$work/night.data" || return
	done
	! kdtl why --json --comm nobody "$work/night.data" >"$work/out" 2>"$work/err" && [ ! -s "$work/out" ] &&
		! kdtl report --json --comm nobody "$work/night.data" >"$work/out" 2>"$work/err" &&
		[ ! -s "$work/out" ] && refused '--json=1: takes no value' why --json=1 "$work/night.data" &&
		refused 'no option --json' print --json "$work/night.data" &&
		! kdtl why --json "$work/night.data" >/dev/full 2>"$work/err" && grep -q 'standard output' "$work/err"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-json.XXXXXX")
partial "$work"

plan 7
ok "kdtl builds" builds
ok "recordings are made" records
ok "why: an object for each wait, with its begin" waits
ok "what each says adds up, and is what --brief says" adds_up
ok "report: an object for each row" rows
ok "names are strings, whatever tasks call themselves" names
ok "questions without an answer leave no line" nothing
finish
