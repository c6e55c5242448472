/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random records of a few threads, mostly sensible ones, in the order in which they happen. */
#ifndef TESTS_RECORD_FEED_H
#define TESTS_RECORD_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "format/kinds.h"
#include "format/shm.h"

#define FEED_LANES 3
#define FEED_BLOCKS 3000
#define FEED_NODES 6000 /* more than there are stacks */

static uint64_t random_state;

/* xorshift64* */
static inline uint64_t random_below(uint64_t limit)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (random_state * 0x2545f4914f6cdd1dull >> 16) % limit;
}

/* The producers' side, and what is needed to make mostly sensible records. */
struct feed {
	uint64_t words[FEED_LANES][HW_RING_WORDS_LARGE];
	uint64_t head[FEED_LANES];
	uint32_t ends[FEED_LANES][HW_RING_WORDS_LARGE]; /* of each record, in words */
	uint32_t records[FEED_LANES];
	uint8_t kind_of[FEED_BLOCKS]; /* of the live block, + 1 */
	uint64_t stamp;
	unsigned odd; /* one record in so many is no usual one; 0: none */
	bool stamped;
};

static inline void feed_put(struct feed *f, unsigned lane, uint64_t word)
{
	f->words[lane][f->head[lane]++] = word;
}

static inline uint64_t feed_address(unsigned block)
{
	return 0x10000 + (uint64_t)block * 48;
}

static inline void feed_stamp(struct feed *f, unsigned lane)
{
	if (f->stamped)
		feed_put(f, lane, f->stamp += 1 + random_below(9));
}

static inline uint64_t feed_size(const struct feed *f)
{
	if (f->odd && !random_below(f->odd))
		return random_below(2) ? (uint64_t)HW_R_SIZE_BIG + random_below(3) - 1 : 1ull << 40;
	return random_below(4) ? 8 * (1 + random_below(4)) : random_below(5000);
}

static inline void feed_alloc(struct feed *f, unsigned lane, unsigned block)
{
	uint64_t flag = f->stamped ? HW_R_STAMPED : 0, size = feed_size(f);
	unsigned kind = random_below(10) ? HW_MALLOC : (unsigned)random_below(HW_ALLOC_KINDS);
	uint64_t stack = random_below(20) ? 1 + random_below(12) : 1 + random_below(5000);
	feed_put(f, lane, (HW_R_ALLOC + kind) | flag | feed_address(block) << 8);
	if (size < HW_R_SIZE_BIG) {
		feed_put(f, lane, stack | size << 32);
	} else {
		feed_put(f, lane, stack | (uint64_t)HW_R_SIZE_BIG << 32);
		feed_put(f, lane, size);
	}
	feed_stamp(f, lane);
	f->kind_of[block] = (uint8_t)(kind + 1);
}

static inline void feed_free(struct feed *f, unsigned lane, unsigned block)
{
	unsigned alloc_kind = f->kind_of[block] ? f->kind_of[block] - 1u : HW_MALLOC;
	unsigned kind = hw_matching_free(alloc_kind);
	if (f->odd && !random_below(f->odd))
		kind = (unsigned)random_below(HW_FREE_KINDS);
	unsigned op = random_below(5) ? HW_R_FREE : HW_R_FREE_SAME_FRAME;
	feed_put(
		f, lane, (op + kind) | (f->stamped ? HW_R_STAMPED : 0u) | feed_address(block) << 8);
	feed_stamp(f, lane);
	f->kind_of[block] = 0;
}

static inline void feed_odd(struct feed *f, unsigned lane)
{
	if (random_below(2)) {
		feed_put(f, lane, HW_R_FAILED | (uint64_t)HW_MALLOC << 8);
		feed_put(f, lane, 1 + random_below(12));
		feed_put(f, lane, 1 + random_below(1u << 20));
	} else {
		feed_put(f, lane, HW_R_LOST | (1 + random_below(3)) << 8);
	}
}

/* One record; mostly the alternation that a program makes, of one lane for a while. */
static inline void feed_step(struct feed *f, unsigned lane)
{
	unsigned block = (unsigned)random_below(random_below(3) ? 40 : FEED_BLOCKS);
	bool live = f->kind_of[block];
	if (f->odd && !random_below(f->odd))
		feed_odd(f, lane);
	else if (live != (f->odd && !random_below(f->odd)))
		feed_free(f, lane, block);
	else
		feed_alloc(f, lane, block);
	f->ends[lane][f->records[lane]++] = (uint32_t)f->head[lane];
}

#endif
