/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Goes from block to block, each once. Where the class of a block says how many pointers it has,
 * and so many edges leave it, the n-th edge is the n-th pointer and memory need not be read.
 */
#include <stdlib.h>
#include <string.h>

#include "heap/inferred_find.h"

/* Elements that are larger are not gone through. */
#define ELEMENT_MOST (1u << 20)

static bool claim_at(struct inferring *f, uint64_t address, uint32_t type)
{
	uint64_t offset;
	uint32_t block = search_block_at(f->search, address, &offset);
	if (block == SPACE_NONE)
		return false;
	return offset ? inferred_claim_counted(f, block, offset, type)
		      : inferred_claim(f, block, type);
}

/* A block whose members are followed. */
struct following {
	uint32_t block;
	bool is_family; /* the nodes that its links lead to are known */
	struct fact *fact;
};

static bool is_idle(const struct following *b, size_t slot)
{
	const struct slot *of = &b->fact->slots.data[slot];
	if (of->is_node)
		return of->is_link && b->is_family;
	return slot < SLOTS_WATCHED && b->fact->idle[slot] >= IDLE_MOST;
}

static void watch(struct fact *fact, size_t slot, bool is_news)
{
	if (slot < SLOTS_WATCHED)
		fact->idle[slot] = is_news ? 0 : (uint16_t)(fact->idle[slot] + 1);
}

static bool all_are_idle(const struct following *b)
{
	for (size_t slot = 0; slot < b->fact->slots.len; slot++) {
		if (!is_idle(b, slot))
			return false;
	}
	return true;
}

/* Whether edges are pointers of the block's class. Others' are words that are no multiple of 8. */
static bool are_pointers(const struct graph *graph, uint32_t from, uint32_t end)
{
	for (uint32_t i = from; i < end; i++) {
		if (graph->edges.data[i] & GRAPH_INTERIOR && graph_offset(graph, i) % 8)
			return false;
	}
	return true;
}

static bool claim_edge(struct inferring *f, uint32_t number, uint32_t type)
{
	uint32_t edge = f->graph->edges.data[number];
	return edge & GRAPH_INTERIOR ? inferred_claim_counted(f, GRAPH_BLOCK(edge),
					       graph_offset(f->graph, number), type)
				     : inferred_claim(f, edge, type);
}

/* The edges of a block as the pointers of its class; false: they are not the same ones. */
static bool follow_edges(struct inferring *f, const struct following *b)
{
	const struct slot_vec *slots = &b->fact->slots;
	uint32_t class = search_block_first_site(f->search, b->block);
	uint32_t from = f->graph->heads.data[b->block], end = graph_edges_end(f->graph, b->block);
	uint64_t pointers = f->survey->classes.classes.data[class].key.pointers;
	if (search_block_size(f->search, b->block) > 8ull * CLASS_WORDS ||
		end - from != (uint32_t)__builtin_popcountll(pointers) ||
		!are_pointers(f->graph, from, end))
		return false;
	size_t slot = 0;
	for (uint32_t i = from; i < end; i++, pointers &= pointers - 1) {
		uint64_t offset = 8 * (uint64_t)__builtin_ctzll(pointers);
		while (slot < slots->len && slots->data[slot].offset < offset)
			slot++;
		if (slot == slots->len)
			break;
		if (slots->data[slot].offset == offset && !is_idle(b, slot))
			watch(b->fact, slot, claim_edge(f, i, slots->data[slot].target));
	}
	return true;
}

/* Its memory, where that is gone through in order anyway. */
static void follow_window(struct inferring *f, const struct following *b, struct in_order *in_order)
{
	const struct slot_vec *slots = &b->fact->slots;
	uint64_t address = space_walk_address(&in_order->walk);
	size_t size = (size_t)b->fact->size;
	const uint8_t *bytes = size <= WINDOW_BYTES ? window_at(&in_order->window, address, size,
							      f->graph->space->high)
						    : NULL;
	for (size_t slot = 0; bytes && slot < slots->len && !f->failed; slot++) {
		uint64_t word, offset = slots->data[slot].offset;
		if (offset > size - 8 || is_idle(b, slot))
			continue;
		memcpy(&word, bytes + offset, 8);
		watch(b->fact, slot, claim_at(f, word, slots->data[slot].target));
	}
}

static void follow_bytes(
	struct inferring *f, const uint8_t *bytes, size_t len, const struct fact *fact)
{
	for (size_t i = 0; i < fact->slots.len && !f->failed; i++) {
		const struct slot *slot = &fact->slots.data[i];
		uint64_t word;
		if (slot->offset > len || len - slot->offset < 8)
			continue;
		memcpy(&word, bytes + slot->offset, 8);
		claim_at(f, word, slot->target);
	}
}

/* The elements of an array by large pieces. */
static void follow_memory(struct inferring *f, uint64_t address, uint64_t size, uint64_t count,
	const struct fact *fact)
{
	uint64_t piece = size < 65536 ? 65536 / size : 1;
	if (size > ELEMENT_MOST)
		return;
	if (!f->buffer)
		f->buffer = malloc(ELEMENT_MOST);
	f->failed |= !f->buffer;
	for (uint64_t at = 0; at < count && f->reads && f->elements && !f->failed; at += piece) {
		uint64_t elements = count - at < piece ? count - at : piece;
		uint8_t *bytes = f->buffer;
		size_t got = address_space_read(f->survey->heap.space, address + at * size, bytes,
			(size_t)(elements * size));
		f->reads--;
		for (uint64_t i = 0; i < elements && i * size < got && f->elements; i++) {
			f->elements--;
			follow_bytes(f, bytes + i * size, got - i * size, fact);
		}
	}
}

const struct slot *inferred_slot_in(
	struct inferring *inferring, const struct fact *fact, bool is_array, uint64_t offset)
{
	struct fact *element = NULL;
	if (!is_array && fact->open != TYPE_VOID && offset >= fact->open_at)
		element = inferred_fact(inferring, fact->open);
	if (element && element->size)
		return inferred_slot_at(&element->slots, (offset - fact->open_at) % element->size);
	return inferred_slot_at(&fact->slots, is_array ? offset % fact->size : offset);
}

/* The elements of an array without an end, as many as there is room for. False: there are some, but
 * no more may be read. */
static bool follow_open_end(struct inferring *f, uint32_t block, const struct fact *fact)
{
	uint64_t usable = search_block_size(f->search, block);
	struct fact *of = fact->open == TYPE_VOID ? NULL : inferred_fact(f, fact->open);
	uint64_t count = of && of->size && of->slots.len && usable > fact->open_at
				 ? (usable - fact->open_at) / of->size
				 : 0;
	if (count && f->reads)
		follow_memory(f, search_block_address(f->search, block) + fact->open_at, of->size,
			count, of);
	return !count || f->reads;
}

/* For the next time that blocks are gone through in order. */
static void leave(struct inferring *f, uint32_t block)
{
	f->is_done[block / 64] &= ~(1ull << block % 64);
	inferred_set_bit(f->is_left, block);
	f->has_settled = true;
}

void inferred_follow(struct inferring *inferring, uint32_t block, struct in_order *in_order)
{
	struct inferring *f = inferring;
	const struct heap_types *types = &f->survey->types;
	uint32_t site = search_block_site(f->search, block);
	uint32_t number = heap_types_of_site(types, site);
	if (inferred_bit(f->is_done, block) || number == HEAP_TYPE_NONE)
		return;
	inferred_set_bit(f->is_done, block);
	uint32_t layout = types->types.data[number].layout;
	bool is_array = types->types.data[number].is_array;
	struct fact *fact = layout == TYPE_VOID ? NULL : inferred_fact(f, layout);
	if (!fact || (!fact->slots.len && fact->open == TYPE_VOID) || !fact->size)
		return;
	if (is_array && inferred_is_deque_table(&types->types.data[number])) {
		inferred_follow_deque(f, block, fact);
		return;
	}
	struct following b = {block, site >= HEAP_FAMILY_SITES, fact};
	uint64_t usable = search_block_size(f->search, block), size = fact->size;
	uint64_t header = types->types.data[number].header;
	uint64_t count = is_array ? (usable - header) / size : 1;
	if (!is_array && !follow_open_end(f, block, fact))
		leave(f, block);
	if (!is_array && (all_are_idle(&b) || follow_edges(f, &b)))
		return;
	if (in_order && !is_array && size >= 8 && size <= usable)
		follow_window(f, &b, in_order);
	else if (f->reads)
		follow_memory(
			f, search_block_address(f->search, block) + header, size, count, fact);
	else
		leave(f, block);
}

/* What it is as a whole nobody has said; its first members are those of the type anyway. */
static void follow_beginning(struct inferring *f)
{
	struct beginning beginning = f->beginnings.data[--f->beginnings.len];
	struct fact *fact = inferred_fact(f, beginning.type);
	struct following b = {beginning.block, false, fact};
	f->basis = beginning.basis;
	if (fact && fact->slots.len && !follow_edges(f, &b))
		follow_memory(
			f, search_block_address(f->search, beginning.block), fact->size, 1, fact);
}

void inferred_push_beginning(struct inferring *inferring, uint32_t block, uint32_t type)
{
	struct inferring *f = inferring;
	if (inferred_bit(f->is_begun, block))
		return;
	inferred_set_bit(f->is_begun, block);
	f->failed |= !beginnings_push(&f->beginnings, (struct beginning){block, type, f->basis});
}

/* Without reads beginnings wait for the next time, with what is known of them. */
void inferred_follow_all(struct inferring *inferring)
{
	struct inferring *f = inferring;
	enum inferred_basis basis = f->basis;
	while (!f->failed) {
		if (f->work.len)
			inferred_follow(f, f->work.data[--f->work.len], NULL);
		else if (f->beginnings.len && f->reads)
			follow_beginning(f);
		else
			break;
	}
	f->has_settled |= f->beginnings.len != 0;
	f->basis = basis;
}
