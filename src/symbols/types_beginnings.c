/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which structures begin with which others. That is asked of few, and answered of all: so of all
 * entries only sizes are noted, of each type once, and those that agree with what is asked about
 * are read.
 */
#include <dwarf.h>

#include "symbols/types_entry.h"

#define LEVELS_MOST 8u
/* A class's first parts come behind what its template was made with. */
#define CHILDREN_MOST 32u
#define CHAIN_MAX 64u

static bool is_structure(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type;
}

/* What an entry begins with: the first member's type (of C), or what it derives from. */
static bool first_part(Dwarf_Die *whole, bool is_c, Dwarf_Die *ret)
{
	Dwarf_Die child;
	bool ok = die_child(whole, &child);
	int tag = 0;
	for (unsigned i = 0; ok && i < CHILDREN_MOST; i++) {
		tag = dwarf_tag(&child);
		if (tag == DW_TAG_inheritance || tag == DW_TAG_member)
			break;
		ok = die_next(&child);
	}
	bool counts = ok && (tag == DW_TAG_inheritance || (tag == DW_TAG_member && is_c)) &&
		      !entry_number(&child, DW_AT_data_member_location, 0) &&
		      !entry_number(&child, DW_AT_bit_size, 0) &&
		      !entry_number(&child, DW_AT_virtuality, 0);
	if (!counts || !entry_type(&child, ret))
		return false;
	for (unsigned i = 0; i < CHAIN_MAX && !is_structure(ret); i++) {
		tag = dwarf_tag(ret);
		bool is_alias = tag == DW_TAG_typedef || tag == DW_TAG_const_type ||
				tag == DW_TAG_volatile_type;
		if (!is_alias || !entry_type(ret, ret))
			return false;
	}
	return is_structure(ret);
}

/* Of the same type another unit has another entry. */
static bool is_new(struct types *types, Dwarf_Die *whole, struct beginning_key *key)
{
	const char *name = dwarf_diename(whole);
	key->name = name ? string_hash(name) : 0;
	key->line = (uint32_t)entry_number(whole, DW_AT_decl_line, 0);
	bool fresh = false;
	types->failed |= !beginning_set_insert(&types->beginning_set, *key, &fresh);
	return fresh;
}

static void take_entry(struct types *types, const struct outline_type *entry)
{
	Dwarf_Die whole = entry->die, part = whole;
	uint64_t size = is_structure(&whole) ? entry_number(&whole, DW_AT_byte_size, 0) : 0;
	for (unsigned level = 0; level < LEVELS_MOST && size; level++) {
		if (!first_part(&part, entry->is_c, &part))
			return;
		uint64_t of_part = entry_number(&part, DW_AT_byte_size, 0);
		struct beginning_key key = {.size = size, .of_part = of_part};
		if (!of_part || of_part >= size || !is_new(types, &whole, &key))
			continue;
		types->failed |= !beginning_vec_push(
			&types->beginnings, (struct beginning){of_part, size, entry->die});
	}
}

/* Whether a type begins with another. */
static bool begins_with(struct types *types, uint32_t whole, uint32_t base)
{
	for (unsigned level = 0; level < LEVELS_MOST; level++) {
		const struct type *type = types_get(types, whole);
		if (!type_has_members(type) || !type->member_count || type->members[0].bits)
			return false;
		whole = types_plain(types, type->members[0].type);
		if (whole == base)
			return true;
	}
	return false;
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
		if (begins_with(types, whole, base) && !take(context, whole))
			return;
	}
}
