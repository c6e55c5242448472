/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words that may point to blocks, noted while blocks are added: whoever finds blocks has their
 * memory at hand, and reading it once more takes as long as finding them. Which blocks they point
 * to is known only when all are there: so a word is kept as its place in the ranges that blocks lie
 * in, by 4 bytes (5, from 4 GiB of ranges on), in the very memory that its edge will have
 * (graph.c).
 */
#ifndef SEARCH_TOLD_H
#define SEARCH_TOLD_H

#include "search/space.h"
#include "search/sweep.h"
#include "search/word_bits.h"

DEFINE_VEC(told_u8, uint8_t)

/* [start, end): blocks lie in such. */
struct search_range {
	uint64_t start, end;
};

/* The ranges, cut into regions as a space is. */
struct told_places {
	uint32_t *top[1u << (SPACE_ADDRESS_BITS - 32)]; /* numbers of regions + 1; as in a space */
	struct space_u32 keys; /* of each region, ascending: address >> SPACE_REGION_BITS */
	uint64_t low, high;    /* all lie in [low, high) */
};

#define TOLD_MANY UINT8_MAX

struct told {
	struct told_places *places; /* NULL: words are not told */
	struct space_u32 codes;     /* of each word: its place's low bits */
	struct told_u8 highs;       /* its high bits; without memory: they are 0 */
	struct told_u8 counts;      /* of each block: its words; TOLD_MANY: in `many` */
	struct space_u32 many;      /* of those, in order */
	bool is_lent;               /* places and the memory of codes and highs are another's */
	uint64_t start, end; /* regions that the last block lay in, which follow each other */
	bool failed;         /* a block was elsewhere: what was noted is of no use */
	struct sweep rest;   /* of what was not at hand */
};

/*
 * Words of blocks in `ranges`, which are ascending and don't overlap, will be told; `blocks`: how
 * many there may be. Where there is too much of it, or no memory, they will not, which is no error.
 */
void told_open(struct told *told, const struct search_memory *memory,
	const struct search_range *ranges, size_t count, uint64_t blocks);
/* The same for another thread, which adds blocks behind; ends before `first` does. */
void told_open_beside(struct told *told, const struct told *first, uint64_t blocks);
void told_close(struct told *told);

/* The words of the block that comes next: the first `len` bytes are at hand, and `bits` tells of
 * the first WORD_BITS words in them. */
void told_take(struct told *told, uint64_t address, uint64_t size, const uint8_t *bytes, size_t len,
	const struct word_bits *bits);

/* Whether they can be used, of so many blocks. */
static inline bool told_is_good(const struct told *told, uint32_t blocks)
{
	return told->places && !told->failed && told->counts.len == blocks;
}

/* Goes through blocks in order. */
struct told_walk {
	const struct told *told;
	uint32_t block; /* comes next */
	size_t many;    /* comes next */
	size_t word;    /* its first one */
};
/* How many words the next block has. */
static inline uint32_t told_walk_next(struct told_walk *walk)
{
	uint32_t count = walk->told->counts.data[walk->block++];
	if (count == TOLD_MANY)
		count = walk->told->many.data[walk->many++];
	walk->word += count;
	return count;
}

static inline uint64_t told_word(const struct told *told, size_t number)
{
	uint64_t code = told->codes.data[number];
	if (told->highs.data)
		code |= (uint64_t)told->highs.data[number] << 32;
	uint64_t key = told->places->keys.data[code >> SPACE_REGION_BITS];
	return key << SPACE_REGION_BITS | (code & ((1u << SPACE_REGION_BITS) - 1));
}

#endif
