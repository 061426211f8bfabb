#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests kdtl why --chain on a load that writes down what it saw (chain_load.c): a task waits for a
# mutex whose owner waits behind another task, a client waits for a server that does, and a task
# waits for a disk.
#
# shellcheck disable=SC2317 # functions that ok() calls

dir=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$dir/ktap.sh"

[ "$(nproc)" -gt 1 ] || skip_all "it takes two CPUs"
truth=/tmp/kdtl-chain-truth
data=/tmp/kdtl-chain.data
lossy=/tmp/kdtl-lossy.data

records()
{
	"$dir/kdtl" record --wake -i -q -o "$data" "$dir/chain_load" ${disk:+"$disk"} >"$truth"
	set -- $?
	sed 's/^/# /' "$truth"
	return "$1"
}

# truth WHAT FIELD: what the load wrote down.
truth()
{
	awk -v what="$1" -v field="$2" '$1 == what { print $field }' "$truth"
}

# chain NAME: the line of its worst chain.
chain()
{
	"$dir/kdtl" why --chain --brief --comm "$1" -n 1 "$data"
}

# value NAME: in the line on stdin.
value()
{
	sed "s/.* $1=\([^ ]*\).*/\1/"
}

# within MS LEAST MOST: MS is not much shorter than LEAST, for which the taker had the CPU, which
# may have begun before the sleep; and no longer than MOST, for which the load was in the call. Its
# clock also ran while the load had its own CPU, and while the host had that.
within()
{
	awk -v ms="$1" -v least="$2" -v most="$3" 'BEGIN {
		exit !(ms * 1000000 <= most && ms * 2000000 > least)
	}' && return
	note "$1 ms, should be $(($2 / 1000)) to $(($3 / 1000)) us"
	return 1
}

# tells WHO ON BY TAKER: the chain of WHO says what WHO and TAKER wrote down.
tells()
{
	line=$(chain "$1")
	note "$line"
	least=$(truth "$4" 3) most=$(truth "$1" 3)
	[ "$(echo "$line" | value on)" = "$2" ] && [ "$(echo "$line" | value by)" = "$3" ] &&
		[ "$(echo "$line" | value by_pid)" = "$(truth "$1" 4)" ] &&
		[ "$(echo "$line" | value behind)" = "$4" ] &&
		[ "$(echo "$line" | value behind_pid)" = "$(truth "$4" 2)" ] &&
		within "$(echo "$line" | value late_ms)" "$least" "$most" &&
		within "$(echo "$line" | value its_wait_ms)" "$least" "$most"
}

# The disk's 20 ms begin before the sleep, and the host may have the CPU in between.
#
# An interrupt ends the chain of a task that waits for a disk. The task that it interrupted is not
# named. With PREEMPT_RT or threadirqs the interrupt has ktimers do that.
tells_of_disk()
{
	line=$(chain reader)
	note "$line"
	"$dir/kdtl" why --chain --comm reader -n 1 "$data" >"$data.why"
	sed 's/^/# /' "$data.why"
	[ "$(echo "$line" | value on)" = pread64 ] &&
		within "$(echo "$line" | value blocked_ms)" 0 "$(truth reader 3)" || return
	case $(echo "$line" | value by) in
	ktimers/*)
		grep -q ' asleep in pread64, for a disk, woken by ktimers/.* which meanwhile$' \
			"$data.why" && grep -q ' asleep, woken by an interrupt$' "$data.why"
		;;
	*)
		[ "$(echo "$line" | value by_pid)" = 0 ] &&
			[ "$(echo "$line" | value its_wait_ms)" = 0.000 ] &&
			grep -q ' asleep in pread64, for a disk, woken by an interrupt$' "$data.why"
		;;
	esac
}

# adds_up FILE LEAST: the parts of each chain, of LEAST or more, are the time, but for rounding.
adds_up()
{
	"$dir/kdtl" why --chain --brief --comm '*' -n 1000 "$1" 2>/dev/null | awk -v least="$2" '{
		sum = 0
		for (i = 1; i <= NF; i++) {
			split($i, word, "=")
			if (word[1] == "late_ms")
				sum += word[2]
			if (word[1] ~ /^(ran|waited|blocked|throttled|stolen|woken|unknown)_ms$/)
				sum -= word[2]
		}
		if (sum > 0.005 || sum < -0.005) {
			print "# " $0
			bad = 1
		}
	}
	END { print "# " NR " chains"; exit bad || NR < least }'
}

# Nearly all sleeps that ended have a waker. Only the first ones began before the recording.
wakers()
{
	"$dir/kdtl" why --chain --brief --comm '*' -n 1000 "$data" | awk '
		/ blocked_ms=0\.000/ { next }
		/ by=\?/ { none++ }
		{ n++ }
		END { print "# " none + 0 " of " n " without a waker"; exit !(n > 10 && none * 5 < n) }'
}

has_begun()
{
	[ "$("$dir/kdtl" print "$lossy.wake" 2>/dev/null | grep -c -v '^#')" -gt 0 ]
}

records_both()
{
	[ "$(grep -c ' started ' /sys/kernel/debug/kdtl/sessions)" -ge 2 ]
}

# Without a file, kdtl why looks at what happens now, until Ctrl-C.
now()
{
	background "$dir/kdtl" why --chain --brief --comm inv_high -n 1 -d 600 >"$lossy.now"
	asked=$!
	until_true records_both && "$dir/chain_load" >"$truth" && kill -INT "$asked" && wait "$asked"
	set -- $?
	sed 's/^/# /' "$lossy.now"
	[ "$1" -eq 0 ] && grep -q "^chain: task=inv_high .* on=futex by=inv_low by_pid=$(truth inv_high 4) .* behind=inv_mid " "$lossy.now"
}

# wakes NUMBER: makes that many wake-ups, or more.
wakes()
{
	for _ in $(seq "$1"); do
		sleep 0.000001
	done
}

# The recorder is stopped while the load runs, so its areas of a page get full, and all the rest is
# lost.
loses()
{
	background "$dir/kdtl" record --wake -i -q -m 1 -o "$lossy"
	recorder=$!
	until_true has_begun && kill -STOP "$recorder" && wakes 300 && "$dir/chain_load" >"$lossy.truth" &&
		kill -CONT "$recorder" && kill -INT "$recorder" && wait "$recorder"
	set -- $?
	sed 's/^/# /' "$lossy.truth"
	"$dir/kdtl" print "$lossy.wake" 2>/dev/null | head -n 1 >"$lossy.head"
	sed 's/^/# /' "$lossy.head"
	[ "$1" -eq 0 ] && ! grep -q ' 0 lost$' "$lossy.head"
}

# The waker of a sleep for the mutex, or for the server, is the right one, or is not known.
not_guessed()
{
	"$dir/kdtl" why --chain --brief --comm '*' -n 1000 "$lossy" 2>/dev/null >"$lossy.chains"
	awk '
		FNR == NR { by[$1] = $4; next }
		{ n++ }
		/ by=\?/ { unknown++ }
		{
			for (i = 1; i <= NF; i++) {
				split($i, word, "=")
				value[word[1]] = word[2]
			}
			if ((value["task"] ~ /^(inv|pi)_high$/ && value["on"] == "futex" ||
			     value["task"] == "client" && value["on"] == "read") && value["by_pid"] > 0 &&
			    value["blocked_ms"] > 100 && value["by_pid"] != by[value["task"]]) {
				print "# " $0
				bad = 1
			}
		}
		END { print "# " n + 0 " chains, " unknown + 0 " without a waker"; exit bad || !n }
	' "$lossy.truth" "$lossy.chains" && adds_up "$lossy" 1
}

for module in kdtl kdtl_sched kdtl_wake kdtl_answers kdtl_stream; do
	load $module || bail_out "$module does not load"
done
# The load's tasks are real-time tasks. On a slow machine their turns are so long that the limit on
# real-time tasks would hold one back, and then that one would not wait.
can_starve 1
disk=
! load_disk || disk=/dev/nullb0
plan 10
ok "a load is recorded" records
ok "an owner of a mutex that waits behind another task" tells inv_high futex inv_low inv_mid
ok "one of a mutex with priority inheritance" tells pi_high futex pi_low pi_over
if [ -n "$disk" ]; then
	ok "a disk, whose interrupt ends the chain" tells_of_disk
else
	skip "a disk, whose interrupt ends the chain" "no module null_blk"
fi
ok "a server that does" tells client read server hog
ok "all chains add up" adds_up "$data" 10
ok "sleeps have wakers" wakers
ok "the same of what happens now" now
ok "a recorder that is stopped loses wake-ups" loses
ok "what was lost is not guessed" not_guessed
finish
