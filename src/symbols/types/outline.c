/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/types/outline.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/types/variables.h"

/* Of namespaces, classes, functions and blocks in one another. */
#define DEPTH_MAX 64u
/* Of what names inside begin with: of one, and of all. */
#define SCOPE_BYTES_MAX 4096u
#define SCOPES_BYTES_MAX (256u << 20)

void outline_init(struct outline *outline)
{
	*outline = (struct outline){.entries = 0};
	arena_init(&outline->arena);
}

void outline_deinit(struct outline *outline)
{
	outline_types_deinit(&outline->types);
	outline_variables_deinit(&outline->variables);
	outline_variables_deinit(&outline->thread_locals);
	outline_map_deinit(&outline->numbers);
	arena_deinit(&outline->arena);
}

struct level {
	Dwarf_Die die;
	const char *scope;
	uint32_t within; /* as outline_type has it */
};

struct scanning {
	struct outline *outline;
	uint32_t module;
	unsigned most;
	bool is_c, is_rust;
	struct level path[DEPTH_MAX];
};

static bool is_class(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

static bool is_type(int tag)
{
	return is_class(tag) || tag == DW_TAG_enumeration_type || tag == DW_TAG_typedef ||
	       tag == DW_TAG_base_type;
}

static bool is_scope(int tag)
{
	return is_class(tag) || tag == DW_TAG_namespace || tag == DW_TAG_subprogram ||
	       tag == DW_TAG_lexical_block;
}

/* Where what an entry describes is declared: type units describe outside, and so do `struct
 * Outer::Inner {…}`. Declarations come first. */
static const char *declared_scope(const struct outline *o, Dwarf_Die *die, const char *otherwise)
{
	Dwarf_Attribute attribute;
	Dwarf_Die declaration;
	if (!dwarf_attr(die, DW_AT_specification, &attribute) ||
		!dwarf_formref_die(&attribute, &declaration))
		return otherwise;
	const uint32_t *number = outline_map_find(&o->numbers, declaration.addr);
	return number ? o->types.data[*number].scope : otherwise;
}

static bool add_type(struct scanning *s, const struct level *level)
{
	struct outline *o = s->outline;
	Dwarf_Die die = level->die;
	bool is_new;
	uint32_t *number = outline_map_insert(&o->numbers, die.addr, &is_new);
	if (!number)
		return false;
	*number = (uint32_t)o->types.len;
	struct outline_type fresh = {.die = die,
		.scope = level->scope,
		.module = s->module,
		.within = level->within,
		.is_c = s->is_c,
		.is_rust = s->is_rust,
		.stands_for = dwarf_hasattr(&die, DW_AT_signature)};
	fresh.name = dwarf_diename(&die);
	return outline_types_push(&o->types, fresh);
}

static bool add_variable(struct scanning *s, Dwarf_Die die)
{
	uint64_t start;
	bool is_static = variable_static_address(&die, &start);
	if (!is_static && !variable_thread_offset(&die, &start))
		return true;
	struct outline_variable fresh = {.start = start, .die = die, .module = s->module};
	Dwarf_Attribute attribute;
	bool external = false;
	fresh.is_local = !dwarf_attr_integrate(&die, DW_AT_external, &attribute) ||
			 dwarf_formflag(&attribute, &external) != 0 || !external;
	return outline_variables_push(
		is_static ? &s->outline->variables : &s->outline->thread_locals, fresh);
}

/* "space::Outer::", unless names are longer than anybody's; NULL: no memory. */
static const char *make_scope(struct outline *o, const char *outer, const char *name)
{
	size_t room = strlen(outer) + strlen(name) + 3;
	if (room >= SCOPE_BYTES_MAX || o->scope_bytes + room > SCOPES_BYTES_MAX)
		return outer;
	o->scope_bytes += room;
	char *scope = arena_alloc(&o->arena, room);
	if (scope)
		snprintf(scope, room, *name ? "%s%s::" : "%s%s", outer, name);
	return scope;
}

/* What names inside begin with; of functions' own types the file says nothing. NULL: no memory. */
static const char *scope_inside(struct scanning *s, const struct level *level, int tag)
{
	if (s->is_c || tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block)
		return level->scope;
	Dwarf_Die die = level->die;
	const char *name = dwarf_diename(&die);
	if (!name)
		name = tag == DW_TAG_namespace ? "(anonymous namespace)" : "";
	return make_scope(s->outline, level->scope, name);
}

/* The class that types inside have as `within`: the one that was just added. */
static uint32_t within_inside(const struct scanning *s, const struct level *level, int tag)
{
	const struct outline_types *types = &s->outline->types;
	if (!is_class(tag))
		return level->within;
	bool stands_for = types->data[types->len - 1].stands_for || level->within != OUTLINE_NONE;
	return stands_for ? (uint32_t)types->len - 1 : OUTLINE_NONE;
}

static bool outline_take(struct scanning *s, const struct level *level, int tag)
{
	if (is_type(tag))
		return add_type(s, level);
	return tag != DW_TAG_variable || add_variable(s, level->die);
}

/* False: no memory. */
static bool outline_scan(struct scanning *s, Dwarf_Die *unit)
{
	unsigned depth = 0;
	struct level *path = s->path;
	path[0].scope = "";
	path[0].within = OUTLINE_NONE;
	bool ok = die_child(unit, &path[0].die);
	while (ok) {
		if (++s->outline->entries > s->most) {
			s->outline->cut = true;
			return true;
		}
		int tag = dwarf_tag(&path[depth].die);
		const char *outside = path[depth].scope;
		if (is_class(tag) || tag == DW_TAG_enumeration_type)
			path[depth].scope = declared_scope(s->outline, &path[depth].die, outside);
		if (!outline_take(s, &path[depth], tag))
			return false;
		if (is_scope(tag) && depth + 1 < DEPTH_MAX &&
			die_child(&path[depth].die, &path[depth + 1].die)) {
			path[depth + 1].scope = scope_inside(s, &path[depth], tag);
			path[depth].scope = outside;
			path[depth + 1].within = within_inside(s, &path[depth], tag);
			if (!path[++depth].scope)
				return false;
			continue;
		}
		path[depth].scope = outside;
		while (!(ok = die_next(&path[depth].die)) && depth > 0)
			depth--;
	}
	return true;
}

static bool is_c_language(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
		return true;
	default:
		return false;
	}
}

static bool take_unit(void *context, Dwarf_Die *unit)
{
	struct scanning *s = context;
	s->is_c = is_c_language(unit);
	s->is_rust = dwarf_srclang(unit) == DW_LANG_Rust;
	return outline_scan(s, unit);
}

static int outline_by_start(const void *a, const void *b)
{
	const struct outline_variable *x = a, *y = b;
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

/* The namespace of what stands for a type unit's class only that unit tells, and with it that of
 * what is inside. Those around come first. False: no memory. */
static bool join_type_units(struct outline *o, size_t from)
{
	uint32_t last = OUTLINE_NONE; /* neighbours are within the same */
	const char *scope = NULL;
	for (size_t i = from; i < o->types.len; i++) {
		struct outline_type *type = &o->types.data[i];
		Dwarf_Attribute attribute;
		Dwarf_Die described;
		const uint32_t *number = NULL;
		if (type->stands_for && dwarf_attr(&type->die, DW_AT_signature, &attribute) &&
			dwarf_formref_die(&attribute, &described))
			number = outline_map_find(&o->numbers, described.addr);
		if (number) {
			type->scope = o->types.data[*number].scope;
			type->name = o->types.data[*number].name;
		} else if (type->within != OUTLINE_NONE && type->name) {
			const struct outline_type *outer = &o->types.data[type->within];
			if (type->within != last)
				scope = make_scope(o, outer->scope, outer->name ? outer->name : "");
			last = type->within;
			type->scope = scope;
		}
		if (!type->scope)
			return false;
	}
	return true;
}

static void outline_sort(struct outline_variables *variables, size_t before)
{
	if (variables->len > before)
		qsort(variables->data, variables->len, sizeof(*variables->data), outline_by_start);
}

struct error *outline_add(
	struct outline *outline, struct unit_index *units, uint32_t module, unsigned most)
{
	struct scanning *s = calloc(1, sizeof(*s));
	if (!s)
		return error_no_memory();
	s->outline = outline;
	s->module = module;
	s->most = most;
	size_t before = outline->types.len, variables = outline->variables.len;
	size_t thread_locals = outline->thread_locals.len;
	struct error *error = unit_index_each(units, take_unit, s);
	if (!error && !join_type_units(outline, before))
		error = error_no_memory();
	free(s);
	outline_sort(&outline->variables, variables);
	outline_sort(&outline->thread_locals, thread_locals);
	return error;
}

const struct outline_variable *outline_variable_before(
	const struct outline_variables *variables, uint32_t module, uint64_t address)
{
	size_t low = 0, high = variables->len;
	const struct outline_variable *all = variables->data;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (all[middle].module < module ||
			(all[middle].module == module && all[middle].start <= address))
			low = middle + 1;
		else
			high = middle;
	}
	return low && all[low - 1].module == module ? &all[low - 1] : NULL;
}
