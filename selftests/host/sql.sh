#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# DuckDB answers the questions of Documentation/sql.rst, as they stand there, about recordings
# of ten machines that say exactly what happened (lib/recording.py).
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

# Machine N's service waits N ms behind a hog; the last one's waits 900 ms behind a backup. The
# services of the first two are throttled for 50 ms, each in another minute.
machine()
{
	local n=$1 ms=$1 culprit=hog

	[ "$n" -lt 10 ] || { ms=900 culprit=backup; }
	cat <<-END
		boot 0 1700000000000000000
		clock 0 1700000000000000000
		cgroup 1 /system.slice/web.service
		cgroup 2 /batch
		task 1 100 100 0 0 0 1 web
		task 1 200 200 0 0 0 2 $culprit
		run 1000000000 0 0 5 200 100 $culprit
		run $((1000000000 + ms * 1000000)) 0 $((ms * 1000000)) 0 100 200 web
	END
	[ "$n" -gt 2 ] || echo "throttled $((n * 60))000000000 0 50000000 100 100 web"
	echo clock 200000000000 1700000200000000000
}

exported()
{
	local n

	for n in {1..10}; do
		machine "$n" | recording "m$n" &&
			kdtl export --format csv -o "$work/m$n.csv" "$work/m$n.data" || return
	done
}

# query N: runs the page's Nth statement after the one that makes the table; prints CSV without a
# head.
query()
{
	awk -v n="$1" '/^\.\. code-block:: sql/ { at++; on = 1; next } /^[^ ]/ { on = 0 }
		/^ *:force:/ { next }
		on && (at == 1 || at == n + 1)' "$top/Documentation/sql.rst" >"$work/sql" &&
		(cd -- "$work" && "$top/scripts/duckdb" -csv -noheader <sql)
}

# answers N LINE...: the Nth question has this answer.
answers()
{
	local n=$1

	shift
	query "$n" | tr -d '"\r' | diff <(printf '%s\n' "$@") -
}

"$top/scripts/duckdb" --get
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-sql.XXXXXX")
partial "$work"

plan 7
ok "kdtl builds" builds
ok "ten machines are exported" exported
ok "the worst waits of an hour" answers 1 \
	'm10,2023-11-14 22:13:21.9,web,900.0,backup,900.0' \
	'm9,2023-11-14 22:13:21.009,web,9.0,hog,9.0' 'm8,2023-11-14 22:13:21.008,web,8.0,hog,8.0' \
	'm7,2023-11-14 22:13:21.007,web,7.0,hog,7.0' 'm6,2023-11-14 22:13:21.006,web,6.0,hog,6.0'
ok "who is to blame" answers 2 backup,1,1,900.0 hog,9,9,45.0
ok "which service waits" answers 3 /system.slice/web.service,12,900.0,900.0 /batch,10,0.0,0.0
ok "who was throttled when" answers 4 'm1,2023-11-14 22:14:00,/system.slice/web.service,1,50.0' \
	'm2,2023-11-14 22:15:00,/system.slice/web.service,1,50.0'
ok "which machine differs" answers 5 m10,900.0,5.5 m9,9.0,5.5 m8,8.0,5.5
finish
