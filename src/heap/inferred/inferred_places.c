/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/inferred/inferred_places.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/inferred/inferred_arrays.h"

/* A smaller structure may be anything. */
#define PLACE_BYTES_LEAST 8u
/* Of a structure so much is compared with what the type says. */
#define COMPARED_BYTES (8u * SHAPE_WORDS)
/* No page at the beginning of address spaces is mapped. */
#define ADDRESS_LEAST 4096u
/* What is read at a time. */
#define PIECE_BYTES (64u << 10)
/* Of what may be an array this many elements are looked at, evenly over all. */
#define ELEMENTS_COMPARED_MOST 256u

struct inferred_pools *inferred_pools_create(void)
{
	return calloc(1, sizeof(struct inferred_pools));
}

void inferred_pools_destroy(struct inferred_pools *pools)
{
	if (!pools)
		return;
	places_deinit(&pools->places);
	place_map_deinit(&pools->known);
	pool_blocks_deinit(&pools->blocks);
	block_numbers_deinit(&pools->of_block);
	piece_map_deinit(&pools->waiting);
	pieces_deinit(&pools->queue);
	free(pools->bytes);
	space_u32_deinit(&pools->touched);
	embedded_vec_deinit(&pools->embedded);
	free(pools);
}

static bool is_bytes(const struct types *types, uint32_t plain)
{
	const struct type *of = types_get(types, plain);
	return of->kind == TYPE_NUMBER && of->size == 1;
}

bool inferred_can_hold(const struct inferring *inferring, uint32_t block, uint64_t offset)
{
	const struct inferring *f = inferring;
	const struct heap_types *types = &f->scan->types;
	uint32_t number = heap_types_of_label(types, block_label(f->search, block));
	if (number == HEAP_TYPE_NONE)
		return true;
	const struct heap_type *type = &types->types.data[number];
	uint32_t element;
	uint64_t at;
	if (type->is_pool)
		return true;
	if (type->kind != HEAP_TYPE_INFERRED || type->layout == TYPE_VOID)
		return false;
	if (type->is_array)
		return is_bytes(f->types, types_plain(f->types, type->layout));
	return types_open_end(f->types, type->layout, &element, &at, NULL) && offset >= at &&
	       is_bytes(f->types, element);
}

static bool is_mapped(const struct inferring *f, uint64_t word)
{
	return word >= ADDRESS_LEAST && address_space_map(f->scan->heap.space, word);
}

/* Whether bytes can be an object of a type: pointers lead somewhere, numbers don't, and a bool or
 * an enumeration has a value of its type. */
static bool fits_bytes(struct inferring *f, const struct fact *fact, uint32_t type,
	const uint8_t *bytes, size_t len)
{
	for (unsigned i = 0; 8ul * (i + 1) <= len; i++) {
		uint64_t word;
		memcpy(&word, bytes + 8ul * i, 8);
		bool is_pointer = fact->map.pointers >> i & 1, is_data = fact->map.data >> i & 1;
		if ((is_pointer && word && !is_mapped(f, word)) ||
			(is_data && word % 8 == 0 && is_mapped(f, word)))
			return false;
	}
	return inferred_keeps_values(f, type, bytes, len);
}

/* Whether there is room for one. */
static bool can_begin(const struct fact *fact, uint64_t usable, uint64_t offset)
{
	return fact->size <= usable && offset <= usable - fact->size &&
	       !(offset % 8 && fact->map.pointers);
}

bool inferred_fits_at(struct inferring *inferring, uint32_t block, uint64_t offset, uint32_t type)
{
	struct inferring *f = inferring;
	uint8_t bytes[COMPARED_BYTES];
	struct fact *fact = inferred_fact(f, type);
	if (!fact || !can_begin(fact, search_block_size(f->search, block), offset))
		return false;
	size_t wanted = fact->size < sizeof(bytes) ? (size_t)fact->size : sizeof(bytes);
	size_t got = page_cache_read(
		&f->pages, search_block_address(f->search, block) + offset, bytes, wanted);
	return got == wanted && fits_bytes(f, fact, type, bytes, got);
}

/* Whether pointers of an element to its own type lead to elements, where they lead into its block.
 */
static bool links_fit(struct inferring *f, const struct fact *fact, uint32_t block,
	const uint8_t *bytes, size_t len, uint32_t type)
{
	for (size_t i = 0; i < fact->slots.len; i++) {
		const struct slot *slot = &fact->slots.data[i];
		uint64_t word, offset;
		if (slot->offset > len || len - slot->offset < 8 || slot->when_count ||
			slot->container.form != RUST_NONE ||
			!types_are_same(f->types, slot->target, type))
			continue;
		memcpy(&word, bytes + slot->offset, 8);
		if (word && search_block_at(f->search, word, &offset) == block &&
			offset % fact->size)
			return false;
	}
	return true;
}

bool inferred_fits_array(
	struct inferring *inferring, uint32_t block, uint32_t element, bool is_linked)
{
	struct inferring *f = inferring;
	struct fact *fact = inferred_fact(f, element);
	uint8_t bytes[COMPARED_BYTES];
	if (!fact || !fact->size || !type_has_members(types_get(f->types, element)))
		return true;
	uint64_t count = search_block_size(f->search, block) / fact->size, fit = 0, not = 0;
	uint64_t step = count / ELEMENTS_COMPARED_MOST + 1;
	size_t wanted = fact->size < sizeof(bytes) ? (size_t)fact->size : sizeof(bytes);
	for (uint64_t k = 0; k < count; k += step) {
		uint64_t address = search_block_address(f->search, block) + k * fact->size;
		size_t got = page_cache_read(&f->pages, address, bytes, wanted), i = 0;
		while (i < got && !bytes[i])
			i++;
		if (got != wanted || i == got)
			continue;
		bool is_one = fits_bytes(f, fact, element, bytes, got) &&
			      links_fit(f, fact, block, bytes, got, element);
		fit += is_one;
		not += !is_one;
	}
	return is_linked ? not <= fit / PLACES_BROKEN_PART : not <= fit;
}

bool inferred_repeats(
	struct inferring *inferring, uint64_t address, uint64_t usable, uint32_t element)
{
	struct inferring *f = inferring;
	struct fact *fact = inferred_fact(f, element);
	uint8_t bytes[COMPARED_BYTES];
	uint64_t count = fact && fact->size ? usable / fact->size : 0, fit = 0, not = 0;
	uint64_t step = count / ELEMENTS_COMPARED_MOST + 1;
	bool any = false;
	for (uint64_t k = 1; k < count; k += step) {
		if (page_cache_read(&f->pages, address + k * fact->size, bytes, sizeof(bytes)) !=
			sizeof(bytes))
			return false;
		bool is_one = fits_bytes(f, fact, element, bytes, sizeof(bytes));
		fit += is_one;
		not += !is_one;
		for (unsigned i = 0; is_one && !any && i < SHAPE_WORDS; i++) {
			uint64_t word;
			memcpy(&word, bytes + 8ul * i, 8);
			any = word && fact->map.pointers >> i & 1;
		}
	}
	return any && not <= fit / PLACES_BROKEN_PART;
}

/* The block with places, a new one if there was none in it. NULL: no memory. */
static struct pool_block *find_block(struct inferred_pools *p, uint32_t block)
{
	bool is_new;
	uint32_t *index = block_numbers_insert(&p->of_block, block, &is_new);
	if (!index)
		return NULL;
	if (is_new) {
		*index = (uint32_t)p->blocks.len;
		struct pool_block fresh = {block, NO_PLACE, false, false};
		if (!pool_blocks_push(&p->blocks, fresh))
			return NULL;
	}
	return &p->blocks.data[*index];
}

/* There is something new in the block. */
static void inferred_places_touch(struct inferring *f, uint32_t index)
{
	struct inferred_pools *p = f->pools;
	if (!p->blocks.data[index].is_touched)
		f->failed |= !space_u32_push(&p->touched, index);
	p->blocks.data[index].is_touched = true;
}

bool inferred_wait_for(struct inferring *inferring, uint32_t number)
{
	struct inferring *f = inferring;
	struct inferred_pools *p = f->pools;
	struct inferred_place *place = &p->places.data[number];
	uint32_t block = p->blocks.data[place->block].block;
	uint64_t piece = (search_block_address(f->search, block) + place->offset) / PIECE_BYTES;
	bool is_new;
	if (place->is_waiting)
		return true;
	place->is_waiting = true;
	uint32_t *first = piece_map_insert(&p->waiting, piece, &is_new);
	if (!first)
		return false;
	bool is_idle = is_new || *first == NO_PLACE;
	place->waits = is_idle ? NO_PLACE : *first;
	*first = number;
	return !is_idle || pieces_push(&p->queue, piece);
}

static bool inferred_places_add_place(struct inferring *f, struct inferred_place_key key)
{
	struct inferred_pools *p = f->pools;
	struct pool_block *in = find_block(p, key.block);
	if (!in)
		return false;
	uint32_t number = (uint32_t)p->places.len;
	struct inferred_place place = {.offset = key.offset,
		.type = key.type,
		.block = (uint32_t)(in - p->blocks.data),
		.next = in->first,
		.basis = (uint8_t)f->basis};
	in->first = number;
	return number != NO_PLACE && places_push(&p->places, place) && inferred_wait_for(f, number);
}

void inferred_take_place(
	struct inferring *inferring, uint32_t block, uint64_t offset, uint32_t type)
{
	struct inferring *f = inferring;
	const struct type *of = types_get(f->types, type);
	if (!f->pools || f->basis == BASIS_LOOKS || !type_has_members(of) ||
		of->size < PLACE_BYTES_LEAST || of->size >= search_block_size(f->search, block))
		return;
	if (!inferred_can_hold(f, block, offset)) {
		inferred_count_late(f, block, offset, type);
		return;
	}
	bool is_new;
	struct inferred_place_key key = {offset, block, type};
	bool *known = place_map_insert(&f->pools->known, key, &is_new);
	f->failed |= !known;
	if (!known || !is_new)
		return;
	inferred_count_in_array(f, block, offset, type);
	if (inferred_can_hold(f, block, offset))
		f->failed |= !inferred_places_add_place(f, key);
}

bool inferred_has_places(const struct inferring *inferring)
{
	const struct inferred_pools *p = inferring->pools;
	return p && p->queue_first < p->queue.len;
}

bool inferred_has_place_in(const struct inferring *inferring, uint32_t block)
{
	return inferring->pools && block_numbers_find(&inferring->pools->of_block, block);
}

/* The word of a place in what may be no pool at all: only what leads into such is remembered. */
static void follow_careful(struct inferring *f, uint64_t word, uint32_t type)
{
	uint64_t offset;
	uint32_t block = word ? search_block_at(f->search, word, &offset) : SPACE_NONE;
	if (block == SPACE_NONE || !inferred_can_hold(f, block, offset) ||
		(!offset && inferred_type_for(f, block, type) != HEAP_TYPE_NONE))
		return;
	inferred_take_place(f, block, offset, type);
}

/* `address`: where the bytes stand. Containers lead on where it is known that they are some. */
static void follow_slots(struct inferring *f, const struct fact *fact, const uint8_t *bytes,
	size_t len, uint64_t address, bool is_pool)
{
	for (size_t i = 0; i < fact->slots.len && !f->failed; i++) {
		const struct slot *slot = &fact->slots.data[i];
		uint64_t word, at = slot->offset;
		if (slot->container.form != RUST_NONE && !is_pool)
			continue;
		for (uint64_t k = 0; k < slot->count && at < len && len - at >= 8;
			k++, at += slot->stride) {
			memcpy(&word, bytes + at, 8);
			if (!slots_holds_in(slot, bytes, len, at))
				continue;
			if (is_pool)
				inferred_claim_slot(f, slot, word, address + at);
			else
				follow_careful(f, word, slot->target);
		}
	}
}

/* The bytes of a place: of the loaded piece, or (in `own`) read for it. */
static const uint8_t *inferred_places_bytes_of(
	struct inferring *f, uint64_t address, uint8_t *own, size_t size, size_t *ret_len)
{
	const struct inferred_pools *p = f->pools;
	*ret_len = size;
	if (address >= p->start && address - p->start <= p->len &&
		p->len - (size_t)(address - p->start) >= size)
		return p->bytes + (address - p->start);
	*ret_len = page_cache_read(&f->pages, address, own, size);
	return own;
}

/* Looks at what is at a place: whether it can be of the type, and where it leads. */
static void follow_place(struct inferring *f, uint32_t number)
{
	struct inferred_pools *p = f->pools;
	struct inferred_place *place = &p->places.data[number];
	const struct pool_block in = p->blocks.data[place->block];
	struct fact *fact = inferred_fact(f, place->type);
	uint64_t usable = search_block_size(f->search, in.block), offset = place->offset;
	place->is_read = true;
	inferred_places_touch(f, place->block);
	if (!fact || !can_begin(fact, usable, offset))
		return;
	uint8_t fixed[COMPARED_BYTES];
	size_t size = (size_t)fact->size, len;
	_cleanup_free_ uint8_t *large = size > sizeof(fixed) ? malloc(size) : NULL;
	uint8_t *own = size > sizeof(fixed) ? large : fixed;
	f->failed |= !own;
	if (!own)
		return;
	const uint8_t *bytes = inferred_places_bytes_of(
		f, search_block_address(f->search, in.block) + offset, own, size, &len);
	size_t compared = size < sizeof(fixed) ? size : sizeof(fixed);
	place->fits = len >= compared && fits_bytes(f, fact, place->type, bytes, compared);
	for (size_t i = 0; i < compared && i < len; i++)
		place->has_words |= bytes[i] != 0;
	enum inferred_basis basis = f->basis;
	f->basis = (enum inferred_basis)place->basis;
	/* From here on places may be elsewhere. */
	if (place->fits)
		follow_slots(f, fact, bytes, len,
			search_block_address(f->search, in.block) + offset, in.is_taken);
	f->basis = basis;
}

static void read_piece(struct inferring *f, uint64_t piece, uint32_t number)
{
	struct inferred_pools *p = f->pools;
	const struct inferred_place *place = &p->places.data[number];
	uint64_t address =
		place->offset + search_block_address(f->search, p->blocks.data[place->block].block);
	const struct process_map *map = address_space_map(f->scan->heap.space, address);
	p->len = 0;
	if (!p->bytes)
		p->bytes = malloc(PIECE_BYTES);
	f->failed |= !p->bytes;
	if (!p->bytes || !map)
		return;
	p->start = piece * PIECE_BYTES > map->start ? piece * PIECE_BYTES : map->start;
	p->len = address_space_read(f->scan->heap.space, p->start, p->bytes,
		(size_t)((piece + 1) * PIECE_BYTES - p->start));
}

void inferred_follow_places(struct inferring *inferring)
{
	struct inferring *f = inferring;
	struct inferred_pools *p = f->pools;
	uint64_t piece = p->queue.data[p->queue_first++];
	bool is_read = false;
	if (p->queue_first == p->queue.len) {
		pieces_clear(&p->queue);
		p->queue_first = 0;
	}
	for (;;) {
		uint32_t *first = piece_map_find(&p->waiting, piece);
		if (!first || *first == NO_PLACE || f->failed)
			break;
		uint32_t number = *first;
		*first = p->places.data[number].waits;
		p->places.data[number].is_waiting = false;
		if (!is_read)
			read_piece(f, piece, number);
		is_read = true;
		follow_place(f, number);
	}
	f->reads -= f->reads > 0;
}

size_t inferred_places_against(
	const struct inferring *inferring, uint32_t block, uint32_t element, bool *ret_is_agreed)
{
	const struct inferred_pools *p = inferring->pools;
	const uint32_t *index = block_numbers_find(&p->of_block, block);
	uint32_t next = index ? p->blocks.data[*index].first : NO_PLACE;
	uint64_t size = types_get(inferring->types, element)->size;
	size_t against = 0, agreeing = 0;
	*ret_is_agreed = false;
	for (; next != NO_PLACE; next = p->places.data[next].next) {
		const struct inferred_place *place = &p->places.data[next];
		if (!place->is_read || !place->fits || !place->has_words)
			continue;
		bool is_against =
			inferred_is_against(inferring, element, place->offset, place->type);
		against += is_against;
		agreeing += !is_against;
		*ret_is_agreed |= !is_against && place->offset >= size;
	}
	return against > agreeing / PLACES_BROKEN_PART ? against : 0;
}
