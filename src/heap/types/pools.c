/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/types/pools.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "heap/cxx.h"
#include "heap/heap_scan.h"

/* Kinds of a pool that text names. */
#define KINDS_NAMED 3u

void pools_deinit(struct pools *pools)
{
	pool_vec_deinit(&pools->pools);
	pool_objects_deinit(&pools->objects);
}

const struct pool *pools_find(const struct pools *pools, uint32_t block)
{
	size_t low = 0, high = pools->pools.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (pools->pools.data[middle].block < block)
			low = middle + 1;
		else
			high = middle;
	}
	bool is_there = low < pools->pools.len && pools->pools.data[low].block == block;
	return is_there ? &pools->pools.data[low] : NULL;
}

const struct pool_object *pools_object_at(
	const struct heap_scan *scan, const struct pool *pool, uint64_t offset)
{
	const struct pool_object *objects = scan->pools.objects.data + pool->first;
	size_t low = 0, high = pool->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (objects[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	const struct pool_object *found = &objects[low - 1];
	uint64_t size = types_get(scan->layouts.types, found->type)->size;
	return offset - found->offset < size ? found : NULL;
}

void pools_add_name(const struct heap_scan *scan, uint32_t type, struct text *text)
{
	const struct type *of = types_get(scan->layouts.types, type);
	if (of->name)
		cxx_add_plain_name(text, of->name);
	else
		types_declare(scan->layouts.types, type, "", text);
}

void pools_add_member(
	const struct heap_scan *scan, uint32_t block, uint64_t offset, struct text *text)
{
	const struct pool *pool = pools_find(&scan->pools, block);
	const struct pool_object *object = pool ? pools_object_at(scan, pool, offset) : NULL;
	if (!object)
		return;
	_cleanup_(text_deinit) struct text name;
	_cleanup_(text_deinit) struct text path;
	text_init(&name);
	text_init(&path);
	struct types_place place;
	pools_add_name(scan, object->type, &name);
	text_add_shown(text, name.data ? name.data : "", 120);
	text_printf(text, " at %" PRIu64, object->offset);
	types_locate(scan->layouts.types, object->type, offset - object->offset, &place, &path);
	if (path.len) {
		text_add(text, ", its ");
		text_add_shown(text, path.data, 120);
	}
}

static uint64_t pools_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* The kind of a type; a new one if there is none. NULL: no memory. */
static struct pool_kind *pools_kind_of(
	const struct heap_scan *scan, struct pool_kinds *kinds, uint32_t type)
{
	for (size_t i = 0; i < kinds->len; i++) {
		if (types_are_same(scan->layouts.types, kinds->data[i].type, type))
			return &kinds->data[i];
	}
	return pool_kinds_push(kinds, (struct pool_kind){type, 0, 0}) ? &kinds->data[kinds->len - 1]
								      : NULL;
}

static int by_places(const void *a, const void *b)
{
	const struct pool_kind *x = a, *y = b;
	if (x->places != y->places)
		return x->places < y->places ? 1 : -1;
	return (x->type > y->type) - (x->type < y->type);
}

/* What all places are multiples of, from the first one on. */
static uint64_t step_of(const struct heap_scan *scan, const struct pool *pool)
{
	const struct pool_object *objects = scan->pools.objects.data + pool->first;
	uint64_t step = 0;
	for (size_t i = 1; i < pool->count; i++)
		step = pools_divisor(objects[i].offset - objects[0].offset, step);
	return step >= types_get(scan->layouts.types, objects[0].type)->size ? step : 0;
}

bool pools_kinds(const struct heap_scan *scan, const struct pool *pool, struct pool_kinds *ret)
{
	const struct pool_object *objects = scan->pools.objects.data + pool->first;
	struct pool_kind *kind = NULL;
	*ret = (struct pool_kinds){.data = NULL};
	for (size_t i = 0; i < pool->count; i++) {
		if (!kind || objects[i].type != objects[i - 1].type)
			kind = pools_kind_of(scan, ret, objects[i].type);
		if (!kind)
			return false;
		kind->places++;
	}
	if (ret->len == 1)
		ret->data[0].step = step_of(scan, pool);
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), by_places);
	return true;
}

void pools_add_evidence(const struct heap_scan *scan, uint32_t block, struct text *text)
{
	const struct pool *pool = pools_find(&scan->pools, block);
	_cleanup_(pool_kinds_deinit) struct pool_kinds kinds = {.data = NULL};
	if (!pool)
		return;
	text->failed |= !pools_kinds(scan, pool, &kinds);
	uint64_t others = 0;
	for (size_t i = 0; i < kinds.len; i++) {
		if (i >= KINDS_NAMED) {
			others += kinds.data[i].places;
			continue;
		}
		_cleanup_(text_deinit) struct text name;
		text_init(&name);
		pools_add_name(scan, kinds.data[i].type, &name);
		text_add(text, i ? ", to " : ", pointers to ");
		text_add_shown(text, name.data ? name.data : "", 120);
		text_add(text, i ? " to " : " lead to ");
		text_add_count(text, kinds.data[i].places);
		text_add(text, i || kinds.data[i].places == 1 ? "" : " places in it");
		text_add(text, !i && kinds.data[i].places == 1 ? " place in it" : "");
		if (kinds.data[i].step)
			text_printf(
				text, ", at multiples of %" PRIu64 " bytes", kinds.data[i].step);
	}
	if (others) {
		text_add(text, ", to others to ");
		text_add_count(text, others);
	}
}
