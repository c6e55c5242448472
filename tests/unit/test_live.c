/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of live blocks against an array that is searched from end to end. */
#include "capture/live.h"
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

static void check_block(const struct live *live, const struct live_block *block, size_t i)
{
	CHECK(block);
	CHECK_U64(block->address, model[i].address);
	CHECK_U64(block->thread, model[i].thread);
	CHECK_U64(block->number, model[i].number);
	CHECK_U64(block->site, model[i].site);
	CHECK_U64(live_size(live, block), model[i].size);
}

static void add(struct live *live, uint64_t address)
{
	static const uint64_t odd[] = {
		0, UINT32_MAX - 1ull, UINT32_MAX, UINT32_MAX + 1ull, UINT64_MAX};
	struct known k = {.address = address,
		.size = random_below(4) ? random_below(1000) : odd[random_below(5)],
		.number = random_below(1ull << 48),
		.thread = (uint32_t)random_below(1u << 16),
		.site = (uint32_t)random_below(1ull << 32)};
	model[model_count++] = k;
	struct live_block *old;
	const struct live_block block = {
		.address = address, .thread = k.thread, .number = k.number, .site = k.site};
	CHECK(live_add(live, &block, k.size, &old) && !old);
}

static void drop(struct live *live, size_t i)
{
	struct live_block *block = live_find(live, model[i].address);
	check_block(live, block, i);
	live_remove(live, block);
	model[i] = model[--model_count];
}

static int by_address(const void *a, const void *b)
{
	const struct known *x = a, *y = b;
	return (x->address > y->address) - (x->address < y->address);
}

static void check_all(struct live *live)
{
	CHECK_U64(live->blocks, model_count);
	for (size_t i = 0; i < model_count; i++)
		check_block(live, live_find(live, model[i].address), i);
}

/* Takes all out of the table. */
static void check_drained(struct live *live)
{
	qsort(model, model_count, sizeof(*model), by_address);
	size_t count;
	struct live_block *sorted = live_drain_sorted(live, &count);
	CHECK_U64(count, model_count);
	for (size_t i = 0; i < count; i++)
		check_block(live, &sorted[i], i);
	free(sorted);
	CHECK_U64(live->blocks, 0);
	for (size_t i = 0; i < count; i++)
		CHECK(!live_find(live, model[i].address));
	model_count = 0;
}

/* Adds and removes blocks at addresses of a small set, so that they come and go. */
static void check_random(uint64_t seed, uint64_t addresses, uint64_t step, uint64_t steps)
{
	struct live live;
	live_init(&live);
	model_count = 0;
	random_state = seed * 0x9e3779b97f4a7c15ull + 1;
	for (uint64_t i = 0; i < steps; i++) {
		uint64_t address = step * (1 + random_below(addresses));
		size_t known = model_find(address);
		if (known < model_count)
			drop(&live, known);
		else if (live_find(&live, address))
			tap_fail("%" PRIx64 " is there and was never added", address);
		else if (model_count < MODEL_MAX)
			add(&live, address);
		if (i % 1000 == 0)
			check_all(&live);
	}
	check_all(&live);
	if (seed % 2)
		check_drained(&live);
	while (model_count)
		drop(&live, random_below(model_count));
	check_all(&live);
	live_deinit(&live);
}

CASE(empty, "an empty table")
{
	struct live live;
	live_init(&live);
	CHECK(!live_find(&live, 0x1000));
	CHECK(!live_find(&live, 0));
	size_t count = 1;
	CHECK(!live_drain_sorted(&live, &count));
	CHECK_U64(count, 0);
	live_deinit(&live);
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

/* Addresses that all want the last place of one part: hash() of live.c, undone. */
static size_t colliding(uint64_t *addresses, size_t count)
{
	const uint64_t factor = 0x9e3779b97f4a7c15ull;
	uint64_t inverse = factor;
	for (unsigned i = 0; i < 6; i++)
		inverse *= 2 - factor * inverse; /* Newton; exact modulo 2^64 */
	size_t n = 0;
	for (uint64_t low = 1; n < count; low++) {
		uint64_t shifted = (0xffffffffull << 32 | low << 6) * inverse;
		if (shifted < 1ull << 61)
			addresses[n++] = shifted << 3;
	}
	return n;
}

CASE(runs, "removals from a long run, around the end of a part")
{
	uint64_t addresses[40];
	CHECK_U64(colliding(addresses, 40), 40);
	struct live live;
	live_init(&live);
	random_state = 5;
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t address = addresses[random_below(40)];
		size_t known = model_find(address);
		if (known < model_count)
			drop(&live, known);
		else
			add(&live, address);
		for (size_t k = 0; k < 40; k++)
			CHECK(!live_find(&live, addresses[k]) ==
				(model_find(addresses[k]) == model_count));
	}
	unsigned parts = 0;
	for (unsigned i = 0; i < LIVE_PARTS; i++)
		parts += live.parts[i].capacity != 0;
	CHECK_U64(parts, 1);
	check_all(&live);
	check_drained(&live);
	live_deinit(&live);
}

CASE(twice, "a block at an address that has one is not added, and the one there is named")
{
	struct live live;
	live_init(&live);
	struct live_block *old;
	const struct live_block first = {.address = 0x40, .number = 1}, again = {.address = 0x40};
	CHECK(live_add(&live, &first, 1ull << 40, &old) && !old);
	CHECK(live_add(&live, &again, 1ull << 50, &old));
	CHECK(old && old->number == 1 && live_size(&live, old) == 1ull << 40);
	CHECK_U64(live.blocks, 1);
	live_remove(&live, old);
	CHECK(live_add(&live, &again, 7, &old) && !old);
	CHECK_U64(live_size(&live, live_find(&live, 0x40)), 7);
	live_deinit(&live);
}

CASE(growth, "a million blocks, at most 40 bytes each")
{
	struct live live;
	live_init(&live);
	const uint64_t count = 1000000;
	struct live_block *old;
	for (uint64_t i = 1; i <= count; i++)
		CHECK(live_add(&live,
			&(struct live_block){.address = i * 48, .number = i, .site = 1}, i, &old));
	uint64_t places = 0;
	for (unsigned i = 0; i < LIVE_PARTS; i++)
		places += live.parts[i].capacity;
	CHECK(places * sizeof(struct live_block) <= count * 40);
	for (uint64_t i = 1; i <= count; i++) {
		struct live_block *block = live_find(&live, i * 48);
		CHECK(block && block->number == i && live_size(&live, block) == i);
		if (i % 3)
			live_remove(&live, block);
	}
	for (uint64_t i = 1; i <= count; i++)
		CHECK(!live_find(&live, i * 48) == (i % 3 != 0));
	CHECK_U64(live.blocks, count / 3);
	live_deinit(&live);
}

CASE(big, "very many blocks of 4 GiB and more are found as fast as others")
{
	struct live live;
	live_init(&live);
	const uint64_t count = 300000, base = 1ull << 33;
	struct live_block *old;
	for (uint64_t i = 1; i <= count; i++)
		CHECK(live_add(&live, &(struct live_block){.address = i * 64}, base + i, &old));
	for (uint64_t i = count; i; i--) {
		struct live_block *block = live_find(&live, i * 64);
		CHECK_U64(live_size(&live, block), base + i);
		live_remove(&live, block);
	}
	CHECK_U64(live.big.len, 0);
	live_deinit(&live);
}

TAP_MAIN
