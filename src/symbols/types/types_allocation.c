/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a call that allocates to the type that its block has: that of a variable of the function
 * which makes the call, or of what that returns. No debug information says it of the call itself.
 */
#include <dwarf.h>
#include <string.h>

#include "base/util.h"
#include "symbols/types/types_entry.h"
#include "symbols/types/unit_index.h"

#define LEVELS_MAX 16u
#define DEPTH_MAX 64u

/* A function at the call, inlined ones first. */
struct level {
	Dwarf_Die function; /* where its variables are described */
	uint64_t line;      /* of the call in it; 0: not known */
};

/* What was found in a function. */
struct found {
	uint32_t type;        /* plain; TYPE_VOID: nothing */
	const char *variable; /* NULL: the function returns it */
	bool several;         /* different types were */
};

struct looking {
	struct types *types;
	uint64_t bytes, line;
	bool against;                /* see is_against() */
	struct found at_line, other; /* declared at the line of the call; of the right size */
};

static bool is_block(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* Where an inlined function, or one that has code of its own, is described. */
static Dwarf_Die find_origin(Dwarf_Die die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die origin;
	return dwarf_attr(&die, DW_AT_abstract_origin, &attribute) &&
			       dwarf_formref_die(&attribute, &origin)
		       ? origin
		       : die;
}

static uint64_t find_line(struct unit *unit, uint64_t address)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->skeleton, address);
	int number = 0;
	return line && !dwarf_lineno(line, &number) && number > 0 ? (uint64_t)number : 0;
}

/* Goes inward from a function to what was inlined at the address. *ret_levels: outermost first;
 * returns how many. */
static unsigned find_levels(struct unit *unit, Dwarf_Die function, uint64_t address,
	struct level ret_levels[static LEVELS_MAX])
{
	unsigned count = 1;
	ret_levels[0] = (struct level){.function = find_origin(function)};
	Dwarf_Die die;
	for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
		bool inward = false;
		for (bool ok = die_child(&function, &die); ok && !inward; ok = die_next(&die)) {
			int tag = dwarf_tag(&die);
			if ((tag != DW_TAG_inlined_subroutine && !is_block(tag)) ||
				dwarf_haspc(&die, address) <= 0)
				continue;
			inward = true;
			function = die;
			if (tag == DW_TAG_inlined_subroutine && count < LEVELS_MAX) {
				ret_levels[count - 1].line = entry_number(&die, DW_AT_call_line, 0);
				ret_levels[count++] = (struct level){.function = find_origin(die)};
			}
		}
		if (!inward)
			break;
	}
	ret_levels[count - 1].line = find_line(unit, address);
	return count;
}

static void found_add(struct types *types, struct found *found, uint32_t type, const char *variable)
{
	if (found->type == TYPE_VOID)
		*found = (struct found){.type = type, .variable = variable};
	else
		found->several |= !types_are_same(types, found->type, type);
}

/* What a pointer leads to, plain. TYPE_VOID: it is none. */
static uint32_t find_target(struct types *types, uint32_t number)
{
	uint32_t plain = types_plain(types, number);
	if (types_get(types, plain)->kind != TYPE_POINTER)
		return TYPE_VOID;
	return types_plain(types, types_target(types, plain));
}

/* Whether a block can be of that type: one, or several after one another if so many bytes are said
 * nowhere else. */
static bool can_be(const struct looking *l, uint32_t type, bool several)
{
	const struct type *of = types_get(l->types, type);
	if (!type_has_members(of) || of->is_declared || !of->size)
		return false;
	return of->size == l->bytes || (several && l->bytes && l->bytes % of->size == 0);
}

/* Whether a pointer that is declared at the line of the call leads to something else than a
 * structure of that size: then the block is not known to be one. */
static bool is_against(const struct looking *l, uint32_t number)
{
	uint32_t plain = types_plain(l->types, number);
	return types_get(l->types, plain)->kind == TYPE_POINTER &&
	       find_target(l->types, plain) != TYPE_VOID;
}

/* A pointer that the block's address may have been given to. */
static void look_at_pointer(struct looking *l, uint32_t number, const char *variable, uint64_t line)
{
	uint32_t type = find_target(l->types, number);
	bool at_line = l->line && line == l->line;
	if (type == TYPE_VOID || !can_be(l, type, at_line)) {
		l->against |= at_line && is_against(l, number);
		return;
	}
	variable = types_keep(l->types, variable);
	if (at_line)
		found_add(l->types, &l->at_line, type, variable);
	else
		found_add(l->types, &l->other, type, variable);
}

/* Parameters have their values before; what they point to may be given the address. */
static void look_at_entry(struct looking *l, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);
	uint32_t number = types_of_entry(l->types, die);
	if (dwarf_tag(die) == DW_TAG_variable)
		look_at_pointer(l, number, name, entry_number(die, DW_AT_decl_line, 0));
	else
		look_at_pointer(l, find_target(l->types, number), name, 0);
}

static void look_at_entries(struct looking *l, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;
	for (bool ok = depth < DEPTH_MAX && die_child(parent, &die); ok; ok = die_next(&die)) {
		int tag = dwarf_tag(&die);
		if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter)
			look_at_entry(l, &die);
		else if (is_block(tag))
			look_at_entries(l, &die, depth + 1);
	}
}

/* Of a function that is defined apart from its declaration, the latter may say it. */
static uint32_t find_returned(struct types *types, Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	Dwarf_Die type;
	return dwarf_attr_integrate(function, DW_AT_type, &attribute) &&
			       dwarf_formref_die(&attribute, &type)
		       ? types_of_die(types, &type)
		       : TYPE_VOID;
}

/* Whether a function hands memory of no type on: void *, char *. */
static bool is_handed_on(struct types *types, uint32_t returned)
{
	uint32_t plain = types_plain(types, returned);
	const struct type *target = types_get(types, find_target(types, plain));
	return types_get(types, plain)->kind == TYPE_POINTER &&
	       (target->kind == TYPE_UNKNOWN || target->size == 1);
}

/* Returns whether it is settled what is known: else a function further out may tell. */
static bool look_at_level(
	struct types *types, struct level *level, uint64_t bytes, struct types_allocation *ret)
{
	struct looking l = {.types = types, .bytes = bytes, .line = level->line};
	uint32_t returned = find_returned(types, &level->function);
	look_at_entries(&l, &level->function, 0);
	look_at_pointer(&l, returned, NULL, 0);
	const struct found *found = l.at_line.type != TYPE_VOID ? &l.at_line : &l.other;
	if (found->type == TYPE_VOID)
		return !is_handed_on(types, returned);
	if (!found->several && !l.against)
		*ret = (struct types_allocation){found->type, found->variable, found == &l.at_line};
	return true;
}

bool types_allocation(struct types *types, uint32_t module, uint64_t address, uint64_t bytes,
	struct types_allocation *ret)
{
	struct unit_index *units = symbols_units(types->symbols, module);
	struct unit *unit = NULL;
	const Dwarf_Die *function = NULL;
	*ret = (struct types_allocation){.type = TYPE_VOID};
	struct error *error = units ? unit_index_find(units, address, &unit) : NULL;
	if (!error && unit)
		error = unit_function(unit, address, &function);
	types->failed |= error != NULL;
	error_destroy(error);
	if (types->failed || !function)
		return true;
	struct level levels[LEVELS_MAX];
	unsigned count = find_levels(unit, *function, address, levels);
	while (count--)
		if (look_at_level(types, &levels[count], bytes, ret))
			return true;
	return false;
}
