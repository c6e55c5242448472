/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What std::function and std::any have allocated (held.h): the function that manages it is a member
 * of a class template, whose argument is the type.
 */
#include <string.h>

#include "base/cleanup.h"
#include "heap/contents.h"
#include "heap/cxx.h"
#include "heap/inferred/inferred_find.h"

/* Of a manager. */
struct managed {
	bool is_searched;
	uint32_t type; /* plain; TYPE_VOID: not known, or not in a block */
	uint32_t heap; /* the heap's type for a lambda; HEAP_TYPE_NONE: it is another class */
};
DEFINE_VEC(managed_vec, struct managed)

/* Of a template's arguments those from the n-th on. */
static void add_arguments(struct text *text, const char *at, size_t len, unsigned n)
{
	const char *end = at + len;
	for (; at < end && n; n--) {
		for (int depth = 0; at < end && (depth || *at != ','); at++)
			depth += strchr("<([{", *at) ? 1 : strchr(">)]}", *at) ? -1 : 0;
		while (at < end && (*at == ',' || *at == ' '))
			at++;
	}
	text_add_n(text, at, (size_t)(end - at));
}

/* Whether a type's own name does not tell it from others: a lambda's. */
static bool is_nameless(const struct type *type)
{
	return !type->name || type->name[0] == '<' || type->name[0] == '(' ||
	       type->name[0] == '.' || strstr(type->name, "lambda");
}

static uint32_t name_by(
	struct inferring *f, const struct managed *m, const char *owner, unsigned argument)
{
	_cleanup_(text_deinit) struct text own, name;
	text_init(&own);
	text_init(&name);
	size_t len;
	const char *at = held_arguments(owner, &len);
	if (at)
		add_arguments(&own, at, len, argument);
	if (own.len)
		cxx_add_plain_name(&name, own.data);
	return name.len ? inferred_add_type(f, HEAP_TYPE_INFERRED, name.data, m->type, false)
			: HEAP_TYPE_NONE;
}

/* As debug information writes it, which has one name for several of a function's; those after the
 * first as the symbol does. */
static uint32_t name_lambda(struct inferring *f, const struct managed *m, const char *class,
	const char *symbol, unsigned argument)
{
	uint32_t type = name_by(f, m, class, argument);
	return type != HEAP_TYPE_NONE ? type : name_by(f, m, symbol, argument);
}

static void find_managed(struct inferring *f, const struct held_code *code, struct managed *ret)
{
	const struct address_space *space = f->scan->heap.space;
	const struct address_module *module = address_space_module(space, code->address);
	uint32_t number;
	struct types_function_class class;
	*ret = (struct managed){true, TYPE_VOID, HEAP_TYPE_NONE};
	if (!inferred_know_module(f, module, &number) ||
		!types_function_class(f->types, number, code->address - module->bias,
			"__stored_locally", &class) ||
		(code->kind == HELD_BY_FUNCTION && class.constant != 0))
		return;
	const struct type *type = types_get(f->types, class.argument);
	size_t unused;
	/* A pointer that lies in a std::any leads somewhere, too. */
	bool is_pointer = code->kind == HELD_IN_ANY && type->kind == TYPE_POINTER;
	if (!held_arguments(class.name, &unused) || (!type_has_members(type) && !is_pointer))
		return;
	ret->type = class.argument;
	if (code->kind != HELD_IN_ANY && is_nameless(type))
		ret->heap = name_lambda(f, ret, class.name, code->symbol,
			strstr(class.name, "_Function_handler<") ? 1 : 0);
}

/* What manages a content is made for just its type: no larger one is meant. */
static void inferred_held_take(struct inferring *f, uint32_t block, const struct managed *m)
{
	struct block_label label = block_label(f->search, block);
	uint32_t class = heap_types_shape(&f->scan->types, label);
	if (class == HEAP_SHAPE_NONE ||
		heap_types_of_label(&f->scan->types, label) != HEAP_TYPE_NONE)
		return;
	const struct shape_key *key = &f->scan->classes.classes.data[class].key;
	uint64_t size = types_get(f->types, m->type)->size;
	if (!inferred_is_close(f, size ? size : 1, key->size) ||
		!inferred_is_single(f, m->type, key->size, key->pointers))
		return;
	uint32_t type = m->heap != HEAP_TYPE_NONE ? m->heap
						  : inferred_single_type(f, m->type,
							    search_block_address(f->search, block));
	if (type == HEAP_TYPE_NONE)
		return;
	inferred_assign_block(f, block, type);
	inferred_push(f, block, type);
}

/* Whether a content is there still: after the last element of a std::vector it was destroyed, and
 * a container's words agree with each other. */
static bool is_there(const struct inferring *f, uint64_t address, uint32_t type)
{
	uint64_t into;
	struct contents contents;
	uint32_t block = search_block_at(f->search, address, &into);
	const struct vector_end *end =
		block == SPACE_NONE ? NULL : heap_types_vector_end(&f->scan->types, block);
	return !(end && into >= end->end) &&
	       (!contents_knows(f->types, type) ||
		       contents_read(f->scan, f->types, type, address, &contents));
}

/* Of a content that lies in its std::any only what its members lead to is news. */
static void take_inside(struct inferring *f, uint64_t address, const struct managed *m)
{
	if (!is_there(f, address, m->type))
		return;
	struct fact *fact = inferred_fact(f, m->type);
	struct inferred_range range = {
		.address = address, .count = 1, .type = m->type, .basis = f->basis};
	if (fact && fact->slots.len && fact->size)
		f->failed |= !inferred_ranges_push(&f->ranges, range);
}

static const struct managed *managed_of(struct inferring *f, struct managed_vec *all, uint32_t code)
{
	struct managed *m = &all->data[code];
	if (!m->is_searched)
		find_managed(f, &f->scan->types.held.codes.data[code], m);
	return m;
}

void inferred_take_held(struct inferring *inferring)
{
	struct inferring *f = inferring;
	const struct held *held = &f->scan->types.held;
	_cleanup_(managed_vec_deinit) struct managed_vec all = {.data = NULL};
	for (size_t i = 0; i < held->codes.len && !f->failed; i++)
		f->failed |= !managed_vec_push(&all, (struct managed){.is_searched = false});
	for (size_t i = 0; i < held->blocks.len && !f->failed; i++) {
		struct held_block block = held->blocks.data[i];
		const struct managed *m = managed_of(f, &all, block.code);
		if (m->type != TYPE_VOID && !f->failed)
			inferred_held_take(f, block.block, m);
	}
	for (size_t i = 0; i < held->places.len && !f->failed; i++) {
		struct held_place place = held->places.data[i];
		const struct managed *m = managed_of(f, &all, place.code);
		if (m->type != TYPE_VOID && !f->failed)
			take_inside(f, place.address, m);
	}
}
