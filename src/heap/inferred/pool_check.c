/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/inferred/pool_check.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "heap/limits.h"

/* What structures may be part of is tried so often for a block; of an array that one may be an
 * element of at this many places. */
#define TRIES_MOST (1u << 14)
#define ELEMENTS_MOST 16u

static uint64_t pool_check_size_of(const struct pool_check *j, uint32_t type)
{
	return types_get(j->f->types, type)->size;
}

struct sorted_place {
	uint64_t offset, size;
	uint32_t type;
	bool fits, has_words;
};
DEFINE_VEC(sorted_places, struct sorted_place)

static int by_offset(const void *a, const void *b)
{
	const struct sorted_place *x = a, *y = b;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	if (x->size != y->size)
		return x->size < y->size ? 1 : -1;
	return (x->type > y->type) - (x->type < y->type);
}

static bool pool_check_gather(
	struct pool_check *j, const struct pool_block *in, struct sorted_places *ret)
{
	const struct places *places = &j->f->pools->places;
	for (uint32_t i = in->first; i != NO_PLACE; i = places->data[i].next) {
		const struct inferred_place *place = &places->data[i];
		if (!place->is_read)
			continue;
		if (!sorted_places_push(ret,
			    (struct sorted_place){place->offset, pool_check_size_of(j, place->type),
				    place->type, place->fits, place->has_words}))
			return false;
	}
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), by_offset);
	return true;
}

/* Members of others are no objects of their own; what overlaps them otherwise is none at all. */
static bool take_objects(struct pool_check *j, const struct sorted_places *places)
{
	bool ok = true;
	for (size_t i = 0; i < places->len && ok; i++) {
		const struct sorted_place *place = &places->data[i];
		const struct pool_object *last =
			j->objects.len ? &j->objects.data[j->objects.len - 1] : NULL;
		if (!place->fits) {
			j->broken++;
		} else if (last &&
			   place->offset - last->offset < pool_check_size_of(j, last->type)) {
			j->broken += !embedded_has(
				j->f->types, last->type, place->offset - last->offset, place->type);
		} else {
			ok = pool_objects_push(&j->objects,
				(struct pool_object){place->offset, place->type, place->has_words});
		}
	}
	return ok;
}

/* Whether a larger structure may begin at an offset: what is known to lie there is part of it. */
static bool pool_check_agrees(struct pool_check *j, size_t object, uint64_t start, uint32_t whole)
{
	const struct pool_objects *all = &j->objects;
	uint64_t end = start + pool_check_size_of(j, whole);
	size_t i = object;
	while (i && all->data[i - 1].offset + pool_check_size_of(j, all->data[i - 1].type) > start)
		i--;
	for (; i < all->len && all->data[i].offset < end; i++) {
		if (all->data[i].offset < start ||
			!embedded_has(
				j->f->types, whole, all->data[i].offset - start, all->data[i].type))
			return false;
	}
	return true;
}

/* Whether an object may be a member of one that `in` says. */
static bool may_be_member(
	struct pool_check *j, size_t object, const struct embedded *in, unsigned *tries)
{
	uint64_t usable = search_block_size(j->f->search, j->block);
	uint64_t size = pool_check_size_of(j, in->whole), offset = j->objects.data[object].offset;
	if (size > usable)
		return false;
	/* Before that the larger one would not end in the block. */
	uint64_t least = offset > usable - size ? offset - (usable - size) : 0;
	uint64_t first =
		least > in->at && in->stride ? (least - in->at + in->stride - 1) / in->stride : 0;
	for (uint64_t i = first; i < in->count; i++) {
		uint64_t before = in->at + i * in->stride;
		if (before > offset)
			break;
		if (i >= ELEMENTS_MOST || ++*tries > TRIES_MOST)
			return true;
		if (pool_check_agrees(j, object, offset - before, in->whole) &&
			inferred_fits_at(j->f, j->block, offset - before, in->whole))
			return true;
	}
	return false;
}

static bool is_sure(struct pool_check *j, size_t object, unsigned *tries)
{
	const struct embedded_vec *all = &j->f->pools->embedded;
	size_t first, count = embedded_of(all, j->f->types, j->objects.data[object].type, &first);
	for (size_t i = first; i < first + count; i++) {
		if (may_be_member(j, object, &all->data[i], tries))
			return false;
	}
	return true;
}

static bool know_embedded(struct inferring *f)
{
	struct inferred_pools *p = f->pools;
	bool is_whole = true;
	if (!p->has_embedded)
		f->failed |= !embedded_find(f->types, &p->embedded, &is_whole);
	if (!is_whole)
		heap_limit_reach(f->scan, REACHED_TYPE_STEPS);
	p->has_embedded = true;
	return !f->failed;
}

static void count_sure(struct pool_check *j)
{
	unsigned tries = 0;
	for (size_t i = 0; i < j->objects.len; i++) {
		struct pool_object *object = &j->objects.data[i];
		object->is_sure = object->is_sure && is_sure(j, i, &tries);
		j->sure += object->is_sure;
	}
	if (tries > TRIES_MOST)
		heap_limit_reach(j->f->scan, REACHED_POOL_TRIES);
}

bool inferred_classify(struct pool_check *check, const struct pool_block *in)
{
	struct pool_check *j = check;
	_cleanup_(sorted_places_deinit) struct sorted_places places = {.data = NULL};
	if (!pool_check_gather(j, in, &places) || !take_objects(j, &places)) {
		j->f->failed = true;
		return false;
	}
	if (j->objects.len < PLACES_LEAST || j->broken > j->objects.len / PLACES_BROKEN_PART ||
		!know_embedded(j->f))
		return false;
	count_sure(j);
	return j->sure >= PLACES_LEAST;
}
