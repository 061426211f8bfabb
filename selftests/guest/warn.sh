#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What a PMU driver must not do is refused and warned about, once each.
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
dmesg >/tmp/warn.log
echo "$was" >$panic_on_warn
[ $status -eq 0 ] || exit 1

# Once, although each was done several times.
for f in begin end flag; do
	n=$(grep -c "WARNING: .*kdtl_aux_output_$f+" /tmp/warn.log)
	[ "$n" -eq 1 ] && continue
	echo "Bail out! kdtl_aux_output_$f() warned $n times"
	exit 1
done
rm -f /tmp/warn.log
