# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Shared by the scripts: progress messages, the cache, and cleaning up when
# interrupted. Sourced, not run.
#
# Messages go to stderr, because stdout is for the result of the script.

set -euo pipefail

KDTL_CACHE=${KDTL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kdtl}
export KDTL_CACHE

# This stays our own stderr while a step has redirected stderr.
exec {say_fd}>&2

say()
{
	printf '==> %s\n' "$*" >&"$say_fd"
}

note()
{
	printf '    %s\n' "$*" >&"$say_fd"
}

die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

need_tool()
{
	local group=$1 tool

	shift
	for tool in "$@"; do
		command -v "$tool" >/dev/null ||
			die "$tool is missing: scripts/install-deps $group"
	done
}

# matches PATTERN: succeed if the text on stdin has it. `grep -q` would end at the first match, so the
# command that writes the text could fail, and with pipefail the whole pipeline would.
matches()
{
	grep "$@" >/dev/null
}

# --- cleaning up -------------------------------------------------

# Children run in process groups of their own, so that a child and its children can be
# killed, but not the make or shell that started this script.
_children=()
_partial=()

# partial PATH...: remove these if the script ends before finished PATH...
partial()
{
	_partial+=("$@")
}

finished()
{
	local p q rest=()

	for p in ${_partial[@]+"${_partial[@]}"}; do
		for q in "$@"; do
			[ "$p" != "$q" ] || continue 2
		done
		rest+=("$p")
	done
	_partial=(${rest[@]+"${rest[@]}"})
}

_clean_up()
{
	local pgid

	# Signal all groups before waiting for any: each may take a while to end.
	for pgid in ${_children[@]+"${_children[@]}"}; do
		kill -TERM -- "-$pgid" 2>/dev/null || :
	done
	for pgid in ${_children[@]+"${_children[@]}"}; do
		wait "$pgid" 2>/dev/null || :
	done
	_children=()
	[ "${#_partial[@]}" -eq 0 ] || rm -rf -- "${_partial[@]}"
	_partial=()
}

_interrupted()
{
	trap '' INT TERM HUP
	[ ! -t 2 ] || printf '\r\033[K' >&2
	_clean_up
	trap - "$1" EXIT
	kill -s "$1" "$BASHPID"
}

trap _clean_up EXIT
trap '_interrupted INT' INT
trap '_interrupted TERM' TERM
trap '_interrupted HUP' HUP

# A child must not remove what its parent will clean up.
_in_child()
{
	trap - INT TERM HUP EXIT
	_children=() _partial=()
}

# start_group COMMAND...: run the command in the background, in a process group of its
# own, and set $group to it. A signal that ends this script ends the group.
start_group()
{
	set -m
	(
		set +m
		_in_child
		"$@"
	) &
	group=$!
	set +m
	_children+=("$group")
}

# wait_group PID: wait until that group has ended, and return its command's status.
wait_group()
{
	local rc=0

	wait "$1" || rc=$?
	_forget_child "$1"
	return "$rc"
}

# run_group COMMAND...: start the command's group and wait for it. Unlike with a foreground command,
# a signal is handled at once.
run_group()
{
	start_group "$@"
	wait_group "$group"
}

_forget_child()
{
	local pid rest=()

	for pid in ${_children[@]+"${_children[@]}"}; do
		[ "$pid" = "$1" ] || rest+=("$pid")
	done
	_children=(${rest[@]+"${rest[@]}"})
}

# --- steps --------------------------------------------------------------------

took()
{
	local s=$1

	if [ "$s" -lt 60 ]; then
		printf '%d s' "$s"
	else
		printf '%d min %02d s' $((s / 60)) $((s % 60))
	fi
}

# Show the progress of a step: on a terminal in one line that is rewritten, otherwise
# in a line a minute. This runs in a child, which ends with the step.
_progress()
{
	local text=$1 log=$2 start=$SECONDS last width

	while sleep 1; do
		if [ -t 2 ]; then
			last=$(tail -c 400 -- "$log" | tr '\r\t' '\n ' |
				tail -n 1)
			width=$(($(tput cols 2>/dev/null || echo 80) - 1))
			printf '\r\033[K%.*s' "$width" \
				"==> $text ($(took $((SECONDS - start)))) $last" >&2
		elif [ $(((SECONDS - start) % 60)) -eq 59 ]; then
			note "$text: $((SECONDS - start + 1)) s so far"
		fi
	done
}

# step TEXT COMMAND...: run the command, print one line with the time that it took, and
# show the end of its output if it fails. set -e has no effect inside a function used
# as COMMAND if the step's result is tested, so chain with || return there.
step()
{
	local text=$1 start=$SECONDS log rc=0 progress

	shift
	log=$(mktemp "${TMPDIR:-/tmp}/kdtl-step.XXXXXX")
	partial "$log"
	[ ! -t 2 ] || printf '==> %s' "$text" >&2

	set -m
	( set +m; _in_child; _progress "$text" "$log" ) &
	progress=$!
	set +m
	_children+=("$progress")

	run_group "$@" >"$log" 2>&1 </dev/null || rc=$?

	kill -TERM -- "-$progress" 2>/dev/null || :
	wait "$progress" 2>/dev/null || :
	_forget_child "$progress"

	[ ! -t 2 ] || printf '\r\033[K' >&2
	if [ "$rc" -eq 0 ]; then
		printf '==> %-58s took %s\n' "$text" \
			"$(took $((SECONDS - start)))" >&2
	else
		printf '==> %-58s FAILED after %s\n' "$text" \
			"$(took $((SECONDS - start)))" >&2
		tail -n 15 -- "$log" | sed 's/^/    /' >&2
	fi
	rm -f -- "$log"
	finished "$log"
	return "$rc"
}

# capture COMMAND...: set $captured to its stdout. Unlike with $(...), a signal is
# handled before the command ends.
capture()
{
	local out rc=0

	out=$(mktemp "${TMPDIR:-/tmp}/kdtl-out.XXXXXX")
	partial "$out"
	run_group "$@" >"$out" || rc=$?
	# shellcheck disable=SC2034 # for the caller
	captured=$(cat -- "$out")
	rm -f -- "$out"
	finished "$out"
	return "$rc"
}

# --- cache ----------------------------------------------------------------------

_locks=()

# with_lock NAME: let only one process at a time prepare NAME, until the script calls
# unlock or ends. Of several locks, unlock releases the last. A script that takes several takes those of
# accel, kernels and nested machines first, then initramfs-, deb- and apt-, in this order. Then no
# two scripts wait for each other.
with_lock()
{
	local lock

	mkdir -p -- "$KDTL_CACHE/lock"
	exec {lock}>"$KDTL_CACHE/lock/$1"
	_locks+=("$lock")
	flock -n "$lock" && return
	say "waiting: another process is preparing $1"
	run_group flock "$lock"
}

unlock()
{
	local lock=${_locks[-1]}

	unset '_locks[-1]'
	exec {lock}>&-
}

# build_dir TOP: print the folder that keeps what is built of that checkout.
build_dir()
{
	echo "$KDTL_CACHE/build/$(cksum <<<"$1" | cut -d ' ' -f 1)"
}

# new_dir FINAL: make an empty directory beside FINAL, and set $new_dir to it. It is removed
# unless install_dir succeeds.
new_dir()
{
	mkdir -p -- "${1%/*}"
	new_dir=$(mktemp -d "${1%/*}/.new-${1##*/}.XXXXXX")
	chmod 755 "$new_dir"
	partial "$new_dir"
}

install_dir()
{
	rm -rf -- "$2"
	mv -T -- "$1" "$2"
	finished "$1"
}
