/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/interior.h"

#include <string.h>

#include "heap/asked.h"
#include "heap/survey.h"

void interior_deinit(struct interior *interior)
{
	search_map_vec_deinit(&interior->maps);
	interior_bits_deinit(&interior->counts);
}

static bool set(struct interior_bits *bits, uint32_t block)
{
	while (bits->len <= block / 64) {
		if (!interior_bits_push(bits, 0))
			return false;
	}
	bits->data[block / 64] |= 1ull << block % 64;
	return true;
}

bool interior_take(
	struct interior *interior, uint32_t block, uint64_t size, const uint8_t *bytes, size_t len)
{
	uint64_t first = 0;
	if (len >= sizeof(first))
		memcpy(&first, bytes, sizeof(first));
	return first >= size || set(&interior->counts, block);
}

bool interior_append(struct interior *interior, uint32_t before, const struct interior *behind)
{
	bool ok = true;
	for (uint32_t word = 0; word < behind->counts.len; word++) {
		for (uint64_t left = behind->counts.data[word]; ok && left; left &= left - 1)
			ok = set(&interior->counts,
				before + 64 * word + (uint32_t)__builtin_ctzll(left));
	}
	return ok;
}

/* Lengths, capacities and numbers of elements are less than what they are of. */
static bool has_count(const struct interior *interior, uint32_t block)
{
	return block / 64 < interior->counts.len &&
	       interior->counts.data[block / 64] >> block % 64 & 1;
}

/* Whether the block begins with a pointer, and has one there: to vtables, maybe. */
static bool has_pointers(const struct survey *s, uint32_t block, uint64_t into)
{
	const struct heap_class_vec *classes = &s->classes.classes;
	uint64_t pointers = classes->data[search_block_first_site(s->search, block)].key.pointers;
	/* Of further ones only the size is known. */
	return classes->len >= CLASSES_MAX ||
	       (pointers & 1 && (into / 8 >= CLASS_WORDS || pointers >> into / 8 & 1));
}

/* Exactly, where a recording says it. */
static struct search_asked asked_of(const struct survey *s, uint32_t block)
{
	uint64_t address = search_block_address(s->search, block);
	uint64_t size = search_block_size(s->search, block), known;
	if (s->asked.of && s->asked.of(s->asked.context, address, size, &known))
		return (struct search_asked){known, known, known};
	return heap_asked(&s->heap, address, size);
}

bool interior_may_explain(void *context, uint32_t block, uint64_t into, struct search_asked *asked)
{
	const struct survey *s = context;
	bool behind_count = (into == 8 || into == 24) && has_count(&s->interior, block);
	if (!behind_count && !has_pointers(s, block, into))
		return false;
	*asked = asked_of(s, block);
	return true;
}

enum search_heuristic interior_explain(const struct survey *survey, uint32_t block, uint64_t into)
{
	struct search_asked asked = asked_of(survey, block);
	return search_explain(survey->search, block, into, &asked);
}
