/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "search/heuristics.h"

#define VTABLE_WORDS 20u
#define VTABLE_ENTRIES_MIN 2u

static bool word_at(const struct heuristics *h, uint64_t address, uint64_t *ret)
{
	return h->memory->read(h->memory->context, address, ret, sizeof(*ret)) == sizeof(*ret);
}

static enum search_map_kind map_kind(const struct heuristics *h, uint64_t address)
{
	size_t low = 0, high = h->map_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (h->maps[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < h->map_count && address >= h->maps[low].start ? h->maps[low].kind
								   : SEARCH_MAP_OTHER;
}

bool heuristics_is_vtable(const struct heuristics *heuristics, uint64_t address)
{
	const struct heuristics *h = heuristics;
	if (address % 8 || map_kind(h, address) == SEARCH_MAP_OTHER)
		return false;
	unsigned entries = 0;
	for (unsigned i = 0; i < VTABLE_WORDS; i++) {
		uint64_t entry;
		if (!word_at(h, address + 8ull * i, &entry))
			return false;
		if (!entry)
			continue;
		if (map_kind(h, entry) != SEARCH_MAP_FILE_CODE)
			return false;
		if (++entries == VTABLE_ENTRIES_MIN)
			return true;
	}
	return false;
}

static bool has_size(const struct search_requested *asked, uint64_t size)
{
	return asked->least <= size && size <= asked->most;
}

bool heuristics_fit_string(const struct search_requested *asked, uint64_t length, uint64_t capacity)
{
	const uint64_t head = 3 * sizeof(uint64_t), units = capacity + 1;
	return length <= capacity && capacity < asked->most &&
	       (has_size(asked, head + units) || has_size(asked, head + units * 2) ||
		       has_size(asked, head + units * 4));
}

static bool is_string(const struct heuristics *h, const struct heuristic_block *block)
{
	uint64_t length, capacity;
	return word_at(h, block->address, &length) && word_at(h, block->address + 8, &capacity) &&
	       heuristics_fit_string(&block->asked, length, capacity);
}

static bool fits_length(const struct search_requested *asked, uint64_t number)
{
	return number < asked->most && has_size(asked, number + 8);
}

/* Returns whether the requested size may be that of `elements` elements of equal size, a multiple
 * of `step`, and the word with their number. */
static bool fits_array(const struct search_requested *asked, uint64_t elements, uint64_t step)
{
	if (!elements || asked->most <= 8 || elements > asked->most - 8)
		return false;
	uint64_t most = asked->most - 8, least = asked->mostly > 8 ? asked->mostly - 8 : 1;
	step = least == most ? 1 : step;
	uint64_t element = most / elements / step * step;
	return element && element * elements >= least;
}

bool heuristics_fit_number(const struct search_requested *asked, uint64_t number)
{
	return fits_length(asked, number) || fits_array(asked, number, 1);
}

/* What a number in front says. Both may fit where it is not known what was asked for: then an array
 * of words comes before a length that few blocks have. */
static enum search_heuristic explain_number(
	const struct heuristics *h, const struct heuristic_block *block, uint64_t number)
{
	const struct search_requested *asked = &block->asked;
	bool is_new = h->enabled & SEARCH_NEWARRAY && fits_array(asked, number, block->step);
	bool is_words = is_new && number + 8 < asked->mostly && fits_array(asked, number, 8);
	if (h->enabled & SEARCH_LENGTH64 && fits_length(asked, number) && !is_words)
		return SEARCH_LENGTH64;
	return is_new ? SEARCH_NEWARRAY : 0;
}

enum search_heuristic heuristics_explain(
	const struct heuristics *heuristics, const struct heuristic_block *block, uint64_t into)
{
	const struct heuristics *h = heuristics;
	uint64_t first, second;
	/* Only of an empty array is there a pointer after a block. */
	if (into == 8 && block->asked.most == 8 && block->asked.least == 8)
		return h->enabled & SEARCH_NEWARRAY ? SEARCH_NEWARRAY : 0;
	if (!h->enabled || into % 8 || into >= block->asked.most)
		return 0;
	if (h->enabled & SEARCH_STDSTRING && into == 24 && is_string(h, block))
		return SEARCH_STDSTRING;
	if (into == 8 && h->enabled & (SEARCH_LENGTH64 | SEARCH_NEWARRAY) &&
		word_at(h, block->address, &first)) {
		enum search_heuristic by = explain_number(h, block, first);
		if (by)
			return by;
	}
	bool is_base = h->enabled & SEARCH_MULTIPLEINHERITANCE && into + 8 <= block->asked.most &&
		       word_at(h, block->address + into, &first) &&
		       heuristics_is_vtable(h, first) && word_at(h, block->address, &second) &&
		       heuristics_is_vtable(h, second);
	return is_base ? SEARCH_MULTIPLEINHERITANCE : 0;
}
