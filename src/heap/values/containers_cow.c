/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of libstdc++'s strings before C++11 (_GLIBCXX_USE_CXX11_ABI=0), which several strings may
 * share. A string is one pointer, to its first character; before that are three words:
 *
 *	block: length, capacity, number of other owners (int) | characters, NUL, room
 *	                                                        ^ the pointer leads here
 *
 * Characters have 1, 2 or 4 bytes: capacity and block must fit one of these. The text must read as
 * text, and end with a NUL where the length says. An
 * empty string with capacity stays unknown.
 */
#include "heap/values/containers_find.h"

#define HEAD_BYTES 24u
/* Characters of a wide text that are looked at. */
#define WIDE_LOOKED_AT 64u
#define OWNERS_MOST (1 << 30)

struct cow_head {
	uint64_t length, capacity;
	int32_t owners; /* beside the first; -1: it may be written to to the characters */
	int32_t padding;
};

static bool containers_cow_read_bytes(
	const struct container_search *f, uint64_t address, void *ret, size_t len)
{
	return address_space_read(f->heap->space, address, ret, len) == len;
}

static bool ends_there(
	const struct container_search *f, uint64_t text_end, uint32_t character_bytes)
{
	uint32_t last = 0;
	return containers_cow_read_bytes(f, text_end, &last, character_bytes) && !last;
}

/* A character that a text may have: no control character, no half of a pair in UTF-32, none that
 * Unicode has not. */
static bool is_character(uint32_t character, uint32_t unit)
{
	if (character < ' ' || (character >= 0x7f && character < 0xa0))
		return character >= '\t' && character <= '\r';
	bool is_half = character >= 0xd800 && character < 0xe000;
	return character <= 0x10ffff && character != 0xfffe && character != 0xffff &&
	       (unit == 2 || !is_half);
}

static bool is_wide_text(
	const struct container_search *f, uint64_t address, uint64_t length, uint32_t unit)
{
	uint8_t bytes[4 * WIDE_LOOKED_AT];
	size_t count = length < WIDE_LOOKED_AT ? (size_t)length : WIDE_LOOKED_AT;
	bool ok = containers_cow_read_bytes(f, address, bytes, count * unit);
	for (size_t i = 0; ok && i < count; i++) {
		uint32_t character = 0;
		memcpy(&character, bytes + i * unit, unit);
		ok = is_character(character, unit);
	}
	return ok;
}

static bool is_narrow_text(const struct container_search *f, uint64_t address, uint64_t length)
{
	uint8_t bytes[TEXT_LOOKED_AT] = {0};
	size_t some = length < sizeof(bytes) ? (size_t)length : sizeof(bytes);
	return containers_cow_read_bytes(f, address, bytes, some) && find_is_text(f, bytes, some);
}

static bool fits_unit(struct container_search *f, uint32_t block, uint64_t text,
	const struct cow_head *head, uint32_t unit)
{
	return find_fits(f, HEAD_BYTES + (head->capacity + 1) * unit, block) &&
	       ends_there(f, text + head->length * unit, unit) &&
	       (unit == 1 ? is_narrow_text(f, text, head->length)
			  : is_wide_text(f, text, head->length, unit));
}

bool find_cow_string(struct container_search *f, const struct container_place *place)
{
	static const enum container_part parts[] = {
		[1] = PART_COW_STRING, [2] = PART_COW_STRING_16, [4] = PART_COW_STRING_32};
	struct cow_head head;
	uint64_t into;
	uint32_t block = search_block_at(f->search, place->words[0], &into);
	if (block == SPACE_NONE || into != HEAD_BYTES || !find_is_free(f, block) ||
		!containers_cow_read_bytes(f, place->words[0] - HEAD_BYTES, &head, sizeof(head)))
		return false;
	if (!head.length || head.length > head.capacity || head.capacity > COUNT_MOST ||
		head.owners < -1 || head.owners > OWNERS_MOST)
		return false;
	for (uint32_t unit = 1; unit <= 4; unit *= 2) {
		uint64_t text = place->words[0];
		if (!fits_unit(f, block, text, &head, unit))
			continue;
		/* One character before zeros: nothing says how wide it is. */
		if (unit == 1 && head.length == 1 &&
			(fits_unit(f, block, text, &head, 2) ||
				fits_unit(f, block, text, &head, 4)))
			return false;
		find_assign(f, block, parts[unit]);
		return true;
	}
	return false;
}
