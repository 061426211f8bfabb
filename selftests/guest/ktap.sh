# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# For the tests that run in the kernel under test: KTAP, and modules. Sourced.
#
#	. "$(dirname "$0")/ktap.sh"
#	plan 2
#	ok "kdtl loads" load kdtl
#	ok "it is listed" grep -q ^kdtl /proc/modules
#	finish
#
# KDTL_MODULES  where the .ko files are (default /lib/kdtl); if there is no such
#               directory, modprobe finds them
# KDTL_PARAMS   parameters for kdtl.ko

KTAP_MODULES=${KDTL_MODULES:-/lib/kdtl}
ktap_plan=0
ktap_nr=0
ktap_failed=0
ktap_loaded=
ktap_pids=
ktap_starves=
ktap_servers=
ktap_said=

# plan N: N tests will follow.
plan()
{
	ktap_plan=$1
	echo "KTAP version 1"
	echo "1..$1"
}

# ok NAME COMMAND...: a test; it passes if COMMAND does.
ok()
{
	ktap_name=$1
	shift
	ktap_nr=$((ktap_nr + 1))
	if "$@"; then
		echo "ok $ktap_nr $ktap_name"
	else
		echo "not ok $ktap_nr $ktap_name"
		ktap_failed=$((ktap_failed + 1))
	fi
}

# skip NAME REASON: instead of a test.
skip()
{
	ktap_nr=$((ktap_nr + 1))
	echo "ok $ktap_nr $1 # SKIP $2"
}

# skip_all REASON: instead of everything.
skip_all()
{
	echo "KTAP version 1"
	echo "1..0 # SKIP $*"
	exit 4
}

note()
{
	echo "# $*"
}

bail_out()
{
	echo "Bail out! $*"
	exit 1
}

# finish: the script ends here.
finish()
{
	[ "$ktap_nr" -eq "$ktap_plan" ] && [ "$ktap_failed" -eq 0 ]
	exit
}

is()
{
	[ "$1" = "$2" ] && return
	note "is '$1', should be '$2'"
	return 1
}

# field KEY WORD...: in the lines on stdin that begin with these words, the value of
# KEY=VALUE.
field()
{
	ktap_key=$1
	shift
	awk -v key="$ktap_key" -v words="$* " 'index($0 " ", words) == 1 {
		for (i = 1; i <= NF; i++)
			if (index($i, key "=") == 1)
				print substr($i, length(key) + 2)
	}'
}

# until_true COMMAND...: returns as soon as COMMAND succeeds; false after two minutes,
# or longer on a slow machine, but before the script is ended because it says nothing.
until_true()
{
	ktap_tries=0
	read -r ktap_began _ </proc/uptime
	until "$@"; do
		ktap_tries=$((ktap_tries + 1))
		[ $ktap_tries -lt 2400 ] || return 1
		read -r ktap_now _ </proc/uptime
		[ "${KDTL_SILENCE:-0}" -eq 0 ] ||
			[ $((${ktap_now%.*} - ${ktap_began%.*})) -lt $((KDTL_SILENCE * 3 / 4)) ] ||
			return 1
		sleep 0.05
	done
}

# in_tries NR COMMAND...: returns as soon as COMMAND succeeds; false after NR times, for what a host
# that stops the machine may spoil.
in_tries()
{
	ktap_left=$1
	shift
	until "$@"; do
		ktap_left=$((ktap_left - 1))
		[ $ktap_left -gt 0 ] || return 1
	done
}

# forget_log: log prints what the kernel says from now on. Nobody else's log is cleared, and
# nothing written, which the kernel limits. Its last line is remembered, with its time.
forget_log()
{
	ktap_said=$(dmesg | tail -n 1)
}

# log: what the kernel has said since; all that it still has, if it has that line no more.
log()
{
	dmesg | KTAP_SAID=$ktap_said awk '
	{ line[NR] = $0 }
	$0 == ENVIRON["KTAP_SAID"] { from = NR }
	END {
		for (i = from + 1; i <= NR; i++)
			print line[i]
	}'
}

_online()
{
	echo 1 >"/sys/devices/system/cpu/cpu$1/online"
}

# bring_back CPU: it is online again. On riscv64 the firmware refuses that until the CPU has
# stopped, and the kernel that took it offline has not waited.
bring_back()
{
	if [ "$(uname -m)" = riscv64 ]; then
		until_true _online "$1" 2>/dev/null
	else
		_online "$1"
	fi
}

# is_named NAME: there is a task of this name, a basic regular expression.
is_named()
{
	grep -q "^$1$" /proc/[0-9]*/comm 2>/dev/null
}

# pid_of NAME: the pid of one such task.
pid_of()
{
	grep -l "^$1$" /proc/[0-9]*/comm 2>/dev/null | head -n 1 | cut -d / -f 3
}

# table_asked: of kdtl_recorder, which prints one table at a time; for until_true.
table_asked()
{
	# shellcheck disable=SC2320 # echo's status is write's
	echo 1 2>/dev/null >/sys/kernel/debug/kdtl_recorder/trigger
}

# areas: the bytes that kdtl's modules have mapped, also modules that are gone, whose
# functions have no names any more. Those of kdtl_answers stay for seconds after their last user.
areas()
{
	awk '/\[kdtl_answers\]/ { next }
		/\[kdtl/ || $3 ~ /^0x/ { sum += $2 } END { print sum + 0 }' /proc/vmallocinfo
}

# areas_are BYTES: or less, if some of before went late; for until_true.
areas_are()
{
	[ "$(areas)" -le "$1" ]
}

have_module()
{
	[ -e "$KTAP_MODULES/$1.ko" ] && return
	[ ! -d "$KTAP_MODULES" ] && modprobe -n -q "$1"
}

is_loaded()
{
	grep -q "^$1 " /proc/modules
}

# needs_answers NAME: it uses kdtl_answers, which insmod does not load by itself.
needs_answers()
{
	[ "$1" != kdtl ] && ! is_loaded kdtl_answers && [ -e "$KTAP_MODULES/$1.ko" ] &&
		tr '\0' '\n' <"$KTAP_MODULES/$1.ko" | grep -q '^depends=.*kdtl_answers'
}

# loading NAME: the command that loads it.
loading()
{
	if [ -d "$KTAP_MODULES" ]; then
		echo "insmod $KTAP_MODULES/$1.ko"
	else
		echo "modprobe $1"
	fi
}

# load NAME [PARAMETER=VALUE]...: and unload it again at the end.
load()
{
	! needs_answers "$1" || load kdtl_answers || return
	ktap_mod=$1
	shift
	# shellcheck disable=SC2086 # several words
	[ "$ktap_mod" != kdtl ] || set -- "$@" $KDTL_PARAMS
	$(loading "$ktap_mod") "$@" || return
	ktap_loaded="$ktap_mod $ktap_loaded"
}

# load_disk: /dev/nullb0 is one that takes 20 ms for each request, if the kernel has such.
load_disk()
{
	[ ! -e /dev/nullb0 ] && modprobe null_blk nr_devices=1 irqmode=2 completion_nsec=20000000 2>/dev/null &&
		ktap_loaded="null_blk $ktap_loaded" && until_true [ -e /dev/nullb0 ]
}

# need_modules NAME...: without them the tests are skipped.
need_modules()
{
	for ktap_need; do
		have_module "$ktap_need" || skip_all "no module $ktap_need"
	done
}

# need_tracing: debugfs and tracefs; without tracefs the tests are skipped.
need_tracing()
{
	[ -d /sys/kernel/debug/tracing ] || mount -t debugfs none /sys/kernel/debug 2>/dev/null
	[ -d /sys/kernel/tracing/events ] ||
		mount -t tracefs none /sys/kernel/tracing || skip_all "no tracefs"
}

# need NAME...: load them; without them the tests are skipped.
need()
{
	for ktap_need; do
		need_modules "$ktap_need"
		load "$ktap_need" || bail_out "$ktap_need does not load"
	done
}

unload()
{
	rmmod "$1" || return
	ktap_rest=
	for ktap_mod in $ktap_loaded; do
		[ "$ktap_mod" = "$1" ] || ktap_rest="$ktap_rest $ktap_mod"
	done
	ktap_loaded=$ktap_rest
}

# mount_cgroups DIR: the cgroups of version 2, with the controller cpu; false if it is not there, or
# in use. An earlier run may have left them there.
mount_cgroups()
{
	mkdir -p "$1" && { grep -q "^none $1 cgroup2 " /proc/mounts || mount -t cgroup2 none "$1"; } &&
		echo +cpu >"$1/cgroup.subtree_control"
}

# background COMMAND...: killed at the end.
background()
{
	"$@" &
	ktap_pids="$ktap_pids $!"
}

# compute: on all CPUs, in the background.
compute()
{
	for _ in $(seq "$(nproc)"); do
		background sh -c 'while :; do :; done'
	done
}

# steal_ticks: for how long the hypervisor has kept all CPUs, in 1/100 s.
steal_ticks()
{
	awk '$1 == "cpu" { print $9 }' /proc/stat
}

# takes HUNDREDTHS: does the hypervisor keep the CPUs, which all compute, for so long in a second?
# One with CPUs to spare keeps none.
takes()
{
	ktap_stolen=$(steal_ticks)
	sleep 1
	[ "$(($(steal_ticks) - ktap_stolen))" -ge "$1" ]
}

# on_cpu CPU COMMAND: by a shell there.
on_cpu()
{
	taskset "$(printf %x $((1 << $1)))" sh -c "$2"
}

# can_starve CPU: until the script ends, a real-time task may keep CPU from all others. Before
# v6.12 a sysctl lets those run for 50 ms in each second, since then the deadline servers do. These
# are set by a task on CPU itself: if none is queued there, 6.12.95 does not stop a server that
# still runs before it takes its share away, and warns: dl_rq->running_bw > dl_rq->this_bw.
# 6.12.117 no longer does so.
can_starve()
{
	ktap_starves=$1
	# A shell's read takes one byte, and a sysctl has no second one then.
	ktap_rt=$(cat /proc/sys/kernel/sched_rt_runtime_us)
	echo -1 >/proc/sys/kernel/sched_rt_runtime_us
	for ktap_server in /sys/kernel/debug/sched/*_server/cpu"$1"/runtime; do
		[ -e "$ktap_server" ] || continue
		ktap_servers="$ktap_servers $ktap_server=$(cat "$ktap_server")"
		on_cpu "$1" "echo 0 >$ktap_server"
	done
}

starve_no_more()
{
	[ -n "$ktap_starves" ] || return 0
	echo "$ktap_rt" >/proc/sys/kernel/sched_rt_runtime_us
	for ktap_server in $ktap_servers; do
		on_cpu "$ktap_starves" "echo ${ktap_server#*=} >${ktap_server%=*}"
	done
}

# kunit MODULE [GLOB [PARAM...]]: load it, which runs its suites; their KTAP becomes ours. A GLOB
# that matches no case fails.
kunit()
{
	ktap_suites=$1
	ktap_glob=${2:-*}
	shift
	[ $# -eq 0 ] || shift
	# Debug kernels may have KUnit itself, which has the parameter.
	if [ -d /sys/module/kunit ] || modprobe kunit 2>/dev/null; then
		printf %s "$ktap_glob" >/sys/module/kunit/parameters/filter_glob 2>/dev/null
	else
		set -- "filter_glob=$ktap_glob" "$@"
	fi
	forget_log
	load "$ktap_suites" "$@" || bail_out "$ktap_suites does not load"
	ktap_log=$(mktemp)
	log | sed -n -e 's/^\[ *[0-9.]*\] //' -e "s/^$ktap_suites: //" \
		-e '/^ *KTAP version/p' -e '/^ *1\.\.[0-9]/p' -e '/^ *# /p' \
		-e '/^ *\(not \)\{0,1\}ok [0-9]/p' >"$ktap_log"
	cat "$ktap_log"

	# The kernel's own KUnit says nothing then, the shim 1..0.
	grep -q '^\(not \)\{0,1\}ok ' "$ktap_log" ||
		note "no case of $ktap_suites matches '$ktap_glob'"
	# The log's beginning may have been overwritten: then the plan is missing.
	grep -q '^1\.\.[1-9]' "$ktap_log" && ! grep -q '^ *not ok ' "$ktap_log"
	set -- $?
	rm -f "$ktap_log"
	return "$1"
}

# Whatever happened, leave the machine as it was.
ktap_exit()
{
	ktap_status=$?
	trap - EXIT
	# shellcheck disable=SC2086 # several words
	[ -z "$ktap_pids" ] || kill $ktap_pids 2>/dev/null
	starve_no_more
	for ktap_mod in $ktap_loaded; do
		is_loaded "$ktap_mod" || continue
		rmmod "$ktap_mod" || ktap_status=1
	done
	exit "$ktap_status"
}
trap ktap_exit EXIT
trap 'exit 130' INT TERM
