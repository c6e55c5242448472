/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which blocks are pools, what they are called, and what is kept of them. */
#include "heap/inferred/inferred_pools.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/inferred/inferred_arrays.h"
#include "heap/inferred/pool_check.h"

/* Up to `most` types of objects that it is sure of; returns how many there are, at most one more.
 */
static size_t find_kinds(const struct pool_check *j, uint32_t *ret, size_t most)
{
	size_t kinds = 0;
	for (size_t i = 0; i < j->objects.len && kinds <= most; i++) {
		const struct pool_object *object = &j->objects.data[i];
		bool is_known = !object->is_sure;
		for (size_t k = 0; k < kinds && !is_known; k++)
			is_known = types_are_same(j->f->types, ret[k], object->type);
		if (!is_known && kinds < most)
			ret[kinds] = object->type;
		kinds += !is_known;
	}
	return kinds;
}

/* Whether there are others, of which it is not sure what they are. */
static bool has_others(const struct pool_check *j, const uint32_t *kinds, size_t count)
{
	for (size_t i = 0; i < j->objects.len; i++) {
		bool is_known = false;
		for (size_t k = 0; k < count; k++)
			is_known |= types_are_same(j->f->types, kinds[k], j->objects.data[i].type);
		if (!is_known)
			return true;
	}
	return false;
}

/* "pool of Rec", "pool of Name and Rec", "pool of several structures" */
static void inferred_pools_add_name(const struct pool_check *j, struct text *name)
{
	_cleanup_(text_deinit) struct text first;
	_cleanup_(text_deinit) struct text second;
	uint32_t types[2] = {TYPE_VOID, TYPE_VOID};
	size_t kinds = find_kinds(j, types, 2);
	text_init(&first);
	text_init(&second);
	if (kinds <= 2)
		inferred_add_name(j->f, types[0], false, &first);
	if (kinds == 2)
		inferred_add_name(j->f, types[1], false, &second);
	bool is_turned = first.data && second.data && strcmp(first.data, second.data) > 0;
	const char *one = is_turned ? second.data : first.data;
	const char *other = is_turned ? first.data : second.data;
	text_add(name, "pool of ");
	text_add(name, kinds > 2 ? "several structures" : one ? one : "");
	text_add(name, kinds == 2 ? " and " : "");
	text_add(name, kinds == 2 && other ? other : "");
	text_add(name, kinds <= 2 && has_others(j, types, kinds) ? " and others" : "");
	name->failed |= first.failed || second.failed;
}

/* What is declared to begin with something, and has characters after it, is that, and a pool
 * beside it. */
static bool keeps_name(const struct inferring *f, uint32_t block)
{
	const struct heap_types *types = &f->scan->types;
	uint32_t number = heap_types_of_label(types, block_label(f->search, block));
	const struct heap_type *type = number == HEAP_TYPE_NONE ? NULL : &types->types.data[number];
	return type && !type->is_pool && !type->is_array;
}

static void inferred_pools_assign(struct pool_check *j)
{
	struct inferring *f = j->f;
	_cleanup_(text_deinit) struct text name;
	uint32_t number;
	text_init(&name);
	if (keeps_name(f, j->block))
		return;
	inferred_pools_add_name(j, &name);
	f->failed |= name.failed;
	if (f->failed)
		return;
	struct error *error =
		heap_types_add(&f->scan->types, HEAP_TYPE_INFERRED, name.data, &number);
	f->failed |= error != NULL;
	error_destroy(error);
	if (error)
		return;
	f->scan->types.types.data[number].is_pool = true;
	enum inferred_basis basis = f->basis;
	f->basis = BASIS_DECLARED;
	inferred_assign_block(f, j->block, number);
	f->basis = basis;
}

/* Now that it is known to be a pool, what lies in it leads on to anything. */
static void follow_all_of(struct inferring *f, const struct pool_block *in)
{
	struct inferred_pools *p = f->pools;
	for (uint32_t i = in->first; i != NO_PLACE && !f->failed; i = p->places.data[i].next) {
		if (p->places.data[i].fits)
			f->failed |= !inferred_wait_for(f, i);
	}
}

/* Whether a block may be a pool: what may be an array is none unless places speak against it. */
static bool is_candidate(const struct inferring *f, const struct pool_block *in)
{
	uint32_t element = inferred_array_in_doubt(f, in->block);
	bool is_agreed;
	return !in->is_taken && inferred_can_hold(f, in->block, UINT64_MAX) &&
	       (element == TYPE_VOID ||
		       inferred_places_against(f, in->block, element, &is_agreed) >= PLACES_LEAST);
}

bool inferred_take_pools(struct inferring *inferring)
{
	struct inferring *f = inferring;
	struct inferred_pools *p = f->pools;
	bool any = false;
	for (size_t i = 0; p && i < p->touched.len && !f->failed; i++) {
		struct pool_block *in = &p->blocks.data[p->touched.data[i]];
		struct pool_check j = {.f = f, .block = in->block};
		in->is_touched = false;
		if (is_candidate(f, in) && inferred_classify(&j, in)) {
			in->is_taken = any = true;
			inferred_pools_assign(&j);
			follow_all_of(f, in);
		}
		pool_objects_deinit(&j.objects);
	}
	if (p)
		space_u32_clear(&p->touched);
	return any && !f->failed;
}

static bool inferred_pools_keep(struct inferring *f, struct pool_check *j)
{
	struct pools *pools = &f->scan->pools;
	struct pool pool = {j->block, pools->objects.len, j->objects.len};
	for (size_t i = 0; i < j->objects.len; i++) {
		if (!pool_objects_push(&pools->objects, j->objects.data[i]))
			return false;
	}
	return pool_vec_push(&pools->pools, pool);
}

static int by_block(const void *a, const void *b)
{
	const struct pool *x = a, *y = b;
	return (x->block > y->block) - (x->block < y->block);
}

/* Of what speaks against it since nothing was known. */
static void inferred_pools_unassign(struct inferring *f, uint32_t block)
{
	const struct heap_types *types = &f->scan->types;
	uint32_t number = heap_types_of_label(types, block_label(f->search, block));
	if (number != HEAP_TYPE_NONE && types->types.data[number].is_pool)
		block_reset_label(f->search, block);
}

void inferred_keep_pools(struct inferring *inferring)
{
	struct inferring *f = inferring;
	struct inferred_pools *p = f->pools;
	for (size_t i = 0; p && i < p->blocks.len && !f->failed; i++) {
		const struct pool_block *in = &p->blocks.data[i];
		struct pool_check j = {.f = f, .block = in->block};
		if (in->is_taken && inferred_can_hold(f, in->block, UINT64_MAX) &&
			inferred_classify(&j, in)) {
			inferred_pools_assign(&j);
			f->failed |= !inferred_pools_keep(f, &j);
		} else if (in->is_taken) {
			inferred_pools_unassign(f, in->block);
		}
		pool_objects_deinit(&j.objects);
	}
	struct pool_vec *pools = &f->scan->pools.pools;
	if (pools->len)
		qsort(pools->data, pools->len, sizeof(*pools->data), by_block);
}
