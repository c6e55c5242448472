/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/types.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbols/types/types_entry.h"
#include "symbols/types/variables.h"

/* Entries that are looked at: some seconds' worth. */
#define ENTRIES_MAX (16u << 20)
/* Typedefs of typedefs. */
#define CHAIN_MAX 64u

struct error *types_create(struct symbols *symbols, struct types **ret)
{
	_cleanup_(types_cleanup) struct types *types = calloc(1, sizeof(*types));
	if (!types)
		return error_no_memory();
	types->symbols = symbols;
	outline_init(&types->outline);
	strings_init(&types->strings);
	if (!type_store_push(&types->made, (struct type_made){.from_outline = true}))
		return error_no_memory();
	*ret = steal_ptr(types);
	return NULL;
}

void types_destroy(struct types *types)
{
	if (!types)
		return;
	outline_deinit(&types->outline);
	module_numbers_deinit(&types->modules);
	module_numbers_deinit(&types->described);
	type_store_deinit(&types->made);
	outline_map_deinit(&types->of_die);
	type_key_map_deinit(&types->by_key);
	type_name_map_deinit(&types->by_name);
	beginning_vec_deinit(&types->beginnings);
	beginning_set_deinit(&types->beginning_set);
	member_vec_deinit(&types->scratch);
	strings_deinit(&types->strings);
	free(types);
}

bool types_are_cut(const struct types *types)
{
	return types->outline.cut;
}

bool types_failed(const struct types *types)
{
	return types->failed;
}

static bool has_module(const struct module_numbers *modules, uint32_t module)
{
	for (size_t i = 0; i < modules->len; i++) {
		if (modules->data[i] == module)
			return true;
	}
	return false;
}

bool types_add_module(struct types *types, uint32_t module)
{
	if (has_module(&types->modules, module))
		return has_module(&types->described, module);
	struct unit_index *units = symbols_units(types->symbols, module);
	if (!module_numbers_push(&types->modules, module) ||
		(units && !module_numbers_push(&types->described, module)))
		types->failed = true;
	struct error *error =
		units ? outline_add(&types->outline, units, module, ENTRIES_MAX) : NULL;
	types->failed |= error != NULL;
	error_destroy(error);
	return units != NULL;
}

const struct type *types_get(const struct types *types, uint32_t number)
{
	return &types->made.data[number < types->made.len ? number : TYPE_VOID].type;
}

uint32_t types_target(struct types *types, uint32_t number)
{
	struct type_made *made = type_store_at(types, number);
	if (made->target.addr) {
		Dwarf_Die die = made->target;
		made->target.addr = NULL;
		uint32_t target = types_of_die(types, &die);
		type_store_at(types, number)->type.target = target;
		return target;
	}
	return made->type.target;
}

uint32_t types_plain(const struct types *types, uint32_t number)
{
	for (unsigned i = 0; i < CHAIN_MAX; i++) {
		const struct type *type = types_get(types, number);
		if (type->kind != TYPE_TYPEDEF && type->kind != TYPE_QUALIFIED)
			return number < types->made.len ? number : TYPE_VOID;
		number = type->target;
	}
	return TYPE_VOID;
}

bool types_are_same(const struct types *types, uint32_t a, uint32_t b)
{
	if (a == b)
		return true;
	const struct type *x = types_get(types, a), *y = types_get(types, b);
	return x->name && y->name && x->size == y->size && x->kind == y->kind &&
	       !strcmp(x->name, y->name);
}

static bool find_virtual_bases(struct types *types, uint32_t number, unsigned depth)
{
	const struct type of = *types_get(types, number);
	if (!type_has_members(&of) || depth > TYPES_DEPTH_MAX)
		return false;
	struct type_made *made = type_store_at(types, number);
	if (made->bases != BASES_NOT_LOOKED)
		return made->bases == BASES_VIRTUAL;
	made->bases = BASES_NONE;
	bool any = false;
	for (uint32_t i = 0; i < of.member_count && !any; i++)
		any = of.members[i].kind == MEMBER_VIRTUAL_BASE ||
		      find_virtual_bases(types, types_plain(types, of.members[i].type), depth + 1);
	type_store_at(types, number)->bases = any ? BASES_VIRTUAL : BASES_NONE;
	return any;
}

bool types_have_virtual_bases(struct types *types, uint32_t number)
{
	return find_virtual_bases(types, number, 0);
}

uint32_t types_with_members(
	struct types *types, uint32_t number, const struct type_member *members, uint32_t count)
{
	struct type_made made = *type_store_at(types, number);
	struct type_member *kept =
		arena_alloc(&types->strings.arena, ((size_t)count + 1) * sizeof(*kept));
	types->failed |= !kept;
	if (!kept)
		return number;
	memcpy(kept, members, count * sizeof(*kept));
	made.type.members = kept;
	made.type.member_count = count;
	made.type.target = number;
	uint32_t fresh = types_make(types, NULL, &made.type);
	if (fresh == TYPE_VOID)
		return number;
	types->made.data[fresh].arguments = made.arguments;
	types->made.data[fresh].argument_count = made.argument_count;
	return fresh;
}

uint32_t types_declared(const struct types *types, uint32_t number)
{
	const struct type *type = types_get(types, number);
	return type_has_members(type) && type->target != TYPE_VOID ? type->target : number;
}

bool types_argument(struct types *types, uint32_t number, unsigned which, uint32_t *ret)
{
	struct type_made *made = type_store_at(types, number);
	if (which >= made->argument_count)
		return false;
	Dwarf_Die die = made->arguments[which];
	*ret = types_of_die(types, &die);
	return true;
}

static void find_variable(struct types *types, const struct outline_variables *variables,
	uint32_t module, uint64_t address, struct types_variable *ret)
{
	*ret = (struct types_variable){.name = NULL};
	const struct outline_variable *found = outline_variable_before(variables, module, address);
	if (!found)
		return;
	Dwarf_Die die = found->die, type;
	Dwarf_Attribute attribute;
	if (!dwarf_attr_integrate(&die, DW_AT_type, &attribute) ||
		!dwarf_formref_die(&attribute, &type))
		return;
	uint32_t number = types_of_die(types, &type);
	if (address - found->start >= types_get(types, number)->size)
		return;
	*ret = (struct types_variable){dwarf_diename(&die), number, found->start, found->is_local};
}

void types_variable(
	struct types *types, uint32_t module, uint64_t address, struct types_variable *ret)
{
	find_variable(types, &types->outline.variables, module, address, ret);
}

void types_thread_local(
	struct types *types, uint32_t module, uint64_t offset, struct types_variable *ret)
{
	find_variable(types, &types->outline.thread_locals, module, offset, ret);
}

bool types_implementor(struct types *types, uint32_t module, uint64_t address, uint32_t *ret)
{
	const struct outline_variable *found =
		outline_variable_before(&types->outline.variables, module, address);
	if (!found || found->start != address)
		return false;
	Dwarf_Die die = found->die, table, implementor;
	Dwarf_Attribute attribute;
	if (!entry_type(&die, &table) || !dwarf_attr(&table, DW_AT_containing_type, &attribute) ||
		!dwarf_formref_die(&attribute, &implementor))
		return false;
	*ret = types_plain(types, types_of_die(types, &implementor));
	return *ret != TYPE_VOID;
}

static bool is_described(struct types *types, uint32_t number)
{
	const struct type *type = types_get(types, number);
	return type->kind != TYPE_UNKNOWN && !type->is_declared;
}

static bool is_sized(Dwarf_Die *die, bool (*wants)(void *context, uint64_t size), void *context)
{
	int tag = dwarf_tag(die);
	uint64_t size = tag == DW_TAG_structure_type || tag == DW_TAG_class_type
				? entry_number(die, DW_AT_byte_size, 0)
				: 0;
	return size && wants(context, size);
}

void types_each_sized(struct types *types, bool (*wants)(void *context, uint64_t size),
	bool (*take)(void *context, uint32_t number), void *context)
{
	for (size_t i = 0; i < types->outline.types.len && !types->failed; i++) {
		Dwarf_Die die = types->outline.types.data[i].die;
		if (dwarf_tag(&die) == DW_TAG_base_type ||
			(wants && !is_sized(&die, wants, context)))
			continue;
		uint32_t number = types_of_die(types, &die);
		struct type_made *made = type_store_at(types, number);
		if (made->from_outline || !is_described(types, number))
			continue;
		made->from_outline = true;
		if (!take(context, number))
			break;
	}
	for (size_t i = 1; i < types->made.len; i++)
		types->made.data[i].from_outline = false;
}

void types_each(struct types *types, bool (*take)(void *context, uint32_t number), void *context)
{
	types_each_sized(types, NULL, take, context);
}
