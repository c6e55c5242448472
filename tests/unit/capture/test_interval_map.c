/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ranges and their owners: cut, covered and split as munmap and MAP_FIXED do, against an array of
 * pages. */
#include "lib/tap.h"
#include "process/interval_map.h"

#define PAGES 512u
#define OWNERS 4096u

/* The same, page by page; 0: nobody's. */
struct plain {
	uint32_t owner[PAGES];
	uint64_t lost[OWNERS];
};

struct lost {
	uint64_t bytes[OWNERS];
};

static void count_lost(void *context, uint32_t owner, uint64_t bytes)
{
	struct lost *lost = context;
	lost->bytes[owner] += bytes;
}

static void plain_set(struct plain *plain, uint32_t start, uint32_t end, uint32_t owner)
{
	for (uint32_t page = start; page < end; page++) {
		if (plain->owner[page])
			plain->lost[plain->owner[page]]++;
		plain->owner[page] = owner;
	}
}

/* Every page has its owner, and there are no more intervals than changes from one owner to another.
 */
static void check_alike(const struct interval_map *map, const struct plain *plain)
{
	uint64_t at = 0;
	size_t seen = 0;
	const struct owned_range *range;
	for (uint32_t page = 0; page < PAGES; page++) {
		range = interval_map_from(map, page);
		uint32_t owner = range && range->start <= page ? range->owner : 0;
		CHECK_U64(owner, plain->owner[page]);
	}
	for (; (range = interval_map_from(map, at)); at = range->end, seen++)
		CHECK(range->start >= at && range->start < range->end);
	CHECK_U64(seen, map->count);
}

CASE(shapes, "a range loses its head, its tail, its middle or all of it")
{
	static const struct {
		uint64_t start, end, pieces, lost;
	} cuts[] = {{5, 15, 1, 5}, {10, 12, 1, 2}, {18, 30, 1, 2}, {13, 16, 2, 3}, {10, 20, 0, 10},
		{0, 40, 0, 10}, {0, 10, 1, 0}, {20, 30, 1, 0}, {15, 15, 1, 0}};
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		struct interval_map map;
		struct lost lost = {{0}};
		interval_map_init(&map);
		CHECK(interval_map_set(&map, 10, 20, 7, NULL, NULL));
		CHECK(interval_map_remove(&map, cuts[i].start, cuts[i].end, count_lost, &lost));
		CHECK_U64(map.count, cuts[i].pieces);
		CHECK_U64(lost.bytes[7], cuts[i].lost);
		interval_map_deinit(&map);
	}
}

CASE(covers, "a new range takes the place of what it covers, and leaves what is beside it")
{
	struct interval_map map;
	struct lost lost = {{0}};
	interval_map_init(&map);
	for (uint32_t i = 0; i < 5; i++)
		CHECK(interval_map_set(&map, 10 * i, 10 * i + 10, i + 1, count_lost, &lost));
	CHECK(interval_map_set(&map, 15, 42, 9, count_lost, &lost));
	static const struct owned_range left[] = {
		{0, 10, 1}, {10, 15, 2}, {15, 42, 9}, {42, 50, 5}};
	uint64_t at = 0;
	for (size_t i = 0; i < 4; i++) {
		const struct owned_range *range = interval_map_from(&map, at);
		CHECK(range && range->start == left[i].start && range->end == left[i].end &&
			range->owner == left[i].owner);
		at = range->end;
	}
	CHECK(!interval_map_from(&map, at));
	CHECK_U64(lost.bytes[1] + lost.bytes[9], 0);
	CHECK_U64(lost.bytes[2], 5);
	CHECK_U64(lost.bytes[3] + lost.bytes[4], 20);
	CHECK_U64(lost.bytes[5], 2);
	interval_map_deinit(&map);
}

CASE(at_random, "any sequence gives what an array of pages gives")
{
	for (unsigned seed = 1; seed <= 40; seed++) {
		struct interval_map map;
		static struct plain plain;
		static struct lost lost;
		interval_map_init(&map);
		memset(&plain, 0, sizeof(plain));
		memset(&lost, 0, sizeof(lost));
		srand(seed);
		for (uint32_t turn = 1; turn < OWNERS; turn++) {
			uint32_t start = (uint32_t)rand() % PAGES;
			uint32_t most = seed % 3 ? 4 : 200,
				 end = start + 1 + (uint32_t)rand() % most;
			end = end < PAGES ? end : PAGES;
			bool set = rand() % 3;
			plain_set(&plain, start, end, set ? turn : 0);
			CHECK(set ? interval_map_set(&map, start, end, turn, count_lost, &lost)
				  : interval_map_remove(&map, start, end, count_lost, &lost));
			if (turn % 64 == 0)
				check_alike(&map, &plain);
		}
		CHECK(!memcmp(plain.lost, lost.bytes, sizeof(lost.bytes)));
		interval_map_deinit(&map);
	}
}

CASE(downwards, "a hundred thousand ranges, each below the last, and all of them gone again")
{
	struct interval_map map;
	interval_map_init(&map);
	for (uint64_t i = 100000; i > 0; i--)
		CHECK(interval_map_set(&map, 3 * i, 3 * i + 2, (uint32_t)i, NULL, NULL));
	CHECK_U64(map.count, 100000);
	CHECK(map.pages.len < 2 * 100000 / INTERVALS_IN_PAGE + 2);
	for (uint64_t i = 1; i <= 100000; i++) {
		const struct owned_range *range = interval_map_from(&map, 3 * i - 1);
		CHECK(range && range->start == 3 * i && range->owner == i);
	}
	CHECK(interval_map_remove(&map, 0, 300003, NULL, NULL));
	CHECK_U64(map.count, 0);
	CHECK_U64(map.pages.len, 0);
	interval_map_deinit(&map);
}

TAP_MAIN
