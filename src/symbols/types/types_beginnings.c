/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which structures begin with which others. That is asked of few, and answered of all: so of all
 * entries only sizes are noted, of each type once, and those that agree with what is asked about
 * are read.
 */
#include <dwarf.h>

#include "symbols/types/types_entry.h"

#define LEVELS_MOST 8u
/* A class's first parts come after what its template was made with. */
#define CHILDREN_MOST 32u
#define CHAIN_MAX 64u
/* Parts of one structure that are looked at. */
#define STEPS_MOST 256u

static bool is_structure(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type;
}

/* The structure that a member or base is; false: it is none. */
static bool structure_of(Dwarf_Die *part, Dwarf_Die *ret)
{
	if (!entry_type(part, ret))
		return false;
	for (unsigned i = 0; i < CHAIN_MAX && !is_structure(ret); i++) {
		int tag = dwarf_tag(ret);
		bool is_alias = tag == DW_TAG_typedef || tag == DW_TAG_const_type ||
				tag == DW_TAG_volatile_type;
		if (!is_alias || !entry_type(ret, ret))
			return false;
	}
	return is_structure(ret);
}

static bool stands_first(Dwarf_Die *part)
{
	return !entry_number(part, DW_AT_data_member_location, 0) &&
	       !entry_number(part, DW_AT_bit_size, 0) && !entry_number(part, DW_AT_virtuality, 0);
}

/* A structure whose beginnings are noted. */
struct noting {
	struct types *types;
	const struct outline_type *whole;
	uint64_t size;
	unsigned steps;
};

/* Of the same type another unit has another entry. Those without a name may be any. */
static bool is_new(struct noting *n, uint64_t of_part)
{
	Dwarf_Die whole = n->whole->die;
	const char *name = dwarf_diename(&whole);
	bool fresh = false;
	if (!name)
		return true;
	struct beginning_key key = {.name = string_hash(name),
		.size = n->size,
		.of_part = of_part,
		.line = (uint32_t)entry_number(&whole, DW_AT_decl_line, 0)};
	n->types->failed |= !beginning_set_insert(&n->types->beginning_set, key, &fresh);
	return fresh;
}

/* What an entry begins with: the first member (of C), or what it derives from. Bases without
 * members are where others are. */
static void note_parts(struct noting *n, Dwarf_Die *whole, unsigned level)
{
	Dwarf_Die child, part;
	bool ok = die_child(whole, &child);
	for (unsigned i = 0; ok && i < CHILDREN_MOST; i++, ok = die_next(&child)) {
		int tag = dwarf_tag(&child);
		bool is_member = tag == DW_TAG_member;
		if ((tag == DW_TAG_inheritance || (is_member && n->whole->is_c)) &&
			stands_first(&child) && structure_of(&child, &part) &&
			++n->steps < STEPS_MOST) {
			uint64_t of_part = entry_number(&part, DW_AT_byte_size, 0);
			if (of_part && of_part < n->size && is_new(n, of_part))
				n->types->failed |= !beginning_vec_push(&n->types->beginnings,
					(struct beginning){of_part, n->size, n->whole->die});
			if (level + 1 < LEVELS_MOST)
				note_parts(n, &part, level + 1);
		}
		if (is_member)
			return;
	}
}

static void take_entry(struct types *types, const struct outline_type *entry)
{
	Dwarf_Die whole = entry->die;
	uint64_t size = is_structure(&whole) ? entry_number(&whole, DW_AT_byte_size, 0) : 0;
	struct noting noting = {.types = types, .whole = entry, .size = size};
	if (size)
		note_parts(&noting, &whole, 0);
}

static bool begins_with(
	const struct types *types, uint32_t type, uint32_t first, unsigned level, unsigned *steps)
{
	type = types_declared(types, type);
	const struct type *of = types_get(types, type);
	if (type == first || level > TYPES_DEPTH_MAX || ++*steps > STEPS_MOST)
		return type == first;
	if (of->kind == TYPE_ARRAY)
		return begins_with(types, types_plain(types, of->target), first, level + 1, steps);
	for (uint32_t i = 0; type_has_members(of) && i < of->member_count; i++) {
		const struct type_member *member = &of->members[i];
		if (member->kind == MEMBER_VIRTUAL_BASE || member->kind == MEMBER_VTABLE)
			continue;
		if (!member->bits && begins_with(types, types_plain(types, member->type), first,
					     level + 1, steps))
			return true;
		if (member->kind == MEMBER_PLAIN)
			return false;
	}
	return false;
}

bool types_begins_with(const struct types *types, uint32_t type, uint32_t first)
{
	unsigned steps = 0;
	return begins_with(types, type, first, 0, &steps);
}

void types_each_beginning(struct types *types, uint32_t base, uint64_t from, uint64_t most,
	bool (*take)(void *context, uint32_t whole), void *context)
{
	uint64_t size = types_get(types, base)->size;
	for (; types->begun < types->outline.types.len && !types->failed; types->begun++)
		take_entry(types, &types->outline.types.data[types->begun]);
	for (size_t i = 0; i < types->beginnings.len && !types->failed; i++) {
		struct beginning at = types->beginnings.data[i];
		if (at.of_part != size || at.size <= from || at.size > most)
			continue;
		uint32_t whole = types_plain(types, types_of_die(types, &at.whole));
		if (types_begins_with(types, whole, base) && !take(context, whole))
			return;
	}
}
