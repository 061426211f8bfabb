/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Spoil reserved memory at random, as if something else had written to it after the recorder
 *
 * Used by kdtl_spoil.c and by selftests/host/lib/last.c, which is a program.
 */
#ifndef _KDTL_SPOIL_H
#define _KDTL_SPOIL_H

static u64 seed;

static u32 dice(u32 below)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)(seed >> 33) % below;
}

static void seal(struct last_page *page)
{
	unsigned int i;

	page->head.crc = last_header_crc(&page->head);
	for (i = 0; i < LAST_CLOCKS; i++)
		page->clock[i].crc = last_clock_crc(&page->clock[i]);
}

/* Changes some of the bytes at @p. */
static void spoil(u8 *p, size_t size)
{
	static const u64 words[] = {
		0, 1, 3, 1ULL << 31, U32_MAX, 1ULL << 32, 1ULL << 63, U64_MAX
	};
	unsigned int n;
	size_t at, len;

	for (n = 1 << dice(6); n; n--) {
		at = dice(size);
		switch (dice(4)) {
		case 0:
			p[at] ^= 1 << dice(8);
			break;
		case 1:
			p[at] = dice(256);
			break;
		case 2:
			len = min(size - at, sizeof(u64));
			memcpy(p + at, &words[dice(ARRAY_SIZE(words))], len);
			break;
		default:
			len = dice(min(size - at, (size_t)256) + 1);
			memmove(p + at, p + dice(size - len + 1), len);
		}
	}
}

/* Fills the header with nonsense and gives it a valid CRC. */
static void senseless(struct last_page *page)
{
	struct last_header *h = &page->head;
	u32 *number[] = { &h->nr_cpus, &h->aux_pages, &h->flags };
	u64 *time[] = { &h->tb_freq, &h->tb_boot, &h->begun, &page->clock[0].ticks,
			&page->clock[1].ticks, &page->clock[1].real };

	*number[dice(3)] = dice(2) ? dice(10) : 1U << dice(32);
	*time[dice(6)] = 1ULL << dice(64);
	if (dice(4) == 0)
		memset(h->source, 'x', sizeof(h->source));
	if (dice(4) == 0)
		memset(page->clock, 'x', sizeof(page->clock));
	seal(page);
}

/* The first page has the header; the areas are behind it. */
static void spoil_memory(struct last_page *page, size_t size)
{
	switch (dice(4)) {
	case 0:
		spoil((u8 *)page, sizeof(*page));
		break;
	case 1:
		senseless(page);
		break;
	}
	if (size > PAGE_SIZE && dice(4))
		spoil((u8 *)page + PAGE_SIZE, size - PAGE_SIZE);
}

#endif /* _KDTL_SPOIL_H */
