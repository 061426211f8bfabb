// SPDX-License-Identifier: GPL-2.0
/*
 * What a kdtl_wait() that finds nothing costs, by the number of the session's CPUs
 *
 * Under -icount only one CPU is online, but a session can have all possible CPUs.
 */
#include "reader.h"

#define BENCH_WAITS	1000

static u64 bench_least(struct kdtl_session *s)
{
	u64 t, least = U64_MAX;
	unsigned int i;

	for (i = 0; i < BENCH_WAITS; i++) {
		t = get_cycles();
		kdtl_wait(s, 0);
		least = min(least, get_cycles() - t);
	}
	return least;
}

static int bench_wait_on(const struct cpumask *cpus)
{
	struct kdtl_session *s = bench_reader_open(cpus, 1, 0, NULL);
	char name[sizeof("wait.cpus.") + 10];

	if (IS_ERR(s))
		return PTR_ERR(s);
	snprintf(name, sizeof(name), "wait.cpus.%u", cpumask_weight(cpus));
	bench_result(name, bench_least(s), 1);
	kdtl_session_close(s);
	return 0;
}

/**
 * bench_wait() - measure what a kdtl_wait() costs
 *
 * Return: 0, or the error of creating a session.
 */
int bench_wait(void)
{
	int err = bench_wait_on(cpumask_of(BENCH_CPU));

	if (!err && num_possible_cpus() > 1)
		err = bench_wait_on(cpu_possible_mask);
	return err;
}
