/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The blocks that are live at a moment of a replay, by identity: (thread, number). A hash, since
 * numbers are dense when blocks are born but those that stay are scattered; open addressing with
 * backward shifts, so that churn leaves no tombstones. Four blocks that were allocated one after
 * another share a place's neighbourhood: they mostly die together and so cost one cache miss.
 */
#ifndef SOURCES_HPW_BLOCKS_H
#define SOURCES_HPW_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limits of what a key can hold; larger ones are no writer's. */
#define HPW_BLOCK_THREADS (1u << 20)
#define HPW_BLOCK_NUMBERS (1ull << 44)

struct hpw_block {
	uint64_t key; /* thread and number, + 1; 0: empty place */
	uint64_t size;
	uint32_t site;
};

struct hpw_blocks {
	struct hpw_block *places;
	size_t cap; /* a power of two, or 0 */
	size_t len;
	uint64_t seed;
};

/* thread < HPW_BLOCK_THREADS, number < HPW_BLOCK_NUMBERS - 1 */
static inline uint64_t hpw_block_key(uint32_t thread, uint64_t number)
{
	return ((uint64_t)thread << 44 | number) + 1;
}

void hpw_blocks_init(struct hpw_blocks *blocks);
void hpw_blocks_deinit(struct hpw_blocks *blocks);

/* Makes room for a number of blocks that is only a guess, up to a bound and if there is memory. */
void hpw_blocks_expect(struct hpw_blocks *blocks, uint64_t count);

/* Adds a block; an existing key gets the new size and site. Returns false if out of memory. */
bool hpw_blocks_add(struct hpw_blocks *blocks, uint64_t key, uint64_t size, uint32_t site);
/* Takes a block out; false if it is not there. */
bool hpw_blocks_take(struct hpw_blocks *blocks, uint64_t key, struct hpw_block *ret);

#endif
