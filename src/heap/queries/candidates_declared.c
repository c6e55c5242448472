/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who points to a block may be declared to point to a type, or to what that begins with, though
 * that alone did not say what the block is: of the looked at blocks all such words are counted.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "heap/queries/candidates_check.h"
#include "search/graph.h"

/* This many blocks that point to some are read, up to this many bytes of each. */
#define HOLDERS_MOST 4096u
#define PIECE_WORDS 512u
#define HOLDER_BYTES (1u << 16)

struct asking {
	struct candidate_check *j;
	uint64_t *set; /* bit set of blocks: the samples */
	unsigned holders;
};

static bool is_asked(const struct asking *a, uint32_t edge)
{
	return !(edge & GRAPH_INTERIOR) && a->set[edge / 64] >> edge % 64 & 1;
}

/* A pointer to one of the blocks is so far in a type. */
static void candidates_declared_take_word(struct asking *a, uint32_t type, uint64_t offset)
{
	struct types *types = a->j->types;
	struct types_place place;
	types_locate(types, type, offset, &place, NULL);
	if (types_get(types, place.type)->kind != TYPE_POINTER || place.into)
		return;
	uint32_t target = types_plain(types, types_target(types, place.type));
	if (!type_has_members(types_get(types, target)))
		return;
	for (size_t i = 0; i < a->j->found->len; i++) {
		struct candidate *c = &a->j->found->data[i];
		if (!c->header && types_begins_with(types, c->type, target))
			c->declared_by++;
	}
}

static void look_through(struct asking *a, uint32_t holder)
{
	const struct heap_scan *s = a->j->scan;
	struct heap_layout layout;
	if (!heap_layout_of(s, holder, &layout) || a->holders++ >= HOLDERS_MOST)
		return;
	uint64_t start = search_block_address(s->search, holder), words[PIECE_WORDS], into;
	uint64_t size = layout.header + layout.count * layout.size;
	size = size < HOLDER_BYTES ? size : HOLDER_BYTES;
	for (uint64_t at = 0; at + 8 <= size; at += sizeof(words)) {
		uint64_t left = size - at;
		size_t wanted = left < sizeof(words) ? (size_t)left & ~7ul : sizeof(words);
		size_t got = address_space_read(s->heap.space, start + at, words, wanted) / 8;
		for (size_t i = 0; i < got; i++) {
			uint64_t offset = at + 8 * i - layout.header;
			uint32_t block = at + 8 * i < layout.header
						 ? SPACE_NONE
						 : search_block_at(s->search, words[i], &into);
			if (block != SPACE_NONE && !into && is_asked(a, block))
				candidates_declared_take_word(a, layout.type, offset % layout.size);
		}
	}
}

static void look_at_blocks(struct asking *a)
{
	const struct graph *graph = search_graph(a->j->scan->search);
	uint32_t count = search_block_count(a->j->scan->search);
	for (uint32_t block = 0; block < count && a->holders < HOLDERS_MOST; block++) {
		uint32_t i = graph_edges(graph, block), end = graph_edges_end(graph, block);
		while (i < end && !is_asked(a, graph->edges.data[i]))
			i++;
		if (i < end)
			look_through(a, block);
	}
}

static void look_at_roots(struct asking *a)
{
	const struct heap_scan *s = a->j->scan;
	const struct graph_roots *roots = &search_graph(s->search)->roots;
	for (size_t i = 0; i < roots->len; i++) {
		const struct graph_root *word = &roots->data[i];
		struct heap_global global;
		if (is_asked(a, word->edge) && s->roots.data[word->root].kind == HEAP_ROOT_DATA &&
			heap_layouts_global(s, word->address, &global))
			candidates_declared_take_word(a, global.variable.type, global.offset);
	}
}

bool candidates_find_declared(struct candidate_check *candidate_check)
{
	uint32_t count = search_block_count(candidate_check->scan->search);
	_cleanup_free_ uint64_t *set = calloc(count / 64 + 1, sizeof(*set));
	struct asking a = {.j = candidate_check, .set = set};
	if (!set)
		return false;
	for (uint32_t i = 0; i < candidate_check->count; i++)
		set[candidate_check->samples[i].block / 64] |=
			1ull << candidate_check->samples[i].block % 64;
	look_at_roots(&a);
	look_at_blocks(&a);
	return true;
}
