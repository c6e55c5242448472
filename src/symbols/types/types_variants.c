/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Types that are one of several things (DWARF 5, 5.7.10): an entry for all of them refers to the
 * member that is the number, and has an entry for each, with the number's value and a member whose
 * type has the members. rustc writes so of enums; one without a value stands for all other values.
 * Where a number has ranges of values, or more than 8 bytes, nothing is known.
 */
#include <dwarf.h>
#include <string.h>

#include "symbols/types/types_entry.h"

/* Of one type. */
#define VARIANTS_MAX (1u << 16)

DEFINE_VEC(variant_vec, struct type_variant)

struct reading_variants {
	struct types *types;
	struct variant_vec found;
	uint64_t which;
	uint8_t which_bytes;
	bool has_rest;
	bool is_known; /* all of it is understood so far */
};

static bool is_size_of_number(uint64_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* The number; without an attribute there is none, and one variant. */
static void types_variants_read_number(struct reading_variants *r, Dwarf_Die *part)
{
	Dwarf_Attribute attribute;
	Dwarf_Die member;
	if (!dwarf_attr(part, DW_AT_discr, &attribute))
		return;
	r->is_known = dwarf_formref_die(&attribute, &member) != NULL;
	if (!r->is_known)
		return;
	uint32_t type = types_plain(r->types, types_of_entry(r->types, &member));
	uint64_t size = types_get(r->types, type)->size;
	r->which = entry_number(&member, DW_AT_data_member_location, UINT64_MAX);
	r->is_known = is_size_of_number(size) && r->which < UINT64_MAX / 16;
	r->which_bytes = r->is_known ? (uint8_t)size : 0;
}

static uint64_t mask_of(unsigned bytes)
{
	return bytes < 8 ? (1ull << 8 * bytes) - 1 : UINT64_MAX;
}

static void read_variant(struct reading_variants *r, Dwarf_Die *die)
{
	struct type_variant fresh = {.is_rest = !dwarf_hasattr(die, DW_AT_discr_value)};
	Dwarf_Die child;
	fresh.value = fresh.is_rest
			      ? 0
			      : entry_number(die, DW_AT_discr_value, 0) & mask_of(r->which_bytes);
	bool any = die_child(die, &child);
	while (any && dwarf_tag(&child) != DW_TAG_member)
		any = die_next(&child);
	uint64_t at = any ? entry_number(&child, DW_AT_data_member_location, 0) : 0;
	/* In a form that can't be read it would be any other's. */
	bool is_read = fresh.is_rest || entry_number(die, DW_AT_discr_value, 0) ==
						entry_number(die, DW_AT_discr_value, 1);
	if (!is_read || dwarf_hasattr(die, DW_AT_discr_list) || at >= UINT64_MAX / 16 ||
		(fresh.is_rest && r->has_rest)) {
		r->is_known = false;
		return;
	}
	r->has_rest |= fresh.is_rest;
	fresh.bits = 8 * at;
	if (any) {
		fresh.name = types_keep(r->types, dwarf_diename(&child));
		fresh.type = types_of_entry(r->types, &child);
	}
	r->types->failed |= !variant_vec_push(&r->found, fresh);
}

static void types_variants_settle(struct reading_variants *r, uint32_t number)
{
	struct types *types = r->types;
	size_t size = r->found.len * sizeof(*r->found.data);
	struct type_variant *kept = arena_alloc(&types->strings.arena, size);
	types->failed |= !kept;
	if (!kept)
		return;
	memcpy(kept, r->found.data, size);
	struct type *type = &type_store_at(types, number)->type;
	type->variants = kept;
	type->variant_count = (uint32_t)r->found.len;
	type->which = r->which;
	type->which_bytes = r->which_bytes;
}

void types_read_variants(struct types *types, Dwarf_Die *part, uint32_t number)
{
	struct reading_variants r = {.types = types, .is_known = true};
	Dwarf_Die child;
	types_variants_read_number(&r, part);
	for (bool ok = die_child(part, &child); ok && r.is_known && !types->failed;
		ok = die_next(&child)) {
		if (dwarf_tag(&child) == DW_TAG_variant)
			read_variant(&r, &child);
		r.is_known &= r.found.len <= VARIANTS_MAX;
	}
	r.is_known &= r.which_bytes || r.found.len == 1;
	if (r.is_known && r.found.len)
		types_variants_settle(&r, number);
	variant_vec_deinit(&r.found);
}
