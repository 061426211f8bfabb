/* SPDX-License-Identifier: GPL-2.0 */
/* For last.c: the part of the kernel's headers that clients/recorder/last.c and last_file.c use. */
#ifndef LAST_KERNEL_H
#define LAST_KERNEL_H

#include <assert.h>
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <linux/kdtl.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

#define PAGE_SHIFT		12
#define PAGE_SIZE		(1UL << PAGE_SHIFT)
#define U32_MAX			UINT32_MAX
#define U64_MAX			UINT64_MAX
#define NSEC_PER_SEC		1000000000L

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define __aligned(n)		__attribute__((aligned(n)))
#define offsetofend(t, m)	(offsetof(t, m) + sizeof(((t *)0)->m))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))

#define cpu_to_be32		htobe32
#define cpu_to_be64		htobe64
#define be16_to_cpu		be16toh

static inline bool is_power_of_2(u64 n)
{
	return n && !(n & (n - 1));
}

static inline const void *memchr_inv(const void *from, int c, size_t size)
{
	const u8 *p = from;

	for (; size && *p == c; size--)
		p++;
	return size ? p : NULL;
}

static inline void strscpy(char *to, const char *from, size_t size)
{
	const size_t len = strnlen(from, size - 1);

	memcpy(to, from, len);
	to[len] = '\0';
}

static inline u32 crc32_le(u32 crc, const u8 *p, size_t size)
{
	unsigned int bit;

	while (size--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

struct kdtl_aux_info {
	u64 tb_freq;
};

static inline u64 kdtl_ticks_to_ns(const struct kdtl_aux_info *info, u64 ticks)
{
	const unsigned __int128 ns = (unsigned __int128)ticks * NSEC_PER_SEC / info->tb_freq;

	return ns > U64_MAX ? U64_MAX : (u64)ns;
}

#endif /* LAST_KERNEL_H */
