/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a function that is a member of a class to that class. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/types/types_entry.h"
#include "symbols/types/unit_index.h"

/* From a function to its declaration: what was inlined, or is defined outside of its class. */
#define HOPS_MAX 4u
#define BASES_DEPTH 4u

static void find_declaration(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	Dwarf_Die next;
	for (unsigned i = 0; i < HOPS_MAX; i++) {
		if (!dwarf_attr(function, DW_AT_specification, &attribute) &&
			!dwarf_attr(function, DW_AT_abstract_origin, &attribute))
			return;
		if (!dwarf_formref_die(&attribute, &next) || next.addr == function->addr)
			return;
		*function = next;
	}
}

static bool is_class(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type;
}

/* Where the class is described, if the entry only declares it: in a unit of its own. */
static void find_description(Dwarf_Die *class)
{
	Dwarf_Attribute attribute;
	Dwarf_Die whole;
	if (dwarf_attr(class, DW_AT_signature, &attribute) && dwarf_formref_die(&attribute, &whole))
		*class = whole;
}

/* Of a class, or of one that it derives from. */
static uint64_t constant_of(Dwarf_Die class, const char *name, unsigned depth)
{
	Dwarf_Die child, base;
	uint64_t value = UINT64_MAX;
	find_description(&class);
	for (bool ok = depth < BASES_DEPTH && die_child(&class, &child); ok && value == UINT64_MAX;
		ok = die_next(&child)) {
		int tag = dwarf_tag(&child);
		const char *own = tag == DW_TAG_variable || tag == DW_TAG_member
					  ? dwarf_diename(&child)
					  : NULL;
		if (own && !strcmp(own, name))
			value = entry_number(&child, DW_AT_const_value, UINT64_MAX);
		else if (tag == DW_TAG_inheritance && entry_type(&child, &base))
			value = constant_of(base, name, depth + 1);
	}
	return value;
}

/* Of equal names there may be several classes, and each has its own arguments: two lambdas of a
 * function are called the same. */
static uint32_t last_argument(struct types *types, Dwarf_Die class)
{
	Dwarf_Die child;
	uint32_t last = TYPE_VOID;
	for (bool ok = die_child(&class, &child); ok; ok = die_next(&child)) {
		if (dwarf_tag(&child) == DW_TAG_template_type_parameter)
			last = types_plain(types, types_of_entry(types, &child));
	}
	return last;
}

bool types_function_class(struct types *types, uint32_t module, uint64_t address,
	const char *constant, struct types_function_class *ret)
{
	struct unit_index *units = symbols_units(types->symbols, module);
	struct unit *unit = NULL;
	const Dwarf_Die *found = NULL;
	*ret = (struct types_function_class){.constant = UINT64_MAX};
	struct error *error = units ? unit_index_find(units, address, &unit) : NULL;
	if (!error && unit)
		error = unit_function(unit, address, &found);
	types->failed |= error != NULL;
	error_destroy(error);
	if (types->failed || !found)
		return false;
	Dwarf_Die function = *found, *scopes = NULL;
	find_declaration(&function);
	if (dwarf_getscopes_die(&function, &scopes) > 1 && is_class(&scopes[1])) {
		Dwarf_Die class = scopes[1];
		find_description(&class);
		ret->name = types_keep(types, dwarf_diename(&class));
		ret->type = types_plain(types, types_of_die(types, &class));
		ret->argument = last_argument(types, class);
		ret->constant = constant_of(class, constant, 0);
	}
	free(scopes);
	return ret->name;
}
