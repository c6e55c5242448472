/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Goes from block to block, each once. Where the class of a block says how many pointers it has,
 * and this many edges leave it, the n-th edge is the n-th pointer and memory need not be read.
 */
#include <stdlib.h>
#include <string.h>

#include "heap/inferred/inferred_find.h"
#include "heap/inferred/inferred_pools.h"

/* What is read at a time. */
#define PIECE_BYTES (64u << 10)
/* Of a hash table this many buckets are asked at a time whether they are full. */
#define TAGS_AT_ONCE 4096u

/* Of the nodes of a BTreeMap those with edges are larger, and begin with one without. */
static uint32_t node_target(struct inferring *f, const struct slot *slot, uint32_t block)
{
	if (slot->internal == TYPE_VOID)
		return slot->target;
	uint64_t size = types_get(f->types, slot->internal)->size;
	return size <= search_block_size(f->search, block) ? slot->internal : slot->target;
}

void inferred_claim_slot(
	struct inferring *inferring, const struct slot *slot, uint64_t word, uint64_t address)
{
	struct inferring *f = inferring;
	if (slot->container.form != RUST_NONE) {
		inferred_claim_container(f, slot, word, address);
		return;
	}
	uint64_t offset;
	uint32_t block = word ? search_block_at(f->search, word, &offset) : SPACE_NONE;
	if (block == SPACE_NONE)
		return;
	if (offset)
		inferred_claim_counted(f, block, offset, slot->target);
	else
		inferred_claim(f, block, node_target(f, slot, block));
}

/* A block whose members are followed. */
struct following {
	uint32_t block;
	bool is_family; /* the nodes that its links lead to are known */
	struct fact *fact;
};

/* Whether a slot leads only to what is known. */
static bool is_idle(const struct following *b, const struct slot *slot)
{
	return slot->is_node && slot->is_link && b->is_family;
}

static bool all_are_idle(const struct following *b)
{
	for (size_t i = 0; i < b->fact->slots.len; i++) {
		if (!is_idle(b, &b->fact->slots.data[i]))
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

static void claim_edge(struct inferring *f, uint32_t number, uint32_t type)
{
	uint32_t edge = f->graph->edges.data[number];
	if (edge & GRAPH_INTERIOR)
		inferred_claim_counted(f, GRAPH_BLOCK(edge), graph_offset(f->graph, number), type);
	else
		inferred_claim(f, edge, type);
}

/* slots_at(), of words that are asked for again and again. */
static const struct slot *slot_at(struct fact *fact, uint64_t offset)
{
	uint64_t word = offset / 8;
	if (offset % 8 || word >= SHAPE_WORDS)
		return slots_at(&fact->slots, offset);
	if (!(fact->words_known >> word & 1))
		fact->words[word] = slots_at(&fact->slots, offset);
	fact->words_known |= 1ull << word;
	return fact->words[word];
}

/* Of so many blocks that a block points to what is asked of them is fetched at once: they may lie
 * anywhere. */
#define AHEAD_POINTERS 8u

/* What claims read of the blocks that edges lead to. */
static void fetch_targets(const struct inferring *f, uint32_t from, uint32_t end)
{
	for (uint32_t i = from; i < end && i < from + AHEAD_POINTERS; i++) {
		uint32_t target = GRAPH_BLOCK(f->graph->edges.data[i]);
		search_prefetch_block(f->search, target);
		prefetch(&f->graph->space->sizes.data[target]);
		graph_prefetch(f->graph, target);
	}
}

/* The edges of a block as the pointers of its class, which is `count` elements from `header` on;
 * false: they are not the same ones. */
static bool follow_edges(
	struct inferring *f, const struct following *b, uint64_t header, uint64_t count)
{
	uint32_t class = block_first_shape(f->search, b->block);
	uint32_t from = graph_edges(f->graph, b->block), end = graph_edges_end(f->graph, b->block);
	uint64_t pointers = f->scan->classes.classes.data[class].key.pointers;
	if (b->fact->has_choices || search_block_size(f->search, b->block) > 8ull * SHAPE_WORDS ||
		end - from != (uint32_t)__builtin_popcountll(pointers) ||
		!are_pointers(f->graph, from, end))
		return false;
	fetch_targets(f, from, end);
	for (uint32_t i = from; i < end; i++, pointers &= pointers - 1) {
		uint64_t at = 8 * (uint64_t)__builtin_ctzll(pointers) - header;
		/* Most are single objects. */
		uint64_t size = b->fact->size, element = at < size ? 0 : at / size;
		const struct slot *slot =
			element < count ? slot_at(b->fact, at - element * size) : NULL;
		if (slot && !is_idle(b, slot))
			claim_edge(f, i, slot->target);
	}
	return true;
}

/* `address`: where the bytes stand. */
static void follow_bytes(struct inferring *f, const uint8_t *bytes, size_t len, uint64_t address,
	const struct following *b)
{
	for (size_t i = 0; i < b->fact->slots.len && !f->failed; i++) {
		const struct slot *slot = &b->fact->slots.data[i];
		uint64_t word, at = slot->offset;
		if (is_idle(b, slot))
			continue;
		for (uint64_t k = 0; k < slot->count && at < len && len - at >= 8;
			k++, at += slot->stride) {
			memcpy(&word, bytes + at, 8);
			if (slots_holds_in(slot, bytes, len, at))
				inferred_claim_slot(f, slot, word, address + at);
		}
	}
}

/* Its memory, where that is walked in order anyway. False: it can't be had so. */
static bool follow_window(struct inferring *f, const struct following *b, struct in_order *in_order)
{
	size_t size = (size_t)b->fact->size;
	if (size > WINDOW_BYTES)
		return false;
	const uint8_t *bytes = window_at(&in_order->window, space_walk_address(&in_order->walk),
		size, f->graph->space->high);
	if (bytes)
		follow_bytes(f, bytes, size, space_walk_address(&in_order->walk), b);
	return true;
}

/* The words of a slot, many at a time where they lie close to each other. */
static void each_word_of(
	struct inferring *f, uint64_t address, const struct slot *slot, inferred_take_word *take)
{
	uint64_t stride = slot->stride ? slot->stride : 8;
	uint64_t piece = stride < PIECE_BYTES / 2 ? (PIECE_BYTES - 8) / stride + 1 : 1;
	for (uint64_t k = 0; k < slot->count && !f->failed; k += piece) {
		uint64_t left = slot->count - k, word;
		size_t bytes = (size_t)(((left < piece ? left : piece) - 1) * stride + 8);
		size_t got = address_space_read(
			f->scan->heap.space, address + slot->offset + k * stride, f->buffer, bytes);
		for (size_t at = 0; at + 8 <= got && !f->failed; at += (size_t)stride) {
			memcpy(&word, f->buffer + at, 8);
			if (word && slots_holds(slot, f->scan->heap.space,
					    address + slot->offset + k * stride + at))
				take(f, slot, word, address + slot->offset + k * stride + at);
		}
	}
}

static bool has_buffer(struct inferring *f)
{
	if (!f->buffer)
		f->buffer = malloc(PIECE_BYTES);
	f->failed |= !f->buffer;
	return f->buffer;
}

/* After the words of a slot and the numbers that it depends on. */
static uint64_t slots_end(const struct slot_vec *slots, size_t i, uint64_t end)
{
	const struct slot *slot = &slots->data[i];
	uint64_t last = slot->offset + (slot->count - 1) * slot->stride;
	end = slot->reach > end ? slot->reach : end;
	for (unsigned k = 0; k < slot->when_count; k++) {
		uint64_t after = last + (uint64_t)slot->when[k].at + slot->when[k].bytes;
		end = after > end ? after : end;
	}
	return end;
}

void inferred_each_word(struct inferring *inferring, uint64_t address, const struct slot_vec *slots,
	inferred_take_word *take)
{
	struct inferring *f = inferring;
	uint64_t end = 0, word;
	for (size_t i = 0; i < slots->len; i++)
		end = slots_end(slots, i, end);
	if (!end || !has_buffer(f))
		return;
	for (size_t i = 0; end > PIECE_BYTES && i < slots->len && !f->failed; i++)
		each_word_of(f, address, &slots->data[i], take);
	if (end > PIECE_BYTES)
		return;
	size_t len = address_space_read(f->scan->heap.space, address, f->buffer, (size_t)end);
	for (size_t i = 0; i < slots->len && !f->failed; i++) {
		const struct slot *slot = &slots->data[i];
		uint64_t at = slot->offset;
		for (uint64_t k = 0; k < slot->count && at + 8 <= len; k++, at += slot->stride) {
			memcpy(&word, f->buffer + at, 8);
			if (word && slots_holds_in(slot, f->buffer, len, at))
				take(f, slot, word, address + at);
		}
	}
}

static void spend_read(struct inferring *f)
{
	f->reads -= f->reads > 0;
}

/* The elements of an array by large pieces. */
static void follow_memory(struct inferring *f, uint64_t address, uint64_t size, uint64_t count,
	const struct following *b)
{
	for (uint64_t at = 0; size > PIECE_BYTES && at < count && !f->failed; at++) {
		spend_read(f);
		inferred_each_word(f, address + at * size, &b->fact->slots, inferred_claim_slot);
	}
	if (size > PIECE_BYTES || !has_buffer(f))
		return;
	uint64_t piece = PIECE_BYTES / size;
	for (uint64_t at = 0; at < count && !f->failed; at += piece) {
		uint64_t elements = count - at < piece ? count - at : piece;
		uint8_t *bytes = f->buffer;
		size_t got = page_cache_read(
			&f->pages, address + at * size, bytes, (size_t)(elements * size));
		spend_read(f);
		for (uint64_t i = 0; i < elements && i * size < got; i++)
			follow_bytes(
				f, bytes + i * size, got - i * size, address + (at + i) * size, b);
	}
}

const struct slot *inferred_slot_in(
	struct inferring *inferring, const struct fact *fact, bool is_array, uint64_t offset)
{
	struct fact *element = NULL;
	if (!is_array && fact->open != TYPE_VOID && offset >= fact->open_at)
		element = inferred_fact(inferring, fact->open);
	if (element && element->size)
		return slots_at(&element->slots, (offset - fact->open_at) % element->size);
	return slots_at(&fact->slots, is_array ? offset % fact->size : offset);
}

/* The elements of an array without an end, as many as there is room for. */
static void follow_open_end(struct inferring *f, uint32_t block, const struct fact *fact)
{
	uint64_t usable = search_block_size(f->search, block);
	struct fact *of = fact->open == TYPE_VOID ? NULL : inferred_fact(f, fact->open);
	struct following elements = {block, false, of};
	if (of && of->size && of->slots.len && usable > fact->open_at)
		follow_memory(f, search_block_address(f->search, block) + fact->open_at, of->size,
			(usable - fact->open_at) / of->size, &elements);
}

/* For the next time that blocks are walked in order. */
static void inferred_follow_leave(struct inferring *f, uint32_t block)
{
	f->is_done[block / 64] &= ~(1ull << block % 64);
	inferred_set_bit(f->is_left, block);
	f->has_settled = true;
}

void inferred_follow(struct inferring *inferring, uint32_t block, struct in_order *in_order)
{
	struct inferring *f = inferring;
	const struct heap_types *types = &f->scan->types;
	struct block_label label = block_label(f->search, block);
	uint32_t number = heap_types_of_label(types, label);
	if (inferred_bit(f->is_done, block) || number == HEAP_TYPE_NONE)
		return;
	inferred_set_bit(f->is_done, block);
	uint32_t layout = types->types.data[number].layout;
	bool is_array = types->types.data[number].is_array;
	struct fact *fact = layout == TYPE_VOID ? NULL : inferred_fact(f, layout);
	if (!fact || (!fact->slots.len && fact->open == TYPE_VOID) || !fact->size)
		return;
	bool may_read = in_order || f->reads;
	if (is_array && inferred_is_deque_table(&types->types.data[number])) {
		if (may_read)
			inferred_follow_deque(f, block, fact);
		else
			inferred_follow_leave(f, block);
		return;
	}
	struct following b = {block, block_label_is_family(label), fact};
	uint64_t usable = search_block_size(f->search, block), size = fact->size;
	uint64_t header = types->types.data[number].header;
	uint64_t count = is_array ? (usable - header) / size : 1;
	const struct vector_end *end =
		is_array && !header ? heap_types_vector_end(types, block) : NULL;
	if (end && end->end / size < count)
		count = end->end / size;
	if (!is_array && fact->open != TYPE_VOID) {
		if (!may_read) {
			inferred_follow_leave(f, block);
			return;
		}
		follow_open_end(f, block, fact);
	}
	if ((!is_array && all_are_idle(&b)) || follow_edges(f, &b, header, count))
		return;
	if (in_order && !is_array && size >= 8 && size <= usable && follow_window(f, &b, in_order))
		return;
	if (may_read)
		follow_memory(f, search_block_address(f->search, block) + header, size, count, &b);
	else
		inferred_follow_leave(f, block);
}

/* The type of the whole is unknown; its first members are those of the type anyway. */
static void follow_beginning(struct inferring *f)
{
	struct inferred_beginning beginning = f->beginnings.data[--f->beginnings.len];
	struct fact *fact = inferred_fact(f, beginning.type);
	struct following b = {beginning.block, false, fact};
	f->basis = beginning.basis;
	if (fact && fact->slots.len && !follow_edges(f, &b, 0, 1))
		follow_memory(
			f, search_block_address(f->search, beginning.block), fact->size, 1, &b);
}

/* The buckets of a hash table that are full, by large pieces. */
static void follow_buckets(
	struct inferring *f, const struct inferred_range *range, const struct following *b)
{
	uint8_t tags[TAGS_AT_ONCE];
	uint64_t size = b->fact->size, reads = f->reads;
	for (uint64_t at = 0; at < range->count && !f->failed; at += sizeof(tags)) {
		/* Ascending addresses are descending tags. */
		uint64_t left = range->count - at;
		size_t some = left < sizeof(tags) ? (size_t)left : sizeof(tags);
		size_t got = page_cache_read(&f->pages, range->tags + left - some, tags, some);
		for (uint64_t i = 0, run = 0; got == some && i <= some; i++) {
			bool is_full = i < some && tags[some - 1 - i] < RUST_TAG_EMPTY;
			if (!is_full && run)
				follow_memory(
					f, range->address + (at + i - run) * size, size, run, b);
			run = is_full ? run + 1 : 0;
		}
	}
	/* Runs lie in pages that are loaded. */
	uint64_t pieces = range->count * size / PIECE_BYTES + 1;
	f->reads = reads > pieces ? reads - pieces : 0;
}

/* Elements that lie in no block of their type. */
static void follow_range(struct inferring *f)
{
	struct inferred_range range = f->ranges.data[--f->ranges.len];
	struct fact *fact = inferred_fact(f, range.type);
	struct following b = {SPACE_NONE, false, fact};
	f->basis = range.basis;
	if (!fact || !fact->slots.len || !fact->size)
		return;
	if (range.tags)
		follow_buckets(f, &range, &b);
	else
		follow_memory(f, range.address, fact->size, range.count, &b);
}

void inferred_push_beginning(struct inferring *inferring, uint32_t block, uint32_t type)
{
	struct inferring *f = inferring;
	if (inferred_bit(f->is_begun, block))
		return;
	inferred_set_bit(f->is_begun, block);
	f->failed |= !beginnings_push(
		&f->beginnings, (struct inferred_beginning){block, type, f->basis});
}

bool inferred_has_work(const struct inferring *inferring)
{
	return inferring->work.len || inferring->beginnings.len || inferring->ranges.len ||
	       inferred_has_places(inferring);
}

/* Without reads beginnings wait for the next time, with what is known of them. */
void inferred_follow_all(struct inferring *inferring)
{
	struct inferring *f = inferring;
	enum inferred_basis basis = f->basis;
	while (!f->failed) {
		if (f->work.len) {
			uint32_t block = f->work.data[--f->work.len];
			f->basis = inferred_basis_of(f, block);
			inferred_follow(f, block, NULL);
		} else if (f->beginnings.len && f->reads)
			follow_beginning(f);
		else if (f->ranges.len && f->reads)
			follow_range(f);
		else if (inferred_has_places(f) && f->reads)
			inferred_follow_places(f);
		else
			break;
	}
	f->has_settled |= inferred_has_work(f);
	f->basis = basis;
}
