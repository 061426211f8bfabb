#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# kdtl why --chain, of a load that writes down what it saw (chain_load.c): a task that waits for a
# mutex whose owner waits behind another task, and a client of a server that does.
#
# shellcheck disable=SC2317 # functions that ok() calls

dir=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$dir/ktap.sh"

[ "$(nproc)" -gt 1 ] || skip_all "it takes two CPUs"
truth=/tmp/kdtl-chain-truth
data=/tmp/kdtl-chain.data

records()
{
	"$dir/kdtl" record --wake -i -q -o "$data" "$dir/chain_load" >"$truth"
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

# within MS NS: not longer than that, nor much shorter: the load's clock also ran while it had its CPU,
# and while an emulator had that.
within()
{
	awk -v ms="$1" -v ns="$2" 'BEGIN { exit !(ms * 1000000 <= ns && ms * 2000000 > ns) }' && return
	note "$1 ms, of $(($2 / 1000)) us"
	return 1
}

# tells WHO ON BY TAKER: the chain of WHO says what it and TAKER wrote down.
tells()
{
	line=$(chain "$1")
	note "$line"
	[ "$(echo "$line" | value on)" = "$2" ] && [ "$(echo "$line" | value by)" = "$3" ] &&
		[ "$(echo "$line" | value by_pid)" = "$(truth "${1#inv_}" 4)" ] &&
		[ "$(echo "$line" | value behind)" = "$4" ] &&
		[ "$(echo "$line" | value behind_pid)" = "$(truth "${4#inv_}" 2)" ] &&
		within "$(echo "$line" | value late_ms)" "$(truth "${1#inv_}" 3)" &&
		within "$(echo "$line" | value its_wait_ms)" "$(truth "${1#inv_}" 3)"
}

# All of the chains: their parts are the time, to the rounding of each.
adds_up()
{
	"$dir/kdtl" why --chain --brief --comm '*' -n 1000 "$data" | awk '{
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
	END { print "# " NR " chains"; exit bad || NR < 10 }'
}

# Of the sleeps that ended, nearly all have a waker: the first ones began before the recording.
wakers()
{
	"$dir/kdtl" why --chain --brief --comm '*' -n 1000 "$data" | awk '
		/ blocked_ms=0\.000/ { next }
		/ by=\?/ { none++ }
		{ n++ }
		END { print "# " none + 0 " of " n " without a waker"; exit !(n > 10 && none * 5 < n) }'
}

for module in kdtl kdtl_sched kdtl_wake kdtl_answers kdtl_stream; do
	load $module || bail_out "$module does not load"
done
plan 5
ok "a load is recorded" records
ok "an owner of a mutex that waits behind another task" tells inv_high futex inv_low inv_mid
ok "a server that does" tells client read server hog
ok "all chains add up" adds_up
ok "sleeps have wakers" wakers
finish
