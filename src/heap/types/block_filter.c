/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/block_filter.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pattern.h"
#include "heap/false_pointers.h"
#include "heap/where.h"
#include "search/graph.h"
#include "symbols/types_spelling.h"

void heap_block_filter_init(struct heap_block_filter *chosen)
{
	*chosen = (struct heap_block_filter){.most = UINT64_MAX};
}

void heap_block_filter_deinit(struct heap_block_filter *chosen)
{
	free(chosen->types);
	free(chosen->holders);
	free(chosen->held);
	heap_block_filter_init(chosen);
}

static struct error *make_types(const struct heap_scan *scan, struct heap_block_filter *chosen)
{
	free(chosen->types);
	chosen->types = calloc(scan->types.types.len + 1, 1);
	chosen->is_asked = true;
	return chosen->types ? NULL : error_no_memory();
}

struct error *heap_block_filter_subtypes(const struct heap_scan *scan,
	const struct subtype_set *types, struct heap_block_filter *chosen)
{
	struct error *error = make_types(scan, chosen);
	for (size_t i = 0; i < types->subtypes.len && !error; i++)
		chosen->types[types->subtypes.data[i].type] = 1;
	return error;
}

/* The name as it is shown, or as one spells it. */
static bool name_fits(const char *pattern, const char *spelled, const char *name)
{
	if (pattern_fits(pattern, name))
		return true;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	types_spell(name, &text);
	return text.data && pattern_fits(spelled, text.data);
}

struct error *heap_block_filter_pattern(const struct heap_scan *scan, const char *pattern,
	struct heap_block_filter *chosen, bool *ret_any)
{
	_cleanup_(text_deinit) struct text spelled;
	text_init(&spelled);
	types_spell(pattern, &spelled);
	*ret_any = false;
	struct error *error = make_types(scan, chosen);
	for (size_t i = 0; i < scan->types.types.len && !error; i++) {
		const struct heap_type *type = &scan->types.types.data[i];
		if (!type->blocks ||
			!name_fits(pattern, spelled.data ? spelled.data : pattern, type->name))
			continue;
		chosen->types[i] = 1;
		*ret_any = true;
	}
	return error;
}

static struct error *make_set(const struct heap_scan *scan, uint64_t **ret)
{
	free(*ret);
	*ret = calloc(search_block_count(scan->search) / 64 + 1, sizeof(**ret));
	return *ret ? NULL : error_no_memory();
}

static void set_add(uint64_t *set, uint32_t block)
{
	set[block / 64] |= 1ull << block % 64;
}

static bool set_has(const uint64_t *set, uint32_t block)
{
	return set[block / 64] >> block % 64 & 1;
}

struct error *heap_block_filter_holders(
	const struct heap_scan *scan, uint64_t address, struct heap_block_filter *chosen)
{
	uint32_t target;
	struct error *error = heap_where_block(scan, address, &target);
	if (!error)
		error = false_pointers_find(scan, NULL);
	if (!error)
		error = make_set(scan, &chosen->holders);
	if (error)
		return error;
	const struct graph *graph = search_graph(scan->search);
	uint32_t count = search_block_count(scan->search);
	chosen->is_asked = true;
	for (uint32_t block = 0; block < count; block++) {
		/* What was cut off leads to its own block. */
		for (uint32_t edge = graph_edges(graph, block);
			edge < graph_edges_end(graph, block) && block != target; edge++) {
			if (GRAPH_BLOCK(graph->edges.data[edge]) == target &&
				!graph_is_false_pointer(graph, edge))
				set_add(chosen->holders, block);
		}
	}
	return NULL;
}

/* What the word at an address outside of blocks points to. */
static struct error *held_by_word(
	const struct heap_scan *scan, uint64_t address, struct heap_block_filter *chosen)
{
	uint64_t word, into;
	if (!address_space_word(scan->heap.space, address, &word))
		return error_create(
			ERROR_INPUT, "0x%" PRIx64 ": nothing can be read there", address);
	uint32_t block = search_block_at(scan->search, word, &into);
	if (block == SPACE_NONE)
		return error_create(ERROR_INPUT,
			"0x%" PRIx64 " is in no block in use, and the word there (0x%" PRIx64
			") points to none",
			address, word);
	set_add(chosen->held, block);
	return NULL;
}

struct error *heap_block_filter_held(
	const struct heap_scan *scan, uint64_t address, struct heap_block_filter *chosen)
{
	uint64_t into;
	struct error *error = false_pointers_find(scan, NULL);
	if (!error)
		error = make_set(scan, &chosen->held);
	if (error)
		return error;
	chosen->is_asked = true;
	uint32_t block = search_block_at(scan->search, address, &into);
	if (block == SPACE_NONE)
		return held_by_word(scan, address, chosen);
	const struct graph *graph = search_graph(scan->search);
	for (uint32_t edge = graph_edges(graph, block); edge < graph_edges_end(graph, block);
		edge++) {
		uint32_t target = GRAPH_BLOCK(graph->edges.data[edge]);
		if (target != block && !graph_is_false_pointer(graph, edge))
			set_add(chosen->held, target);
	}
	return NULL;
}

static bool takes_number(
	const struct heap_block_filter *chosen, const struct heap_scan *scan, uint32_t number)
{
	return (!chosen->types || chosen->types[heap_scan_type_of(scan, number)]) &&
	       (!chosen->kinds || chosen->kinds >> search_kind(scan->search, number) & 1) &&
	       (!chosen->holders || set_has(chosen->holders, number)) &&
	       (!chosen->held || set_has(chosen->held, number));
}

bool heap_block_filter_takes(const struct heap_block_filter *chosen, const struct heap_scan *scan,
	const struct heap_block *block, uint32_t number)
{
	if (!chosen->is_asked)
		return true;
	uint64_t bytes = block->size ? block->size : 1;
	if (block->size < chosen->least || block->size > chosen->most ||
		(chosen->states && !(chosen->states >> block->state & 1)))
		return false;
	if (chosen->has_containing && (chosen->containing < block->address ||
					      chosen->containing - block->address >= bytes))
		return false;
	if (number == SPACE_NONE)
		return !chosen->types && !chosen->kinds && !chosen->holders && !chosen->held;
	return takes_number(chosen, scan, number);
}

bool heap_block_filter_takes_used(
	const struct heap_block_filter *chosen, const struct heap_scan *scan, uint32_t number)
{
	if (!chosen || !chosen->is_asked)
		return true;
	const struct heap_block block = {
		chosen->has_containing ? search_block_address(scan->search, number) : 0,
		search_block_size(scan->search, number), BLOCK_USED};
	return heap_block_filter_takes(chosen, scan, &block, number);
}
