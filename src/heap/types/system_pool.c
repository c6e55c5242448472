/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory that libstdc++ keeps for exceptions when there is no other (libsupc++/eh_alloc.cc):
 * its pool's data are the first free piece, the memory, and its size; each free piece has its size
 * and the next one, by address.
 */
#include <string.h>

#include "base/cleanup.h"
#include "heap/blocks/window.h"
#include "heap/heap_scan.h"
#include "heap/types/recognisers.h"
#include "search/graph.h"

enum { POOL_FREE, POOL_MEMORY, POOL_SIZE, POOL_WORDS };
#define POOL_LEAST 4096u
#define POOL_SPARE_MOST 8192u
#define PIECE_LEAST 16u

/* libstdc++ itself, or a program that has it in it and says so by a symbol. */
static struct error *is_of_library(struct heap_scan *s, uint64_t address, bool *ret)
{
	const struct address_module *module = address_space_module(s->heap.space, address);
	*ret = module && strstr(module->path, "libstdc++.so");
	if (!module || *ret)
		return NULL;
	struct heap_place place;
	struct error *error = heap_names_place(s->names, s->heap.space, address, &place);
	*ret = !error && place.name && strstr(place.name, "emergency_pool");
	return error;
}

/* All free pieces are in the memory, one after another. */
static bool has_pieces(const struct address_space *space, const uint64_t pool[static POOL_WORDS])
{
	uint64_t end = pool[POOL_MEMORY] + pool[POOL_SIZE], after = pool[POOL_MEMORY];
	for (uint64_t at = pool[POOL_FREE]; at;) {
		uint64_t piece[2]; /* size, next */
		if (at < after || at >= end ||
			address_space_read(space, at, piece, sizeof(piece)) != sizeof(piece) ||
			piece[0] < PIECE_LEAST || piece[0] > end - at)
			return false;
		after = at + piece[0];
		at = piece[1];
	}
	return true;
}

struct error *system_pool_recognise(struct heap_scan *scan, struct inferred_subset *subset)
{
	struct heap_scan *s = scan;
	(void)subset;
	const struct address_space *space = s->heap.space;
	const struct graph *graph = search_graph(s->search);
	struct error *error = NULL;
	for (size_t i = 0; i < graph->roots.len && !error; i++) {
		const struct graph_root *word = &graph->roots.data[i];
		uint32_t block = GRAPH_BLOCK(word->edge), type;
		uint64_t size = search_block_size(s->search, block), pool[POOL_WORDS];
		if (word->edge & GRAPH_INTERIOR || size < POOL_LEAST ||
			s->roots.data[word->root].kind != HEAP_ROOT_DATA ||
			address_space_read(space, word->address - 8, pool, sizeof(pool)) !=
				sizeof(pool) ||
			pool[POOL_SIZE] > size || size - pool[POOL_SIZE] > POOL_SPARE_MOST ||
			pool[POOL_SIZE] < POOL_LEAST || !has_pieces(space, pool))
			continue;
		bool is_pool;
		error = is_of_library(s, word->address, &is_pool);
		struct block_label label = block_label(s->search, block);
		if (error || !is_pool || heap_types_of_label(&s->types, label) != HEAP_TYPE_NONE)
			continue;
		error = heap_types_add(
			&s->types, HEAP_TYPE_SYSTEM, "libstdc++'s emergency pool", &type);
		if (!error)
			block_set_label(s->search, block, heap_types_label(&s->types, type));
	}
	return error;
}
