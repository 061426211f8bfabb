#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The README's first command does what it says: a table, nothing lost, and an answer.
#
#	selftests/host/demo.sh [x86|powerpc|steal]...	also those in guests of a hypervisor
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

out=$(mktemp "${TMPDIR:-/tmp}/kdtl-demo.XXXXXX")
partial "$out"

# field NAME: that field of the demo's last line.
field()
{
	tail -n 1 -- "$out" | tr ' ' '\n' | sed -n "s/^$1=//p"
}

# demo ARCH MACHINE PMU [ASKED]: the demo ends with a line that adds up.
demo()
{
	run_group make -s -C "$top" demo ARCH="$1" PMU="${4:-}" >"$out" || {
		tail -n 20 -- "$out"
		return 1
	}
	tail -n 1 -- "$out"
	tail -n 1 -- "$out" | matches '^demo: ' &&
		[ "$(field arch)" = "$2" ] && [ "$(field pmu)" = "$3" ] &&
		[ "$(field dispatches)" -ge 100 ] &&
		[ "$(field consumed)" -eq "$(field dispatches)" ] &&
		[ "$(field lost)" -eq 0 ]
}

has_table()
{
	grep -q '^ CPU  dispatches' "$out" && grep -q '^ all ' "$out" &&
		grep -q '^  wait below' "$out"
}

# answer TASK: the line that kdtl why says about it, in pairs NAME=VALUE.
answer()
{
	sed -n "s/^why: task=$1 //p" "$out" | tr ' ' '\n'
}

# The service waited behind the hog. The other task waited for its own quota, and then perhaps for
# its CPU to wake up.
has_answer()
{
	answer kdtl_service && answer kdtl_quota &&
		answer kdtl_service | awk -F= '{ v[$1] = $2 } END {
			exit !(v["waited_ms"] > 300 && v["behind"] == "kdtl_hog" &&
				v["behind_ms"] > v["waited_ms"] / 2 && v["throttled_ms"] == 0)
		}' && answer kdtl_quota | awk -F= '{ v[$1] = $2 } END {
			exit !(v["waited_ms"] < v["throttled_ms"] / 2 && v["throttled_ms"] > 20 &&
				(v["behind"] == "-" || v["waited_ms"] > 0))
		}'
}

# pressure CGROUP: the line that tells why the cgroup waited, in pairs NAME=VALUE.
pressure()
{
	sed -n "s|^pressure: cgroup=$1 ||p" "$out" | tr ' ' '\n'
}

# The service waited for the hog, the other task for its quota.
has_pressure()
{
	pressure /kdtl_web && pressure /kdtl_quota &&
		pressure /kdtl_web | awk -F= '{ v[$1] = $2 } END {
			exit !(v["neighbours_ms"] > 300 && v["by"] == "/kdtl_batch" &&
				v["quota_ms"] == 0 && v["full_ms"] <= v["some_ms"])
		}' && pressure /kdtl_quota | awk -F= '{ v[$1] = $2 } END {
			exit !(v["quota_ms"] > 20 && v["neighbours_ms"] < v["quota_ms"] / 2)
		}'
}

# chain: the line about the third victim, in pairs NAME=VALUE.
chain()
{
	sed -n 's/^chain: task=inv_high //p' "$out" | tr ' ' '\n'
}

# The third victim slept for a lock in user space, whose owner waited behind another task.
has_chain()
{
	chain && chain | awk -F= '{ v[$1] = $2 } END {
			exit !(v["late_ms"] > 200 && v["blocked_ms"] > v["late_ms"] / 2 &&
				v["on"] == "futex" && v["by"] == "inv_low" && v["behind"] == "inv_mid" &&
				v["its_wait_ms"] > v["late_ms"] / 2 && v["behind_ms"] > v["late_ms"] / 2)
		}'
}

says_why()
{
	has_answer && has_pressure && has_chain
}

# explains DEMO...: it says why. The times are of one wait each, and a host that stops the machine for
# so long in one of these makes another wait of it: then the demo is asked again.
explains()
{
	local tries

	for tries in 1 2 3; do
		[ "$tries" = 1 ] || demo "$@" || return
		says_why && return
	done
	return 1
}

# The log has the time that was stolen according to the kernel, which counts in ticks.
has_stolen()
{
	awk -v logged="$(field logged_ms)" -v stolen="$(field stolen_ms)" 'BEGIN {
		away = logged > stolen ? logged - stolen : stolen - logged
		exit !(logged > 100 && away <= logged / 20 + 50)
	}'
}

[ $# -gt 0 ] || set -- x86
plan $((3 * $#))
for which; do
	case $which in
	x86)
		name='make demo' demo=(x86 x86_64 kdtl_sched)
		;;
	powerpc)
		name='make demo ARCH=powerpc' demo=(powerpc ppc64le kdtl_vpa)
		;;
	steal)
		name='make demo PMU=kdtl_steal' demo=(x86 x86_64 kdtl_steal kdtl_steal)
		;;
	*) die "no such demo: $which" ;;
	esac
	ok "$name loses nothing" demo "${demo[@]}"
	ok "and shows a table" has_table
	if [ "$which" = steal ]; then
		ok "and the log has what was stolen" has_stolen
	else
		ok "and says who waited, behind whom, and why their cgroups did" explains "${demo[@]}"
	fi
done
finish
