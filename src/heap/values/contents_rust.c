/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What containers and enums of Rust hold (rust.h). */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "heap/types/rust.h"
#include "heap/values/contents_parts.h"

/* More than a process can have: such a count makes no sense. */
#define RUST_COUNT_MOST (1ull << 40)

static inline uint64_t type_hash(uint32_t type)
{
	return hash_u64(type);
}
static inline bool type_equal(uint32_t a, uint32_t b)
{
	return a == b;
}
DEFINE_MAP(type_set, uint32_t, bool, type_hash, type_equal)

static bool read_at(const struct contents_object *o, uint32_t offset, uint64_t *ret)
{
	return offset != RUST_NOWHERE &&
	       address_space_word(o->scan->heap.space, o->address + offset, ret);
}

static bool is_readable(const struct contents_object *o, uint64_t address, uint64_t bytes)
{
	uint8_t byte;
	uint64_t into;
	const struct address_space *space = o->scan->heap.space;
	const struct search *search = o->scan->search;
	uint32_t block = search_block_at(search, address, &into);
	const struct process_map *map = address_space_map(space, address);
	uint64_t room = block != SPACE_NONE ? search_block_size(search, block) - into
			: map               ? map->end - address
					    : 0;
	return !bytes || (bytes <= room && address_space_read(space, address, &byte, 1) == 1 &&
				 address_space_read(space, address + bytes - 1, &byte, 1) == 1);
}

static uint64_t element_size(const struct contents_object *o, uint32_t type)
{
	return types_get(o->types, types_plain(o->types, type))->size;
}

/* Elements that lie one after another. */
static bool read_in_order(
	const struct contents_object *o, const struct rust_container *c, struct contents *ret)
{
	uint64_t room = 0, size = element_size(o, c->element);
	bool is_text = c->form == RUST_TEXT || c->form == RUST_STR;
	bool has_room = c->form == RUST_BUFFER || c->form == RUST_TEXT;
	ret->unit = 1;
	ret->kind = is_text ? CONTENTS_TEXT : CONTENTS_ELEMENTS;
	ret->type = c->element;
	if (!read_at(o, c->pointer, &ret->address) || !read_at(o, c->count, &ret->count) ||
		(has_room && !read_at(o, c->room, &room)))
		return false;
	bool is_slice_of_counted = !has_room && rust_is_counted(types_get(o->types, c->element));
	return ret->count < RUST_COUNT_MOST / (size ? size : 1) && (size || is_text) &&
	       !is_slice_of_counted && (!has_room || ret->count <= room) &&
	       is_readable(o, ret->address, ret->count * (is_text ? 1 : size));
}

static bool read_ring(
	const struct contents_object *o, const struct rust_container *c, struct contents *ret)
{
	uint64_t room, size = element_size(o, c->element);
	ret->kind = CONTENTS_ELEMENTS;
	ret->type = c->element;
	ret->way = CONTENTS_RING;
	if (!size || !read_at(o, c->pointer, &ret->address) || !read_at(o, c->count, &ret->count) ||
		!read_at(o, c->room, &room) || !read_at(o, c->begin, &ret->begin) ||
		room >= RUST_COUNT_MOST / size)
		return false;
	if (c->ends && (room & (room - 1) || ret->count > room))
		return false;
	if (c->ends)
		ret->count = (ret->count - ret->begin) & (room - 1);
	ret->piece_count = room;
	return ret->count <= room && (!room || ret->begin < room) &&
	       is_readable(o, ret->address, ret->count ? room * size : 0);
}

/* Elements are pairs; those of a set have nothing beside the key. */
static bool read_table(
	const struct contents_object *o, const struct rust_container *c, struct contents *ret)
{
	uint64_t mask, key_at, value_at, size = element_size(o, c->element);
	uint32_t key, value;
	if (!size || !read_at(o, c->pointer, &ret->address) || !read_at(o, c->count, &ret->count) ||
		!read_at(o, c->room, &mask) || mask & (mask + 1) ||
		mask >= RUST_COUNT_MOST / size || ret->count > mask + 1)
		return false;
	ret->kind = CONTENTS_ELEMENTS;
	ret->type = c->element;
	ret->way = CONTENTS_TABLE;
	ret->piece_count = mask + 1;
	ret->stride = (uint32_t)(size < UINT32_MAX ? size : 0);
	if (contents_member(o->types, c->element, "__0", &key_at, &key) &&
		contents_member(o->types, c->element, "__1", &value_at, &value)) {
		bool is_set = !element_size(o, value);
		ret->kind = is_set ? CONTENTS_ELEMENTS : CONTENTS_PAIRS;
		ret->type = is_set ? key : c->element;
		ret->value = is_set ? (uint32_t)key_at : 0;
	}
	return ret->stride &&
	       (!ret->count || (is_readable(o, ret->address, mask + 1) &&
				       is_readable(o, ret->address - (mask + 1) * size, 1)));
}

/* The first part of an object that is such a table. `seen`: types that have none, however often
 * they are members of others. */
static bool find_table(struct contents_object *o, uint32_t type, uint64_t at, unsigned depth,
	struct type_set *seen, struct contents *ret)
{
	uint32_t plain = types_plain(o->types, type);
	struct type of = *types_get(o->types, plain);
	struct rust_container c;
	bool is_new;
	if (depth > TYPES_DEPTH_MAX || !type_has_members(&of) ||
		!type_set_insert(seen, plain, &is_new) || !is_new)
		return false;
	if (rust_container_find(o->types, plain, &c)) {
		struct contents_object table = {o->scan, o->types, plain, o->address + at, 0};
		return c.form == RUST_TABLE && read_table(&table, &c, ret);
	}
	for (uint32_t i = 0; i < of.member_count; i++) {
		if (find_table(o, of.members[i].type, at + of.members[i].bits / 8, depth + 1, seen,
			    ret))
			return true;
	}
	return false;
}

bool contents_read_rust_hash(struct contents_object *o, struct contents *ret)
{
	_cleanup_(type_set_deinit) struct type_set seen = {.len = 0};
	return find_table(o, o->type, 0, 0, &seen, ret);
}

bool contents_read_rust(struct contents_object *o, struct contents *ret)
{
	struct rust_container c;
	if (!rust_container_find(o->types, o->type, &c))
		return false;
	switch (c.form) {
	case RUST_BUFFER:
	case RUST_TEXT:
	case RUST_SLICE:
	case RUST_STR:
		return read_in_order(o, &c, ret);
	case RUST_RING:
		return read_ring(o, &c, ret);
	case RUST_TABLE:
		return read_table(o, &c, ret);
	default:
		return false;
	}
}

/* The variant that an object is, as its number says. */
bool contents_read_rust_enum(struct contents_object *o, struct contents *ret)
{
	const struct type type = *types_get(o->types, o->type);
	const struct type_variant *found = NULL;
	uint64_t number = 0;
	if (type.which_bytes && address_space_read(o->scan->heap.space, o->address + type.which,
					&number, type.which_bytes) != type.which_bytes)
		return false;
	for (uint32_t i = 0; i < type.variant_count; i++) {
		const struct type_variant *variant = &type.variants[i];
		if (!type.which_bytes || (!variant->is_rest && variant->value == number)) {
			found = variant;
			break;
		}
		found = variant->is_rest ? variant : found;
	}
	if (!found || !found->name)
		return false;
	ret->kind = CONTENTS_ONE;
	ret->is_type_shown = true;
	snprintf(ret->name, sizeof(ret->name), "%s", found->name);
	const struct type *of = types_get(o->types, types_plain(o->types, found->type));
	ret->type = of->member_count ? found->type : TYPE_VOID;
	ret->address = o->address + found->bits / 8;
	return true;
}

/* Those of one word. */
bool contents_read_rust_pointer(struct contents_object *o, struct contents *ret)
{
	uint64_t offset;
	uint32_t type;
	if (types_get(o->types, o->type)->size != 8 ||
		!contents_member(o->types, o->type, "pointer", &offset, &type) ||
		types_get(o->types, types_plain(o->types, type))->kind != TYPE_POINTER)
		return false;
	ret->kind = CONTENTS_POINTER;
	ret->type = type;
	ret->address = o->address + offset;
	return true;
}
