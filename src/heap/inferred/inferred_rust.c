/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds memory of Rust's containers (rust.h). A container has a capacity and a number of elements:
 * its words must agree with each other and with the block that its pointer leads to. Then the block
 * is the container's memory, and current elements are followed; removed ones reference nothing.
 */
#include <string.h>

#include "base/cleanup.h"
#include "heap/inferred/inferred_arrays.h"
#include "heap/inferred/inferred_find.h"

/* Bytes that hashbrown has beside those of its buckets: a group's. They are aligned to as many. */
#define GROUP_WIDE 16u
#define GROUP_SMALL 8u
/* Of a table this many bytes that say of a bucket each whether it is full are read at a time. */
#define TAGS_AT_ONCE 512u
#define COUNTS_BYTES 16u
/* More than a process can have. */
#define ELEMENTS_MOST (1ull << 40)

struct claiming {
	struct inferring *f;
	const struct slot *slot;
	uint64_t word, address;
	uint64_t size; /* of an element */
};

static bool inferred_rust_read_word(const struct claiming *c, int32_t at, uint64_t *ret)
{
	return page_cache_word(&c->f->pages, c->address + (uint64_t)(int64_t)at, ret);
}

/* The block that an address leads `into`, if its type is still unknown; SPACE_NONE: none. */
static uint32_t unknown_block(const struct inferring *f, uint64_t address, uint64_t into)
{
	uint64_t offset;
	uint32_t block = search_block_at(f->search, address, &offset);
	if (block == SPACE_NONE || offset != into)
		return SPACE_NONE;
	struct block_label label = block_label(f->search, block);
	bool is_known = heap_types_of_label(&f->scan->types, label) != HEAP_TYPE_NONE;
	return is_known ? SPACE_NONE : block;
}

/* The heap's type for a container's memory; HEAP_TYPE_NONE: there is none. */
static uint32_t part_type(struct inferring *f, const struct slot_container *container,
	uint32_t element, bool has_layout)
{
	struct fact *fact = inferred_fact(f, container->type);
	if (!fact || fact->part != HEAP_TYPE_NONE || fact->part_fails)
		return fact ? fact->part : HEAP_TYPE_NONE;
	bool is_text = container->form == RUST_TEXT || container->form == RUST_STR;
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	rust_add_part_name(&name, f->types, container->type);
	fact->part = inferred_add_type(f, is_text ? HEAP_TYPE_STRING : HEAP_TYPE_CONTAINER,
		name.data, has_layout ? element : TYPE_VOID, has_layout);
	fact->part_fails = fact->part == HEAP_TYPE_NONE;
	return fact->part;
}

static bool inferred_rust_assign(const struct claiming *c, uint32_t block, bool has_layout)
{
	uint32_t type = part_type(c->f, &c->slot->container, c->slot->target, has_layout);
	if (type != HEAP_TYPE_NONE)
		inferred_assign_block(c->f, block, type);
	return type != HEAP_TYPE_NONE;
}

/* How much of a block is in use, and how much there is room for. */
static void note_end(const struct claiming *c, uint32_t block, uint64_t count, uint64_t room)
{
	struct vector_end *end = vector_end_map_insert(&c->f->scan->types.vector_ends, block, NULL);
	c->f->failed |= !end;
	if (end)
		*end = (struct vector_end){count * c->size, room * c->size};
}

static bool has_room(const struct claiming *c, uint32_t block, uint64_t room)
{
	uint64_t usable = search_block_size(c->f->search, block);
	return room && c->size && room <= usable / c->size &&
	       inferred_is_close(c->f, room * c->size, usable);
}

static void push_range(const struct claiming *c, uint64_t address, uint64_t count)
{
	struct inferred_range range = {address, count, 0, c->slot->target, c->f->basis};
	if (count)
		c->f->failed |= !inferred_ranges_push(&c->f->ranges, range);
}

static bool has_pointers(const struct claiming *c)
{
	struct fact *fact = inferred_fact(c->f, c->slot->target);
	return fact && fact->slots.len;
}

static void claim_buffer(const struct claiming *c)
{
	uint64_t count, room;
	uint32_t block = unknown_block(c->f, c->word, 0);
	bool is_text = c->slot->container.form == RUST_TEXT;
	if (block == SPACE_NONE || !inferred_rust_read_word(c, c->slot->container.count, &count) ||
		!inferred_rust_read_word(c, c->slot->container.room, &room) || count > room ||
		!has_room(c, block, room) || !inferred_rust_assign(c, block, !is_text))
		return;
	if (!is_text)
		note_end(c, block, count, room);
	if (has_pointers(c))
		push_range(c, c->word, count);
}

/* &[T] that is as large as its block: a slice that was leaked, unless the block turns out to be
 * memory of a container. */
static void claim_borrowed(const struct claiming *c, uint32_t block, uint64_t count)
{
	struct inferring *f = c->f;
	bool is_not;
	uint32_t type = inferred_array_type(f, c->slot->target, c->word);
	if (type == HEAP_TYPE_NONE ||
		!inferred_doubt_array(f, block, c->slot->target, type, &is_not))
		return;
	inferred_end_array(f, block, count * c->size);
	if (has_pointers(c) && !inferred_bit(f->is_begun, block))
		push_range(c, c->word, count);
	inferred_set_bit(f->is_begun, block);
}

static void claim_slice(const struct claiming *c)
{
	uint64_t count;
	uint32_t block = unknown_block(c->f, c->word, 0);
	bool is_text = c->slot->container.form == RUST_STR;
	if (block == SPACE_NONE || !inferred_rust_read_word(c, c->slot->container.count, &count) ||
		!has_room(c, block, count))
		return;
	if (!c->slot->container.is_held && !is_text)
		claim_borrowed(c, block, count);
	if (!c->slot->container.is_held || !inferred_rust_assign(c, block, !is_text))
		return;
	if (has_pointers(c))
		push_range(c, c->word, count);
}

/* Rc<str>, Arc<[T]>: the counts, and the elements after them. */
static void claim_counted_slice(const struct claiming *c, const struct type *counted)
{
	uint64_t count;
	uint32_t block = unknown_block(c->f, c->word, 0);
	if (block == SPACE_NONE || !inferred_rust_read_word(c, c->slot->container.count, &count))
		return;
	uint64_t usable = search_block_size(c->f->search, block);
	/* Of what elements are only a name tells, but there is no more than that. */
	if (usable < COUNTS_BYTES || count > usable - COUNTS_BYTES)
		return;
	if (strstr(counted->name, "<str>") &&
		!inferred_is_close(c->f, COUNTS_BYTES + count, usable))
		return;
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	rust_add_name(&name, counted->name);
	uint32_t type = inferred_add_type(c->f, HEAP_TYPE_CONTAINER, name.data, TYPE_VOID, false);
	if (type != HEAP_TYPE_NONE)
		inferred_assign_block(c->f, block, type);
}

/* The elements may go on at the buffer's beginning. */
static void claim_ring(const struct claiming *c)
{
	const struct slot_container *ring = &c->slot->container;
	uint64_t count, room, begin;
	uint32_t block = unknown_block(c->f, c->word, 0);
	if (block == SPACE_NONE || !inferred_rust_read_word(c, ring->count, &count) ||
		!inferred_rust_read_word(c, ring->room, &room) ||
		!inferred_rust_read_word(c, ring->begin, &begin) || !has_room(c, block, room) ||
		begin >= room)
		return;
	if (ring->ends && (room & (room - 1) || count >= room))
		return;
	if (ring->ends)
		count = (count - begin) & (room - 1);
	if (count > room || !inferred_rust_assign(c, block, false) || !has_pointers(c))
		return;
	uint64_t first = count < room - begin ? count : room - begin;
	push_range(c, c->word + begin * c->size, first);
	push_range(c, c->word, count - first);
}

/* Reads the bytes of a table's buckets. Returns how many are full; UINT64_MAX: they can't be read.
 */
static uint64_t count_full(const struct claiming *c, uint64_t buckets)
{
	uint8_t tags[TAGS_AT_ONCE];
	uint64_t full = 0;
	for (uint64_t at = 0; at < buckets; at += sizeof(tags)) {
		uint64_t left = buckets - at;
		size_t some = left < sizeof(tags) ? (size_t)left : sizeof(tags);
		if (page_cache_read(&c->f->pages, c->word + at, tags, some) != some)
			return UINT64_MAX;
		for (size_t i = 0; i < some; i++)
			full += tags[i] < RUST_TAG_EMPTY;
	}
	return full;
}

/* Where buckets begin in their block, and how large that is. */
static bool is_table(const struct claiming *c, uint64_t buckets, uint64_t group, uint32_t *ret)
{
	uint64_t into = (buckets * c->size + group - 1) / group * group;
	*ret = unknown_block(c->f, c->word, into);
	uint64_t usable = *ret == SPACE_NONE ? 0 : search_block_size(c->f->search, *ret);
	return *ret != SPACE_NONE && inferred_is_close(c->f, into + buckets + group, usable);
}

static void claim_table(const struct claiming *c)
{
	uint64_t items, mask;
	uint32_t block;
	if (!c->size || !inferred_rust_read_word(c, c->slot->container.count, &items) ||
		!inferred_rust_read_word(c, c->slot->container.room, &mask) || mask & (mask + 1) ||
		!mask || mask >= ELEMENTS_MOST / c->size || items > mask)
		return;
	uint64_t buckets = mask + 1;
	if ((!is_table(c, buckets, GROUP_WIDE, &block) &&
		    !is_table(c, buckets, GROUP_SMALL, &block)) ||
		count_full(c, buckets) != items || !inferred_rust_assign(c, block, false))
		return;
	uint32_t type = heap_types_of_label(&c->f->scan->types, block_label(c->f->search, block));
	c->f->scan->types.types.data[type].place = c->size;
	if (!has_pointers(c))
		return;
	struct inferred_range range = {
		c->word - buckets * c->size, buckets, c->word, c->slot->target, c->f->basis};
	c->f->failed |= !inferred_ranges_push(&c->f->ranges, range);
}

/* The type that a table of functions is of, plain; TYPE_VOID: it is not described. Its second word
 * is the type's size. */
static uint32_t implementor_of(struct inferring *f, uint64_t table)
{
	size_t slot = table / 8 % TRAITS_RECENT;
	if (f->traits[slot].address == table)
		return f->traits[slot].type;
	const struct address_module *module = address_space_module(f->scan->heap.space, table);
	uint32_t number, type = TYPE_VOID;
	uint64_t size;
	if (!inferred_know_module(f, module, &number) ||
		!types_implementor(f->types, number, table - module->bias, &type) ||
		!address_space_word(f->scan->heap.space, table + 8, &size) ||
		size != types_get(f->types, type)->size)
		type = TYPE_VOID;
	f->traits[slot].address = table;
	f->traits[slot].type = type;
	return type;
}

static void claim_trait(const struct claiming *c)
{
	uint64_t table, offset;
	uint32_t block = search_block_at(c->f->search, c->word, &offset);
	if (block == SPACE_NONE || offset ||
		!inferred_rust_read_word(c, c->slot->container.room, &table))
		return;
	uint32_t type = implementor_of(c->f, table);
	const struct type declared = *types_get(c->f->types, c->slot->target);
	if (type != TYPE_VOID && rust_is_counted(&declared))
		type = rust_counted_of(c->f->types, &declared, type);
	if (type != TYPE_VOID && types_get(c->f->types, type)->size)
		inferred_claim(c->f, block, type);
}

/* What counted as an array, by a pointer that may lead to several, is one, too. */
static void claim_box(const struct claiming *c)
{
	struct heap_types *types = &c->f->scan->types;
	uint64_t offset;
	uint32_t block = search_block_at(c->f->search, c->word, &offset);
	if (block == SPACE_NONE || offset || !c->size ||
		!inferred_is_close(c->f, c->size, search_block_size(c->f->search, block)))
		return;
	uint32_t known = heap_types_of_label(types, block_label(c->f->search, block));
	const struct heap_type *of = known == HEAP_TYPE_NONE ? NULL : &types->types.data[known];
	if (of && (of->kind != HEAP_TYPE_INFERRED || !of->is_array ||
			  of->layout != c->slot->target || of->header))
		return;
	uint32_t type = inferred_single_type(c->f, c->slot->target, c->word);
	if (type != HEAP_TYPE_NONE)
		inferred_assign_array(c->f, block, type);
}

void inferred_claim_container(
	struct inferring *inferring, const struct slot *slot, uint64_t word, uint64_t address)
{
	const struct type declared = *types_get(inferring->types, slot->target);
	struct claiming c = {inferring, slot, word, address, declared.size};
	switch (slot->container.form) {
	case RUST_BUFFER:
	case RUST_TEXT:
		claim_buffer(&c);
		break;
	case RUST_RING:
		claim_ring(&c);
		break;
	case RUST_TABLE:
		claim_table(&c);
		break;
	case RUST_SLICE:
	case RUST_STR:
		if (rust_is_counted(&declared))
			claim_counted_slice(&c, &declared);
		else
			claim_slice(&c);
		break;
	case RUST_TRAIT:
		claim_trait(&c);
		break;
	case RUST_BOX:
		claim_box(&c);
		break;
	default:
		break;
	}
}
