/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/types/types_entry.h"

#include <dwarf.h>
#include <string.h>

uint64_t entry_number(Dwarf_Die *die, unsigned name, uint64_t otherwise)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	return dwarf_attr(die, name, &attribute) && dwarf_formudata(&attribute, &value) == 0
		       ? value
		       : otherwise;
}

bool entry_flag(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	bool flag = false;
	return dwarf_attr(die, name, &attribute) && dwarf_formflag(&attribute, &flag) == 0 && flag;
}

bool entry_type(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute attribute;
	return dwarf_attr(die, DW_AT_type, &attribute) && dwarf_formref_die(&attribute, ret);
}

uint32_t types_of_entry(struct types *types, Dwarf_Die *die)
{
	Dwarf_Die type;
	return entry_type(die, &type) ? types_of_die(types, &type) : TYPE_VOID;
}

uint32_t types_make(struct types *types, Dwarf_Die *die, const struct type *type)
{
	uint32_t number = (uint32_t)types->made.len;
	uint32_t *slot = die ? outline_map_insert(&types->of_die, die->addr, NULL) : &number;
	if (!slot || !type_store_push(&types->made, (struct type_made){.type = *type})) {
		types->failed = true;
		return TYPE_VOID;
	}
	*slot = number;
	return number;
}

const char *types_keep(struct types *types, const char *name)
{
	const char *kept = NULL;
	struct error *error = strings_keep(&types->strings, name, &kept);
	types->failed |= error != NULL;
	error_destroy(error);
	return kept;
}

const struct outline_type *types_outline_of(const struct types *types, const Dwarf_Die *die)
{
	const uint32_t *number = outline_map_find(&types->outline.numbers, die->addr);
	return number ? &types->outline.types.data[*number] : NULL;
}

const char *types_whole_name(struct types *types, Dwarf_Die *die, const struct outline_type *known)
{
	const char *name = dwarf_diename(die);
	if (!name || !known || !*known->scope)
		return types_keep(types, name);
	struct text text;
	text_init(&text);
	text_add(&text, known->scope);
	text_add(&text, name);
	name = text.failed ? NULL : types_keep(types, text.data);
	types->failed |= text.failed;
	text_deinit(&text);
	return name;
}

void types_settle_members(struct types *types, uint32_t number, size_t first)
{
	size_t count = types->scratch.len - first;
	struct type_member *members =
		count ? arena_alloc(&types->strings.arena, count * sizeof(*members)) : NULL;
	types->failed |= count && !members;
	if (members) {
		memcpy(members, types->scratch.data + first, count * sizeof(*members));
		types->made.data[number].type.members = members;
		types->made.data[number].type.member_count = (uint32_t)count;
	}
	types->scratch.len = first;
}

void types_add_member(struct types *types, const struct type_member *member)
{
	types->failed |= !member_vec_push(&types->scratch, *member);
}

uint32_t types_stand_for(struct types *types, Dwarf_Die *die, uint32_t number)
{
	uint32_t *slot = outline_map_insert(&types->of_die, die->addr, NULL);
	types->failed |= !slot;
	if (slot)
		*slot = number;
	return number;
}
