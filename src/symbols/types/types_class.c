/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Structures, classes, unions and enumerations out of entries of debug information (DWARF 5, 5.7
 * and 5.6). */
#include <dwarf.h>
#include <string.h>

#include "symbols/types/types_entry.h"

#define ARGUMENTS_MAX 16u
/* Before a table of functions. */
#define BEFORE_MAX (1u << 20)

/* Where a virtual base lies is in a vtable, so far before it as an expression says:
 * dup, deref, constu N, minus, deref, plus. 0: it says something else. */
static uint32_t before_of(const Dwarf_Op *ops, size_t len)
{
	static const uint8_t wanted[] = {
		DW_OP_dup, DW_OP_deref, 0, DW_OP_minus, DW_OP_deref, DW_OP_plus};
	bool is_such = len == sizeof(wanted);
	for (size_t i = 0; is_such && i < len; i++)
		is_such = !wanted[i] || ops[i].atom == wanted[i];
	if (!is_such)
		return 0;
	uint8_t atom = ops[2].atom;
	uint64_t value = ops[2].number;
	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		value = atom - DW_OP_lit0;
	else if (atom != DW_OP_constu && atom != DW_OP_const1u && atom != DW_OP_const2u &&
		 atom != DW_OP_const4u && atom != DW_OP_const1s && atom != DW_OP_const2s &&
		 atom != DW_OP_consts)
		value = 0;
	return value <= BEFORE_MAX && value % 8 == 0 ? (uint32_t)value : 0;
}

static bool types_class_place_of(Dwarf_Die *die, struct type_member *member)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	Dwarf_Op *op;
	size_t len;
	if (!dwarf_attr(die, DW_AT_data_member_location, &attribute))
		return true;
	if (dwarf_formudata(&attribute, &value) == 0 && value < UINT64_MAX / 8) {
		member->bits = 8 * value;
		return true;
	}
	/* DWARF 2: plus_uconst N. */
	if (dwarf_getlocation(&attribute, &op, &len) == 0 && len == 1 &&
		op->atom == DW_OP_plus_uconst && op->number < UINT64_MAX / 8) {
		member->bits = 8 * op->number;
		return true;
	}
	member->bits = 0;
	if (dwarf_getlocation(&attribute, &op, &len) == 0)
		member->before = before_of(op, len);
	return false;
}

static void place_bits(struct types *types, Dwarf_Die *die, struct type_member *member)
{
	member->bit_size = (uint32_t)entry_number(die, DW_AT_bit_size, 0);
	if (!member->bit_size)
		return;
	uint64_t place = entry_number(die, DW_AT_data_bit_offset, UINT64_MAX);
	if (place != UINT64_MAX) {
		member->bits = place;
		return;
	}
	/* Before DWARF 4 counted from the most significant bit of its storage. */
	uint64_t skipped = entry_number(die, DW_AT_bit_offset, 0);
	uint64_t storage = entry_number(die, DW_AT_byte_size, types_get(types, member->type)->size);
	if (storage <= 16 && skipped + member->bit_size <= 8 * storage)
		member->bits += 8 * storage - skipped - member->bit_size;
}

static void read_member(struct types *types, Dwarf_Die *die, int tag)
{
	struct type_member member = {.name = types_keep(types, dwarf_diename(die))};
	if (entry_flag(die, DW_AT_external) || entry_flag(die, DW_AT_declaration))
		return; /* static */
	member.type = types_of_entry(types, die);
	if (tag == DW_TAG_inheritance)
		member.kind = MEMBER_BASE;
	else if (entry_flag(die, DW_AT_artificial) && member.name &&
		 !strncmp(member.name, "_vptr", 5))
		member.kind = MEMBER_VTABLE;
	if (!types_class_place_of(die, &member))
		member.kind = MEMBER_VIRTUAL_BASE;
	if (tag == DW_TAG_inheritance && entry_number(die, DW_AT_virtuality, 0))
		member.kind = MEMBER_VIRTUAL_BASE;
	place_bits(types, die, &member);
	types_add_member(types, &member);
}

/* Adds those of an entry, and of the packs (class... T) in it; returns how many there are. */
static uint32_t find_arguments(
	Dwarf_Die *die, bool is_pack, Dwarf_Die found[static ARGUMENTS_MAX], uint32_t count)
{
	Dwarf_Die child;
	for (bool ok = die_child(die, &child); ok && count < ARGUMENTS_MAX; ok = die_next(&child)) {
		if (dwarf_tag(&child) == DW_TAG_template_type_parameter &&
			entry_type(&child, &found[count]))
			count++;
		else if (dwarf_tag(&child) == DW_TAG_GNU_template_parameter_pack && !is_pack)
			count = find_arguments(&child, true, found, count);
	}
	return count;
}

static void read_arguments(struct types *types, Dwarf_Die *die, uint32_t number)
{
	Dwarf_Die found[ARGUMENTS_MAX];
	uint32_t count = find_arguments(die, false, found, 0);
	Dwarf_Die *arguments =
		count ? arena_alloc(&types->strings.arena, count * sizeof(*arguments)) : NULL;
	types->failed |= count && !arguments;
	if (!arguments)
		return;
	memcpy(arguments, found, count * sizeof(*arguments));
	types->made.data[number].arguments = arguments;
	types->made.data[number].argument_count = count;
}

static void read_members(struct types *types, Dwarf_Die *die, uint32_t number)
{
	Dwarf_Die child;
	size_t first = types->scratch.len;
	bool templates = false;
	for (bool ok = die_child(die, &child); ok && !types->failed; ok = die_next(&child)) {
		int tag = dwarf_tag(&child);
		if (tag == DW_TAG_member || tag == DW_TAG_inheritance)
			read_member(types, &child, tag);
		else if (tag == DW_TAG_template_type_parameter ||
			 tag == DW_TAG_GNU_template_parameter_pack)
			templates = true;
		else if (tag == DW_TAG_variant_part)
			types_read_variants(types, &child, number);
	}
	types_settle_members(types, number, first);
	if (templates)
		read_arguments(types, die, number);
}

/* The entry that describes what this one only declares. */
static bool types_class_described(
	struct types *types, Dwarf_Die *die, const char *name, Dwarf_Die *ret)
{
	Dwarf_Attribute attribute;
	if (dwarf_attr(die, DW_AT_signature, &attribute) && dwarf_formref_die(&attribute, ret))
		return ret->addr != die->addr;
	const uint32_t *known = name ? types_named(types, name) : NULL;
	if (!known)
		return false;
	*ret = types->outline.types.data[*known].die;
	return true;
}

/* The first member's name tells types apart that have none themselves. */
static const char *first_member(struct types *types, Dwarf_Die *die)
{
	Dwarf_Die child;
	return die_child(die, &child) ? types_keep(types, dwarf_diename(&child)) : NULL;
}

static enum type_kind class_kind(int tag)
{
	switch (tag) {
	case DW_TAG_structure_type:
		return TYPE_STRUCT;
	case DW_TAG_class_type:
		return TYPE_CLASS;
	case DW_TAG_union_type:
		return TYPE_UNION;
	default:
		return TYPE_ENUM;
	}
}

/* Whether an enumeration's values have a sign, as the type below it says; where none is named, they
 * have. */
static enum type_encoding values_encoding(struct types *types, Dwarf_Die *die)
{
	const struct type *type = types_get(types, types_plain(types, types_of_entry(types, die)));
	bool has_sign = type->kind != TYPE_NUMBER || type->encoding == TYPE_SIGNED ||
			type->encoding == TYPE_CHARACTER;
	return has_sign ? TYPE_SIGNED : TYPE_UNSIGNED;
}

static void read_values(struct types *types, Dwarf_Die *die, uint32_t number)
{
	/* Types move when one is read. */
	const enum type_encoding encoding = values_encoding(types, die);
	type_store_at(types, number)->type.encoding = encoding;
	const struct type of = *types_get(types, number);
	/* Forms of fixed size are read as if they had one. */
	uint64_t bits = of.encoding == TYPE_UNSIGNED && of.size < 8 ? (1ull << 8 * of.size) - 1
								    : UINT64_MAX;
	Dwarf_Die child;
	size_t first = types->scratch.len;
	for (bool ok = die_child(die, &child); ok && !types->failed; ok = die_next(&child)) {
		Dwarf_Attribute attribute;
		Dwarf_Sword value;
		if (dwarf_tag(&child) != DW_TAG_enumerator ||
			!dwarf_attr(&child, DW_AT_const_value, &attribute) ||
			dwarf_formsdata(&attribute, &value) != 0)
			continue;
		types_add_member(types,
			&(struct type_member){.name = types_keep(types, dwarf_diename(&child)),
				.bits = (uint64_t)value & bits});
	}
	types_settle_members(types, number, first);
}

/* The class that is just read, if an entry is in it: one without a name is another one in each
 * instance of a template, though all are written in the same line. */
static const char *class_around(const struct types *types, const Dwarf_Die *die)
{
	Dwarf_Die around, next;
	if (!types->around || types->around->cu != die->cu ||
		(const char *)die->addr <= (const char *)types->around->addr)
		return NULL;
	around = *types->around;
	bool is_in = dwarf_siblingof(&around, &next) != 0 ||
		     (const char *)die->addr < (const char *)next.addr;
	return is_in ? types->around_name : NULL;
}

static void read_class_members(struct types *types, Dwarf_Die *die, uint32_t number)
{
	const Dwarf_Die *around = types->around;
	const char *name = types_get(types, number)->name, *around_name = types->around_name;
	if (name) {
		types->around = die;
		types->around_name = name;
	}
	read_members(types, die, number);
	types->around = around;
	types->around_name = around_name;
}

/* A structure, class, union or enumeration. */
uint32_t types_read_class(struct types *types, Dwarf_Die *die, int tag)
{
	const struct outline_type *known = types_outline_of(types, die);
	struct type type = {.kind = class_kind(tag),
		.is_c = known && known->is_c,
		.is_rust = known && known->is_rust};
	type.name = types_whole_name(types, die, known);
	Dwarf_Die whole;
	/* Of what a type unit describes others have the signature, and may have nothing else. */
	bool is_declared =
		entry_flag(die, DW_AT_declaration) || dwarf_hasattr(die, DW_AT_signature);
	if (is_declared && types_class_described(types, die, type.name, &whole) &&
		whole.addr != die->addr)
		return types_stand_for(types, die, types_of_die(types, &whole));
	type.is_declared = is_declared;
	type.size = entry_number(die, DW_AT_byte_size, 0);
	type.align = (uint32_t)entry_number(die, DW_AT_alignment, 0);
	int line = 0;
	struct die_key key = {.name = type.name, .size = type.size, .tag = (uint32_t)tag};
	if (dwarf_decl_line(die, &line) == 0)
		key.line = (uint32_t)line;
	if (!key.name)
		key = (struct die_key){.name = first_member(types, die),
			.around = class_around(types, die),
			.size = type.size,
			.line = key.line,
			.tag = ~(uint32_t)tag};
	bool is_new;
	uint32_t *same = type_key_map_insert(&types->by_key, key, &is_new);
	if (!same) {
		types->failed = true;
		return TYPE_VOID;
	}
	if (!is_new && key.name)
		return types_stand_for(types, die, *same);
	uint32_t number = *same = types_make(types, die, &type);
	if (number == TYPE_VOID)
		return number;
	if (type.kind == TYPE_ENUM)
		read_values(types, die, number);
	else
		read_class_members(types, die, number);
	return number;
}
