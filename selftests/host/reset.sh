#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The recorder in machines of which all CPUs hang, and which are reset: does the next boot
# print what the last table before the reset had?
#
#	selftests/host/reset.sh [TARGET HOW PARAMETERS MEMORY]	only that machine
#
# HOW: "button": somebody resets it. "watchdog": a device does, which nobody tells any more that
# all is well. "image": before the reset an image of the memory is taken, in which kdtl-vmcore must
# find what the next boot finds. All but the first are left to selftests/deep/resets.sh. MEMORY: what
# reserves it, an argument of the kernel, or tree=ADDRESS:SIZE in the device tree.
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

# target, how, the recorder's parameters, what reserves the memory; of a size that is no multiple of
# pages, the rest is left alone
machines='
x86_64-6.1  button  mem_address=0x30000000,mem_size=0xffe00  memmap=1M$0x30000000
'
[ $# -eq 0 ] || machines=$*

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-reset.XXXXXX")
partial "$work"

# press: the button, each time that all CPUs have stopped, but before the last time take an
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

# run TARGET HOW PARAMETERS MEMORY: the console goes to $work/console.
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
	esac
	case $4 in
	tree=*) options+=(--reserve "${4#*=}") ;;
	*) options+=(--append "$4") ;;
	esac
	capture "$top/scripts/build" "$1" || return
	modules=$captured
	# shellcheck disable=SC2086 # several parameters
	start_group "$top/selftests/run/vm" "$1" --cpus 4 --timeout 1800 --quiet \
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

# tables WHAT: the rows of each table of that name, a blank line behind each, without the
# log's time stamps.
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

# culprit: what stopped the CPUs was the last task on its own.
culprit()
{
	awk '/^$/ { n += seen; seen = 0 } / kdtl_crash:/ { seen = 1 } END { exit n != '"$boots"' }' \
		"$work/after"
}

# recorded: kdtl reads what the file of the last boot has, as it was printed.
recorded()
{
	kdtl report "$work/last" && kdtl why "$work/last" >/dev/null &&
		kdtl print "$work/last" >"$work/printed" && tail -n 5 "$work/printed" &&
		grep -q ' kdtl_crash' "$work/printed" &&
		[ "$(wc -l <"$work/printed")" -gt $lines ] &&
		python3 "$here/lib/vmcore.py" host "$work/last" reset-host
}

# imaged: with the writers' positions, which an image has, kdtl-vmcore finds the same entries.
imaged()
{
	"$top/scripts/drgn" "$top/clients/stream/tool/kdtl-vmcore.py" -k "$modules/kdtl.ko" -n 3 \
		-o "$work/imaged" "$work/image" &&
		python3 "$here/lib/vmcore.py" equal "$work/last" "$work/imaged" &&
		python3 "$here/lib/vmcore.py" clock "$work/last" "$work/imaged"
}

plan $((1 + 4 * $(grep -c . <<<"$machines") + $(grep -c ' image ' <<<"$machines")))
ok "kdtl builds" builds
while read -r target how params memory; do
	[ -n "$target" ] || continue
	name="$target, $how, ${params%%[=,]*}"
	ok "$name: resets" run "$target" "$how" "$params" "$memory" </dev/null
	ok "$name: each boot prints what there was just before" same
	ok "$name: and the task that stopped the CPUs" culprit
	ok "$name: the recording has it, too" recorded
	[ "$how" != image ] || ok "$name: all entries are those of an image of the memory" imaged
done <<<"$machines"
finish
