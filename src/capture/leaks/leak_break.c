/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/leaks/leak_break.h"

#include <stdlib.h>

#include "base/cleanup.h"

#define PAGE_BYTES 4096u
/* malloc/malloc.c, x86-64: a block is 16 bytes after its chunk's start. */
#define HEADER_BYTES 16u
#define CHUNK_FLAGS 7u
#define CHUNK_MIN 32u
#define FENCE_BYTES 16u
#define FENCES_BYTES 32u
/* A program that takes memory itself takes pages, so smaller gaps between blocks are not examined.
 */
#define GAP_MIN PAGE_BYTES
#define CHUNK_ALIGN 16u

/*
 * Positions that chains from earlier pages have passed without arriving, one bit for each 16 bytes:
 * a chain that comes to one of them does not arrive either. So memory that looks like chunks from
 * every page on is read once, and no bound is needed.
 */
struct passed {
	uint64_t start;
	uint64_t *bits;
};

struct chain {
	const struct leak_target *place;
	const struct process_map *map;
	struct address_ranges *found;
	uint64_t begun; /* the part of glibc's heap that `at` is in */
	uint64_t at;    /* a chunk */
	uint64_t page;  /* what is in `words`; 0: nothing */
	uint64_t words[PAGE_BYTES / 8];
};

/* A word at a multiple of eight. */
static bool read_word(struct chain *c, uint64_t address, uint64_t *ret)
{
	uint64_t page = address & ~(uint64_t)(PAGE_BYTES - 1);
	if (page != c->page) {
		c->page = 0;
		if (process_memory_read(c->place->memory, page, c->words, PAGE_BYTES) != PAGE_BYTES)
			return false;
		c->page = page;
	}
	*ret = c->words[address % PAGE_BYTES / 8];
	return true;
}

enum chain_end {
	CHAIN_ARRIVED,
	CHAIN_FENCE, /* it ends at two fences */
	CHAIN_BROKEN,
};

/* Marks a position. Returns whether it had been marked before. */
static bool passed_mark(struct passed *passed, uint64_t at)
{
	uint64_t number = (at - passed->start) / CHUNK_ALIGN, bit = 1ull << number % 64;
	bool before = passed->bits[number / 64] & bit;
	passed->bits[number / 64] |= bit;
	return before;
}

/*
 * Goes from chunk to chunk up to `to`. passed: NULL if no other chain was followed here. ret_page:
 * where a chunk ended last at the end of a page, as the top one does; ret_end: where the chain
 * ends, after its fences.
 */
static enum chain_end follow_chunks(struct chain *c, uint64_t from, uint64_t to,
	struct passed *passed, uint64_t *ret_page, uint64_t *ret_end)
{
	uint64_t at = from;
	*ret_page = 0;
	while (at < to) {
		uint64_t size;
		*ret_end = at;
		if (at % 8 || (passed && passed_mark(passed, at)) || !read_word(c, at + 8, &size))
			return CHAIN_BROKEN;
		size &= ~(uint64_t)CHUNK_FLAGS;
		*ret_end = at + FENCES_BYTES;
		if (size == FENCE_BYTES && at > from)
			return CHAIN_FENCE;
		*ret_end = at;
		if (size < CHUNK_MIN || size % 16 || size > to - at)
			return CHAIN_BROKEN;
		at += size;
		if (at % PAGE_BYTES == 0)
			*ret_page = at;
	}
	return at == to ? CHAIN_ARRIVED : CHAIN_BROKEN;
}

/* Finds the first page in [from, to) from which chunks lead to `to`; to: there is none. Returns
 * false if there is no memory. */
static bool find_next_part(struct chain *c, uint64_t from, uint64_t to, uint64_t *ret)
{
	uint64_t page, end, at = (from + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
	*ret = to;
	if (at >= to)
		return true;
	_cleanup_free_ uint64_t *bits = calloc((to - at) / CHUNK_ALIGN / 64 + 1, sizeof(*bits));
	struct passed passed = {at, bits};
	for (; bits && at < to && *ret == to; at += PAGE_BYTES) {
		if (follow_chunks(c, at, to, &passed, &page, &end) == CHAIN_ARRIVED)
			*ret = at;
	}
	return bits;
}

/* Up to the chunk `to` or the end of the map: is there something of the program's between? */
static bool go_on(struct chain *c, uint64_t to)
{
	uint64_t page, end;
	enum chain_end how = follow_chunks(c, c->at, to, NULL, &page, &end);
	bool first = c->at == c->map->start, last = to == c->map->end;
	if (how == CHAIN_BROKEN && first && end == c->at)
		how = CHAIN_FENCE; /* the program was there before */
	if (how == CHAIN_BROKEN && last && page) {
		end = page;
		how = CHAIN_FENCE;
	}
	c->at = to;
	return how != CHAIN_FENCE || (address_ranges_add(c->found, c->begun, end) &&
					     find_next_part(c, end, to, &c->begun));
}

struct error *leak_break_find(
	const struct leak_target *place, const struct process_map *map, struct address_ranges *ret)
{
	struct live_walk walk;
	_cleanup_free_ struct live_entry *blocks = calloc(LIVE_WALK_ROOM, sizeof(*blocks));
	if (!blocks || !live_table_walk_begin(place->live, &walk))
		return error_no_memory();
	struct chain c = {
		.place = place, .map = map, .found = ret, .begun = map->start, .at = map->start};
	uint64_t after = map->start; /* the last block, as far as it says itself */
	bool ok = true;
	for (size_t n; ok && (n = live_table_walk_next(&walk, blocks, LIVE_WALK_ROOM));) {
		for (size_t i = 0; ok && i < n; i++) {
			uint64_t chunk = blocks[i].address - HEADER_BYTES;
			if (blocks[i].address < map->start + HEADER_BYTES || chunk >= map->end)
				continue;
			if (chunk >= after + GAP_MIN || after == map->start)
				ok = go_on(&c, chunk);
			c.at = chunk;
			after = blocks[i].address + blocks[i].size;
		}
	}
	live_table_walk_end(&walk);
	ok = ok && go_on(&c, map->end) && address_ranges_add(ret, c.begun, map->end);
	return ok ? NULL : error_no_memory();
}
