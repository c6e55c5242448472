/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "search/told.h"

#include <stdlib.h>

#include "base/cleanup.h"

#define REGION_WORDS ((1u << SPACE_REGION_BITS) / 8)
/* Places that 4 bytes are enough for. */
#define REGIONS_LOW (1u << (32 - SPACE_REGION_BITS))
/* Edges have numbers of 32 bits, and two threads have room for all there can be each. */
#define REGIONS_MOST (UINT32_MAX / 2 / REGION_WORDS)

static void places_free(struct told_places *places)
{
	if (!places)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(places->top); i++)
		free(places->top[i]);
	space_u32_deinit(&places->keys);
	free(places);
}

static bool add_region(struct told_places *p, uint32_t key)
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

static bool add_range(struct told_places *p, const struct search_range *range)
{
	if (range->start >= range->end || range->start < p->high ||
		range->end > 1ull << SPACE_ADDRESS_BITS)
		return false;
	uint64_t last = (range->end - 1) >> SPACE_REGION_BITS;
	bool ok = true;
	for (uint64_t key = range->start >> SPACE_REGION_BITS; key <= last && ok; key++)
		ok = add_region(p, (uint32_t)key);
	p->low = p->high ? p->low : range->start;
	p->high = range->end;
	return ok;
}

static struct told_places *places_of(const struct search_range *ranges, size_t count)
{
	struct told_places *places = calloc(1, sizeof(*places));
	bool ok = places && count;
	for (size_t i = 0; i < count && ok; i++)
		ok = add_range(places, &ranges[i]);
	if (ok)
		return places;
	places_free(places);
	return NULL;
}

static inline uint32_t region_number(const struct told_places *places, uint64_t address)
{
	const uint32_t *leaf = places->top[address >> 32];
	return leaf ? leaf[address >> SPACE_REGION_BITS & 0xffff] : 0;
}

void told_close(struct told *told)
{
	if (!told->is_lent) {
		places_free(told->places);
		space_u32_deinit(&told->codes);
		told_u8_deinit(&told->highs);
	}
	told_u8_deinit(&told->counts);
	space_u32_deinit(&told->many);
	sweep_close(&told->rest);
	*told = (struct told){.places = NULL};
}

void told_open(struct told *told, const struct search_memory *memory,
	const struct search_range *ranges, size_t count, uint64_t blocks)
{
	*told = (struct told){.places = places_of(ranges, count)};
	if (!told->places)
		return;
	size_t regions = told->places->keys.len, room = regions * REGION_WORDS;
	/* Of this only what is used is ever there. */
	bool ok = space_u32_reserve(&told->codes, 2 * room) &&
		  (regions <= REGIONS_LOW || told_u8_reserve(&told->highs, 2 * room)) &&
		  told_u8_reserve(&told->counts, blocks) && sweep_open(memory, 8, &told->rest);
	told->codes.cap = room;
	if (!ok)
		told_close(told);
}

void told_open_beside(struct told *told, const struct told *first, uint64_t blocks)
{
	size_t room = first->codes.cap;
	*told = (struct told){.places = first->places, .is_lent = true};
	if (!told->places)
		return;
	told->codes = (struct space_u32){first->codes.data + room, 0, room};
	if (first->highs.data)
		told->highs = (struct told_u8){first->highs.data + room, 0, room};
	if (!told_u8_reserve(&told->counts, blocks) ||
		!sweep_open(first->rest.memory, 8, &told->rest))
		told_close(told);
}

static inline void take_word(struct told *t, uint64_t word)
{
	const struct told_places *places = t->places;
	if (word - places->low >= places->high - places->low)
		return;
	uint32_t number = region_number(places, word);
	if (!number)
		return;
	uint64_t code = (uint64_t)(number - 1) << SPACE_REGION_BITS |
			(word & ((1u << SPACE_REGION_BITS) - 1));
	if (t->highs.data)
		t->highs.data[t->codes.len] = (uint8_t)(code >> 32);
	t->codes.data[t->codes.len++] = (uint32_t)code;
}

static inline void take_some(struct told *t, const uint8_t *bytes, const struct word_bits *bits)
{
	for (uint64_t left = bits->small & ~bits->nulls; left; left &= left - 1)
		take_word(t, word_number(bytes, (unsigned)__builtin_ctzll(left)));
}

/* Words from number `from` on. */
static void take_further(struct told *t, const uint8_t *bytes, size_t from, size_t words)
{
	for (size_t i = from; i < words; i += WORD_BITS) {
		size_t some = words - i < WORD_BITS ? words - i : WORD_BITS;
		struct word_bits bits = word_bits_of(bytes + 8 * i, (unsigned)some);
		take_some(t, bytes + 8 * i, &bits);
	}
}

/* Whether the block lies in regions that follow each other, and there is room for its words. */
static inline bool is_in_place(struct told *t, uint64_t address, uint64_t size)
{
	uint64_t last = address + size - (size != 0);
	if (size / 8 > t->codes.cap - t->codes.len)
		return false;
	if (address >= t->start && last >= address && last < t->end)
		return true;
	if (last < address || last >= 1ull << SPACE_ADDRESS_BITS)
		return false;
	uint32_t begins = region_number(t->places, address), ends = region_number(t->places, last);
	uint64_t from = address >> SPACE_REGION_BITS, to = last >> SPACE_REGION_BITS;
	if (!begins || !ends || ends - begins != to - from)
		return false;
	t->start = from << SPACE_REGION_BITS;
	t->end = (to + 1) << SPACE_REGION_BITS;
	return true;
}

static bool count(struct told *t, size_t words)
{
	if (words >= TOLD_MANY && !space_u32_push(&t->many, (uint32_t)words))
		return false;
	return told_u8_push(&t->counts, words < TOLD_MANY ? (uint8_t)words : TOLD_MANY);
}

void told_take(struct told *told, uint64_t address, uint64_t size, const uint8_t *bytes, size_t len,
	const struct word_bits *bits)
{
	struct told *t = told;
	size_t before = t->codes.len;
	t->failed = t->failed || !is_in_place(t, address, size);
	if (t->failed)
		return;
	uint64_t at = address, end = address + size;
	if (address % 8 == 0) {
		size_t words = (len < size ? len : (size_t)size) / 8;
		take_some(t, bytes, bits);
		take_further(t, bytes, WORD_BITS, words);
		at += 8 * words;
	}
	struct sweep_piece piece;
	while (at + 8 <= end && sweep_next(&t->rest, &at, end, end, &piece))
		take_further(t, piece.bytes, 0, piece.len / 8);
	t->failed = !count(t, t->codes.len - before);
}
