// SPDX-License-Identifier: GPL-2.0
/* For vmcore.sh: prints the layout of recordings, to compare it with a program that is not in C. */
#include <stddef.h>
#include <stdio.h>

#include <linux/kdtl_file.h>

#define SIZE(type, member)	printf(" %zu", sizeof(((struct type *)0)->member))
#define CHUNK(name)		printf(#name " %d\n", KDTL_CHUNK_##name)

int main(void)
{
	printf("magic %s complete %d\n", KDTL_FILE_MAGIC, KDTL_COMPLETE);
	printf("head %zu:", sizeof(struct kdtl_file));
	SIZE(kdtl_file, magic);
	SIZE(kdtl_file, size);
	SIZE(kdtl_file, complete);
	SIZE(kdtl_file, tb_freq);
	SIZE(kdtl_file, tb_boot);
	SIZE(kdtl_file, boot_time);
	SIZE(kdtl_file, lost);
	SIZE(kdtl_file, source);
	SIZE(kdtl_file, host);
	SIZE(kdtl_file, release);
	SIZE(kdtl_file, entries);
	SIZE(kdtl_file, tasks_lost);
	printf("\nchunk %zu:", sizeof(struct kdtl_chunk));
	SIZE(kdtl_chunk, type);
	SIZE(kdtl_chunk, size);
	printf("\nclock %zu:", sizeof(struct kdtl_clock_pair));
	SIZE(kdtl_clock_pair, ticks);
	SIZE(kdtl_clock_pair, realtime);
	printf("\nloss %zu:", sizeof(struct kdtl_loss));
	SIZE(kdtl_loss, cpu);
	SIZE(kdtl_loss, reserved);
	SIZE(kdtl_loss, from);
	SIZE(kdtl_loss, to);
	SIZE(kdtl_loss, lost);
	printf("\ntask %zu\n", sizeof(struct kdtl_task));
	CHUNK(ENTRIES);
	CHUNK(TASKS);
	CHUNK(CGROUP);
	CHUNK(CLOCK);
	CHUNK(CPUS);
	CHUNK(MIN_WAIT);
	CHUNK(LOST);
	CHUNK(UNTIL);
	CHUNK(SOME_CPUS);
	return 0;
}
