/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/scan/interior.h"

#include <string.h>

#include "heap/blocks/requested_size.h"
#include "heap/heap_scan.h"
#include "search/heuristics.h"

/* Of further words it is not known what they are. */
#define WORDS_SEEN SHAPE_WORDS

struct error *interior_init(const struct address_space *space, struct interior *ret)
{
	*ret = (struct interior){.maps = {NULL, 0, 0}};
	struct error *error = search_maps_find(space, &ret->maps);
	for (size_t i = 0; !error && i < ret->maps.len; i++) {
		const struct process_map map = {
			.start = ret->maps.data[i].start, .end = ret->maps.data[i].end};
		if (!process_map_vec_push(&ret->files.maps, map))
			error = error_no_memory();
	}
	return error ? error : mapped_open(&ret->files, POINTERS_ALIGNED, &ret->tables);
}

void interior_deinit(struct interior *interior)
{
	search_map_vec_deinit(&interior->maps);
	process_maps_deinit(&interior->files);
	mapped_close(&interior->tables);
	interior_bits_deinit(&interior->fitting);
}

static bool interior_set(struct interior_bits *bits, uint32_t block)
{
	while (bits->len <= block / 64) {
		if (!interior_bits_push(bits, 0))
			return false;
	}
	bits->data[block / 64] |= 1ull << block % 64;
	return true;
}

/* Whether a word after the first one may lead to a vtable, too. */
static bool has_second_table(
	struct interior *interior, uint64_t size, const uint8_t *bytes, size_t len)
{
	size_t words = (len < size ? len : (size_t)size) / 8;
	for (size_t i = 1; i < words && i < WORDS_SEEN; i++) {
		uint64_t word;
		memcpy(&word, bytes + 8 * i, 8);
		if (word && mapped_has(&interior->tables, word))
			return true;
	}
	return size / 8 > words || words > WORDS_SEEN;
}

/* Whether any heuristic fits what is in a block. */
static bool interior_fits(struct interior *interior, const struct heap *heap,
	const struct heap_block *block, const uint8_t *bytes, size_t len)
{
	uint64_t first[2] = {0};
	if (len < sizeof(first))
		return true;
	memcpy(first, bytes, sizeof(first));
	/* Lengths and numbers of elements are less than what they are of: most blocks begin with
	 * something else. */
	if (first[0] >= block->size)
		return mapped_has(&interior->tables, first[0]) &&
		       has_second_table(interior, block->size, bytes, len);
	/* No text, or NULL. */
	if (!first[0] && first[1] >= block->size)
		return false;
	struct search_requested asked = heap_requested_size(heap, block->address, block->size);
	return heuristics_fit_number(&asked, first[0]) ||
	       heuristics_fit_string(&asked, first[0], first[1]);
}

bool interior_take(struct interior *interior, const struct heap *heap, uint32_t number,
	const struct heap_block *block, const uint8_t *bytes, size_t len)
{
	return !interior_fits(interior, heap, block, bytes, len) ||
	       interior_set(&interior->fitting, number);
}

bool interior_append(struct interior *interior, uint32_t before, const struct interior *after)
{
	bool ok = true;
	for (uint32_t word = 0; word < after->fitting.len; word++) {
		for (uint64_t left = after->fitting.data[word]; ok && left; left &= left - 1)
			ok = interior_set(&interior->fitting,
				before + 64 * word + (uint32_t)__builtin_ctzll(left));
	}
	return ok;
}

static bool is_fitting(const struct interior *interior, uint32_t block)
{
	return block / 64 < interior->fitting.len &&
	       interior->fitting.data[block / 64] >> block % 64 & 1;
}

/* Whether the block begins with a pointer, and has one there: to vtables, maybe. */
static bool has_pointers(const struct heap_scan *s, uint32_t block, uint64_t into)
{
	const struct heap_shape_vec *classes = &s->classes.classes;
	uint64_t pointers = classes->data[block_first_shape(s->search, block)].key.pointers;
	/* Of further ones only the size is known. */
	return heap_shapes_are_full(&s->classes) ||
	       (pointers & 1 && (into / 8 >= SHAPE_WORDS || pointers >> into / 8 & 1));
}

/* Exactly, where a recording says it. */
static struct search_requested asked_of(const struct heap_scan *s, uint32_t block)
{
	uint64_t address = search_block_address(s->search, block);
	uint64_t size = search_block_size(s->search, block), known;
	if (s->asked.of && s->asked.of(s->asked.context, address, size, &known))
		return (struct search_requested){known, known, known};
	return heap_requested_size(&s->heap, address, size);
}

bool interior_may_explain(
	void *context, uint32_t block, uint64_t into, struct search_requested *asked)
{
	const struct heap_scan *s = context;
	if (!is_fitting(&s->interior, block) ||
		(into != 8 && into != 24 && !has_pointers(s, block, into)))
		return false;
	*asked = asked_of(s, block);
	return true;
}

enum search_heuristic interior_explain(const struct heap_scan *scan, uint32_t block, uint64_t into)
{
	struct search_requested asked = asked_of(scan, block);
	return search_explain(scan->search, block, into, &asked);
}
