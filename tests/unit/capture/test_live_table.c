/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of live blocks against an array that is searched from end to end. */
#include "capture/recorder/live_table.h"
#include "lib/tap.h"

#define MODEL_MAX 2048

static uint64_t random_state;

static uint64_t random_below(uint64_t limit)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (random_state * 0x2545f4914f6cdd1dull >> 16) % limit;
}

struct known {
	uint64_t address, size, number;
	uint32_t thread, site;
};

static struct known model[MODEL_MAX];
static size_t model_count;

static size_t model_find(uint64_t address)
{
	size_t i = 0;
	while (i < model_count && model[i].address != address)
		i++;
	return i;
}

static void check_block(const struct live_entry *block, size_t i)
{
	CHECK_U64(block->address, model[i].address);
	CHECK_U64(block->thread, model[i].thread);
	CHECK_U64(block->number, model[i].number);
	CHECK_U64(block->site, model[i].site);
	CHECK_U64(block->size, model[i].size);
}

static void add(struct live_table *live, uint64_t address)
{
	static const uint64_t odd[] = {
		0, UINT32_MAX - 1ull, UINT32_MAX, UINT32_MAX + 1ull, UINT64_MAX};
	struct known k = {.address = address,
		.size = random_below(4) ? random_below(1000) : odd[random_below(5)],
		.number = random_below(random_below(4) ? 1ull << 40 : 1ull << 48),
		.thread = (uint32_t)random_below(1u << 16),
		.site = (uint32_t)random_below(LIVE_SITES_MAX)};
	model[model_count++] = k;
	const struct live_entry block = {.address = address,
		.size = k.size,
		.thread = k.thread,
		.number = k.number,
		.site = k.site};
	CHECK(live_table_add(live, &block) == LIVE_ADDED);
}

static void drop(struct live_table *live, size_t i)
{
	struct live_entry block;
	CHECK(live_table_take(live, model[i].address, &block));
	check_block(&block, i);
	model[i] = model[--model_count];
}

static int by_address(const void *a, const void *b)
{
	const struct known *x = a, *y = b;
	return (x->address > y->address) - (x->address < y->address);
}

/* Each page knows how many of its blocks are not at their own place, and has an empty one if there
 * are any; empty tables are counted. */
static void check_pages(const struct live_table *live)
{
	uint32_t kept = 0;
	for (uint64_t i = 0; i < 1ull << (64 - live->leaf_shift); i++) {
		for (unsigned k = 0; live->leaves[i].pages && k < LIVE_LEAF_PAGES; k++) {
			const struct live_page *page = &live->leaves[i].pages[k];
			uint32_t used = 0, displaced = 0;
			for (uint32_t n = 0; n < page->capacity; n++) {
				uint64_t owner = page->places[n].owner;
				used += owner != 0;
				displaced += owner && live_own_place(page, live_offset(owner)) !=
							      &page->places[n];
			}
			CHECK_U64(page->used, used);
			CHECK_U64(page->displaced, displaced);
			CHECK(!displaced || used < page->capacity);
			kept += !used && page->capacity > LIVE_KEPT_CAPACITY;
		}
	}
	CHECK(live->pool.next <= live->pool.end);
	CHECK_U64(live->tables_kept, kept);
	CHECK(kept <= LIVE_TABLES_KEPT);
}

static void check_all(struct live_table *live)
{
	CHECK_U64(live->blocks, model_count);
	check_pages(live);
	for (size_t i = 0; i < model_count; i++) {
		struct live_entry block;
		CHECK(live_table_find(live, model[i].address, &block));
		check_block(&block, i);
	}
}

static void check_walk(const struct live_table *live)
{
	qsort(model, model_count, sizeof(*model), by_address);
	static struct live_entry blocks[LIVE_WALK_ROOM + 7];
	struct live_walk walk;
	CHECK(live_table_walk_begin(live, &walk));
	size_t count = 0;
	for (size_t n; (n = live_table_walk_next(&walk, blocks, LIVE_WALK_ROOM + 7));) {
		CHECK(count + n <= model_count);
		for (size_t i = 0; i < n; i++)
			check_block(&blocks[i], count + i);
		count += n;
	}
	live_table_walk_end(&walk);
	CHECK_U64(count, model_count);
}

/* Adds and removes blocks at addresses of a small set, so that they come and go. */
static void check_random(uint64_t seed, uint64_t addresses, uint64_t step, uint64_t steps)
{
	struct live_table live;
	live_table_init(&live);
	model_count = 0;
	random_state = seed * 0x9e3779b97f4a7c15ull + 1;
	for (uint64_t i = 0; i < steps; i++) {
		uint64_t address = step * (1 + random_below(addresses));
		size_t known = model_find(address);
		if (known < model_count)
			drop(&live, known);
		else if (live_table_find(&live, address, &(struct live_entry){0}))
			tap_fail("%" PRIx64 " is there and was never added", address);
		else if (model_count < MODEL_MAX)
			add(&live, address);
		if (i % 1000 == 0)
			check_all(&live);
	}
	check_all(&live);
	check_walk(&live);
	while (model_count)
		drop(&live, random_below(model_count));
	check_all(&live);
	live_table_deinit(&live);
}

CASE(empty, "an empty table")
{
	struct live_table live;
	struct live_entry block;
	live_table_init(&live);
	CHECK(!live_table_find(&live, 0x1000, &block));
	CHECK(!live_table_take(&live, 0, &block));
	model_count = 0;
	check_walk(&live);
	live_table_deinit(&live);
}

CASE(random, "random blocks come and go")
{
	for (uint64_t seed = 1; seed <= 20; seed++)
		check_random(seed, 500, 16, 5000);
}

CASE(dense, "addresses side by side, as an allocator gives them")
{
	check_random(7, 4000, 8, 30000);
	check_random(8, 4000, 1ull << 20, 30000);
	check_random(9, 4000, (1ull << 56) / 4001, 30000);
}

CASE(unaligned, "any byte of a page can be a block's address")
{
	check_random(10, 2000, 1, 30000);
	check_random(11, 6000, 3, 30000);
}

/* A full page by ascending, descending or mixed addresses; then all out in another order. */
static void check_page(uint64_t first, uint64_t step, uint64_t count, uint64_t in, uint64_t out)
{
	struct live_table live;
	live_table_init(&live);
	model_count = 0;
	for (uint64_t i = 0; i < count; i++)
		add(&live, first + i * in % count * step);
	check_all(&live);
	check_walk(&live);
	for (uint64_t i = 0; i < count; i++) {
		drop(&live, model_find(first + i * out % count * step));
		if (i % 16 == 0)
			check_all(&live);
	}
	CHECK_U64(live.blocks, 0);
	CHECK_U64(live.pages, 0);
	live_table_deinit(&live);
}

CASE(page, "a page fills and empties in any order, all its blocks at one end or at both")
{
	static const uint64_t orders[] = {1, 30, 7, 12};
	for (unsigned i = 0; i < 16; i++) {
		/* 31 is prime, so that each of the factors makes a permutation. */
		check_page(0x7000, 16, 31, orders[i / 4], orders[i % 4]);
		check_page(0x7fff - 30, 1, 31, orders[i / 4], orders[i % 4]);
		check_page(0x7e00, 8, 31, orders[i / 4], orders[i % 4]);
		check_page(0x7e80, 32, 31, orders[i / 4], orders[i % 4]);
	}
	check_page(0x7000, 1, 2048, 5, 3);
}

CASE(around, "removals from a run around the end of a page's places")
{
	struct live_table live;
	live_table_init(&live);
	model_count = 0;
	random_state = 5;
	for (unsigned i = 0; i < 20000; i++) {
		/* 40 neighbours at the end of the page want its last place, some at the start too.
		 */
		uint64_t k = random_below(44), address = k < 40 ? 0x5fff - k : 0x5000 + k - 40;
		size_t known = model_find(address);
		if (known < model_count)
			drop(&live, known);
		else
			add(&live, address);
		for (k = 0; k < 40; k++)
			CHECK(!live_table_find(&live, 0x5fff - k, &(struct live_entry){0}) ==
				(model_find(0x5fff - k) == model_count));
	}
	check_all(&live);
	check_walk(&live);
	live_table_deinit(&live);
}

/* A heap of more than a small one's pages, filled with blocks `step` apart in order of address. */
static void fill(struct live_table *live, uint64_t count, uint64_t step, uint64_t first)
{
	for (uint64_t i = 0; i < count; i++)
		CHECK(live_table_add(live, &(struct live_entry){.address = first + i * step}) ==
			LIVE_ADDED);
}

static uint64_t displaced_of(const struct live_table *live)
{
	uint64_t displaced = 0;
	for (uint64_t i = 0; i < 1ull << (64 - live->leaf_shift); i++) {
		for (unsigned k = 0; live->leaves[i].pages && k < LIVE_LEAF_PAGES; k++)
			displaced += live->leaves[i].pages[k].displaced;
	}
	return displaced;
}

/* For glibc's chunks of requests of 16, 24, 32, 48, 64, 112 and 256 bytes. */
CASE(own, "blocks of one size have each their own place, for at most 40 bytes a block")
{
	static const struct {
		uint64_t size, chunk, most; /* bytes a block, rounded up */
	} sizes[] = {{16, 32, 17}, {24, 32, 17}, {32, 48, 25}, {48, 64, 17}, {64, 80, 21},
		{112, 128, 17}, {256, 272, 19}};
	const uint64_t count = 1000000;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct live_table live;
		live_table_init(&live);
		fill(&live, count, sizes[i].chunk, 0x10010);
		uint64_t displaced = displaced_of(&live);
		uint64_t bytes = live.pool.mapped - (size_t)(live.pool.end - live.pool.next);
		printf("# %" PRIu64 " bytes: %" PRIu64 " of %" PRIu64
		       " displaced, %.1f B a block\n",
			sizes[i].size, displaced, count, (double)bytes / (double)count);
		CHECK(displaced <= count / 1000);
		CHECK(bytes <= count * sizes[i].most + (2u << 20));
		live_table_deinit(&live);
	}
}

CASE(full, "a page whose places are all taken grows for a block between them")
{
	struct live_table live;
	live_table_init(&live);
	struct live_entry block;
	fill(&live, 128, 32, 0x4000);
	const struct live_page *page = live_page_of(&live, 0x4000);
	CHECK_U64(page->used, 128);
	CHECK_U64(page->capacity, 128);
	CHECK_U64(page->displaced, 0);
	CHECK(!live_table_find(&live, 0x4010, &block));
	CHECK(!live_table_take(&live, 0x4018, &block));
	fill(&live, 1, 0, 0x4010);
	CHECK_U64(page->capacity, 256);
	CHECK_U64(page->displaced, 0);
	/* 8 bytes from another block: a table of twice the size would have one place for both. */
	fill(&live, 1, 0, 0x4018);
	CHECK_U64(page->displaced, 1);
	CHECK(live_table_find(&live, 0x4018, &block) && block.address == 0x4018);
	CHECK(live_table_take(&live, 0x4010, &block));
	CHECK_U64(page->displaced, 0);
	CHECK(live_table_find(&live, 0x4018, &block));
	for (unsigned i = 0; i < 128; i++)
		CHECK(live_table_take(&live, 0x4000 + 32 * i, &block));
	CHECK(live_table_take(&live, 0x4018, &block));
	CHECK_U64(live.blocks, 0);
	live_table_deinit(&live);
}

CASE(kept, "few pages keep their places when they are empty")
{
	struct live_table live;
	live_table_init(&live);
	struct live_entry block;
	const uint64_t pages = 4 * LIVE_TABLES_KEPT;
	fill(&live, 128 * pages, 32, 0x100000);
	for (uint64_t i = 0; i < 128 * pages; i++)
		CHECK(live_table_take(&live, 0x100000 + i * 32, &block));
	CHECK_U64(live.tables_kept, LIVE_TABLES_KEPT);
	model_count = 0;
	check_all(&live);
	size_t mapped = live.pool.mapped;
	fill(&live, 128 * pages, 32, 0x100000);
	CHECK_U64(live.tables_kept, 0);
	CHECK_U64(live.pool.mapped, mapped);
	live_table_deinit(&live);
}

CASE(twice, "a block at an address that has one is not added, and the one there stays")
{
	struct live_table live;
	live_table_init(&live);
	struct live_entry old;
	const struct live_entry first = {.address = 0x40, .number = 1, .size = 1ull << 40},
				again = {.address = 0x40, .size = 7};
	CHECK(live_table_add(&live, &first) == LIVE_ADDED);
	CHECK(live_table_add(&live, &again) == LIVE_OCCUPIED);
	CHECK_U64(live.blocks, 1);
	CHECK(live_table_take(&live, 0x40, &old) && old.number == 1 && old.size == 1ull << 40);
	CHECK(live_table_add(&live, &again) == LIVE_ADDED);
	CHECK(live_table_find(&live, 0x40, &old) && old.size == 7);
	CHECK_U64(live.large.len, 0);
	live_table_deinit(&live);
}

CASE(many_sites, "a site whose number is too large is refused")
{
	struct live_table live;
	live_table_init(&live);
	CHECK(live_table_add(&live, &(struct live_entry){.address = 16,
					    .site = LIVE_SITES_MAX - 1}) == LIVE_ADDED);
	CHECK(live_table_add(&live, &(struct live_entry){.address = 32, .site = LIVE_SITES_MAX}) ==
		LIVE_NO_MEMORY);
	CHECK_U64(live.blocks, 1);
	live_table_deinit(&live);
}

/* Blocks `step` apart that come in some order, go in part and come again. */
static void check_growth(uint64_t count, uint64_t step, uint64_t order, uint64_t most_bytes)
{
	struct live_table live;
	live_table_init(&live);
	struct live_entry block;
	for (uint64_t i = 1; i <= count; i++)
		CHECK(live_table_add(
			      &live, &(struct live_entry){.address = i * order % (count + 1) * step,
					     .number = i,
					     .size = i,
					     .site = 1}) == LIVE_ADDED);
	size_t unused = (size_t)(live.pool.end - live.pool.next);
	CHECK(live.pool.mapped - unused <= count * most_bytes + (2u << 20));
	for (uint64_t i = 1; i <= count; i++) {
		uint64_t address = i * order % (count + 1) * step;
		CHECK(live_table_find(&live, address, &block) && block.number == i &&
			block.size == i);
		if (i % 3)
			CHECK(live_table_take(&live, address, &block));
	}
	for (uint64_t i = 1; i <= count; i++)
		CHECK(!live_table_find(&live, i * order % (count + 1) * step, &block) ==
			(i % 3 != 0));
	CHECK_U64(live.blocks, count / 3);
	size_t before = live.pool.mapped;
	for (uint64_t i = 1; i <= count; i++) {
		if (i % 3)
			CHECK(live_table_add(&live,
				      &(struct live_entry){.address = i * order % (count + 1) *
								      step}) == LIVE_ADDED);
	}
	CHECK(live.pool.mapped <= before + before / 2);
	live_table_deinit(&live);
}

CASE(growth, "a million blocks take 40 bytes each at most, in mixed order 80")
{
	const uint64_t count = 1000002; /* one less than a prime */
	check_growth(count, 32, 1, 40);
	check_growth(count, 48, 1, 40);
	check_growth(count, 144, 1, 40);
	check_growth(count, 32, 48271, 80);
	check_growth(count, 48, 48271, 80);
	check_growth(count, 4096, 48271, 60);
}

CASE(sparse, "a heap that moves on through the address space leaves nothing behind")
{
	struct live_table live;
	struct live_entry block;
	live_table_init(&live);
	const uint64_t step = 1ull << LIVE_LEAF_BITS, span = 3000, count = 300000;
	for (uint64_t i = 0; i < count; i++) {
		CHECK(live_table_add(&live, &(struct live_entry){.address = (i + 1) * step,
						    .number = i}) == LIVE_ADDED);
		if (i >= span)
			CHECK(live_table_take(&live, (i + 1 - span) * step, &block) &&
				block.number == i - span);
	}
	CHECK_U64(live.blocks, span);
	CHECK(live.leaf_count <= span + LIVE_LEAVES_KEPT + 1);
	CHECK(live.pool.mapped < 32u << 20);
	for (uint64_t i = count - span; i < count; i++)
		CHECK(live_table_find(&live, (i + 1) * step, &block) && block.number == i);
	for (uint64_t i = 0; i < count - span; i += 7)
		CHECK(!live_table_find(&live, (i + 1) * step, &block));
	live_table_deinit(&live);
}

CASE(large, "very many blocks of 4 GiB and more are found as fast as others")
{
	struct live_table live;
	live_table_init(&live);
	const uint64_t count = 300000, base = 1ull << 33;
	for (uint64_t i = 1; i <= count; i++)
		CHECK(live_table_add(&live, &(struct live_entry){.address = i * 64,
						    .size = base + i}) == LIVE_ADDED);
	for (uint64_t i = count; i; i--) {
		struct live_entry block;
		CHECK(live_table_take(&live, i * 64, &block));
		CHECK_U64(block.size, base + i);
	}
	CHECK_U64(live.large.len, 0);
	live_table_deinit(&live);
}

TAP_MAIN
