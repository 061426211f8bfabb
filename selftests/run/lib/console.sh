# shellcheck shell=bash disable=SC2034,SC2054,SC2154
# SPDX-License-Identifier: GPL-2.0
#
# Runs a virtual machine with its console here, and judges how it ended. Needs common.sh.

# run_console WORK TIMEOUT INTERACTIVE QUIET: runs $qemu. Its console goes to $console, which is
# $log if that is set, so that others see how far it has got. What the guest sends over its second
# serial port goes to WORK/channel.
run_console()
{
	local work=$1 timeout=$2 interactive=$3 quiet=$4 start=$SECONDS

	console=${log:-$work/console}
	: >"$console"
	: >"$work/channel"
	qemu+=(-chardev "file,id=channel,path=$work/channel")
	if [ "$interactive" = 1 ]; then
		qemu+=(-chardev stdio,id=console,mux=on,signal=off
			-mon console "${serial[@]}")
		"${qemu[@]}" | tee -- "$console" || :
	else
		qemu+=(-chardev stdio,id=console,signal=off "${serial[@]}")
		run_group _piped_console "$work" "$timeout" "$quiet" \
			</dev/null || :
	fi
	run_seconds=$((SECONDS - start))
}

_piped_console()
{
	local work=$1 timeout=$2 quiet=$3 status

	! $quiet || exec >/dev/null
	{
		status=0
		timeout --foreground -k 5 "$timeout" "${qemu[@]}" 2>&1 ||
			status=$?
		echo "$status" >"$work/status"
	} | sed -u 's/\r//g' | tee -a -- "$console" |
		sed -u '/^kdtl-vm: exit /,$d' # nobody wants to read on
}

# Prints the guest's exit status, which is a line of the channel. A compressed tar archive of /out
# follows it and, in a nested run, one of the hypervisor's. The kernel's messages may come before
# it.
_guest_status()
{
	LC_ALL=C sed -n '/^\x00*kdtl-vm: exit [0-9][0-9]*$/ {
		s/.* //p
		q
	}' "$1/channel"
}

console_files()
{
	local work=$1 out=$2

	[ -n "$(_guest_status "$work")" ] || return 0
	LC_ALL=C sed '0,/^\x00*kdtl-vm: exit [0-9]*$/d' "$work/channel" >"$work/out.tgz"
	[ -s "$work/out.tgz" ] || return 0
	tar -x -z -i -f "$work/out.tgz" -C "$out" --no-same-owner || {
		say "what the guest left in /out did not arrive whole"
		return 0
	}
}

# console_verdict WORK TIMEOUT NESTED: sets $verdict to the exit status to end with.
console_verdict()
{
	local work=$1 timeout=$2 nested=$3 status qemu_status

	status=$(_guest_status "$work")
	qemu_status=$(cat -- "$work/status" 2>/dev/null || echo 0)
	if [ -n "$status" ]; then
		verdict=$status
		return
	fi
	if grep -q -a 'Kernel panic - not syncing' "$console"; then
		verdict=99
		why="the kernel panicked"
		if $nested && ! grep -q -a '^kdtl-vm: L2 ended' "$console"; then
			verdict=125
			why="the hypervisor's kernel panicked"
		fi
	elif [ "$qemu_status" = 124 ] || [ "$qemu_status" = 137 ]; then
		verdict=124
		why="no end after $timeout s"
	else
		verdict=125
		why="the machine ended without a word (QEMU: $qemu_status)"
	fi
	if $quiet && ! $expect_panic; then
		tail -n 40 -- "$console" >&2
	fi
	say "$why, after $(took "$run_seconds")"
}
