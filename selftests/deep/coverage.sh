#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Which lines of api/, core/ and clients/ do the tests run? The modules are built with gcc's counters,
# and the tests run as in make check, on x86-64 and on POWER. A line that one of them runs is covered.
# More than 95 % of api/ and core/ must be covered, and more than 90 % of clients/;
# coverage.reasons must say for each other line why it is not.
#
# Lines that gcc merges before it counts do not count separately: mostly "return -EINVAL" after an
# if.
#
# Suites of KUnit that compile a file once more, because its module exports nothing, count too.
#
#   TESTS  what selftests/check runs: machines, scripts or subjects
#          ("x86_64 loads isolated nested ppc64le")
#
# shellcheck disable=SC2154,SC2317

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/ktap.sh
. "$top/selftests/host/lib/ktap.sh"

TESTS=${TESTS:-x86_64 loads isolated nested ppc64le}

# gather BOOT TARGET GCOV: takes what the machine has counted, beside gcc's notes. The names of the
# files say where the module was built; it must not be built again, because its counters would not
# match another build.
gather()
{
	local boot=$1 target=$2 gcov=$3 dir rel file unit=$work/$1

	for file in "$work/logs/check/$boot/gcov"/*; do
		rel=${file##*/}
		rel=${rel//\#//}
		dir=${rel%"/$target-gcov/"*}/$target-gcov
		rel=${rel#"$dir"/}
		[[ $rel == @(api|core|clients|selftests/kunit)/* ]] || continue
		mkdir -p -- "$unit/${rel%/*}"
		cp -- "$file" "$unit/$rel"
		cp -- "$dir/${rel%.gcda}.gcno" "$unit/${rel%/*}/"
		(cd -- "$work" && "$gcov" -t -r -s "$dir" -o "$boot/$rel" \
			"$dir/${rel%.gcda}.c") >>"$work/gcov" || return
	done
}

table()
{
	awk -F : '
	{
		lines[$1]++
		covered[$1] += $3 > 0
		all = /^clients/ ? "clients/" : "api/ and core/"
		nr[all]++
		sum[all] += $3 > 0
	}
	function row(name, a, b) {
		return sprintf("%-26s %6d %8d %7.1f", name, a, b, 100 * b / a)
	}
	END {
		printf "%-26s %6s %8s %7s\n", "", "lines", "covered", "%"
		fflush()
		for (f in lines)
			print row(f, lines[f], covered[f]) | "sort"
		close("sort")
		for (all in nr)
			print row(all, nr[all], sum[all])
	}' "$work/lines"
}

# enough PERCENT FILES: more than that many of their lines; FILES is a pattern.
enough()
{
	awk -F : -v goal="$1" -v files="^($2)/" '
	$1 ~ files { nr++; sum += $3 > 0 }
	END { exit sum <= nr * goal / 100 }' "$work/lines"
}

# Prints the lines that did not run, each with the reason; fails if one has none.
uncovered()
{
	sort -t : -k 1,1 -k 2,2n "$work/lines" | awk '
	function trim(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }
	FNR == NR {
		if (/^#/ || !/\|/)
			next
		split($0, part, " [|] ")
		reason[part[1] "|" trim(part[2])] = part[3]
		next
	}
	{
		split($0, part, ":")
		if (part[3] > 0)
			next
		text = $0
		sub(/^[^:]*:[^:]*:[^:]*:/, "", text)
		text = trim(text)
		why = reason[part[1] "|" text]
		if (!why) {
			why = "NO REASON"
			bad = 1
		}
		printf "%s:%s: %s\n\t%s\n", part[1], part[2], text, why
	}
	END { exit bad }' "$here/coverage.reasons" -
}

tests_pass()
{
	# shellcheck disable=SC2086 # several words
	KDTL_LOGS=$work/logs KDTL_TIMEOUT=7200 "$top/selftests/check" $TESTS
}

"$top/scripts/install-deps" build || skip_all "no gcc"
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-coverage.XXXXXX")
partial "$work"
export KDTL_VARIANT=gcov

plan 5
ok "the tests pass while they count" tests_pass
for counted in "$work"/logs/check/*/gcov; do
	boot=${counted%/gcov}
	boot=${boot##*/}
	case $boot in
	x86_64 | loads | isolated) gather "$boot" x86_64-6.1 gcov-12 ;;
	nested | ppc64le) gather "$boot" ppc64le-6.1 powerpc64le-linux-gnu-gcov-12 ;;
	*) die "TESTS: $boot is none of x86_64, loads, isolated, nested, ppc64le" ;;
	esac
done
ok "gcov has what they counted" test -s "$work/gcov"
awk -f "$here/coverage.awk" "$work/gcov" >"$work/lines"
table | sed 's/^/# /'
status=0
uncovered >"$work/uncovered" || status=1
sed 's/^/# /' "$work/uncovered"
ok "more than 95 of 100 lines of api/ and core/ run" enough 95 'api|core'
ok "more than 90 of 100 lines of clients/ run" enough 90 clients
ok "each of the others has a reason in coverage.reasons" test "$status" = 0
finish
