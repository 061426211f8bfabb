#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# In the machine of migrate.sh: do the clients that once were perfmon2's work?

M=/lib/kdtl

# said PATTERN: in the kernel's log, after a while.
said()
{
	tries=0
	until dmesg | grep -q "$1"; do
		tries=$((tries + 1))
		if [ $tries -gt 400 ]; then
			echo "nobody said: $1"
			dmesg | tail -n 20
			return 1
		fi
		usleep 50000
	done
}

insmod $M/kdtl.ko && insmod $M/kdtl_sched.ko || exit 1

# Dispatches, for the sampler's area to fill.
while :; do usleep 100; done &
load=$!

insmod /clients/samples.ko && said 'sampler: CPU [0-9]* pid [0-9]* at ' &&
	rmmod samples || exit 1
insmod /clients/counts.ko && usleep 300000 && rmmod counts &&
	said 'counts: set 1 ran [1-9][0-9]* times' || exit 1
insmod /clients/params.ko && rmmod params && said 'params: [0-9]' || exit 1

kill $load
rmmod kdtl_sched && rmmod kdtl
