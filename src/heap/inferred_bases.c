/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a pointer to a structure leads to may be more than that: in C a structure that has it as its
 * first member, in C++ one that derives from it. Where such a one fits a block as well, and an
 * allocator gives both the same, the declaration alone does not tell.
 */
#include "heap/inferred_find.h"

static bool take(void *context, uint32_t whole)
{
	return space_u32_push(context, whole);
}

/* Whatever was met so far, so that what is said does not depend on that. */
static void know_modules(struct inferring *f)
{
	const struct address_space *space = f->survey->heap.space;
	uint32_t unused;
	for (size_t i = 0; !f->has_modules && i < space->modules.len; i++)
		inferred_know_module(f, &space->modules.data[i], &unused);
	f->has_modules = true;
}

bool inferred_may_be_more(struct inferring *inferring, uint32_t type, uint32_t class)
{
	struct inferring *f = inferring;
	const struct heap_class *of = &f->survey->classes.classes.data[class];
	struct fact *fact = inferred_fact(f, type);
	bool may_be = false;
	if (!fact || fact->size >= of->key.size || !type_has_members(types_get(f->types, type)))
		return false;
	if (!fact->has_wholes) {
		fact->has_wholes = true;
		know_modules(f);
		/* See inferred_is_close(). */
		types_each_beginning(f->types, type,
			fact->size + fact->size / 2 + 2ull * LAYOUT_SPARE, take, &fact->wholes);
	}
	for (size_t i = 0; i < fact->wholes.len && !may_be; i++)
		may_be = inferred_looks_like(f, fact->wholes.data[i], class);
	return may_be;
}
