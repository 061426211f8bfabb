#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The modules come and go, refuse to go while they are used, and say what is
# wrong with a parameter.
#
# shellcheck disable=SC2317 # functions that ok() calls

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

ROUNDS=${ROUNDS:-10}

modprobe=/proc/sys/kernel/modprobe

for m in kdtl kdtl_sched kdtl_irq kdtl_wake kdtl_sampler; do
	have_module $m || skip_all "no module $m"
done

come_and_go()
{
	i=0
	while [ $i -lt "$ROUNDS" ]; do
		i=$((i + 1))
		load kdtl && load kdtl_sched && load kdtl_irq && load kdtl_wake && load kdtl_sampler || return
		unload kdtl_sampler && unload kdtl_wake && unload kdtl_irq && unload kdtl_sched && unload kdtl || return
	done
}

come_and_go_vpa()
{
	i=0
	while [ $i -lt "$ROUNDS" ]; do
		i=$((i + 1))
		load kdtl && load kdtl_vpa && unload kdtl_vpa && unload kdtl || return
	done
}

refused()
{
	case $(rmmod "$1" 2>&1) in
	*[Ii]'n use'* | *busy* | *'temporarily unavailable'*) is_loaded "$1" ;;
	*) return 1 ;;
	esac
}

# refuses WHAT MODULE PARAMETER LINE: the module does not load and says why.
refuses()
{
	! load "$1" "$2" 2>/dev/null || { unload "$1"; return 1; }
	dmesg | tail -n 8 | grep -q "$3"
}

# no_device MODULE: what insmod prints if it does not load.
no_device()
{
	load "$1" 2>&1 | grep -q 'No such device'
}

# The kernel runs this script instead of modprobe: the script writes down what it is
# asked for, and loads the only source.
modprobe_is_ours()
{
	cat >/tmp/modprobe <<-END
		#!/bin/sh
		echo "\$*" >>/tmp/modprobe.log
		$(loading kdtl_sched)
	END
	chmod +x /tmp/modprobe
	echo /tmp/modprobe >$modprobe
}

# asks_for ALIAS PARAMETER...: the sampler loads, after modprobe was asked once.
asks_for()
{
	alias=$1
	shift
	rm -f /tmp/modprobe.log
	load kdtl_sampler "$@" && is "$(cat /tmp/modprobe.log)" "-q -- $alias" &&
		unload kdtl_sampler && rmmod kdtl_sched
}

# modprobe is not asked for a name that no source can have.
asks_for_nothing()
{
	rm -f /tmp/modprobe.log
	! load kdtl_sampler pmu=kdtl/sched 2>/dev/null && [ ! -e /tmp/modprobe.log ]
}

pmu_listed()
{
	[ -d /sys/bus/event_source/devices/"$1" ]
}

plan 16
load kdtl && load kdtl_sched && load kdtl_irq && load kdtl_wake && load kdtl_sampler
unload kdtl_sampler && unload kdtl_wake && unload kdtl_irq && unload kdtl_sched && unload kdtl
before=$(areas)
ok "all load and unload $ROUNDS times" come_and_go
ok "nothing is left of them" until_true areas_are "$before"
if have_module kdtl_vpa && load kdtl && load kdtl_vpa 2>/dev/null; then
	unload kdtl_vpa && unload kdtl
	ok "kdtl_vpa loads and unloads $ROUNDS times" come_and_go_vpa
else
	is_loaded kdtl && unload kdtl
	skip "kdtl_vpa loads and unloads $ROUNDS times" "no hypervisor with a dispatch trace log"
fi

load kdtl || bail_out "kdtl does not load"
was=$(cat $modprobe) || bail_out "no $modprobe"
ok "without any source the sampler says so" without_modprobe \
	refuses kdtl_sampler aux_pages=1 'no PMU at all'
ok "and insmod says that there is no such device" without_modprobe no_device kdtl_sampler
modprobe_is_ours
ok "modprobe is asked for any source" asks_for kdtl-pmu
ok "modprobe is asked for a source by its name" asks_for kdtl-pmu-kdtl_sched pmu=kdtl_sched
ok "but not for a name that no source can have" asks_for_nothing
echo "$was" >$modprobe
ok "kdtl_sched loads" load kdtl_sched
ok "perf lists it" pmu_listed kdtl_sched
ok "the sampler names an unknown source" \
	refuses kdtl_sampler pmu=nothing 'nothing'
ok "the sampler refuses pages that are no power of two" \
	refuses kdtl_sampler aux_pages=3 'power of two'
ok "the sampler loads" load kdtl_sampler
ok "kdtl_sched does not unload while a session uses it" refused kdtl_sched
ok "kdtl does not unload while others use it" refused kdtl
unload kdtl_sampler && unload kdtl_sched
ok "perf lists it no more" eval '! pmu_listed kdtl_sched'
unload kdtl
finish
