/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What std::function and std::any hold: which blocks, by the functions that manage them (held.h).
 * What these are is decided once debug information is read. */
#include <string.h>

#include "base/cleanup.h"
#include "heap/values/containers_find.h"
#include "symbols/name.h"

/* A module's own name for it; what several functions have in common tells none of them. */
static struct error *name_code(struct container_search *f, struct held_code *code)
{
	const struct address_space *space = f->heap->space;
	const struct address_module *module = address_space_module(space, code->address);
	const char *const *aliases;
	size_t count = 0;
	uint32_t number;
	if (!module || !heap_names_symbols(f->names, module, &number))
		return NULL;
	struct error *error = symbols_aliases(
		f->names->symbols, number, code->address - module->bias, &aliases, &count);
	if (error || count != 1)
		return error;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	name_add_demangled(&text, aliases[0]);
	const char *name = text.data ? text.data : "";
	if ((strstr(name, "std::any::_Manager_external<") && strstr(name, "::_S_manage")) ||
		(strstr(name, "::__any_imp::_LargeHandler<") && strstr(name, "::__handle")))
		code->kind = HELD_BY_ANY;
	else if ((strstr(name, "std::any::_Manager_internal<") && strstr(name, "::_S_manage")) ||
		 (strstr(name, "::__any_imp::_SmallHandler<") && strstr(name, "::__handle")))
		code->kind = HELD_IN_ANY;
	else if ((strstr(name, "std::_Function_handler<") ||
			 strstr(name, "std::_Function_base::_Base_manager<")) &&
		 strstr(name, "::_M_manager"))
		code->kind = HELD_BY_FUNCTION;
	if (code->kind == HELD_NOTHING)
		return NULL;
	code->symbol = arena_strdup(&f->types->arena, name);
	return code->symbol ? NULL : error_no_memory();
}

/* The number of what manages contents, of all code that was met; UINT32_MAX: it is no such. */
static uint32_t learn_code(struct container_search *f, uint64_t address)
{
	const struct process_map *map = address_space_map(f->heap->space, address);
	bool is_new;
	if (!map || !map->executable)
		return UINT32_MAX;
	uint32_t *number = held_map_insert(&f->managers, address, &is_new);
	if (!number) {
		f->error = error_no_memory();
		return UINT32_MAX;
	}
	if (!is_new)
		return *number;
	*number = UINT32_MAX;
	struct held_code code = {.address = address};
	f->error = name_code(f, &code);
	if (f->error || code.kind == HELD_NOTHING)
		return UINT32_MAX;
	*number = (uint32_t)f->types->held.codes.len;
	if (!held_codes_push(&f->types->held.codes, code))
		f->error = error_no_memory();
	return f->error ? UINT32_MAX : *number;
}

/* Most of the words that are asked about are tables of virtual functions, the same again and again.
 */
static uint32_t code_at(struct container_search *f, uint64_t address)
{
	size_t slot = (address >> 3 ^ address >> 11) % MANAGERS_RECENT;
	if (f->recent[slot].address != address) {
		f->recent[slot].code = learn_code(f, address);
		f->recent[slot].address = address;
	}
	return f->recent[slot].code;
}

/* The content of a std::any lies after the word `before` words before the place. What is on a stack
 * may be stale, and so may what it leads to. */
static void take_inside(
	struct container_search *f, const struct container_place *place, size_t before)
{
	uint32_t code = code_at(f, place->words[-(ptrdiff_t)before]);
	if (code == UINT32_MAX || f->types->held.codes.data[code].kind != HELD_IN_ANY)
		return;
	struct held_places *places = &f->types->held.places;
	uint64_t address = place->address - 8 * (before - 1);
	bool is_known = places->len && places->data[places->len - 1].address == address;
	if (!is_known && !held_places_push(places, (struct held_place){address, code}))
		f->error = error_no_memory();
}

static void containers_held_take(struct container_search *f, const struct container_place *place,
	uint64_t manager, enum held_kind kind)
{
	uint32_t code = code_at(f, manager);
	if (code == UINT32_MAX || f->types->held.codes.data[code].kind != kind)
		return;
	uint32_t block = block_of(f, place->words[0]);
	if (block != SPACE_NONE &&
		!held_blocks_push(&f->types->held.blocks, (struct held_block){block, code}))
		f->error = error_no_memory();
}

void find_held(struct container_search *f, const struct container_place *place)
{
	const uint64_t *w = place->words;
	if (place->before && find_is_outside(f, w[-1]))
		containers_held_take(f, place, w[-1], HELD_BY_ANY);
	if (place->after > 3 && find_is_outside(f, w[2]) && find_is_outside(f, w[3]) && !f->error)
		containers_held_take(f, place, w[2], HELD_BY_FUNCTION);
	for (size_t before = 1; before <= FIND_INSIDE_WORDS && before <= place->before; before++) {
		if (!place->is_stack && find_is_outside(f, w[-(ptrdiff_t)before]) && !f->error)
			take_inside(f, place, before);
	}
}
