#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Compares the tracepoints and debugfs files of kdtl.ko with a session whose events are
# known exactly.
#
# shellcheck disable=SC2317 # functions that ok() calls

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

act=/sys/module/kdtl_client_sh/parameters/act
files=/sys/kernel/debug/kdtl
tracing=/sys/kernel/tracing

do_it()
{
	echo "$*" >$act
}

# events PATTERN: how many events match since forget().
events()
{
	grep -c "$1" $tracing/trace
}

forget()
{
	echo >$tracing/trace
}

life()
{
	sed -n "s/^.* kdtl_session: session=$id \([a-z]*\) owner=.*\[kdtl_client_sh\].*/\1/p" \
		$tracing/trace | tr '\n' ' '
}

# column FILE NAME: the value in the session's line, in the column of that title.
column()
{
	awk -v id="$id" -v name="$2" '
	NR == 1 { sub(/mem KiB/, "mem"); for (i = 1; i <= NF; i++) if ($i == name) n = i; next }
	$1 == id { print $n }' "$files/$1"
}

listed()
{
	id=$(awk '/client_init.*\[kdtl_client_sh\]/ { print $1 }' $files/sessions)
	[ -n "$id" ] && is "$(life)" "created " &&
		is "$(column sessions state) $(column sessions pmu) $(column sessions mode) $(column sessions pages) $(column sessions watermark)" \
			"created kdtl_fake keep 1 960" &&
		is "$(column areas cpu)" ""
}

started()
{
	do_it load && is "$(column sessions state)" stopped && do_it start &&
		is "$(column sessions state) $(column areas state)" "started online" &&
		is "$(life)" "created loaded started "
}

# 30 entries reach both sets: they make two overflows, one switch, and a watermark at the 20th.
sets()
{
	forget
	do_it emit 30
	is "$(events "kdtl_overflow: session=$id cpu=0 set=0 counters=0x1")" 2 &&
		is "$(events "kdtl_set_switch: session=$id cpu=0 from=0 to=1")" 1 &&
		is "$(events "kdtl_watermark: session=$id cpu=0 .*unread=960")" 1 &&
		is "$(events "kdtl_")" 4
}

unread()
{
	is "$(column areas unread) $(column areas lost) $(column sessions produced)" \
		"30 0 30"
}

# Seven more entries come than fit.
lost()
{
	forget
	fit=$(($(column areas size) / 48))
	do_it emit $((fit - 30 + 7))
	is "$(events "kdtl_watermark: session=$id")" $((fit / 20 - 1)) &&
		is "$(events "kdtl_lost: session=$id cpu=0 run=1 lost=1 over=0")" 1 &&
		is "$(events kdtl_lost)" 1 &&
		is "$(column areas unread) $(column areas lost)" "$fit 7"
}

lost_over()
{
	forget
	do_it consume && do_it emit 1 &&
		is "$(events "kdtl_lost: session=$id cpu=0 run=7 lost=7 over=1")" 1 &&
		is "$(events kdtl_lost)" 1 &&
		is "$(column areas unread) $(column sessions lost) $(column sessions produced)" \
			"1 7 $((fit + 8))"
}

stopped()
{
	forget
	do_it stop && is "$(column sessions state)" stopped && do_it unload &&
		is "$(column sessions state) $(column areas state)" "created offline" &&
		is "$(life)" "stopped unloaded "
}

closed()
{
	forget
	unload kdtl_client_sh && is "$(column sessions state)" "" &&
		is "$(grep -c 'kdtl_session:.* closed ' $tracing/trace)" 1
}

# The files and the events work while sessions come and go.
churn()
{
	background sh -c "while :; do cat $files/sessions $files/areas; done >/dev/null"
	n=0
	while [ $n -lt 30 ]; do
		load kdtl_client_sh && do_it load && do_it start && do_it emit 200 &&
			unload kdtl_client_sh || return
		n=$((n + 1))
	done
	is "$(awk 'END { print NR }' $files/sessions)" "$1"
}

off()
{
	echo 0 >$tracing/events/kdtl/enable
	forget
	load kdtl_client_sh && do_it load && do_it start && do_it emit 200 &&
		unload kdtl_client_sh && is "$(events kdtl_)" 0
}

need kdtl kdtl_fake_pmu
have_module kdtl_client_sh || skip_all "no module kdtl_client_sh"
[ -d $tracing/events/kdtl ] || skip_all "a kernel without tracepoints"

plan 11
others=$(awk 'END { print NR }' $files/sessions)
echo 1 >$tracing/events/kdtl/enable
forget
ok "a session" load kdtl_client_sh
ok "it is listed, and was traced" listed
ok "loaded and started" started
ok "overflows, a set switch, a watermark: each once" sets
ok "unread entries, in the files" unread
ok "a loss begins: it is traced" lost
ok "a loss ends: it is traced, with its number" lost_over
ok "stopped and unloaded" stopped
ok "closed: listed no more" closed
ok "files are read while sessions come and go" churn "$others"
ok "switched off, nothing is traced" off
finish
