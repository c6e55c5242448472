/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handles pointers to structures that may lead to larger ones: in C a structure that has it as its
 * first member, in C++ one that derives from it. If such a larger structure also fits a block, and
 * the allocator gives both the same size, the declaration does not decide.
 */
#include "heap/inferred/inferred_find.h"

struct taking {
	struct inferring *f;
	struct space_u32 *enclosing;
};

static bool inferred_bases_take(void *context, uint32_t whole)
{
	struct taking *t = context;
	t->f->failed |= !space_u32_push(t->enclosing, whole);
	return !t->f->failed;
}

/* Independent of what was met so far. */
static void know_modules(struct inferring *f)
{
	const struct address_space *space = f->scan->heap.space;
	uint32_t unused;
	for (size_t i = 0; !f->has_modules && i < space->modules.len; i++)
		inferred_know_module(f, &space->modules.data[i], &unused);
	f->has_modules = true;
}

/* All that fit blocks of a size. Larger blocks ask for more, but seldom. */
static void learn_enclosing(struct inferring *f, uint32_t type, struct fact *fact, uint64_t usable)
{
	uint64_t known = fact->enclosing_most > fact->size ? fact->enclosing_most : fact->size;
	if (usable <= fact->enclosing_most)
		return;
	know_modules(f);
	fact->enclosing_most = known < UINT64_MAX / 2 ? 2 * known : UINT64_MAX;
	if (fact->enclosing_most < usable)
		fact->enclosing_most = usable;
	struct taking taking = {f, &fact->enclosing};
	types_each_beginning(
		f->types, type, known, fact->enclosing_most, inferred_bases_take, &taking);
}

/* Whether blocks of a class can be one of a type, for all that is known: where it has a pointer a
 * word may be one that classes don't count, as they are no multiples of 8. */
static bool can_be(struct inferring *f, uint32_t type, const struct heap_shape *of)
{
	uint32_t element;
	uint64_t at, size = types_get(f->types, type)->size;
	struct fact *fact = inferred_fact(f, type);
	if (size > of->key.size || !fact ||
		!(inferred_is_close_to(f, fact, of->key.size) ||
			types_open_end(f->types, type, &element, &at, NULL)))
		return false;
	return inferred_is_single(f, type, of->key.size, of->key.pointers) &&
	       inferred_can_be_pointers(f, of, of->example, fact->map.pointers & ~fact->map.code);
}

bool inferred_may_be_more(struct inferring *inferring, uint32_t type, uint32_t class)
{
	struct inferring *f = inferring;
	const struct heap_shape *of = &f->scan->classes.classes.data[class];
	struct fact *fact = inferred_fact(f, type);
	bool may_be = false;
	if (!fact || fact->size >= of->key.size || !type_has_members(types_get(f->types, type)))
		return false;
	learn_enclosing(f, type, fact, of->key.size);
	for (size_t i = 0; i < fact->enclosing.len && !may_be; i++)
		may_be = can_be(f, fact->enclosing.data[i], of);
	return may_be;
}
