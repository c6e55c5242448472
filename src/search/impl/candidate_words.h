/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Candidate words: words of blocks that may point to other blocks, noted while blocks are added.
 * The caller that finds blocks has their memory at hand, and reading it again takes as long as
 * finding them. Which block a word points to is known only when all blocks are added. Until then a
 * word is kept as an offset into the ranges that blocks lie in. It takes 4 bytes (5 if the ranges
 * exceed 4 GiB), in the memory that its edge of the graph will use (graph_candidates.c).
 */
#ifndef SEARCH_CANDIDATE_WORDS_H
#define SEARCH_CANDIDATE_WORDS_H

#include "search/impl/scan_reader.h"
#include "search/space.h"
#include "search/word_bits.h"

DEFINE_VEC(candidate_u8, uint8_t)

/* An address range [start, end) that blocks lie in. */
struct search_range {
	uint64_t start, end;
};

/* The ranges, cut into regions of 64 KiB as struct space does. */
struct candidate_regions {
	uint32_t *top[1u << (SPACE_ADDRESS_BITS - 32)]; /* numbers of regions + 1; as in a space */
	struct space_u32 keys; /* of each region, ascending: address >> SPACE_REGION_BITS */
	uint64_t low, high;    /* all lie in [low, high) */
};

#define CANDIDATES_MANY UINT8_MAX

struct candidate_words {
	struct candidate_regions *regions; /* NULL: words are not noted */
	struct space_u32 codes;     /* of each word: its code (region and offset), low 32 bits */
	struct candidate_u8 highs;  /* its high bits; without memory: they are 0 */
	struct candidate_u8 counts; /* of each block: its words; CANDIDATES_MANY: in `many` */
	struct space_u32 many;      /* of those, in order */
	bool is_borrowed;    /* `regions` and the memory of codes and highs belong to another one */
	uint64_t start, end; /* addresses of the adjacent regions that the last block lay in */
	bool failed;         /* a block was outside of the ranges: the words can't be used */
	struct scan_reader rest; /* of what was not at hand */
};

/*
 * Prepares for noting the words of up to `blocks` blocks, which all lie in `ranges`. The `count`
 * ranges are ascending and don't overlap. `memory` is borrowed until candidate_words_close().
 * If the ranges are too large or there is no memory, nothing will be noted; that is no error, and
 * candidate_words_are_complete() then returns false.
 */
void candidate_words_open(struct candidate_words *candidates, const struct search_memory *memory,
	const struct search_range *ranges, size_t count, uint64_t blocks);
/* Prepares for noting words by a second thread, whose blocks come after those of `first`. It shares
 * the memory of `first` and has to be closed before `first` is. */
void candidate_words_open_after(
	struct candidate_words *candidates, const struct candidate_words *first, uint64_t blocks);
void candidate_words_close(struct candidate_words *candidates);

/* Notes the words of the next block, `size` bytes at `address`. `bytes` holds its first `len`
 * bytes; the others are read. `bits` describes the first WORD_BITS words of `bytes`. */
void candidate_words_add(struct candidate_words *candidates, uint64_t address, uint64_t size,
	const uint8_t *bytes, size_t len, const struct word_bits *bits);

/* Returns whether the words of all blocks, `blocks` of them, were noted. */
static inline bool candidate_words_are_complete(
	const struct candidate_words *candidates, uint32_t blocks)
{
	return candidates->regions && !candidates->failed && candidates->counts.len == blocks;
}

/* Walks through the words of all blocks, in the order in which the blocks were added. */
struct candidate_walk {
	const struct candidate_words *candidates;
	uint32_t block; /* the next block */
	size_t many;    /* index of the next entry of candidates->many */
	size_t word;    /* number of the next block's first word */
};
/* Moves on to the next block; returns how many words the block that was next has. */
static inline uint32_t candidate_walk_next(struct candidate_walk *walk)
{
	uint32_t count = walk->candidates->counts.data[walk->block++];
	if (count == CANDIDATES_MANY)
		count = walk->candidates->many.data[walk->many++];
	walk->word += count;
	return count;
}

/* Returns the value of word `number`. */
static inline uint64_t candidate_word(const struct candidate_words *candidates, size_t number)
{
	uint64_t code = candidates->codes.data[number];
	if (candidates->highs.data)
		code |= (uint64_t)candidates->highs.data[number] << 32;
	uint64_t key = candidates->regions->keys.data[code >> SPACE_REGION_BITS];
	return key << SPACE_REGION_BITS | (code & ((1u << SPACE_REGION_BITS) - 1));
}

#endif
