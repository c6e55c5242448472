/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/inferred/inferred_embedded.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "heap/limits.h"

/* Members that cover one place: more are damaged debug information. */
#define STEPS_MOST 256u
/* Nothing that counts is smaller. */
#define WHOLE_LEAST 8u

struct finding {
	struct types *types;
	struct embedded_vec *all;
	uint32_t whole;
	unsigned steps; /* members of it that were looked at */
	bool is_cut, failed;
};

/* Modules describe the same structure each for itself. */
static uint64_t key_of(const struct types *types, uint32_t type)
{
	const struct type *of = types_get(types, type);
	return of->name ? hash_bytes(of->name, strlen(of->name)) + of->size : hash_u64(type);
}

/* What an array has, or a template keeps in bytes; *count: this many of it. */
static uint32_t element_of(struct types *types, uint32_t number, uint64_t *count)
{
	uint32_t plain = types_plain(types, number), content = types_content(types, plain);
	for (unsigned depth = 0; depth < TYPES_DEPTH_MAX; depth++) {
		const struct type *of = types_get(types, plain);
		if (content == TYPE_VOID && of->kind != TYPE_ARRAY)
			break;
		*count *= content != TYPE_VOID ? 1 : of->count;
		plain = types_plain(types, content != TYPE_VOID ? content : of->target);
		content = types_content(types, plain);
	}
	return plain;
}

static void take_members(struct finding *f, uint32_t number, uint64_t at, unsigned depth)
{
	const struct type of = *types_get(f->types, number);
	for (uint32_t i = 0; i < of.member_count && !f->failed; i++) {
		const struct type_member *member = &of.members[i];
		f->is_cut |= ++f->steps > LIMIT_TYPE_STEPS;
		if (f->steps > LIMIT_TYPE_STEPS)
			return;
		uint64_t count = 1, place = at + member->bits / 8;
		if (member->kind > MEMBER_BASE || member->bit_size)
			continue;
		uint32_t plain = element_of(f->types, member->type, &count);
		const struct type inner = *types_get(f->types, plain);
		if (!type_has_members(&inner) || !inner.size || !count)
			continue;
		/* These are not gone through for themselves. */
		if ((inner.kind == TYPE_UNION || !inner.name) && depth < TYPES_DEPTH_MAX)
			take_members(f, plain, place, depth + 1);
		if (count * inner.size == types_get(f->types, f->whole)->size)
			continue;
		f->failed |=
			!embedded_vec_push(f->all, (struct embedded){key_of(f->types, plain), place,
							   inner.size, count, f->whole});
	}
}

static bool inferred_embedded_wants(void *context, uint64_t size)
{
	(void)context;
	return size > WHOLE_LEAST;
}

static bool take_type(void *context, uint32_t number)
{
	struct finding *f = context;
	f->whole = number;
	f->steps = 0;
	take_members(f, number, 0, 0);
	return !f->failed;
}

static int by_key(const void *a, const void *b)
{
	const struct embedded *x = a, *y = b;
	return (x->key > y->key) - (x->key < y->key);
}

bool embedded_find(struct types *types, struct embedded_vec *ret, bool *ret_whole)
{
	struct finding f = {.types = types, .all = ret};
	types_each_sized(types, inferred_embedded_wants, take_type, &f);
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), by_key);
	*ret_whole = !f.is_cut;
	return !f.failed;
}

static size_t first_from(const struct embedded_vec *all, uint64_t key)
{
	size_t low = 0, high = all->len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (all->data[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t embedded_of(
	const struct embedded_vec *all, const struct types *types, uint32_t type, size_t *ret_first)
{
	uint64_t key = key_of(types, type);
	*ret_first = first_from(all, key);
	return (key == UINT64_MAX ? all->len : first_from(all, key + 1)) - *ret_first;
}

static bool inferred_embedded_has(struct types *types, uint32_t outer, uint64_t offset,
	uint32_t inner, unsigned depth, unsigned *steps)
{
	const struct type of = *types_get(types, outer);
	if (!offset && types_are_same(types, outer, inner))
		return true;
	if (depth > TYPES_DEPTH_MAX || ++*steps > STEPS_MOST || offset >= of.size)
		return false;
	uint32_t content = types_content(types, outer);
	if (content != TYPE_VOID || of.kind == TYPE_ARRAY) {
		uint32_t element = types_plain(types, content != TYPE_VOID ? content : of.target);
		uint64_t size = types_get(types, element)->size;
		return size && inferred_embedded_has(
				       types, element, offset % size, inner, depth + 1, steps);
	}
	for (uint32_t i = 0; type_has_members(&of) && i < of.member_count; i++) {
		const struct type_member *member = &of.members[i];
		if (member->kind > MEMBER_BASE || member->bit_size || member->bits / 8 > offset)
			continue;
		uint32_t plain = types_plain(types, member->type);
		uint64_t rest = offset - member->bits / 8;
		if (rest < types_get(types, plain)->size &&
			inferred_embedded_has(types, plain, rest, inner, depth + 1, steps))
			return true;
	}
	return false;
}

bool embedded_has(struct types *types, uint32_t outer, uint64_t offset, uint32_t inner)
{
	unsigned steps = 0;
	return inferred_embedded_has(types, outer, offset, inner, 0, &steps);
}
