/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/scan/stale_words.h"

#include <stdlib.h>

#include "heap/inferred.h"

/* The words of short strings in a block's first SHAPE_WORDS. */
static uint64_t mask_of(struct types *types, const struct heap_type *type)
{
	struct word_map map;
	uint64_t size = types_get(types, type->layout)->size, mask = 0;
	inferred_word_map(types, types_plain(types, type->layout), &map);
	if (!map.texts || !type->is_array || !size || size % 8)
		return map.texts;
	for (uint64_t at = type->header / 8; at < SHAPE_WORDS; at += size / 8)
		mask |= map.texts << at;
	return mask;
}

struct error *stale_words_open(struct heap_scan *scan)
{
	struct stale_words *left = &scan->left;
	const struct heap_type_vec *types = &scan->types.types;
	for (size_t i = 0; scan->layouts.types && i < types->len; i++) {
		const struct heap_type *type = &types->data[i];
		uint64_t mask = type->layout == TYPE_VOID ? 0 : mask_of(scan->layouts.types, type);
		if (!mask)
			continue;
		if (!left->masks) {
			uint32_t blocks = search_block_count(scan->search);
			left->masks = calloc(types->len, sizeof(*left->masks));
			left->blocks = calloc(blocks / 64 + 1, sizeof(*left->blocks));
		}
		if (!left->masks || !left->blocks)
			return error_no_memory();
		left->masks[i] = mask;
	}
	return NULL;
}

void stale_words_close(struct stale_words *left)
{
	free(left->masks);
	free(left->blocks);
	*left = (struct stale_words){.masks = NULL};
}

void stale_words_take_block(struct heap_scan *scan, uint32_t block, uint64_t mask)
{
	const struct heap_shapes *classes = &scan->classes;
	const struct heap_shape *of =
		&classes->classes.data[block_first_shape(scan->search, block)];
	/* Of further ones, and of what is after those words, only the size is known. */
	bool is_known = !heap_shapes_are_full(classes) && of->key.size <= 8ul * SHAPE_WORDS;
	if (!is_known || of->key.pointers & mask)
		scan->left.blocks[block / 64] |= 1ull << block % 64;
}

bool stale_words_has(const struct heap_scan *scan, uint32_t block)
{
	const uint64_t *blocks = scan->left.blocks;
	return (blocks && blocks[block / 64] >> block % 64 & 1) ||
	       heap_types_vector_end(&scan->types, block) ||
	       heap_types_table_part(&scan->types, block);
}
