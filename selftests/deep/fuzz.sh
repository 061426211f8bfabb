#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs random programs of kdtl's verbs and of system calls on /dev/kdtl, as selftests/guest/fuzz.sh
# does, but many of them, with other seeds each time. To repeat one that failed:
#
#	SEED=12345 ROUNDS=1 selftests/deep/fuzz.sh
#
#   SEED      of the first round (default: random); each round takes the next number
#   ROUNDS    how many rounds (10)
#   PROGRAMS  how many programs a round has (200)
#   TARGETS   the machines ("x86_64-6.1", and the debug kernel if that has been built)
#
# shellcheck disable=SC2154,SC2317

here=$(dirname -- "$(readlink -f -- "$0")")
tests=$(dirname -- "$here")
top=$(dirname -- "$tests")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/kernels.sh
. "$top/scripts/lib/kernels.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/ktap.sh
. "$tests/host/lib/ktap.sh"

SEED=${SEED:-$((RANDOM << 15 | RANDOM))}
ROUNDS=${ROUNDS:-10}
PROGRAMS=${PROGRAMS:-200}
if [ -z "${TARGETS:-}" ]; then
	TARGETS=x86_64-6.1
	debug=$(kernel_variant debug)
	[ ! -e "$KDTL_CACHE/kernel/$debug/version" ] || TARGETS+=" $debug"
fi
logs=${KDTL_LOGS:-$KDTL_CACHE}/fuzz

# round TARGET SEED: runs one; its KTAP goes to the log, and is printed if the round failed.
round()
{
	local target=$1 seed=$2 log=$logs/$1-$2

	"$tests/run/vm" "$target" --cpus 4 --timeout 3600 --quiet --log "$log" \
		--modules "$modules" --add "$tests:/selftests" \
		--add "$work/programs:/selftests/guest" -- \
		env KDTL_PARAMS= SEED="$seed" PROGRAMS="$PROGRAMS" \
		sh /selftests/run/tests fuzz
}

# Adds up the calls of all rounds.
sum()
{
	cat -- "$logs"/* | tr -d '\r' | awk '
		/# seed [0-9]+: [0-9]+ programs/ {
			sub(/.*# seed/, "")
			programs += $2
			for (i = 3; i <= NF; i++)
				if ($i ~ /^calls/)
					calls += $(i - 1)
		}
		END { printf "%d programs, %d calls\n", programs, calls }'
}

"$top/scripts/install-deps" demo || skip_all "no QEMU"
rm -rf -- "$logs"
mkdir -p -- "$logs"
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-fuzz.XXXXXX")
partial "$work"
make -s -C "$tests" OUTPUT="$work/programs"

read -r -a targets <<<"$TARGETS"
plan $((ROUNDS * ${#targets[@]}))
for target in "${targets[@]}"; do
	capture "$top/scripts/build" "$target"
	modules=$captured
	for ((i = 0; i < ROUNDS; i++)); do
		ok "$target, seed $((SEED + i)), $PROGRAMS programs" round "$target" $((SEED + i))
	done
done
note_ktap "$(sum); logs: $logs"
finish
