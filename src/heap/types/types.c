/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/types/types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

const char *heap_type_kind_name(enum heap_type_kind kind)
{
	static const char *const names[HEAP_TYPE_KINDS] = {"unknown", "c++", "container", "string",
		"python", "python-part", "system", "go", "inferred"};
	return names[kind];
}

struct error *heap_types_open(const struct heap_shapes *classes, struct heap_types *ret)
{
	*ret = (struct heap_types){.shape_count = classes->classes.len};
	arena_init(&ret->arena);
	ret->of_shape = malloc((ret->shape_count + 1) * sizeof(*ret->of_shape));
	if (!ret->of_shape)
		return error_no_memory();
	for (size_t i = 0; i < ret->shape_count; i++)
		ret->of_shape[i] = HEAP_TYPE_NONE;
	return NULL;
}

void heap_types_close(struct heap_types *types)
{
	heap_type_vec_deinit(&types->types);
	type_map_deinit(&types->map);
	heap_family_vec_deinit(&types->families);
	vector_end_map_deinit(&types->vector_ends);
	table_part_map_deinit(&types->table_parts);
	held_deinit(&types->held);
	free(types->of_shape);
	types->of_shape = NULL;
	arena_deinit(&types->arena);
}

struct error *heap_types_add(
	struct heap_types *types, enum heap_type_kind kind, const char *name, uint32_t *ret)
{
	const uint32_t *known = type_map_find(&types->map, (struct type_key){name, kind});
	if (known) {
		*ret = *known;
		return NULL;
	}
	struct heap_type fresh = {.name = arena_strdup(&types->arena, name), .kind = kind};
	uint32_t *number =
		fresh.name ? type_map_insert(&types->map, (struct type_key){fresh.name, kind}, NULL)
			   : NULL;
	if (!number || !heap_type_vec_push(&types->types, fresh))
		return error_no_memory();
	*ret = *number = (uint32_t)types->types.len - 1;
	return NULL;
}

void heap_types_assign(struct heap_types *types, uint32_t class, uint32_t type)
{
	if (types->of_shape[class] == HEAP_TYPE_NONE)
		types->of_shape[class] = type;
}

struct error *heap_types_add_family(
	struct heap_types *types, uint32_t type, struct block_label *ret)
{
	ret->number = HEAP_FAMILY_LABELS + (uint32_t)types->families.len;
	return heap_family_vec_push(&types->families, type) ? NULL : error_no_memory();
}

/* "40 bytes, pointers at 0 8 16"; of arrays "4096 bytes, pointers at 0 16 of every 24" */
static void types_describe(
	const struct heap_shape *class, const struct heap_repeat *repeat, char *ret, size_t room)
{
	uint64_t pointers = repeat->words ? repeat->pointers : class->key.pointers;
	int n = snprintf(ret, room, "%llu bytes", (unsigned long long)class->key.size);
	if (repeat->words == 1) {
		snprintf(ret + n, room - (size_t)n, ", pointers throughout");
		return;
	}
	const char *word = ", pointers at";
	for (unsigned i = 0; i < SHAPE_WORDS && n > 0 && (size_t)n < room; i++) {
		if (!(pointers >> i & 1))
			continue;
		n += snprintf(ret + n, room - (size_t)n, "%s %u", word, 8 * i);
		word = "";
	}
	if (repeat->words && n > 0 && (size_t)n < room)
		snprintf(ret + n, room - (size_t)n, " of every %u", 8 * repeat->words);
}

/* Makes the class's group a type. */
static struct error *types_add_group(struct heap_types *types, const struct heap_shapes *classes,
	uint32_t class, const struct heap_repeat *repeat, uint32_t *ret)
{
	char name[512];
	uint32_t group = classes->classes.data[class].group;
	size_t known = types->types.len;
	types_describe(&classes->classes.data[group], repeat, name, sizeof(name));
	struct error *error = heap_types_add(types, HEAP_TYPE_GROUP, name, ret);
	if (!error && types->types.len > known) {
		types->types.data[*ret].class = group;
		types->types.data[*ret].repeat = *repeat;
	}
	return error;
}

struct error *heap_types_finish(struct heap_types *types, const struct heap_shapes *classes)
{
	_cleanup_free_ bool *left = calloc(types->shape_count + 1, sizeof(bool));
	_cleanup_free_ struct heap_repeat *repeats = NULL;
	if (!left)
		return error_no_memory();
	for (size_t i = 0; i < types->shape_count; i++)
		left[i] = types->of_shape[i] == HEAP_TYPE_NONE;
	struct error *error = heap_repeats_find(classes, left, &repeats);
	for (size_t i = 0; i < types->shape_count && !error; i++) {
		if (left[i])
			error = types_add_group(
				types, classes, (uint32_t)i, &repeats[i], &types->of_shape[i]);
	}
	return error;
}
