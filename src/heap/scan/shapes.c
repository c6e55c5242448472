/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/scan/shapes.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct error *heap_shapes_open(
	const struct address_space *space, enum pointer_rule rule, struct heap_shapes *ret)
{
	*ret = (struct heap_shapes){.space = space, .most = CLASSES_MAX};
	return mapped_open(&space->maps, rule, &ret->mapped);
}

void heap_shapes_use_python(struct heap_shapes *classes, struct python *python)
{
	classes->python = python_is_there(python) ? python : NULL;
}

void heap_shapes_close(struct heap_shapes *classes)
{
	heap_shape_vec_deinit(&classes->classes);
	shape_map_deinit(&classes->map);
	mapped_close(&classes->mapped);
}

/* Whether a word points to what a module has read-only: where vtables are. */
static bool is_head(struct heap_shapes *c, uint64_t word)
{
	if (word - c->no_head_start < c->no_head_end - c->no_head_start)
		return false;
	if (word == c->head)
		return c->head_answer;
	const struct process_map *map = address_space_map(c->space, word);
	c->head = word;
	c->head_answer = map && !map->writable && address_space_module(c->space, word);
	if (map && map->writable) {
		c->no_head_start = map->start;
		c->no_head_end = map->end;
	}
	return c->head_answer;
}

/* Most blocks look like some that were met a moment ago. */
static inline uint32_t *recent_of(struct heap_shapes *c, const struct shape_key *key)
{
	uint64_t mix = (key->size >> 3) + key->pointers * 0x9e3779b97f4a7c15ull + (key->head >> 3);
	return &c->recent[(mix ^ mix >> 32) % CLASSES_RECENT];
}

/* Where there are too many, *key only has the size. */
static uint32_t *shapes_find(struct heap_shapes *c, struct shape_key *key, bool *ret_new)
{
	uint32_t *found = shape_map_find(&c->map, *key);
	*ret_new = false;
	if (found)
		return found;
	if (heap_shapes_are_full(c))
		*key = (struct shape_key){.size = key->size};
	return shape_map_insert(&c->map, *key, ret_new);
}

static inline void shapes_count(
	struct heap_shape *one, const struct heap_block *block, uint64_t nulls)
{
	one->nulls &= nulls;
	one->blocks++;
	one->bytes += block->size;
}

struct word_bits heap_class_words(const struct heap_block *block, const uint8_t *bytes, size_t len)
{
	size_t words = (len < block->size ? len : block->size) / 8;
	return word_bits_of(bytes, words < SHAPE_WORDS ? (unsigned)words : SHAPE_WORDS);
}

struct error *heap_shapes_add(struct heap_shapes *classes, const struct heap_block *block,
	const uint8_t *bytes, const struct word_bits *bits, uint32_t *ret)
{
	struct shape_key key = {.size = block->size};
	uint64_t nulls = bits->nulls, word;
	for (uint64_t left = bits->small & ~nulls; left; left &= left - 1) {
		word = word_number(bytes, (unsigned)__builtin_ctzll(left));
		if (mapped_has(&classes->mapped, word))
			key.pointers |= left & -left;
	}
	unsigned head_at = 0;
	if (classes->python && key.pointers & ~1ull)
		head_at = python_head(classes->python, block->size, bytes, key.pointers, &key.head);
	if (!head_at && key.pointers & 1) {
		word = word_number(bytes, 0);
		key.head = is_head(classes, word) ? word : 0;
	}
	uint32_t *recent = recent_of(classes, &key);
	if (*recent && class_equal(classes->classes.data[*recent - 1].key, key)) {
		*ret = *recent - 1;
		shapes_count(&classes->classes.data[*ret], block, nulls);
		return NULL;
	}
	bool is_new;
	uint32_t *number = shapes_find(classes, &key, &is_new);
	if (!number)
		return error_no_memory();
	if (is_new) {
		*number = (uint32_t)classes->classes.len;
		struct heap_shape fresh = {.key = key,
			.nulls = UINT64_MAX,
			.head_at = (uint8_t)(key.head ? head_at : 0),
			.example = block->address,
			.group = *number};
		if (!heap_shape_vec_push(&classes->classes, fresh))
			return error_no_memory();
	}
	shapes_count(&classes->classes.data[*number], block, nulls);
	*recent = *number + 1;
	*ret = *number;
	return NULL;
}

static struct error *shapes_append(
	struct heap_shapes *c, const struct heap_shape *after, uint32_t *ret)
{
	bool is_new;
	struct shape_key key = after->key;
	uint32_t *number = shapes_find(c, &key, &is_new);
	if (!number)
		return error_no_memory();
	if (is_new) {
		*number = (uint32_t)c->classes.len;
		struct heap_shape *fresh = heap_shape_vec_push_uninit(&c->classes);
		if (!fresh)
			return error_no_memory();
		*fresh = *after;
		fresh->key = key;
		fresh->head_at = key.head ? fresh->head_at : 0;
		fresh->group = *number;
	} else {
		struct heap_shape *known = &c->classes.data[*number];
		known->nulls &= after->nulls;
		known->blocks += after->blocks;
		known->bytes += after->bytes;
	}
	*ret = *number;
	return NULL;
}

struct error *heap_shapes_append(
	struct heap_shapes *classes, const struct heap_shapes *after, uint32_t *ret)
{
	struct error *error = NULL;
	for (size_t i = 0; i < after->classes.len && !error; i++)
		error = shapes_append(classes, &after->classes.data[i], &ret[i]);
	return error;
}

/* By size and head, then those with the most pointers first. */
static int by_likeness(const void *a, const void *b)
{
	const struct heap_shape *x = *(const struct heap_shape *const *)a;
	const struct heap_shape *y = *(const struct heap_shape *const *)b;
	if (x->key.size != y->key.size)
		return x->key.size < y->key.size ? -1 : 1;
	if (x->key.head != y->key.head)
		return x->key.head < y->key.head ? -1 : 1;
	int more = __builtin_popcountll(x->key.pointers),
	    less = __builtin_popcountll(y->key.pointers);
	if (more != less)
		return more > less ? -1 : 1;
	return (x->key.pointers < y->key.pointers) - (x->key.pointers > y->key.pointers);
}

/* Whether all pointers of a class are ones of the other, and where it lacks some it has NULL. */
static bool shapes_fits(const struct heap_shape *small, const struct heap_shape *large)
{
	uint64_t lacks = large->key.pointers & ~small->key.pointers;
	return !(small->key.pointers & ~large->key.pointers) && !(lacks & ~small->nulls);
}

/* This many classes of one size are compared with each other. */
#define ALIKE_MAX 256u

struct error *heap_shapes_group(struct heap_shapes *classes)
{
	size_t count = classes->classes.len, first = 0;
	_cleanup_free_ struct heap_shape **sorted = calloc(count + 1, sizeof(struct heap_shape *));
	if (!sorted)
		return error_no_memory();
	for (size_t i = 0; i < count; i++)
		sorted[i] = &classes->classes.data[i];
	qsort(sorted, count, sizeof(struct heap_shape *), by_likeness);
	for (size_t i = 0; i < count; i++) {
		if (sorted[i]->key.size != sorted[first]->key.size ||
			sorted[i]->key.head != sorted[first]->key.head)
			first = i;
		/* Without any pointer it would fit everything. */
		for (size_t k = first; k < i && k < first + ALIKE_MAX && sorted[i]->key.pointers;
			k++) {
			if (sorted[k]->group == (uint32_t)(sorted[k] - classes->classes.data) &&
				shapes_fits(sorted[i], sorted[k])) {
				sorted[i]->group = sorted[k]->group;
				break;
			}
		}
	}
	return NULL;
}
