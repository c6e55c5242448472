/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads types out of entries of debug information (DWARF 5, chapter 5). */
#include <dwarf.h>

#include "symbols/types/types_entry.h"

#define DIMENSIONS_MAX 8u

/* Of an array's dimension; 0: unknown. */
static uint64_t dimension_of(Dwarf_Die *die)
{
	uint64_t count = entry_number(die, DW_AT_count, UINT64_MAX);
	if (count == UINT64_MAX)
		count = entry_number(die, DW_AT_upper_bound, UINT64_MAX) + 1;
	return count < (1ull << 48) ? count : 0;
}

static uint32_t read_array(struct types *types, Dwarf_Die *die)
{
	uint64_t counts[DIMENSIONS_MAX];
	unsigned dimensions = 0;
	Dwarf_Die child;
	for (bool ok = die_child(die, &child); ok && dimensions < DIMENSIONS_MAX;
		ok = die_next(&child)) {
		if (dwarf_tag(&child) == DW_TAG_subrange_type)
			counts[dimensions++] = dimension_of(&child);
	}
	if (!dimensions)
		counts[dimensions++] = 0;
	/* The outermost comes first, so that nothing is asked for again meanwhile. */
	uint32_t outer = types_make(types, die, &(struct type){.kind = TYPE_ARRAY});
	uint32_t target = types_of_entry(types, die);
	while (outer != TYPE_VOID && dimensions-- > 0) {
		uint64_t size = types_get(types, target)->size;
		struct type array = {
			.kind = TYPE_ARRAY, .count = counts[dimensions], .target = target};
		if (size && array.count <= (1ull << 48) / size)
			array.size = array.count * size;
		if (dimensions)
			target = types_make(types, NULL, &array);
		else
			types->made.data[outer].type = array;
	}
	return outer;
}

static uint32_t read_function(struct types *types, Dwarf_Die *die)
{
	uint32_t number = types_make(types, die, &(struct type){.kind = TYPE_FUNCTION});
	size_t first = types->scratch.len;
	Dwarf_Die child;
	for (bool ok = die_child(die, &child);
		ok && types->scratch.len - first < 64 && !types->failed; ok = die_next(&child)) {
		/* `this` is no parameter that anybody writes. */
		if (dwarf_tag(&child) == DW_TAG_formal_parameter &&
			!entry_flag(&child, DW_AT_artificial))
			types_add_member(types,
				&(struct type_member){.type = types_of_entry(types, &child)});
	}
	if (number != TYPE_VOID) {
		types_settle_members(types, number, first);
		uint32_t target = types_of_entry(types, die);
		types->made.data[number].type.target = target;
	}
	return number;
}

static enum type_encoding encoding_of(Dwarf_Die *die)
{
	switch (entry_number(die, DW_AT_encoding, 0)) {
	case DW_ATE_boolean:
		return TYPE_BOOLEAN;
	case DW_ATE_float:
		return TYPE_FLOAT;
	case DW_ATE_complex_float:
		return TYPE_COMPLEX;
	case DW_ATE_signed:
		return TYPE_SIGNED;
	case DW_ATE_signed_char:
		return TYPE_CHARACTER;
	case DW_ATE_unsigned_char:
		return TYPE_BYTE;
	default:
		return TYPE_UNSIGNED;
	}
}

static uint32_t types_read_number(struct types *types, Dwarf_Die *die)
{
	struct type type = {.kind = TYPE_NUMBER,
		.size = entry_number(die, DW_AT_byte_size, 0),
		.name = types_keep(types, dwarf_diename(die)),
		.encoding = encoding_of(die)};
	/* decltype(nullptr) is of no use but has this size. */
	if (dwarf_tag(die) == DW_TAG_unspecified_type)
		type.kind = TYPE_UNKNOWN;
	struct die_key key = {.name = type.name, .size = type.size, .tag = DW_TAG_base_type};
	bool is_new;
	uint32_t *same = type_key_map_insert(&types->by_key, key, &is_new);
	types->failed |= !same;
	if (!same)
		return TYPE_VOID;
	if (!is_new)
		return types_stand_for(types, die, *same);
	return *same = types_make(types, die, &type);
}

static const char box[] = "alloc::boxed::Box<";

/* What it points to is read when it is asked for. */
static uint32_t read_pointer(struct types *types, Dwarf_Die *die, enum type_kind kind)
{
	const char *name = dwarf_diename(die);
	uint32_t number = types_make(types, die,
		&(struct type){.kind = kind,
			.size = entry_number(die, DW_AT_byte_size, 8),
			.is_box = name && !strncmp(name, box, sizeof(box) - 1)});
	if (number != TYPE_VOID && !entry_type(die, &types->made.data[number].target))
		types->made.data[number].target.addr = NULL;
	return number;
}

/* Of a member of a class's an offset; of a function of its what is called and what is added to the
 * object's address (Itanium C++ ABI 2.3). */
static uint32_t read_member_pointer(struct types *types, Dwarf_Die *die)
{
	uint32_t number =
		types_make(types, die, &(struct type){.kind = TYPE_MEMBER_POINTER, .size = 8});
	Dwarf_Attribute attribute;
	Dwarf_Die class;
	size_t first = types->scratch.len;
	if (number == TYPE_VOID)
		return number;
	if (dwarf_attr(die, DW_AT_containing_type, &attribute) &&
		dwarf_formref_die(&attribute, &class))
		types_add_member(types, &(struct type_member){.type = types_of_die(types, &class)});
	types_settle_members(types, number, first);
	uint32_t target = types_of_entry(types, die);
	struct type *made = &types->made.data[number].type;
	made->target = target;
	if (types_get(types, types_plain(types, target))->kind == TYPE_FUNCTION)
		made->size = 16;
	return number;
}

static uint32_t read_alias(struct types *types, Dwarf_Die *die, enum type_kind kind)
{
	struct type type = {.kind = kind};
	if (kind == TYPE_TYPEDEF)
		type.name = types_whole_name(types, die, types_outline_of(types, die));
	else if (dwarf_tag(die) != DW_TAG_const_type)
		type.name = dwarf_tag(die) == DW_TAG_volatile_type   ? "volatile"
			    : dwarf_tag(die) == DW_TAG_restrict_type ? "restrict"
								     : "_Atomic";
	else
		type.name = "const";
	uint32_t number = types_make(types, die, &type);
	uint32_t target = types_of_entry(types, die);
	if (number == TYPE_VOID)
		return number;
	struct type *made = &types->made.data[number].type;
	made->target = target;
	made->size = types_get(types, target)->size;
	/* typedef struct {…} name; */
	struct type *of = &types->made.data[target].type;
	if (kind == TYPE_TYPEDEF && target && !of->name && type_has_members(of)) {
		of->name = made->name;
		of->is_c = false;
	}
	return number;
}

static uint32_t read_entry(struct types *types, Dwarf_Die *die)
{
	int tag = dwarf_tag(die);
	switch (tag) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		return types_read_class(types, die, tag);
	case DW_TAG_base_type:
	case DW_TAG_unspecified_type:
		return types_read_number(types, die);
	case DW_TAG_pointer_type:
		return read_pointer(types, die, TYPE_POINTER);
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return read_pointer(types, die, TYPE_REFERENCE);
	case DW_TAG_ptr_to_member_type:
		return read_member_pointer(types, die);
	case DW_TAG_array_type:
		return read_array(types, die);
	case DW_TAG_subroutine_type:
		return read_function(types, die);
	case DW_TAG_typedef:
	case DW_TAG_template_alias:
		return read_alias(types, die, TYPE_TYPEDEF);
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
		return read_alias(types, die, TYPE_QUALIFIED);
	default:
		return TYPE_VOID;
	}
}

uint32_t types_of_die(struct types *types, Dwarf_Die *die)
{
	const uint32_t *known = outline_map_find(&types->of_die, die->addr);
	if (known)
		return *known;
	if (types->failed || types->depth >= TYPES_DEPTH_MAX)
		return TYPE_VOID;
	types->depth++;
	uint32_t number = read_entry(types, die);
	types->depth--;
	return number;
}
