# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# The tests that run in the kernel under test source this file: KTAP, and modules.
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

# ok NAME COMMAND...: a test, which passes if COMMAND succeeds.
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

# skip NAME REASON: a test that cannot run here.
skip()
{
	ktap_nr=$((ktap_nr + 1))
	echo "ok $ktap_nr $1 # SKIP $2"
}

# skip_all REASON: none of the tests can run here; ends the script.
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
# or longer on a slow machine, but before the script is ended for its silence.
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

# in_tries NR COMMAND...: returns as soon as COMMAND succeeds; false after NR tries. It is for
# measurements that a host may spoil when it stops the machine.
in_tries()
{
	ktap_left=$1
	shift
	until "$@"; do
		ktap_left=$((ktap_left - 1))
		[ $ktap_left -gt 0 ] || return 1
	done
}

# forget_log: from now on, log prints only what the kernel says later. To clear the log would
# clear it for others, and the kernel limits what can be written to it: so this remembers the
# log's last line, with its time.
forget_log()
{
	ktap_said=$(dmesg | tail -n 1)
}

# log: what the kernel has said since; all of its log, if that line is gone.
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

# last_cpu: sets $last, the machine's last CPU, and $online, the file that takes it offline.
# nproc would say how many this script may use.
last_cpu()
{
	last=$(($(grep -c ^processor /proc/cpuinfo) - 1))
	# shellcheck disable=SC2034 # for the caller
	online=/sys/devices/system/cpu/cpu$last/online
}

_online()
{
	echo 1 >"/sys/devices/system/cpu/cpu$1/online"
}

# bring_back CPU: brings it online again. On riscv64 the firmware refuses that until the CPU has
# stopped, for which the kernel does not wait when it takes the CPU offline.
bring_back()
{
	if [ "$(uname -m)" = riscv64 ]; then
		until_true _online "$1" 2>/dev/null
	else
		_online "$1"
	fi
}

# is_named NAME: there is a task whose name matches NAME, a basic regular expression.
is_named()
{
	grep -q "^$1$" /proc/[0-9]*/comm 2>/dev/null
}

# pid_of NAME: the pid of one such task.
pid_of()
{
	grep -l "^$1$" /proc/[0-9]*/comm 2>/dev/null | head -n 1 | cut -d / -f 3
}

# table_asked: kdtl_recorder has been asked for a table; it prints one at a time. For until_true.
table_asked()
{
	# shellcheck disable=SC2320 # echo's status is write's
	echo 1 2>/dev/null >/sys/kernel/debug/kdtl_recorder/trigger
}

# areas: the bytes that kdtl's modules have mapped, also modules that are gone, whose functions
# have no names any more. kdtl_answers does not count: it keeps its table for some seconds.
areas()
{
	awk '/\[kdtl_answers\]/ { next }
		/\[kdtl/ || $3 ~ /^0x/ { sum += $2 } END { print sum + 0 }' /proc/vmallocinfo
}

# areas_are BYTES: there are no more than that; less, if older ones went late. For until_true.
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

# depends NAME: prints the modules that this one uses.
depends()
{
	if [ ! -d "$KTAP_MODULES" ]; then
		modinfo -F depends "$1"
	elif [ -e "$KTAP_MODULES/$1.ko" ]; then
		tr '\0' '\n' <"$KTAP_MODULES/$1.ko" | sed -n 's/^depends=//p'
	fi
}

# needs_answers NAME: the module uses kdtl_answers. insmod does not load that by itself, and what
# modprobe loads by itself is not unloaded at the end.
needs_answers()
{
	[ "$1" != kdtl ] && ! is_loaded kdtl_answers && depends "$1" 2>/dev/null | grep -q kdtl_answers
}

# loading NAME: prints the command that loads the module.
loading()
{
	if [ -d "$KTAP_MODULES" ]; then
		echo "insmod $KTAP_MODULES/$1.ko"
	else
		echo "modprobe $1"
	fi
}

# load NAME [PARAMETER=VALUE]...: loads the module; it is unloaded at the end.
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

# load_disk: /dev/nullb0 is a disk that takes 20 ms for each request; false if the kernel has none.
load_disk()
{
	[ ! -e /dev/nullb0 ] && modprobe null_blk nr_devices=1 irqmode=2 completion_nsec=20000000 2>/dev/null &&
		ktap_loaded="null_blk $ktap_loaded" && until_true [ -e /dev/nullb0 ]
}

# need_modules NAME...: without these modules the tests are skipped.
need_modules()
{
	for ktap_need; do
		have_module "$ktap_need" || skip_all "no module $ktap_need"
	done
}

# need_tracing: mounts debugfs and tracefs; without tracefs the tests are skipped.
need_tracing()
{
	[ -d /sys/kernel/debug/tracing ] || mount -t debugfs none /sys/kernel/debug 2>/dev/null
	[ -d /sys/kernel/tracing/events ] ||
		mount -t tracefs none /sys/kernel/tracing || skip_all "no tracefs"
}

# need NAME...: loads these modules; without them the tests are skipped.
need()
{
	for ktap_need; do
		need_modules "$ktap_need"
		load "$ktap_need" || bail_out "$ktap_need does not load"
	done
}

# has_left MODULE: prints what the module has left to kdtl, which clears up behind it.
has_left()
{
	dmesg | grep "kdtl: module $1 leaves "
}

# unload MODULE: fails if the module leaves something to kdtl. kdtl_forget does that on purpose.
unload()
{
	ktap_left=$(has_left "$1")
	rmmod "$1" || return
	ktap_rest=
	for ktap_mod in $ktap_loaded; do
		[ "$ktap_mod" = "$1" ] || ktap_rest="$ktap_rest $ktap_mod"
	done
	ktap_loaded=$ktap_rest
	[ "$1" = kdtl_forget ] || is "$(has_left "$1")" "$ktap_left"
}

# without_modprobe COMMAND...: does it while the kernel loads no modules of its own accord, as it does
# where kdtl is installed, if a source is asked for.
without_modprobe()
{
	ktap_modprobe=$(cat /proc/sys/kernel/modprobe) && echo >/proc/sys/kernel/modprobe || return
	"$@"
	set -- $?
	echo "$ktap_modprobe" >/proc/sys/kernel/modprobe
	return "$1"
}

# memory_taken: prints the MiB that have been allocated since the machine began, also if they were
# freed again.
memory_taken()
{
	awk '/^KernelPageSize:/ { page = $2 } /^pgalloc_/ { n += $2 }
		END { print int(n * page / 1024) }' /proc/self/smaps /proc/vmstat
}

# mount_cgroups DIR: mounts the cgroups of version 2, with the controller cpu; false if that is not
# there, or in use. An earlier run may have left the mount.
mount_cgroups()
{
	mkdir -p "$1" && { grep -q "^none $1 cgroup2 " /proc/mounts || mount -t cgroup2 none "$1"; } &&
		echo +cpu >"$1/cgroup.subtree_control"
}

# background COMMAND...: runs it until the end of the script, where it is killed.
background()
{
	"$@" &
	ktap_pids="$ktap_pids $!"
}

# compute: keeps all CPUs busy, in the background.
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

# takes HUNDREDTHS: all CPUs compute, and the hypervisor keeps them for so long in a second, or for
# longer. A hypervisor with CPUs to spare keeps none.
takes()
{
	ktap_stolen=$(steal_ticks)
	sleep 1
	[ "$(($(steal_ticks) - ktap_stolen))" -ge "$1" ]
}

# on_cpu CPU COMMAND: a shell runs COMMAND on that CPU.
on_cpu()
{
	taskset "$(printf %x $((1 << $1)))" sh -c "$2"
}

# can_starve CPU: until the script ends, a real-time task may keep CPU from all others. Before
# v6.12 a sysctl lets the others run for 50 ms in each second, since then the deadline servers do.
# A task on CPU itself sets the servers: if no task is queued there, 6.12.95 takes a server's share
# away while it still runs, and warns: dl_rq->running_bw > dl_rq->this_bw. 6.12.117 no longer does.
can_starve()
{
	ktap_starves=$1
	# The shell's read takes byte by byte, but a sysctl has nothing after the first byte.
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

# kunit MODULE [GLOB [PARAM...]]: loads the module, which runs its suites; their KTAP becomes this
# script's. A GLOB that matches no case fails.
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

	# If no case matches, the kernel's own KUnit says nothing, and the shim 1..0.
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
