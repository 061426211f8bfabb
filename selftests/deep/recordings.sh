#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Makes recordings on several machines, of 64 and 32 bits, little- and big-endian. Each machine
# reads its own recording and those that were made before; then kdtl(1) of each architecture reads
# all of them (lib/readers.sh). All must say the same of a recording, byte by byte.
#
# And runs selftests/host/recordings.sh with thousands of damaged recordings, with others each time.
#
#   KDTL_TARGETS  the machines (scripts/kernels)
#   KDTL_READERS  the architectures of kdtl(1)
#
# shellcheck disable=SC2154,SC2317 # set by libraries; functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/kernels.sh
. "$top/scripts/lib/kernels.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/ktap.sh
. "$top/selftests/host/lib/ktap.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/readers.sh
. "$top/selftests/host/lib/readers.sh"

export ROUNDS=${ROUNDS:-10000} SEED=${SEED:-$RANDOM$RANDOM}
read -r -a targets <<<"${KDTL_TARGETS:-x86_64-6.1 s390x-7.2 i386-6.1}"
read -r -a readers <<<"${KDTL_READERS:-i386 armhf arm64 s390x riscv64 ppc64le}"

# The tasks compute, wait for each other and sleep.
# shellcheck disable=SC2016 # expanded there
guest='
cd /lib/kdtl && insmod kdtl.ko && insmod kdtl_answers.ko && insmod kdtl_sched.ko && insmod kdtl_stream.ko || exit
load() {
	i=0
	while :; do
		i=$((i + 1))
		[ $((i % 200)) -ne 0 ] || usleep 1000
	done
}
mkdir /out
load & load & load &
/programs/kdtl record -q -i -o "$1" sh -c "until [ \"\$(wc -c <$1)\" -gt 50000 ]; do usleep 100000; done" ||
	exit
kill %1 %2 %3
own=$1
shift
sh /programs/said.sh /out/said "$@" "$own" -- /programs/kdtl
'

# prepare TARGET: builds for it, and sets $modules.
prepare()
{
	"$top/scripts/install-deps" "$(kernel_deps "$1")" tool &&
		capture "$top/scripts/build" "$1" && modules=$captured &&
		make -s -C "$top/selftests" OUTPUT="$work/programs/$1" \
			CROSS_COMPILE="$(kernel_cross "$1")" "$work/programs/$1/kdtl" &&
		cp -- "$top/selftests/host/lib/said.sh" "$work/programs/$1/"
}

# records TARGET: makes a recording there, and reads all that there are.
records()
{
	local earlier=("${recordings[@]##*/}")

	run_group "$top/selftests/run/vm" "$1" --cpus 2 --quiet --timeout 600 \
		--log "$work/$1.console" --out "$work/$1" --modules "$modules" \
		--add "$work/programs/$1:/programs" --add "$work/recordings:/recordings" -- \
		sh -c "$guest" - "/out/$1.data" "${earlier[@]/#//recordings/}" &&
		[ -s "$work/$1/$1.data" ]
}

# said WHERE KDTL...: puts what this kdtl(1) says of all recordings into $work/said-WHERE.
said()
{
	"$top/selftests/host/lib/said.sh" "$work/said-$1" "${recordings[@]}" -- "${@:2}"
}

# same_there TARGET: that machine has said what is said here, and there is something to say.
same_there()
{
	said "here-$1" "$kdtl" &&
		[ "$(wc -l <"$work/said-here-$1/$1.print")" -gt 100 ] &&
		! find "$work/said-here-$1" -maxdepth 1 -type f \
			-exec grep -L -x 'exit 0' {} + | grep . &&
		diff -r "$work/said-here-$1" "$work/$1/said"
}

# same_on ARCH: kdtl(1) of that architecture says what is said here.
same_on()
{
	reader_build "$1" "$work/readers" && reader_of "$1" "$work/readers" &&
		said "$1" "${reader[@]}" && diff -r "$work/said-here" "$work/said-$1"
}

damaged()
{
	local status=0

	run_group "$top/selftests/host/recordings.sh" >"$work/damaged" || status=$?
	sed 's/^/    /' "$work/damaged" >&3
	return "$status"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-recordings.XXXXXX")
partial "$work"
mkdir -- "$work/recordings"
recordings=() kdtl=$work/tool/kdtl
"$top/scripts/install-deps" tool readers
for arch in "${readers[@]}"; do
	"$top/scripts/install-deps" "$(kernel_deps "$arch-")"
done
exec 3>&1
plan $((2 * ${#targets[@]} + ${#readers[@]} + 2))
ok "kdtl builds" make -s -C "$top/clients/stream/tool" OUTPUT="$work/tool"
for target in "${targets[@]}"; do
	# This is not in ok(), whose output is no terminal.
	prepare "$target" || bail_out "no modules or programs for $target"
	ok "$target makes a recording, and reads all that there are" records "$target"
	cp -- "$work/$target/$target.data" "$work/recordings/" || bail_out "no recording"
	recordings+=("$work/recordings/$target.data")
	ok "it says the same as this machine, byte by byte" same_there "$target"
done
said here "$kdtl"
for arch in "${readers[@]}"; do
	ok "kdtl for $arch says the same of all recordings, byte by byte" same_on "$arch"
done
ok "damaged recordings, from seed $SEED" damaged
finish
