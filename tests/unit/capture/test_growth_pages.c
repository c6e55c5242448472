/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages that are new since the start, and whose they are (capture/watch/growth_pages.h). */
#include "capture/watch/growth_pages.h"

#include <string.h>

#include "base/util.h"
#include "capture/growth.h"
#include "lib/tap.h"

#define P (uint64_t) GROWTH_PAGE_BYTES
#define HUGE_PAGE (2ull << 20)
#define SITES 4u

struct shares {
	uint64_t own[SITES], along[SITES], nobody, of_files;
};

static void share_take(void *context, const struct growth_share *share)
{
	struct shares *shares = context;
	shares->of_files += share->is_file ? share->pages : 0;
	if (!share->site)
		shares->nobody += share->pages;
	else if (share->is_along)
		shares->along[*share->site] += share->pages;
	else
		shares->own[*share->site] += share->pages;
}

static struct growth_ranges ranges_make(const struct growth_range *ranges, size_t count)
{
	struct growth_ranges ret = {0};
	for (size_t i = 0; i < count; i++)
		CHECK(growth_ranges_push(&ret, ranges[i]));
	return ret;
}

static struct shares share(const struct growth_range *range, const char *maps_text,
	bool large_folios, const struct growth_touch *touches, size_t count)
{
	struct shares shares = {0};
	struct growth_ranges fresh = ranges_make(range, 1);
	struct growth_touches found = {0};
	struct process_maps maps;
	CHECK_OK(process_maps_parse(strdup(maps_text), &maps));
	for (size_t i = 0; i < count; i++)
		CHECK(growth_touches_push(&found, touches[i]));
	growth_touches_sort(&found);
	growth_pages_share(&fresh, &maps, large_folios, &found, share_take, &shares);
	growth_ranges_deinit(&fresh);
	growth_touches_deinit(&found);
	process_maps_deinit(&maps);
	return shares;
}

#define ANONYMOUS "40000000-50000000 rw-p 00000000 00:00 0\n"
#define A 0x40000000ull

CASE(subtract, "pages that were there at the start are not new")
{
	const struct growth_range now[] = {{0x1000, 0x9000, false}, {0xa000, 0xc000, true}};
	const struct growth_range before[] = {
		{0x0, 0x2000, false}, {0x3000, 0x4000, false}, {0x8000, 0xb000, false}};
	struct growth_ranges left = ranges_make(now, 2), right = ranges_make(before, 3), ret = {0};
	CHECK(growth_pages_subtract(&left, &right, &ret));
	const struct growth_range expected[] = {
		{0x2000, 0x3000, false}, {0x4000, 0x8000, false}, {0xb000, 0xc000, true}};
	CHECK(ret.len == ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		CHECK(ret.data[i].start == expected[i].start &&
			ret.data[i].end == expected[i].end &&
			ret.data[i].is_huge == expected[i].is_huge);
	CHECK(growth_pages_count(&ret) == 6);
	growth_ranges_deinit(&left);
	growth_ranges_deinit(&right);
	growth_ranges_deinit(&ret);
}

/* Between touched pages of 4 KiB are some that nobody touched; touches of other pages are none. */
CASE(small_pages, "small pages between touched ones are nobody's")
{
	const struct growth_touch touches[] = {
		{A + 7 * P, 2}, {A + P, 1}, {A + 2 * P, 1}, {A + 100 * P, 3}};
	const struct shares shares = share(&(struct growth_range){A, A + 10 * P, false}, ANONYMOUS,
		false, touches, ARRAY_SIZE(touches));
	CHECK(shares.own[1] == 2 && shares.own[2] == 1 && shares.own[3] == 0);
	CHECK(shares.nobody == 7 && shares.along[1] == 0 && shares.of_files == 0);
}

/* A huge page belongs to the stack that touched one byte of it, and not to that of the one before.
 */
CASE(huge_pages, "a huge page belongs to the stack that touched a byte of it")
{
	const struct growth_touch touches[] = {{A + 3 * P, 1}, {A + HUGE_PAGE + 500 * P, 2}};
	const struct shares shares = share(&(struct growth_range){A, A + 3 * HUGE_PAGE, true},
		ANONYMOUS, false, touches, ARRAY_SIZE(touches));
	CHECK(shares.own[1] == 1 && shares.along[1] == 511);
	CHECK(shares.own[2] == 1 && shares.along[2] == 511);
	CHECK(shares.nobody == 512); /* the third */
}

/* Files' pages come with touched ones, but not those of another mapping. */
CASE(files, "pages of files come with a touched one, of the same mapping")
{
	const struct growth_touch touches[] = {{A + 4 * P, 1}};
	const struct shares shares = share(&(struct growth_range){A, A + 16 * P, false},
		"40000000-40008000 r--p 00000000 08:01 7 /lib/a\n"
		"40008000-40010000 rw-p 00000000 00:00 0\n",
		false, touches, 1);
	CHECK(shares.own[1] == 1 && shares.along[1] == 7 && shares.nobody == 8);
	CHECK(shares.of_files == 8);
}

/* Where the kernel may bring some pages at a time, they are the neighbour's. */
CASE(large_folios, "with large folios pages between are the neighbour's")
{
	const struct growth_touch touches[] = {{A + 4 * P, 1}, {A + 8 * P, 2}};
	const struct shares shares = share(&(struct growth_range){A, A + 16 * P, false}, ANONYMOUS,
		true, touches, ARRAY_SIZE(touches));
	CHECK(shares.along[1] == 4 + 3 && shares.along[2] == 7 && shares.nobody == 0);
}

/* A mapping that came after the mappings were read: its pages are counted, too. */
CASE(unknown_mapping, "pages of a mapping that came later count")
{
	const struct growth_touch touches[] = {{0x30000000 + P, 1}};
	const struct shares shares =
		share(&(struct growth_range){0x30000000, 0x30000000 + 4 * P, false}, ANONYMOUS,
			false, touches, 1);
	CHECK(shares.own[1] == 1 && shares.nobody == 3);
}

TAP_MAIN
