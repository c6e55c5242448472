/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the rings of free chunks in libc's data (static struct mal): a word with a bit for each of
 * 64, then of each a lock, its first and its last chunk. One that was never used has zeros; an
 * empty one leads to itself, as if it were a chunk.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/allocators/old_malloc.h"

#define BINS 64u
#define BIN_WORDS 3u
#define BINS_WORDS (1 + BINS * BIN_WORDS)
#define BIN_HEAD 1u /* words of a bin: its first chunk, … */
#define BIN_TAIL 2u /* … and its last one */
/* Words of a free chunk. */
enum { FREE_BEFORE, FREE_SIZE, FREE_NEXT, FREE_PREVIOUS, FREE_WORDS };
#define PORTION_BYTES (256u << 10)

/* malloc.c, bin_index(). */
static unsigned bin_of(uint64_t size)
{
	static const uint8_t table[60] = {32, 33, 34, 35, 36, 36, 37, 37, 38, 38, 39, 39, 40, 40,
		40, 40, 41, 41, 41, 41, 42, 42, 42, 42, 43, 43, 43, 43, 44, 44, 44, 44, 44, 44, 44,
		44, 45, 45, 45, 45, 45, 45, 45, 45, 46, 46, 46, 46, 46, 46, 46, 46, 47, 47, 47, 47,
		47, 47, 47, 47};
	uint64_t units = size / OLD_ALIGN - 1;
	if (units <= 32)
		return (unsigned)units;
	if (units < 512)
		return table[units / 8 - 4];
	return units > 0x1c00 ? 63 : table[units / 128 - 4] + 16u;
}

static bool free_chunk(const struct address_space *space, uint64_t at, uint64_t *ret)
{
	return at % OLD_ALIGN == OLD_HEADER && !(at >> 47) &&
	       address_space_read(space, at, ret, 8ul * FREE_WORDS) == 8ul * FREE_WORDS &&
	       old_is_size(ret[FREE_SIZE]) && !(ret[FREE_SIZE] & OLD_IN_USE);
}

enum bin { BIN_WRONG, BIN_UNUSED, BIN_EMPTY, BIN_FULL };

/* What a bin is, the words of which are these; `self`: what stands for it in its ring. */
static enum bin old_bins_look_at(
	const struct address_space *space, const uint64_t *bin, unsigned number, uint64_t self)
{
	uint64_t first[FREE_WORDS], last[FREE_WORDS], head = bin[BIN_HEAD], tail = bin[BIN_TAIL];
	if (!head && !tail)
		return BIN_UNUSED;
	if (head == self && tail == self)
		return BIN_EMPTY;
	bool right = free_chunk(space, head, first) && free_chunk(space, tail, last) &&
		     first[FREE_PREVIOUS] == self && last[FREE_NEXT] == self &&
		     bin_of(first[FREE_SIZE]) == number && bin_of(last[FREE_SIZE]) == number;
	return right ? BIN_FULL : BIN_WRONG;
}

/* Whether all 64 begin at an address, and some have chunks. */
static bool are_bins(const struct address_space *space, uint64_t address)
{
	uint64_t words[BINS_WORDS], full = 0;
	if (address_space_read(space, address, words, sizeof(words)) != sizeof(words))
		return false;
	for (unsigned i = 0; i < BINS; i++) {
		const uint64_t *bin = words + 1 + (size_t)i * BIN_WORDS;
		uint64_t self = address + 8 * (uint64_t)(bin + BIN_HEAD - words) - OLD_HEADER;
		enum bin is = old_bins_look_at(space, bin, i, self);
		if (is == BIN_WRONG)
			return false;
		full |= (uint64_t)(is == BIN_FULL) << i;
	}
	return full && (full & words[0]) == full;
}

/* The rings of which a bin may be one, whose first chunk is at `place`: by the chunk's size. 0:
 * it is none. */
static uint64_t bins_of(const struct address_space *space, uint64_t place, uint64_t head)
{
	uint64_t chunk[FREE_WORDS];
	if (!free_chunk(space, head, chunk) || chunk[FREE_PREVIOUS] != place - OLD_HEADER)
		return 0;
	uint64_t bins = place - 8 * (1 + BIN_HEAD + BIN_WORDS * (uint64_t)bin_of(chunk[FREE_SIZE]));
	return are_bins(space, bins) ? bins : 0;
}

static uint64_t old_bins_find_in_map(
	const struct address_space *space, const struct process_map *map, uint64_t *words)
{
	for (uint64_t at = map->start; at < map->end; at += PORTION_BYTES) {
		at = address_space_next(space, at, map->end) & ~7ull;
		size_t bytes =
			map->end - at < PORTION_BYTES ? (size_t)(map->end - at) : PORTION_BYTES;
		size_t count = address_space_read(space, at, words, bytes) / 8;
		for (size_t i = 0; i < count; i++) {
			uint64_t bins = words[i] % OLD_ALIGN == OLD_HEADER && words[i] >= 4096
						? bins_of(space, at + 8 * i, words[i])
						: 0;
			if (bins)
				return bins;
		}
	}
	return 0;
}

struct error *old_bins_find(struct old_malloc *old)
{
	const struct address_space *space = old->space;
	_cleanup_free_ uint64_t *words = malloc(PORTION_BYTES);
	for (size_t i = 0; words && i < space->maps.maps.len && !old->bins; i++) {
		const struct process_map *map = &space->maps.maps.data[i];
		if (map->writable && address_space_module(space, map->start))
			old->bins = old_bins_find_in_map(space, map, words);
	}
	return words ? NULL : error_no_memory();
}

struct error *old_bins_metadata(const struct old_malloc *old, struct heap_ranges *ret)
{
	struct heap_range range = {old->bins, old->bins + 8ull * BINS_WORDS};
	return !old->bins || heap_ranges_push(ret, range) ? NULL : error_no_memory();
}
