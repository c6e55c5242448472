/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/block_slack.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/blocks/window.h"

/* Of a type this many blocks must be known, and at most one of this many may have a pointer there.
 */
#define BLOCKS_LEAST 4u
#define POINTERS_RARE 4u
#define POINTERS_SOME 3u
/* glibc's malloc, on machines of 64 bits: what a chunk has beside its block, to what it is rounded,
 * and the smallest. */
#define CHUNK_HEAD 8u
#define CHUNK_STEP 16u
#define CHUNK_LEAST 32u
#define WORD 8u
/* Blocks that are looked at may lie far from each other. */
#define PIECE_BYTES (16u << 10)

struct tail {
	uint32_t block, type;
};
DEFINE_VEC(tail_vec, struct tail)

struct count {
	uint32_t blocks, pointers;
	uint32_t others; /* words that are not NULL, and lead to no block's start */
};

struct cutting {
	struct heap_scan *scan;
	uint64_t *sizes;       /* by type; 0: not known */
	struct count *counts;  /* by type */
	struct tail_vec tails; /* that have a pointer */
};

/* Whether malloc() returns that much for a request of `size`, and one word more than it needs. */
static bool has_tail(uint64_t size, uint64_t usable)
{
	uint64_t chunk = (size + CHUNK_HEAD + CHUNK_STEP - 1) & ~(uint64_t)(CHUNK_STEP - 1);
	if (chunk < CHUNK_LEAST)
		chunk = CHUNK_LEAST;
	return size && chunk == usable + CHUNK_HEAD && size + WORD <= usable;
}

/* Of blocks of a type by debug information; 0: it says nothing of where they end. */
static uint64_t block_slack_size_of(const struct heap_scan *s, const struct heap_type *type)
{
	bool is_sized = type->kind == HEAP_TYPE_INFERRED || type->kind == HEAP_TYPE_CONTAINER ||
			type->kind == HEAP_TYPE_CXX;
	return is_sized && !type->is_array && type->layout != TYPE_VOID
		       ? types_get(s->layouts.types, type->layout)->size
		       : 0;
}

/* The type that a block is of itself, or says to be by its table of functions; HEAP_TYPE_NONE:
 * none. */
static uint32_t block_slack_type_of(const struct heap_scan *s, uint32_t block)
{
	struct block_label label = block_label(s->search, block);
	uint32_t type = heap_types_of_label(&s->types, label);
	bool is_own = heap_types_shape(&s->types, label) == HEAP_SHAPE_NONE ||
		      (type != HEAP_TYPE_NONE && s->types.types.data[type].kind == HEAP_TYPE_CXX);
	return is_own ? type : HEAP_TYPE_NONE;
}

static bool block_slack_look_at(struct cutting *c, struct window *window, uint32_t block)
{
	const struct heap_scan *s = c->scan;
	uint32_t type = block_slack_type_of(s, block);
	if (type == HEAP_TYPE_NONE)
		return true;
	uint64_t usable = search_block_size(s->search, block), offset, word;
	if (!has_tail(c->sizes[type], usable))
		return true;
	uint64_t address = search_block_address(s->search, block);
	const struct heap_area *area = heap_areas_find(&s->heap.areas, address);
	if (!area || area->allocator != HEAP_GLIBC)
		return true;
	uint64_t at = address + usable - WORD;
	const uint8_t *bytes = window_at(window, at, WORD, at + PIECE_BYTES);
	if (!bytes)
		return true;
	c->counts[type].blocks++;
	memcpy(&word, bytes, WORD);
	bool is_pointer = search_block_at(s->search, word, &offset) != SPACE_NONE;
	c->counts[type].others += word && !(is_pointer && !offset);
	if (!is_pointer)
		return true;
	c->counts[type].pointers++;
	return tail_vec_push(&c->tails, (struct tail){block, type});
}

/* Where many lead to blocks, or some do and all others are NULL, that is a member, of what derives
 * from the type or begins with it: what is left over from others is of all kinds. */
static bool is_stale_word(const struct cutting *c, uint32_t type)
{
	const struct count *count = &c->counts[type];
	enum heap_type_kind kind = c->scan->types.types.data[type].kind;
	bool is_subset = count->blocks < BLOCKS_LEAST;
	bool is_member = (count->pointers >= POINTERS_SOME && !count->others) ||
			 (!is_subset && count->pointers > count->blocks / POINTERS_RARE);
	return kind == HEAP_TYPE_CONTAINER || (!is_member && (kind == HEAP_TYPE_CXX || !is_subset));
}

static struct error *block_slack_cut_cut(struct cutting *c)
{
	struct heap_scan *s = c->scan;
	for (size_t i = 0; i < c->tails.len; i++) {
		struct tail tail = c->tails.data[i];
		if (!is_stale_word(c, tail.type))
			continue;
		uint32_t layout = s->types.types.data[tail.type].layout;
		search_ignore_tail(
			s->search, tail.block, types_get(s->layouts.types, layout)->size);
		if (!space_u32_push(&s->cut, tail.block))
			return error_no_memory();
	}
	return NULL;
}

struct error *block_slack_cut(struct heap_scan *scan)
{
	struct cutting c = {.scan = scan};
	_cleanup_(window_cleanup) struct window window;
	struct error *error = window_open(scan->heap.space, &window);
	if (error || !scan->layouts.types)
		return error;
	size_t types = scan->types.types.len;
	c.counts = calloc(types + 1, sizeof(*c.counts));
	c.sizes = calloc(types + 1, sizeof(*c.sizes));
	bool ok = c.counts && c.sizes;
	for (size_t i = 0; ok && i < types; i++)
		c.sizes[i] = block_slack_size_of(scan, &scan->types.types.data[i]);
	uint32_t blocks = search_block_count(scan->search);
	for (uint32_t block = 0; block < blocks && ok; block++)
		ok = block_slack_look_at(&c, &window, block);
	error = ok ? block_slack_cut_cut(&c) : error_no_memory();
	free(c.counts);
	free(c.sizes);
	tail_vec_deinit(&c.tails);
	return error;
}

bool block_slack_may_have(const struct heap_scan *scan, uint32_t block, uint32_t type)
{
	const struct heap_scan *s = scan;
	uint64_t usable = search_block_size(s->search, block), offset, word;
	uint64_t address = search_block_address(s->search, block);
	return s->layouts.types &&
	       has_tail(block_slack_size_of(s, &s->types.types.data[type]), usable) &&
	       address_space_word(s->heap.space, address + usable - WORD, &word) &&
	       search_block_at(s->search, word, &offset) != SPACE_NONE;
}

bool block_slack_is_cut(const struct heap_scan *scan, uint32_t block)
{
	size_t low = 0, high = scan->cut.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (scan->cut.data[middle] < block)
			low = middle + 1;
		else
			high = middle;
	}
	return low < scan->cut.len && scan->cut.data[low] == block;
}
