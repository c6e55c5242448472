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
	if (!error)
		error = page_cache_open(space, &ret->pages);
	return error ? error : mapped_open(&ret->files, POINTERS_ALIGNED, &ret->tables);
}

void interior_deinit(struct interior *interior)
{
	search_map_vec_deinit(&interior->maps);
	process_maps_deinit(&interior->files);
	mapped_close(&interior->tables);
	interior_bits_deinit(&interior->fitting);
	interior_bits_deinit(&interior->noted);
	interior_words_deinit(&interior->notes);
	interior_words_deinit(&interior->before);
	page_cache_close(&interior->pages);
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

static bool interior_has(const struct interior_bits *bits, uint32_t block)
{
	return block / 64 < bits->len && bits->data[block / 64] >> block % 64 & 1;
}

static size_t read_paged(void *context, uint64_t address, void *ret, size_t bytes)
{
	return page_cache_read(context, address, ret, bytes);
}

static bool is_table(struct interior *interior, uint64_t word)
{
	size_t slot = (word >> 3 ^ word >> 11) % INTERIOR_TABLES_RECENT;
	if (interior->recent[slot].word != word) {
		const struct search_memory memory = {&interior->pages, read_paged, NULL};
		const struct heuristics rules = {&memory, SEARCH_MULTIPLEINHERITANCE,
			interior->maps.data, interior->maps.len};
		interior->recent[slot].word = word;
		interior->recent[slot].is_table = heuristics_is_vtable(&rules, word);
	}
	return interior->recent[slot].is_table;
}

/* Notes which words of a block lead to vtables. Its first word is more than lengths and numbers of
 * elements are, so that no other heuristic fits it. */
static bool interior_note(struct interior *interior, uint32_t number,
	const struct heap_block *block, const uint8_t *bytes, size_t len)
{
	uint64_t words = block->size / 8;
	uint32_t note = 0;
	if (words > INTERIOR_WORDS_MOST || len < 8 * words)
		return true;
	for (size_t i = 0; i < words; i++) {
		uint64_t word;
		memcpy(&word, bytes + 8 * i, 8);
		if (word && mapped_has(&interior->tables, word) && is_table(interior, word))
			note |= 1u << i;
	}
	return interior_set(&interior->noted, number) &&
	       interior_words_push(&interior->notes, note);
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

/* Whether a heuristic for what begins with numbers fits a block. */
static bool numbers_fit(
	const struct heap *heap, const struct heap_block *block, const uint64_t first[2])
{
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
	uint64_t first[2];
	if (len < sizeof(first))
		return interior_set(&interior->fitting, number);
	memcpy(first, bytes, sizeof(first));
	/* Lengths and numbers of elements are less than what they are of: most blocks begin with
	 * something else. */
	if (first[0] < block->size)
		return !numbers_fit(heap, block, first) || interior_set(&interior->fitting, number);
	return !mapped_has(&interior->tables, first[0]) ||
	       !has_second_table(interior, block->size, bytes, len) ||
	       (interior_set(&interior->fitting, number) &&
		       interior_note(interior, number, block, bytes, len));
}

/* Adds the blocks of a set, which are numbered from `before` on. */
static bool append_bits(
	struct interior_bits *bits, uint32_t before, const struct interior_bits *after)
{
	bool ok = true;
	for (uint32_t word = 0; word < after->len; word++) {
		for (uint64_t left = after->data[word]; ok && left; left &= left - 1)
			ok = interior_set(
				bits, before + 64 * word + (uint32_t)__builtin_ctzll(left));
	}
	return ok;
}

bool interior_append(struct interior *interior, uint32_t before, const struct interior *after)
{
	bool ok = append_bits(&interior->fitting, before, &after->fitting) &&
		  append_bits(&interior->noted, before, &after->noted);
	for (size_t i = 0; i < after->notes.len && ok; i++)
		ok = interior_words_push(&interior->notes, after->notes.data[i]);
	return ok;
}

bool interior_finish(struct interior *interior)
{
	uint32_t notes = 0;
	bool ok = true;
	for (size_t i = 0; i < interior->noted.len && ok; i++) {
		ok = interior_words_push(&interior->before, notes);
		notes += (uint32_t)__builtin_popcountll(interior->noted.data[i]);
	}
	page_cache_close(&interior->pages);
	return ok;
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

static uint32_t note_of(const struct interior *interior, uint32_t block)
{
	uint64_t before = interior->noted.data[block / 64] & ((1ull << block % 64) - 1);
	return interior->notes
		.data[interior->before.data[block / 64] + (uint32_t)__builtin_popcountll(before)];
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

enum search_chance interior_may_explain(
	void *context, uint32_t block, uint64_t into, struct search_requested *asked)
{
	const struct heap_scan *s = context;
	const struct interior *interior = &s->interior;
	uint64_t size = asked->most;
	if (!interior_has(&interior->fitting, block) ||
		(into != 8 && into != 24 && !has_pointers(s, block, into)))
		return SEARCH_NO_CHANCE;
	*asked = asked_of(s, block);
	/* Eight bytes are an array without elements, whatever comes after. */
	if (!interior_has(&interior->noted, block) || asked->most <= 8 || asked->most > size)
		return SEARCH_CHANCE;
	bool is_base = s->heuristics & SEARCH_MULTIPLEINHERITANCE && into % 8 == 0 &&
		       into + 8 <= asked->most && note_of(interior, block) & 1 &&
		       note_of(interior, block) >> into / 8 & 1;
	return is_base ? SEARCH_SURE_BASE : SEARCH_NO_CHANCE;
}

enum search_heuristic interior_explain(const struct heap_scan *scan, uint32_t block, uint64_t into)
{
	struct search_requested asked = asked_of(scan, block);
	return search_explain(scan->search, block, into, &asked);
}
