/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads types out of entries of debug information (DWARF 5, chapter 5). */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/types_made.h"

/* Of one type, or of one array. */
#define MEMBERS_MAX (1u << 16)
#define DIMENSIONS_MAX 8u
#define ARGUMENTS_MAX 16u

static uint64_t number_of(Dwarf_Die *die, unsigned name, uint64_t otherwise)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	return dwarf_attr(die, name, &attribute) && dwarf_formudata(&attribute, &value) == 0
		       ? value
		       : otherwise;
}

static bool has_flag(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	bool flag = false;
	return dwarf_attr(die, name, &attribute) && dwarf_formflag(&attribute, &flag) == 0 && flag;
}

static bool type_entry(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute attribute;
	return dwarf_attr(die, DW_AT_type, &attribute) && dwarf_formref_die(&attribute, ret);
}

static uint32_t type_of_entry(struct types *types, Dwarf_Die *die)
{
	Dwarf_Die type;
	return type_entry(die, &type) ? types_of_die(types, &type) : TYPE_VOID;
}

/* A new type that the entry stands for; TYPE_VOID: no memory. */
static uint32_t make(struct types *types, Dwarf_Die *die, const struct type *type)
{
	uint32_t number = (uint32_t)types->made.len;
	uint32_t *slot = die ? outline_map_insert(&types->of_die, die->addr, NULL) : &number;
	if (!slot || !types_made_push(&types->made, (struct type_made){.type = *type})) {
		types->failed = true;
		return TYPE_VOID;
	}
	*slot = number;
	return number;
}

static const char *keep(struct types *types, const char *name)
{
	const char *kept = NULL;
	struct error *error = strings_keep(&types->strings, name, &kept);
	types->failed |= error != NULL;
	error_destroy(error);
	return kept;
}

static const struct outline_type *outline_of(const struct types *types, const Dwarf_Die *die)
{
	const uint32_t *number = outline_map_find(&types->outline.numbers, die->addr);
	return number ? &types->outline.types.data[*number] : NULL;
}

static const char *whole_name(struct types *types, Dwarf_Die *die, const struct outline_type *known)
{
	const char *name = dwarf_diename(die);
	if (!name || !known || !*known->scope)
		return keep(types, name);
	struct text text;
	text_init(&text);
	text_add(&text, known->scope);
	text_add(&text, name);
	name = text.failed ? NULL : keep(types, text.data);
	types->failed |= text.failed;
	text_deinit(&text);
	return name;
}

/* What is taken from the end of the scratch members, into memory that stays. */
static void settle_members(struct types *types, uint32_t number, size_t first)
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

static void add_member(struct types *types, const struct type_member *member)
{
	types->failed |= !member_vec_push(&types->scratch, *member);
}

/* Where a virtual base lies stands in a vtable, so far before it as an expression says:
 * dup, deref, constu N, minus, deref, plus. */
static bool place_of(Dwarf_Die *die, struct type_member *member)
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
	return false;
}

static void place_bits(struct types *types, Dwarf_Die *die, struct type_member *member)
{
	member->bit_size = (uint32_t)number_of(die, DW_AT_bit_size, 0);
	if (!member->bit_size)
		return;
	uint64_t place = number_of(die, DW_AT_data_bit_offset, UINT64_MAX);
	if (place != UINT64_MAX) {
		member->bits = place;
		return;
	}
	/* Before DWARF 4 counted from the most significant bit of its storage. */
	uint64_t skipped = number_of(die, DW_AT_bit_offset, 0);
	uint64_t storage = number_of(die, DW_AT_byte_size, types_get(types, member->type)->size);
	if (storage <= 16 && skipped + member->bit_size <= 8 * storage)
		member->bits += 8 * storage - skipped - member->bit_size;
}

static void read_member(struct types *types, Dwarf_Die *die, int tag)
{
	struct type_member member = {.name = keep(types, dwarf_diename(die))};
	if (has_flag(die, DW_AT_external) || has_flag(die, DW_AT_declaration))
		return; /* static */
	member.type = type_of_entry(types, die);
	if (tag == DW_TAG_inheritance)
		member.kind = MEMBER_BASE;
	else if (has_flag(die, DW_AT_artificial) && member.name &&
		 !strncmp(member.name, "_vptr", 5))
		member.kind = MEMBER_VTABLE;
	if (!place_of(die, &member))
		member.kind = MEMBER_VIRTUAL_BASE;
	if (tag == DW_TAG_inheritance && number_of(die, DW_AT_virtuality, 0))
		member.kind = MEMBER_VIRTUAL_BASE;
	place_bits(types, die, &member);
	add_member(types, &member);
}

static void read_arguments(struct types *types, Dwarf_Die *die, uint32_t number)
{
	Dwarf_Die found[ARGUMENTS_MAX], child;
	uint32_t count = 0, seen = 0;
	for (bool ok = die_child(die, &child); ok && seen < MEMBERS_MAX && count < ARGUMENTS_MAX;
		ok = die_next(&child), seen++) {
		if (dwarf_tag(&child) == DW_TAG_template_type_parameter &&
			type_entry(&child, &found[count]))
			count++;
	}
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
	uint32_t seen = 0;
	bool templates = false;
	for (bool ok = die_child(die, &child); ok && seen < MEMBERS_MAX && !types->failed;
		ok = die_next(&child), seen++) {
		int tag = dwarf_tag(&child);
		if (tag == DW_TAG_member || tag == DW_TAG_inheritance)
			read_member(types, &child, tag);
		else if (tag == DW_TAG_template_type_parameter)
			templates = true;
	}
	settle_members(types, number, first);
	if (templates)
		read_arguments(types, die, number);
}

/* The entry that describes what this one only declares. */
static bool described(struct types *types, Dwarf_Die *die, const char *name, Dwarf_Die *ret)
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
	return die_child(die, &child) ? keep(types, dwarf_diename(&child)) : NULL;
}

static uint32_t stand_for(struct types *types, Dwarf_Die *die, uint32_t number)
{
	uint32_t *slot = outline_map_insert(&types->of_die, die->addr, NULL);
	types->failed |= !slot;
	if (slot)
		*slot = number;
	return number;
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

static void read_values(struct types *types, Dwarf_Die *die, uint32_t number)
{
	Dwarf_Die child;
	size_t first = types->scratch.len;
	uint32_t seen = 0;
	for (bool ok = die_child(die, &child); ok && seen < MEMBERS_MAX;
		ok = die_next(&child), seen++) {
		Dwarf_Attribute attribute;
		Dwarf_Sword value;
		if (dwarf_tag(&child) != DW_TAG_enumerator ||
			!dwarf_attr(&child, DW_AT_const_value, &attribute) ||
			dwarf_formsdata(&attribute, &value) != 0)
			continue;
		add_member(types, &(struct type_member){.name = keep(types, dwarf_diename(&child)),
					  .bits = (uint64_t)value});
	}
	settle_members(types, number, first);
}

/* A structure, class, union or enumeration. */
static uint32_t read_class(struct types *types, Dwarf_Die *die, int tag)
{
	const struct outline_type *known = outline_of(types, die);
	struct type type = {.kind = class_kind(tag), .is_c = known && known->is_c};
	type.name = whole_name(types, die, known);
	Dwarf_Die whole;
	/* Of what a type unit describes others have the signature, and may have nothing else. */
	bool is_declared = has_flag(die, DW_AT_declaration) || dwarf_hasattr(die, DW_AT_signature);
	if (is_declared && described(types, die, type.name, &whole) && whole.addr != die->addr)
		return stand_for(types, die, types_of_die(types, &whole));
	type.is_declared = is_declared;
	type.size = number_of(die, DW_AT_byte_size, 0);
	int line = 0;
	struct type_key key = {.name = type.name, .size = type.size, .tag = (uint32_t)tag};
	if (dwarf_decl_line(die, &line) == 0)
		key.line = (uint32_t)line;
	if (!key.name)
		key = (struct type_key){
			first_member(types, die), type.size, key.line, ~(uint32_t)tag};
	bool is_new;
	uint32_t *same = type_key_map_insert(&types->by_key, key, &is_new);
	if (!same) {
		types->failed = true;
		return TYPE_VOID;
	}
	if (!is_new && key.name)
		return stand_for(types, die, *same);
	uint32_t number = *same = make(types, die, &type);
	if (number == TYPE_VOID)
		return number;
	if (type.kind == TYPE_ENUM)
		read_values(types, die, number);
	else
		read_members(types, die, number);
	return number;
}

/* Of an array's dimension; 0: unknown. */
static uint64_t dimension_of(Dwarf_Die *die)
{
	uint64_t count = number_of(die, DW_AT_count, UINT64_MAX);
	if (count == UINT64_MAX)
		count = number_of(die, DW_AT_upper_bound, UINT64_MAX) + 1;
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
	uint32_t outer = make(types, die, &(struct type){.kind = TYPE_ARRAY});
	uint32_t target = type_of_entry(types, die);
	while (outer != TYPE_VOID && dimensions-- > 0) {
		uint64_t size = types_get(types, target)->size;
		struct type array = {
			.kind = TYPE_ARRAY, .count = counts[dimensions], .target = target};
		if (size && array.count <= (1ull << 48) / size)
			array.size = array.count * size;
		if (dimensions)
			target = make(types, NULL, &array);
		else
			types->made.data[outer].type = array;
	}
	return outer;
}

static uint32_t read_function(struct types *types, Dwarf_Die *die)
{
	uint32_t number = make(types, die, &(struct type){.kind = TYPE_FUNCTION});
	size_t first = types->scratch.len;
	Dwarf_Die child;
	for (bool ok = die_child(die, &child);
		ok && types->scratch.len - first < 64 && !types->failed; ok = die_next(&child)) {
		if (dwarf_tag(&child) == DW_TAG_formal_parameter)
			add_member(
				types, &(struct type_member){.type = type_of_entry(types, &child)});
	}
	if (number != TYPE_VOID) {
		settle_members(types, number, first);
		uint32_t target = type_of_entry(types, die);
		types->made.data[number].type.target = target;
	}
	return number;
}

static enum type_encoding encoding_of(Dwarf_Die *die)
{
	switch (number_of(die, DW_AT_encoding, 0)) {
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

static uint32_t read_number(struct types *types, Dwarf_Die *die)
{
	struct type type = {.kind = TYPE_NUMBER,
		.size = number_of(die, DW_AT_byte_size, 0),
		.name = keep(types, dwarf_diename(die)),
		.encoding = encoding_of(die)};
	/* decltype(nullptr) is of no use but has this size. */
	if (dwarf_tag(die) == DW_TAG_unspecified_type)
		type.kind = TYPE_UNKNOWN;
	struct type_key key = {type.name, type.size, 0, DW_TAG_base_type};
	bool is_new;
	uint32_t *same = type_key_map_insert(&types->by_key, key, &is_new);
	types->failed |= !same;
	if (!same)
		return TYPE_VOID;
	if (!is_new)
		return stand_for(types, die, *same);
	return *same = make(types, die, &type);
}

/* What it points to is read when somebody asks. */
static uint32_t read_pointer(struct types *types, Dwarf_Die *die, enum type_kind kind)
{
	uint32_t number = make(types, die,
		&(struct type){.kind = kind, .size = number_of(die, DW_AT_byte_size, 8)});
	if (number != TYPE_VOID && !type_entry(die, &types->made.data[number].target))
		types->made.data[number].target.addr = NULL;
	return number;
}

/* A pointer to a member is a number, or two words. */
static uint32_t read_member_pointer(struct types *types, Dwarf_Die *die)
{
	Dwarf_Die target;
	bool is_function = type_entry(die, &target) && dwarf_tag(&target) == DW_TAG_subroutine_type;
	return make(types, die,
		&(struct type){.kind = TYPE_NUMBER,
			.size = is_function ? 16 : 8,
			.name = "pointer to member"});
}

static uint32_t read_alias(struct types *types, Dwarf_Die *die, enum type_kind kind)
{
	struct type type = {.kind = kind};
	if (kind == TYPE_TYPEDEF)
		type.name = whole_name(types, die, outline_of(types, die));
	else if (dwarf_tag(die) != DW_TAG_const_type)
		type.name = dwarf_tag(die) == DW_TAG_volatile_type   ? "volatile"
			    : dwarf_tag(die) == DW_TAG_restrict_type ? "restrict"
								     : "_Atomic";
	else
		type.name = "const";
	uint32_t number = make(types, die, &type);
	uint32_t target = type_of_entry(types, die);
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
		return read_class(types, die, tag);
	case DW_TAG_base_type:
	case DW_TAG_unspecified_type:
		return read_number(types, die);
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
