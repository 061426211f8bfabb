#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Calls that a PMU driver must not make are refused, with one warning for each mistake.
#
# shellcheck disable=SC2317 # functions that ok() calls

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

need kdtl kdtl_fake_pmu kdtl_fake_drive
have_module kdtl_kunit_warn || skip_all "no module kdtl_kunit_warn"

panic_on_warn=/proc/sys/kernel/panic_on_warn
was=$(cat $panic_on_warn)
echo 0 >$panic_on_warn
kunit kdtl_kunit_warn
status=$?
log >/tmp/warn.log
echo "$was" >$panic_on_warn
[ $status -eq 0 ] || exit 1

# Each reason makes one warning, although it came several times. There are three reasons in begin,
# one of which needs a second CPU, three in end, and one each in skip and flag. Count lines, not
# functions: on arm a warning may have the name of the caller's function.
reasons=7
[ ! -d /sys/devices/system/cpu/cpu1 ] || reasons=8
sed -n 's/.*WARNING: .*\(api\/output\.c:[0-9]*\) .*/\1/p' /tmp/warn.log | sort | uniq -c >/tmp/warns
if [ "$(wc -l </tmp/warns)" -ne $reasons ] || grep -qv '^ *1 ' /tmp/warns; then
	echo "Bail out! Not one warning for each of $reasons reasons:"
	cat /tmp/warns
	exit 1
fi
grep -q "CPU 0: PMU kdtl_fake_warn stopped between kdtl_aux_output_begin() and _end(): " \
	/tmp/warn.log || {
	echo "Bail out! No line about a transaction that was left open"
	exit 1
}
rm -f /tmp/warn.log /tmp/warns
