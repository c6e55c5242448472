/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks are found by their addresses, before and after space_index(). */
#include "search/space.h"

#include <stdlib.h>

#include "lib/tap.h"

#define START 0x7f120000f000ull
#define BLOCKS 700u

struct placed {
	uint64_t address, size;
};

static uint64_t space_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * 0x2545f4914f6cdd1dull >> 32;
}

/* Returns the block that has a byte, by looking at all of them. */
static uint32_t find_slowly(const struct placed *blocks, uint32_t count, uint64_t address)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t size = blocks[i].size ? blocks[i].size : 1;
		if (address - blocks[i].address < size)
			return i;
	}
	return SPACE_NONE;
}

static void check_address(
	const struct space *space, const struct placed *blocks, uint32_t count, uint64_t address)
{
	uint64_t offset = 0;
	uint32_t wanted = find_slowly(blocks, count, address);
	uint32_t found = space_find(space, address, &offset);
	CHECK_U64(found, wanted);
	if (wanted != SPACE_NONE && found == wanted)
		CHECK_U64(offset, address - blocks[wanted].address);
}

/* Starts, what is before and after them, ends, and places between. */
static void check_all(const struct space *space, const struct placed *blocks, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t address = blocks[i].address, end = address + blocks[i].size;
		const uint64_t looked_at[] = {address, address + 1, address + 8, address + 16,
			address + blocks[i].size / 2, end, end + 8, end - 1};
		for (size_t k = 0; k < ARRAY_SIZE(looked_at); k++) {
			if (looked_at[k] >= space->low && looked_at[k] < space->high)
				check_address(space, blocks, count, looked_at[k]);
		}
	}
}

/* `step`: what addresses are multiples of; `one_in`: so many blocks are long, and so many gaps. */
static uint32_t place_blocks(
	struct space *space, struct placed *blocks, uint64_t step, uint64_t one_in, uint64_t *state)
{
	uint64_t at = START;
	for (uint32_t i = 0; i < BLOCKS; i++) {
		bool is_long = space_random(state) % one_in == 0;
		bool is_far = space_random(state) % one_in == 0;
		uint64_t size = space_random(state) % (is_long ? 300000 : 64);
		blocks[i] = (struct placed){at, size};
		CHECK(space_add(space, at, size) == SPACE_ADDED);
		at += (size ? size : 1) + (is_far ? space_random(state) % 200000 : 0);
		at = (at + step - 1) / step * step;
	}
	return BLOCKS;
}

CASE(found, "blocks are found by addresses of any kind, whatever these are multiples of")
{
	static const uint64_t steps[] = {16, 32, 8, 1, 24};
	uint64_t state = 88172645463325252ull;
	struct placed *blocks = calloc(BLOCKS, sizeof(*blocks));
	struct space *space = malloc(sizeof(*space));
	CHECK(blocks && space);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		for (uint64_t one_in = 10; one_in <= 1000; one_in *= 10) {
			space_init(space);
			uint32_t count = place_blocks(space, blocks, steps[i], one_in, &state);
			check_all(space, blocks, count);
			space_index(space);
			CHECK_U64(space->starts.len, space->regions.len * SPACE_PAGES);
			check_all(space, blocks, count);
			space_deinit(space);
		}
	}
	free(space);
	free(blocks);
}

CASE(even, "regions whose blocks begin at multiples of 16 are found by bits, others by offsets")
{
	struct space *space = malloc(sizeof(*space));
	uint64_t offset, region = 1ull << SPACE_REGION_BITS, first = START / region * region;
	CHECK(space);
	space_init(space);
	CHECK(space_add(space, first + 16, 16) == SPACE_ADDED);
	CHECK(space_add(space, first + region + 8, 8) == SPACE_ADDED);
	CHECK(space_add(space, first + region + 16, 8) == SPACE_ADDED);
	space_index(space);
	CHECK_U64(space_starts_at(space, 1, first)->before[0], 0);
	CHECK_U64(space_starts_at(space, 1, first)->bits[0], 2);
	CHECK_U64(space_starts_at(space, 2, first + region)->before[0], SPACE_UNEVEN);
	CHECK_U64(space_find(space, first + region + 8, &offset), 1);
	CHECK_U64(space_find(space, first + region + 16, &offset), 2);
	CHECK_U64(space_find(space, first + 24, &offset), 0);
	CHECK_U64(offset, 8);
	space_deinit(space);
	free(space);
}

CASE(empty, "a space without blocks is indexed, too")
{
	struct space *space = malloc(sizeof(*space));
	CHECK(space);
	space_init(space);
	space_index(space);
	CHECK_U64(space->starts.len, 0);
	space_deinit(space);
	free(space);
}

TAP_MAIN
