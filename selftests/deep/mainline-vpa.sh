#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests a hypervisor that misbehaves, under Linux's own vpa_dtl and under kdtl_vpa: the same cases,
# recorded by the same perf, in a POWER machine whose allocator has red zones and poison. Prints a
# table of the results. kdtl_vpa must survive all cases and account for each dispatch; vpa_dtl's
# results are only shown.
#
#	selftests/deep/mainline-vpa.sh [CASE]...
#
#   TARGET  the kernel (ppc64le-7.2); ppc64le-7.2-kasan has KASAN as well
#
# shellcheck disable=SC2154,SC2317 # $captured; functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
tests=$(dirname -- "$here")
top=$(dirname -- "$tests")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/ktap.sh
. "$tests/host/lib/ktap.sh"

target=${TARGET:-ppc64le-7.2}
logs=${KDTL_LOGS:-$KDTL_CACHE}/mainline-vpa

# perf decodes the entries of PMUs whose names begin with vpa_dtl.
kdtl=vpa_dtl_kdtl

# Each case, as mainline-vpa-guest.sh plays it, and what kdtl_vpa must make of it: how many entries
# perf has, and how many are lost. "*": right and lost together are what the hypervisor counted.
# "1+": one lost entry stands for an unknown number.
cases='
ordinary            50  0
all-but-one         84  0
full                84  1
five-laps           84  342
uncounted           3   0
counted-late        7   0
unwritten           6   2
half                6   2
half-over-old       82  88
time-0              6   1
time-still          6   2
time-ahead          6   2
jump-ahead          20  1+
jump-back           20  1+
jump-far-back       20  1+
jump-to-wrap        94  1+
bursts              *   *
racing              *   *
slow-reader         *   full
last-ones           10  -
refused             0   -
again-after-refused 50  -
busy                0   -
kept                10  -
again-after-kept    50  -
taken               20  1+
second-user         40  0
any-reason          50  0
'

# boot PMU CASE...: runs these cases.
boot()
{
	local pmu=$1

	boots=$((boots + 1))
	nice "$tests/run/vm" "$target" --cpus 2 --mem 2G --timeout 5400 --quiet \
		--log "$logs/$pmu.$boots" --survive-oops \
		--append slub_debug=FZPU \
		--modules "$modules" --add "$perf:/" --add "$work/vpa_data:/bin/" \
		--add "$here/lib/mainline-vpa-guest.sh:/" -- \
		sh /mainline-vpa-guest.sh "$@" >&2
}

# try_all PMU CASE...: if a case ends the machine, or KASAN has reported something in it (3), notes
# that and tries the cases that are left in a new machine.
try_all()
{
	local pmu=$1 boots=0 status name began left

	shift
	while [ $# -gt 0 ]; do
		status=0
		boot "$pmu" "$@" || status=$?
		grep -a -E "^(begin|seen|report|said) $pmu " "$logs/$pmu.$boots" >>"$logs/seen"
		[ "$status" -ne 0 ] || return 0
		began=
		left=()
		for name; do
			if ! grep -q "^begin $pmu $name\$" "$logs/seen"; then
				left+=("$name")
			elif ! grep -q "^seen $pmu $name " "$logs/seen"; then
				began=$name
			fi
		done
		[ $# -gt ${#left[@]} ] || bail_out "$pmu: the machine did not get that far"
		[ -z "$began" ] || echo "seen $pmu $began died=$status" >>"$logs/seen"
		set -- "${left[@]}"
	done
}

# value PMU CASE KEY: prints the result.
value()
{
	sed -n "s/^seen $1 $2 \\(.* \\)\\{0,1\\}$3=\\([^ ]*\\).*/\\2/p" "$logs/seen" | tail -n 1
}

# perf's own tool shows the entries that vpa_data finds, unless it has crashed.
perf_agrees()
{
	awk '
	{
		split("", v)
		for (i = 4; i <= NF; i++) {
			split($i, f, "=")
			v[f[1]] = f[2]
		}
	}
	$1 == "seen" && "dump" in v && v["dump"] == 0 {
		n++
		if (v["dumped"] == v["timed"])
			next
		print
		bad = 1
	}
	END { exit bad || !n }' "$logs/seen"
}

# stands CASE RIGHT LOST: kdtl_vpa has survived the case and accounts for everything.
stands()
{
	local right=$2 lost=$3 key
	local -A v

	for key in died perf right again older false gaps counted produced consumed lost reports; do
		v[$key]=$(value "$kdtl" "$1" "$key")
	done
	grep -E "^(seen|report|said) $kdtl $1 " "$logs/seen" || return
	[ -z "${v[died]}" ] || return
	[ "${v[perf]} ${v[reports]}" = "0 0" ] || return
	[ "${v[again]} ${v[older]} ${v[false]}" = "0 0 0" ] || return
	case $right in
	'*') ;;
	*) [ "${v[right]}" -eq "$right" ] || return ;;
	esac
	case $lost in
	-)
		[ "${v[right]} ${v[gaps]}" = "${v[counted]} 0" ]
		return
		;;
	1+) [ "${v[lost]} ${v[right]}" = "1 ${v[counted]}" ] || return ;;
	full) [ "${v[lost]}" -eq 0 ] && [ "${v[right]}" -lt "${v[consumed]}" ] || return ;;
	'*') ;;
	*) [ "${v[lost]}" -eq "$lost" ] || return ;;
	esac
	# The session beside perf must be exact.
	[ "${v[produced]}" -eq $((v[consumed] + v[lost])) ] || return
	[ "$lost" = 1+ ] || [ "${v[produced]}" -eq "${v[counted]}" ] || return
	[ "$lost" = full ] || [ "${v[right]}" -eq "${v[consumed]}" ] || return
	# perf must be told of missing entries if there are any, and only then.
	[ $((v[gaps] > 0)) -eq $((v[produced] > v[right])) ]
}

tried()
{
	local name

	for name; do
		grep "^seen vpa_dtl $name " "$logs/seen" || return
	done
}

table()
{
	awk -v kdtl="$kdtl" '
	function cell(pmu, name,    k, n, i, f, words, missing, told) {
		k = pmu SUBSEP name
		if (!(k in seen))
			return "not tried"
		split("", v)
		n = split(seen[k], words, " ")
		for (i = 1; i <= n; i++) {
			split(words[i], f, "=")
			v[f[1]] = f[2]
		}
		if ("died" in v)
			return "the machine " (v["died"] == 99 ? "panicked" : "hung")
		missing = v["counted"] - v["right"] - v["older"]
		told = "-"
		if (v["gaps"] || v["truncated"] || v["perf_lost"])
			told = "yes"
		else if (missing)
			told = "no"
		return sprintf("%7d %6d %6d %6d %7d %4s %7d", v["counted"], v["right"],
			       v["again"] + v["older"], v["false"], missing, told,
			       v["reports"])
	}
	BEGIN {
		head = sprintf("%7s %6s %6s %6s %7s %4s %7s", "written", "right", "stale",
			       "false", "missing", "told", "reports")
		printf "%-19s  %-49s   %s\n", "", "vpa_dtl", "kdtl_vpa"
		printf "%-19s  %-49s   %s\n", "case", head, head
	}
	$1 == "seen" {
		name = $3
		if (!(name in known)) {
			known[name] = 1
			order[++nr] = name
		}
		k = $2 SUBSEP name
		sub(/^seen [^ ]+ [^ ]+ /, "")
		seen[k] = $0
	}
	END {
		for (c = 1; c <= nr; c++) {
			name = order[c]
			printf "%-19s  %-49s   %s\n", name, cell("vpa_dtl", name), cell(kdtl, name)
		}
	}' "$logs/seen"
	echo
	sed -n "s/^\\(report\\|said\\) \\(vpa_dtl\\|$kdtl\\) /\\2 /p" "$logs/seen"
	awk '$1 == "seen" && match($0, / kept=[1-9]/) {
		print $2, $3 ": a log is neither freed nor used again"
	}
	$1 == "seen" && match($0, / dump=[1-9][0-9]*/) {
		print $2, $3 ": perf report -D: exit status " substr($0, RSTART + 6, RLENGTH - 6)
	}' "$logs/seen"
}

"$top/scripts/install-deps" ppc64le || skip_all "no cross-compiler or QEMU"
if [ $# -eq 0 ]; then
	# shellcheck disable=SC2046 # several words
	set -- $(awk 'NF { print $1 }' <<<"$cases")
fi
rm -rf -- "$logs"
mkdir -p -- "$logs"
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-mainline-vpa.XXXXXX")
partial "$work"
capture "$top/scripts/build" "$target"
modules=$captured
capture "$tests/run/perf-files"
perf=$captured
step "build vpa_data" powerpc64le-linux-gnu-gcc -O2 -Wall -Wextra -std=gnu11 -static \
	-o "$work/vpa_data" "$here/lib/vpa_data.c" || bail_out "vpa_data does not build"

plan $(($# + 2))
try_all "$kdtl" "$@"
try_all vpa_dtl "$@"
table | sed 's/^/# /'
for name; do
	read -r right lost < <(awk -v name="$name" '$1 == name { print $2, $3 }' <<<"$cases")
	ok "kdtl_vpa: $name" stands "$name" "$right" "$lost"
done
ok "vpa_dtl: each case was tried" tried "$@"
ok "perf report -D shows what the recordings have" perf_agrees
rm -rf -- "$work"
finished "$work"
finish
