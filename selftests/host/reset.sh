#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# If all CPUs of a machine hang, and it is reset, the recorder of the next boot prints what
# the last table before the reset had.
#
#	selftests/host/reset.sh [TARGET HOW PARAMETERS MEMORY]	only that machine
#
# HOW: "button": somebody resets the machine. "watchdog": a device does, because nothing tells it
# any more that all is well. "image": before the reset an image of the memory is taken, in which
# kdtl-vmcore must find what the next boot finds. "kaslr": somebody resets the machine, and the next
# kernel, which lies elsewhere, may have lost the memory, or lie in it. selftests/deep/resets.sh has
# all but the first. MEMORY: what reserves the memory, an argument of the kernel, or
# tree=ADDRESS:SIZE in the device tree.
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

lines=40
halted="kdtl_crash: all CPUs have stopped"

# the target, how, the recorder's parameters, and what reserves the memory; if the size is no
# multiple of pages, the rest is left alone
machines='
x86_64-6.1  button  mem_address=0x30000000,mem_size=0xffe00  memmap=1M$0x30000000
'
[ $# -eq 0 ] || machines=$*

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-reset.XXXXXX")
partial "$work"

# press: resets the machine each time that all CPUs have stopped; before the last time it takes an
# image.
press()
{
	local nr said

	for ((nr = 1; nr <= boots; nr++)); do
		while said=$(grep -a -c -F -- "$halted" "$work/console") || :; [ "$said" -lt $nr ]; do
			kill -0 "$vm" 2>/dev/null || return
			sleep 0.2
		done
		[ $nr -lt $boots ] || "$here/lib/qmp.py" "$work/qmp" dump-guest-memory \
			"{\"paging\": false, \"protocol\": \"file:$work/image\"}" || return
		"$here/lib/qmp.py" "$work/qmp" system_reset || return
	done
}

# run TARGET HOW PARAMETERS MEMORY: runs the machine; the console goes to $work/console.
run()
{
	local options=(--reset "$halted") vm status=0

	boots=3
	rm -rf -- "$work"/{console,last,image,qmp}
	: >"$work/console"
	case $2 in
	image)
		options=(--reboot --qmp "$work/qmp" --kmod qemu_fw_cfg)
		boots=2
		;;
	watchdog)
		options=(--watchdog --kmod i6300esb)
		boots=2
		;;
	kaslr)
		options+=(--kaslr)
		boots=8
		;;
	esac
	case $4 in
	tree=*) options+=(--reserve "${4#*=}") ;;
	*) options+=(--append "$4") ;;
	esac
	capture "$top/scripts/build" "$1" || return
	modules=$captured
	# shellcheck disable=SC2086 # several parameters
	start_group "$top/selftests/run/vm" "$1" --cpus 4 --timeout $((600 * (boots + 1))) --quiet \
		--log "$work/console" --out "$work" --modules "$modules" \
		--add "$here/lib/reset-guest.sh:/" "${options[@]}" -- \
		sh /reset-guest.sh "$2" $boots $lines ${3//,/ }
	vm=$group
	if [ "$2" = image ]; then
		press || status=$?
	fi
	wait_group "$vm" || status=$?
	return "$status"
}

# tables WHAT: prints the rows of each table of that name, without the log's time stamps, and
# a blank line behind each table.
tables()
{
	sed -n 's/^.*kdtl_recorder: //p' "$work/console" | awk -v what="$1" '
	/entries, oldest first$/ { on = index($0, what ": ") == 1; next }
	/: end of table$/ { if (on) print ""; on = 0; next }
	on && /^[0-9]+:[0-9]+:[0-9]+\.[0-9]+ /'
}

# same: each boot has printed the rows that were printed just before the reset. The time of day
# differs by some microseconds, because each table computes it from another moment.
same()
{
	tables panic | sed 's/^[0-9:.]* *//' >"$work/before"
	tables "last boot" | sed 's/^[0-9:.]* *//' >"$work/after"
	[ "$(grep -c '^$' "$work/before")" -eq $boots ] &&
		[ "$(grep -c . "$work/before")" -eq $((boots * lines)) ] || {
		cat -- "$work/before"
		return 1
	}
	diff "$work/before" "$work/after"
}

# told: each boot has printed what an earlier boot had left, or that there is nothing. That may be
# an older one than the last, if the kernel had chosen other memory meanwhile.
told()
{
	sed -n 's/\r$//; /^reset-guest: /p; s/^.*kdtl_recorder: //p' "$work/console" | awk '
	function said(text) { print "boot " boot ", " at ": " text; told++ }
	/^reset-guest: / { boot++; at = $2; if (!places[at]++) nr_places++ }
	/^nothing of an earlier boot in reserved memory: / && boots { said($0); nothing++ }
	/entries, oldest first$/ { what = substr($0, 1, index($0, ":") - 1); rows = ""; next }
	/: end of table$/ {
		if (what == "panic") {
			left[rows] = ++boots
		} else if (what == "last boot") {
			said(left[rows] ? "what boot " left[rows] " left" : "what no boot left")
			wrong += !left[rows]
			delete left[rows]
		}
		what = ""
	}
	what && /^[0-9]+:[0-9]+:[0-9]+\.[0-9]+ / { sub(/^[0-9:.]* */, ""); rows = rows "\n" $0 }
	END {
		print told " of " boots " told it, " told - nothing " have something"
		exit boots != '"$boots"' || told != boots || wrong || told == nothing || nr_places < 2
	}' | tee "$work/told"
}

# culprit: the task that stopped the CPUs was the last one on its own CPU.
culprit()
{
	awk '/^$/ { n += seen; seen = 0 } / kdtl_crash:/ { seen = 1 } END { exit n != '"$boots"' }' \
		"$work/after"
}

# recorded: kdtl reads the file of the last boot, and finds what was printed.
recorded()
{
	kdtl report "$work/last" && kdtl why "$work/last" >/dev/null &&
		kdtl print "$work/last" >"$work/printed" && tail -n 5 "$work/printed" &&
		grep -q ' kdtl_crash' "$work/printed" &&
		[ "$(wc -l <"$work/printed")" -gt $lines ] &&
		python3 "$here/lib/vmcore.py" host "$work/last" reset-host
}

# imaged: kdtl-vmcore, which knows the writers' positions from the image, finds the same entries.
imaged()
{
	"$top/scripts/drgn" "$top/clients/stream/tool/kdtl-vmcore.py" -k "$modules/kdtl.ko" -n 3 \
		-o "$work/imaged" "$work/image" &&
		python3 "$here/lib/vmcore.py" equal "$work/last" "$work/imaged" &&
		python3 "$here/lib/vmcore.py" clock "$work/last" "$work/imaged"
}

plan $((1 + 4 * $(grep -c . <<<"$machines") + $(grep -c ' image ' <<<"$machines") -
	2 * $(grep -c ' kaslr ' <<<"$machines")))
ok "kdtl builds" builds
while read -r target how params memory; do
	[ -n "$target" ] || continue
	name="$target, $how, ${params%%[=,]*}"
	ok "$name: resets" run "$target" "$how" "$params" "$memory" </dev/null
	if [ "$how" = kaslr ]; then
		ok "$name: each boot prints what an earlier one left, or says that there is nothing" told
		sed 's/^/# /' "$work/told" 2>/dev/null || :
		continue
	fi
	ok "$name: each boot prints what there was just before" same
	ok "$name: and the task that stopped the CPUs" culprit
	ok "$name: the recording has it, too" recorded
	[ "$how" != image ] || ok "$name: all entries are those of an image of the memory" imaged
done <<<"$machines"
finish
