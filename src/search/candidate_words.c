/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "search/impl/candidate_words.h"

#include <stdlib.h>

#include "base/cleanup.h"

#define REGION_WORDS ((1u << SPACE_REGION_BITS) / 8)
/* The number of regions for whose codes 4 bytes are enough. */
#define REGIONS_LOW (1u << (32 - SPACE_REGION_BITS))
/* Edges have numbers of 32 bits, and two threads have room for all there can be each. */
#define REGIONS_MOST (UINT32_MAX / 2 / REGION_WORDS)

static void regions_free(struct candidate_regions *regions)
{
	if (!regions)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(regions->top); i++)
		free(regions->top[i]);
	space_u32_deinit(&regions->keys);
	free(regions);
}

static bool map_region(struct candidate_regions *p, uint32_t key)
{
	if (p->keys.len && p->keys.data[p->keys.len - 1] == key)
		return true;
	uint32_t **leaf = &p->top[key >> 16];
	if (!*leaf)
		*leaf = calloc(1u << 16, sizeof(**leaf));
	if (!*leaf || p->keys.len >= REGIONS_MOST || !space_u32_push(&p->keys, key))
		return false;
	(*leaf)[key & 0xffff] = (uint32_t)p->keys.len;
	return true;
}

static bool add_range(struct candidate_regions *p, const struct search_range *range)
{
	if (range->start >= range->end || range->start < p->high ||
		range->end > 1ull << SPACE_ADDRESS_BITS)
		return false;
	uint64_t last = (range->end - 1) >> SPACE_REGION_BITS;
	bool ok = true;
	for (uint64_t key = range->start >> SPACE_REGION_BITS; key <= last && ok; key++)
		ok = map_region(p, (uint32_t)key);
	p->low = p->high ? p->low : range->start;
	p->high = range->end;
	return ok;
}

static struct candidate_regions *map_ranges(const struct search_range *ranges, size_t push_count)
{
	struct candidate_regions *regions = calloc(1, sizeof(*regions));
	bool ok = regions && push_count;
	for (size_t i = 0; i < push_count && ok; i++)
		ok = add_range(regions, &ranges[i]);
	if (ok)
		return regions;
	regions_free(regions);
	return NULL;
}

static inline uint32_t region_number(const struct candidate_regions *regions, uint64_t address)
{
	const uint32_t *leaf = regions->top[address >> 32];
	return leaf ? leaf[address >> SPACE_REGION_BITS & 0xffff] : 0;
}

void candidate_words_close(struct candidate_words *candidates)
{
	if (!candidates->is_borrowed) {
		regions_free(candidates->regions);
		space_u32_deinit(&candidates->codes);
		candidate_u8_deinit(&candidates->highs);
	}
	candidate_u8_deinit(&candidates->counts);
	space_u32_deinit(&candidates->many);
	scan_close(&candidates->rest);
	*candidates = (struct candidate_words){.regions = NULL};
}

void candidate_words_open(struct candidate_words *candidates, const struct search_memory *memory,
	const struct search_range *ranges, size_t push_count, uint64_t blocks)
{
	*candidates = (struct candidate_words){.regions = map_ranges(ranges, push_count)};
	if (!candidates->regions)
		return;
	size_t regions = candidates->regions->keys.len, room = regions * REGION_WORDS;
	/* Of this memory only what is used is ever touched. */
	bool ok = space_u32_reserve(&candidates->codes, 2 * room) &&
		  (regions <= REGIONS_LOW || candidate_u8_reserve(&candidates->highs, 2 * room)) &&
		  candidate_u8_reserve(&candidates->counts, blocks) &&
		  scan_open(memory, 8, &candidates->rest);
	candidates->codes.cap = room;
	if (!ok)
		candidate_words_close(candidates);
}

void candidate_words_open_after(
	struct candidate_words *candidates, const struct candidate_words *first, uint64_t blocks)
{
	size_t room = first->codes.cap;
	*candidates = (struct candidate_words){.regions = first->regions, .is_borrowed = true};
	if (!candidates->regions)
		return;
	candidates->codes = (struct space_u32){first->codes.data + room, 0, room};
	if (first->highs.data)
		candidates->highs = (struct candidate_u8){first->highs.data + room, 0, room};
	if (!candidate_u8_reserve(&candidates->counts, blocks) ||
		!scan_open(first->rest.memory, 8, &candidates->rest))
		candidate_words_close(candidates);
}

static inline void note_word(struct candidate_words *t, uint64_t word)
{
	const struct candidate_regions *regions = t->regions;
	if (word - regions->low >= regions->high - regions->low)
		return;
	uint32_t number = region_number(regions, word);
	if (!number)
		return;
	uint64_t code = (uint64_t)(number - 1) << SPACE_REGION_BITS |
			(word & ((1u << SPACE_REGION_BITS) - 1));
	if (t->highs.data)
		t->highs.data[t->codes.len] = (uint8_t)(code >> 32);
	t->codes.data[t->codes.len++] = (uint32_t)code;
}

static inline void note_words(
	struct candidate_words *t, const uint8_t *bytes, const struct word_bits *bits)
{
	for (uint64_t left = bits->small & ~bits->nulls; left; left &= left - 1)
		note_word(t, word_number(bytes, (unsigned)__builtin_ctzll(left)));
}

/* Notes the words of `bytes` from number `from` on. */
static void note_words_from(
	struct candidate_words *t, const uint8_t *bytes, size_t from, size_t words)
{
	for (size_t i = from; i < words; i += WORD_BITS) {
		size_t some = words - i < WORD_BITS ? words - i : WORD_BITS;
		struct word_bits bits = word_bits_of(bytes + 8 * i, (unsigned)some);
		note_words(t, bytes + 8 * i, &bits);
	}
}

/* Returns whether a block lies in adjacent regions and there is room for its words. */
static inline bool is_in_place(struct candidate_words *t, uint64_t address, uint64_t size)
{
	uint64_t last = address + size - (size != 0);
	if (size / 8 > t->codes.cap - t->codes.len)
		return false;
	if (address >= t->start && last >= address && last < t->end)
		return true;
	if (last < address || last >= 1ull << SPACE_ADDRESS_BITS)
		return false;
	uint32_t begins = region_number(t->regions, address),
		 ends = region_number(t->regions, last);
	uint64_t from = address >> SPACE_REGION_BITS, to = last >> SPACE_REGION_BITS;
	if (!begins || !ends || ends - begins != to - from)
		return false;
	t->start = from << SPACE_REGION_BITS;
	t->end = (to + 1) << SPACE_REGION_BITS;
	return true;
}

static bool push_count(struct candidate_words *t, size_t words)
{
	if (words >= CANDIDATES_MANY && !space_u32_push(&t->many, (uint32_t)words))
		return false;
	return candidate_u8_push(
		&t->counts, words < CANDIDATES_MANY ? (uint8_t)words : CANDIDATES_MANY);
}

void candidate_words_add(struct candidate_words *candidates, uint64_t address, uint64_t size,
	const uint8_t *bytes, size_t len, const struct word_bits *bits)
{
	struct candidate_words *t = candidates;
	size_t before = t->codes.len;
	t->failed = t->failed || !is_in_place(t, address, size);
	if (t->failed)
		return;
	uint64_t at = address, end = address + size;
	if (address % 8 == 0) {
		size_t words = (len < size ? len : (size_t)size) / 8;
		note_words(t, bytes, bits);
		note_words_from(t, bytes, WORD_BITS, words);
		at += 8 * words;
	}
	struct scan_piece piece;
	while (at + 8 <= end && scan_next(&t->rest, &at, end, end, &piece))
		note_words_from(t, piece.bytes, 0, piece.len / 8);
	t->failed = !push_count(t, t->codes.len - before);
}
