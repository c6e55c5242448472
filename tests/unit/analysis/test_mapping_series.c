/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mappings over several looks: what stays one, and how figures develop. */
#include "analysis/mapping_series.h"

#include <math.h>
#include <string.h>

#include "lib/tap.h"
#include "process/numa_maps.h"

#define KIB 1024ull
#define PLACE 0x10000000ull

/* A look is made of rows: start, end, flags, name, inode, resident KiB. Addresses are pages above
 * PLACE. */
struct row {
	uint64_t start, end;
	const char *flags, *name;
	uint64_t inode, kilobytes;
	uint64_t offset; /* pages */
};

static void look_add(struct mapping_series *series, double seconds, const struct row *rows)
{
	struct memory_look look;
	memory_look_init(&look);
	for (; rows->end; rows++) {
		struct look_mapping mapping = {.start = PLACE + rows->start * 4096,
			.end = PLACE + rows->end * 4096,
			.name = rows->name,
			.inode = rows->inode,
			.offset = rows->offset * 4096};
		memcpy(mapping.flags, rows->flags, 5);
		mapping.owner = look_owner_of(&mapping);
		if (rows->kilobytes != MAPPING_NO_FIGURE)
			look_set_figure(&mapping, LOOK_RSS, rows->kilobytes * KIB);
		CHECK(look_mapping_vec_push(&look.mappings, mapping));
	}
	CHECK(!mapping_series_add(series, &look, seconds));
	memory_look_deinit(&look);
}

#define LOOK(series, seconds, ...)                                                                 \
	look_add(series, seconds, (const struct row[]){__VA_ARGS__, {.end = 0}})
#define MAP_AT(page, from, to, rights, called, number, size)                                       \
	{                                                                                          \
		.start = from, .end = to, .flags = rights, .name = called, .inode = number,        \
		.kilobytes = size, .offset = page                                                  \
	}
#define MAP(from, to, rights, called, number, size)                                                \
	MAP_AT(0, from, to, rights, called, number, size)
#define ANON(from, to, size) MAP(from, to, "rw-p", "", 0, size)

/* The region that an address is in, and how many there are. */
static const struct mapping_region *region_at(
	const struct mapping_series *series, uint64_t page, size_t *ret_count)
{
	const struct mapping_region *found = NULL;
	*ret_count = 0;
	for (size_t i = 0; i < series->regions.len; i++) {
		const struct mapping_region *region = &series->regions.data[i];
		if (region->merged)
			continue;
		++*ret_count;
		uint64_t address = PLACE + page * 4096;
		if (region->is_seen && address >= region->start && address < region->end)
			found = region;
	}
	return found;
}

/* Finishes, and checks of the region at a page how many there are and what it had, in KiB. */
static void check_region(
	struct mapping_series *series, uint64_t page, size_t regions, const uint64_t *kilobytes)
{
	size_t count;
	CHECK(!mapping_series_finish(series));
	const struct mapping_region *region = region_at(series, page, &count);
	CHECK_U64(count, regions);
	CHECK(region != NULL);
	uint64_t values[64];
	CHECK(series->seconds.len <= 64);
	if (!region)
		return;
	mapping_region_values(series, region, values);
	for (size_t i = 0; i < series->seconds.len; i++)
		CHECK_U64(values[i], kilobytes[i] * KIB);
}

#define CHECK_REGION(series, page, regions, ...)                                                   \
	do {                                                                                       \
		check_region(series, page, regions, (const uint64_t[]){__VA_ARGS__});              \
		mapping_series_deinit(series);                                                     \
	} while (0)

CASE(series_ends, "a mapping that grows at both ends is one")
{
	struct mapping_series series;
	mapping_series_init(&series);
	LOOK(&series, 0, ANON(10, 20, 8));
	LOOK(&series, 1, ANON(10, 40, 16));
	LOOK(&series, 2, ANON(5, 40, 20));
	CHECK_REGION(&series, 12, 1, 8, 16, 20);
}

CASE(series_split, "a mapping that is split and joined does not grow")
{
	struct mapping_series series;
	mapping_series_init(&series);
	LOOK(&series, 0, ANON(10, 40, 120));
	LOOK(&series, 1, ANON(10, 20, 40), MAP(20, 21, "r--p", "", 0, 4), ANON(21, 40, 76));
	LOOK(&series, 2, ANON(10, 20, 40), MAP(20, 21, "r--p", "", 0, 4), ANON(21, 40, 76));
	LOOK(&series, 3, ANON(10, 40, 120));
	CHECK_REGION(&series, 12, 1, 120, 120, 120, 120);
}

CASE(series_merged, "mappings that the kernel joins are one, before that too")
{
	struct mapping_series series;
	mapping_series_init(&series);
	LOOK(&series, 0, ANON(10, 20, 40), ANON(30, 40, 8));
	LOOK(&series, 1, ANON(10, 20, 40), ANON(30, 40, 12));
	LOOK(&series, 2, ANON(10, 40, 60));
	CHECK_REGION(&series, 12, 1, 48, 52, 60);
}

CASE(series_boundary, "what is opened of reserved memory is no part of the rest")
{
	struct mapping_series series;
	mapping_series_init(&series);
	LOOK(&series, 0, ANON(10, 20, 40), MAP(20, 100, "---p", "", 0, 0));
	LOOK(&series, 1, ANON(10, 50, 160), MAP(50, 100, "---p", "", 0, 0));
	CHECK_REGION(&series, 12, 2, 40, 160);
}

CASE(series_replaced, "another file at the same place is another mapping")
{
	struct mapping_series series;
	mapping_series_init(&series);
	LOOK(&series, 0, MAP(10, 20, "r--p", "/a", 5, 40));
	LOOK(&series, 1, MAP(10, 20, "r--p", "/b", 6, 12));
	CHECK_REGION(&series, 12, 2, 0, 12);
	mapping_series_init(&series);
	LOOK(&series, 0, MAP(10, 20, "rw-s", "/a", 5, 40));
	LOOK(&series, 1, MAP_AT(30, 10, 20, "rw-s", "/a", 5, 12));
	CHECK_REGION(&series, 12, 2, 0, 12);
	mapping_series_init(&series);
	LOOK(&series, 0, MAP(10, 20, "rw-s", "/memfd:x", 5, 40));
	LOOK(&series, 1, MAP(10, 20, "rw-p", "", 0, 12));
	CHECK_REGION(&series, 12, 2, 0, 12);
}

CASE(series_moved, "the only mapping that went is the only one like it that came")
{
	struct mapping_series series;
	mapping_series_init(&series);
	LOOK(&series, 0, ANON(10, 20, 40), MAP(50, 60, "r--p", "/a", 5, 8));
	LOOK(&series, 1, ANON(100, 140, 44), MAP(50, 60, "r--p", "/a", 5, 8));
	CHECK_REGION(&series, 102, 2, 40, 44);
	/* Smaller, or one of two: it is not known. */
	mapping_series_init(&series);
	LOOK(&series, 0, ANON(10, 20, 40));
	LOOK(&series, 1, ANON(100, 140, 36));
	CHECK_REGION(&series, 102, 2, 0, 36);
	mapping_series_init(&series);
	LOOK(&series, 0, ANON(10, 50, 4));
	LOOK(&series, 1, ANON(100, 120, 8));
	CHECK_REGION(&series, 102, 2, 0, 8);
	mapping_series_init(&series);
	LOOK(&series, 0, ANON(10, 20, 40));
	LOOK(&series, 1, ANON(100, 140, 44), ANON(150, 190, 44));
	CHECK_REGION(&series, 102, 3, 0, 44);
}

CASE(series_unknown, "what is not known is not 0")
{
	struct mapping_series series;
	struct mapping_fit fit;
	uint64_t values[2];
	size_t count;
	mapping_series_init(&series);
	LOOK(&series, 0, ANON(10, 20, 40));
	LOOK(&series, 1, ANON(10, 20, MAPPING_NO_FIGURE));
	CHECK(!mapping_series_finish(&series));
	mapping_region_values(&series, region_at(&series, 12, &count), values);
	CHECK(values[0] == 40 * KIB && values[1] == MAPPING_NO_FIGURE);
	mapping_fit(series.seconds.data, values, 2, &fit);
	CHECK(fit.shape == MAPPING_UNKNOWN);
	mapping_series_deinit(&series);
}

CASE(series_gone, "a mapping that went and came back has nothing between")
{
	struct mapping_series series;
	mapping_series_init(&series);
	LOOK(&series, 0, MAP(10, 20, "r--p", "/a", 5, 40), ANON(50, 60, 4));
	LOOK(&series, 1, ANON(50, 60, 4));
	LOOK(&series, 2, MAP(10, 20, "r--p", "/a", 5, 44), ANON(50, 60, 4));
	CHECK_REGION(&series, 12, 3, 0, 0, 44);
}

CASE(series_thinned, "of many looks some are kept, with the last one")
{
	struct mapping_series series;
	mapping_series_init(&series);
	series.looks_max = 8;
	for (unsigned i = 0; i < 1000; i++)
		LOOK(&series, i, ANON(10, 20, 4 + i), ANON(300 + i, 301 + i, 4));
	CHECK(!mapping_series_finish(&series));
	size_t count, kept = series.seconds.len;
	CHECK(kept > 4 && kept <= 9);
	CHECK(series.seconds.data[0] == 0 && series.seconds.data[kept - 1] == 999);
	uint64_t values[16];
	mapping_region_values(&series, region_at(&series, 12, &count), values);
	for (size_t i = 0; i < kept; i++)
		CHECK_U64(values[i], (uint64_t)(4 + series.seconds.data[i]) * KIB);
	struct mapping_fit fit;
	mapping_fit(series.seconds.data, values, kept, &fit);
	CHECK(fit.shape == MAPPING_STEADY);
	CHECK(fabs(fit.slope - 1024) < 1e-6);
	mapping_series_deinit(&series);
}

CASE(series_folded, "mappings that are gone are counted beyond a number")
{
	struct mapping_series series;
	mapping_series_init(&series);
	series.gone_max = 10;
	for (unsigned i = 0; i < 100; i++) {
		/* Several of each look, so that none counts as moved. */
		LOOK(&series, i, ANON(10, 20, 4), ANON(1000 + 8 * i, 1001 + 8 * i, 4),
			ANON(1004 + 8 * i, 1005 + 8 * i, 4));
	}
	CHECK(!mapping_series_finish(&series));
	size_t count;
	CHECK(region_at(&series, 12, &count) != NULL);
	CHECK(count <= 23);
	CHECK_U64(count + series.gone, 201u);
	CHECK_U64(series.gone_most, 4 * KIB);
	mapping_series_deinit(&series);
}

static struct mapping_fit fit_of(const uint64_t *values, size_t count)
{
	double seconds[64];
	struct mapping_fit fit;
	for (size_t i = 0; i < count; i++)
		seconds[i] = 10 * (double)i;
	mapping_fit(seconds, values, count, &fit);
	return fit;
}
#define FIT(...)                                                                                   \
	fit_of((const uint64_t[]){__VA_ARGS__},                                                    \
		sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

CASE(fit_shapes, "steady growth, steps, waves and noise are told apart")
{
	CHECK(FIT(100, 100, 100).shape == MAPPING_SAME);
	CHECK(FIT(100, 200, 300, 400).shape == MAPPING_STEADY);
	CHECK(FIT(100, 190, 310, 395, 500).shape == MAPPING_STEADY);
	CHECK(FIT(100, 100, 500, 500, 500, 500).shape == MAPPING_ONCE);
	CHECK(FIT(100, 100, 400, 410, 410, 410, 410, 410).shape == MAPPING_UNEVEN);
	CHECK(FIT(100, 300, 100, 320, 110, 300).shape == MAPPING_WAVES);
	CHECK(FIT(500, 400, 300).shape == MAPPING_SHRANK);
	CHECK(FIT(500, 400, 401, 300).shape == MAPPING_SHRANK);
	/* The slope is certain here, but there is no line. */
	CHECK(FIT(100, 500, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900)
			.shape == MAPPING_UNEVEN);
	/* Three looks, and steps that are not alike. */
	CHECK(FIT(100, 110, 125).shape == MAPPING_UNEVEN);
	CHECK(FIT(1000, 1100, 1201).shape == MAPPING_STEADY);
	CHECK(FIT(0, 1, 0, 2, 1, 2, 0, 1).shape == MAPPING_WAVES);
}

CASE(fit_rate, "the rate is that of the line, in an interval that holds it")
{
	struct mapping_fit fit = FIT(1000, 1100, 1200, 1300);
	CHECK(fabs(fit.slope - 10) < 1e-9 && fit.determination > 0.999999);
	fit = FIT(1000, 1096, 1205, 1300, 1398, 1503, 1600);
	CHECK(fit.low < 10 && fit.high > 10 && fit.low > 9 && fit.high < 11);
	fit = FIT(1000, 1100);
	CHECK(!fit.has_line && fit.shape == MAPPING_UNEVEN && fit.change == 100);
	/* Times that are not known give no rate. */
	mapping_fit(NULL, (const uint64_t[]){1, 2, 3}, 3, &fit);
	CHECK(!fit.has_line && fit.shape == MAPPING_UNEVEN);
	/* Large figures lose nothing. */
	uint64_t far = 1ull << 50;
	fit = FIT(far, far + 4096, far + 8192, far + 12288);
	CHECK(fabs(fit.slope - 409.6) < 1e-6);
}

/* A look of one private mapping; what is UINT64_MAX is not known. */
static void kinds_add(struct mapping_series *series, double seconds, uint64_t swapped,
	uint64_t huge, const struct look_node *nodes, size_t count)
{
	struct memory_look look;
	memory_look_init(&look);
	struct look_mapping mapping = {
		.start = PLACE, .end = 2 * PLACE, .flags = "rw-p", .name = ""};
	if (swapped != UINT64_MAX)
		look_set_figure(&mapping, LOOK_SWAPPED, swapped);
	if (huge != UINT64_MAX)
		look_set_figure(&mapping, LOOK_HUGE, huge);
	CHECK(look_mapping_vec_push(&look.mappings, mapping));
	look.nodes_known = nodes;
	for (size_t i = 0; i < count; i++)
		CHECK(look_node_vec_push(&look.nodes, nodes[i]));
	CHECK(!mapping_series_add(series, &look, seconds));
	memory_look_deinit(&look);
}

CASE(kinds, "kinds of memory are summed up at each look; what is not known at one is not known")
{
	struct mapping_series series;
	const struct look_node first[] = {{PLACE, 100, 3}};
	const struct look_node second[] = {{PLACE, 200, 0}, {PLACE, 90, 3}};
	mapping_series_init(&series);
	kinds_add(&series, 0, 10, 2048, first, 1);
	kinds_add(&series, 1, UINT64_MAX, 4096, NULL, 0);
	kinds_add(&series, 2, 30, 4096, second, 2);
	CHECK(!mapping_series_finish(&series));
	const struct mapping_total *totals = series.totals.data;
	CHECK(series.totals.len == 4);
	CHECK(totals[0].kind == MAPPING_SWAPPED && totals[0].value_count == 3);
	CHECK(totals[0].values[0] == 10 && totals[0].values[1] == MAPPING_NO_FIGURE &&
		totals[0].values[2] == 30);
	CHECK(totals[1].kind == MAPPING_HUGE && totals[1].values[0] == 2048 &&
		totals[1].values[2] == 4096);
	/* A node that came later had nothing before, where nodes were known. */
	CHECK(totals[2].kind == MAPPING_NODE && totals[2].node == 0 && totals[3].node == 3);
	CHECK(totals[2].values[0] == 0 && totals[2].values[1] == MAPPING_NO_FIGURE &&
		totals[2].values[2] == 200);
	CHECK(totals[3].values[0] == 100 && totals[3].values[1] == MAPPING_NO_FIGURE &&
		totals[3].values[2] == 90);
	mapping_series_deinit(&series);
}

CASE(kinds_thinned, "of more looks than are kept, those of kinds are the same as those of mappings")
{
	struct mapping_series series;
	mapping_series_init(&series);
	series.looks_max = 8;
	for (unsigned i = 0; i < 37; i++)
		kinds_add(&series, i, i, 0, &(const struct look_node){PLACE, 10 + i, 1}, 1);
	CHECK(!mapping_series_finish(&series));
	CHECK(series.totals.len == 3 && series.totals.data[0].value_count == series.seconds.len);
	for (size_t i = 0; i < series.seconds.len; i++) {
		uint64_t second = (uint64_t)series.seconds.data[i];
		CHECK(series.totals.data[0].values[i] == second);
		CHECK(series.totals.data[2].values[i] == 10 + second);
	}
	mapping_series_deinit(&series);
}

struct numa_found {
	struct numa_entry entries[8];
	size_t count;
};

static bool numa_note(void *ctx, const struct numa_entry *entry)
{
	struct numa_found *found = ctx;
	found->entries[found->count++] = *entry;
	return found->count < 8;
}

CASE(numa, "numa_maps has bytes by mapping and node; pages have the size that the line says")
{
	char text[] =
		"1000 default file=/bin/N0=9\\040N1=4 mapped=3 N0=1 N2=2 kernelpagesize_kB=4\n"
		"2000 bind:0-1 anon=4 dirty=4 N0=0 N1=4 kernelpagesize_kB=2048\n"
		"3000 default\n"
		"3000 default anon=1 N0=1 kernelpagesize_kB=4\n"
		"zzz default anon=1 N0=1 kernelpagesize_kB=4\n"
		"4000 default anon=1 N0=18446744073709551615 kernelpagesize_kB=4\n"
		"5000 default anon=1 N1=1 N1=2 kernelpagesize_kB=4\n"
		"6000 interleave=0-3 huge anon=1 N3=1";
	struct numa_found found = {.count = 0};
	CHECK(numa_maps_parse(text, numa_note, &found) == 3);
	CHECK(found.count == 5);
	const struct numa_entry *entries = found.entries;
	CHECK(entries[0].start == 0x1000 && entries[0].node == 0 && entries[0].bytes == 4096);
	CHECK(entries[1].start == 0x1000 && entries[1].node == 2 && entries[1].bytes == 8192);
	CHECK(entries[2].start == 0x2000 && entries[2].node == 1 && entries[2].bytes == 4ull << 21);
	CHECK(entries[3].start == 0x5000 && entries[4].start == 0x6000 && entries[4].node == 3);
}

TAP_MAIN
