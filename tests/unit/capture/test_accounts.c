/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters of sites add up, over sites and over parts of a recording, and go through columns. */
#include <string.h>

#include "accounts/accounts.h"
#include "accounts/site_columns.h"
#include "lib/tap.h"

#define STEPS 5000u

static uint64_t random_state = 0x9e3779b97f4a7c15ull;

static uint64_t random_below(uint64_t limit)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (random_state * 0x2545f4914f6cdd1dull >> 16) % limit;
}

static void check_equal(const struct site_counters *a, const struct site_counters *b)
{
#define EQUAL(name, how, column, part, unknown) CHECK_U64(a->name, b->name);
	SITE_COUNTERS(EQUAL)
#undef EQUAL
}

struct totals {
	struct heap_counters heap;
	struct site_counters site;
	struct call_counters thread;
};

/* One event of any kind. */
static void count_any(struct totals *totals)
{
	uint64_t size = 1 + random_below(1000);
	unsigned what = (unsigned)random_below(10);
	if (what == 0) {
		account_failed(&totals->heap, &totals->site, size << 20);
	} else if (what < 6 || !totals->site.live_bytes || totals->site.live_bytes < size ||
		   totals->site.live_blocks < 2) {
		account_alloc(&totals->heap, &totals->site, &totals->thread, size, false);
	} else {
		const struct account_free freed = {
			.size = size, .temporary = random_below(2), .same_frame = random_below(2)};
		account_free(&totals->heap, &totals->site, &totals->thread, &freed);
	}
}

/* As SUMS write and read them. */
static struct site_counters through_columns(const struct site_counters *part)
{
	uint64_t stored[HPW_SUMS_COLUMNS];
	struct site_counters ret = {0};
	for (size_t i = 0; i < SITE_COUNTERS_COUNT; i++)
		if (site_columns[i].part != SITE_COLUMN_NONE)
			stored[site_columns[i].part] = site_column_part(&site_columns[i], part);
	for (size_t i = 0; i < SITE_COUNTERS_COUNT; i++)
		if (site_columns[i].part != SITE_COLUMN_NONE)
			site_column_take_part(&site_columns[i], stored[site_columns[i].part], &ret);
	return ret;
}

CASE(parts, "the parts of a site, through columns, add up to the site")
{
	struct totals totals = {.thread = {0}};
	struct site_counters sums = {0}, before = {0};
	for (unsigned step = 0; step < STEPS; step++) {
		count_any(&totals);
		if (random_below(7) && step + 1 < STEPS)
			continue;
		struct site_counters part = site_counters_since(&totals.site, &before);
		part = through_columns(&part);
		site_counters_add(&sums, &part);
		site_counters_join_extremes(&totals.site, &before);
		before = totals.site;
		if (step + 1 < STEPS)
			site_counters_clear_extremes(&totals.site);
	}
	CHECK(sums.failed && sums.max_failed_size && sums.min_size && sums.temporary);
	CHECK_U64(sums.allocations, totals.thread.allocations);
	CHECK_U64(sums.live_bytes, totals.heap.live_bytes);
	CHECK_U64(sums.failed, totals.heap.failed);
	sums.peak_blocks = totals.site.peak_blocks;
	sums.peak_bytes = totals.site.peak_bytes;
	check_equal(&sums, &totals.site);
}

CASE(extremes, "sites without allocations have no part in the smallest size")
{
	struct site_counters sums = {0};
	const struct site_counters none = {.failed = 1, .max_failed_size = 12345},
				   few = {.allocations = 2, .min_size = 70, .max_size = 80};
	site_counters_add(&sums, &none);
	site_counters_add(&sums, &few);
	site_counters_add(&sums, &none);
	CHECK_U64(sums.min_size, 70);
	CHECK_U64(sums.max_size, 80);
	CHECK_U64(sums.failed, 2);
	CHECK_U64(sums.max_failed_size, 12345);
}

CASE(columns, "each counter has a column of its own")
{
	uint64_t stored = 0, parts = 0;
	for (size_t i = 0; i < SITE_COUNTERS_COUNT; i++) {
		CHECK(site_columns[i].stored < HPW_SITE_COLUMNS);
		CHECK(site_columns[i].stored != HPW_SITE_FIRST);
		CHECK(!(stored >> site_columns[i].stored & 1));
		stored |= 1ull << site_columns[i].stored;
		if (site_columns[i].part == SITE_COLUMN_NONE)
			continue;
		CHECK(site_columns[i].part > HPW_SUMS_SITE);
		CHECK(!(parts >> site_columns[i].part & 1));
		parts |= 1ull << site_columns[i].part;
	}
}

TAP_MAIN
