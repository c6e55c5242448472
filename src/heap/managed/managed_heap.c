/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/managed_heap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct error *managed_heap_create(struct managed_heap **ret)
{
	struct managed_heap *heap = calloc(1, sizeof(*heap));
	if (!heap)
		return error_no_memory();
	strings_init(&heap->names);
	*ret = heap;
	return NULL;
}

void managed_heap_destroy(struct managed_heap *heap)
{
	if (!heap)
		return;
	managed_objects_deinit(&heap->objects);
	managed_edges_deinit(&heap->edges);
	managed_traces_deinit(&heap->traces);
	managed_functions_deinit(&heap->functions);
	managed_strings_deinit(&heap->strings);
	managed_classes_deinit(&heap->classes);
	strings_deinit(&heap->names);
	free(heap->text);
	free(heap->sizes);
	free(heap->class_of);
	free(heap->retained);
	free(heap->dominators);
	free(heap);
}

/* "3 / part of key (Object @11) -> value (Array @13) pair in WeakMap (table @15)": the reference of
 * the key and that of the table are both called so. */
static bool is_of_weak_table(
	const struct managed_heap *heap, uint32_t from, const struct managed_edge *edge)
{
	static const char words[] = " pair in WeakMap (table @";
	if (edge->kind != MANAGED_INTERNAL || edge->is_number)
		return false;
	const char *at = strstr(managed_heap_string(heap, edge->name), words);
	return at && strtoull(at + strlen(words), NULL, 10) == heap->objects.data[from].id;
}

bool managed_heap_holds(
	const struct managed_heap *heap, uint32_t from, const struct managed_edge *edge)
{
	if (edge->kind == MANAGED_WEAK || (edge->kind == MANAGED_SHORTCUT && from) ||
		edge->to == from)
		return false;
	return !is_of_weak_table(heap, from, edge);
}

/* What Chrome's DevTools call it. */
static struct error *class_name(
	struct managed_heap *heap, const struct managed_object *object, const char **ret)
{
	static const char *const fixed[] = {[MANAGED_HIDDEN] = "(system)",
		[MANAGED_ARRAY] = "(array)",
		[MANAGED_STRING] = "(string)",
		[MANAGED_CODE] = "(compiled code)",
		[MANAGED_CLOSURE] = "Function",
		[MANAGED_REGEXP] = "RegExp",
		[MANAGED_SYNTHETIC] = "(synthetic)",
		[MANAGED_CLASS] = "java.lang.Class"};
	enum managed_type type = heap->types[object->type];
	if (type == MANAGED_OBJECT || type == MANAGED_NATIVE)
		return strings_keep(&heap->names, managed_heap_string(heap, object->name), ret);
	if (type != MANAGED_OTHER)
		return strings_keep(&heap->names, fixed[type], ret);
	char name[80];
	snprintf(name, sizeof(name), "(%s)", heap->type_names[object->type]);
	return strings_keep(&heap->names, name, ret);
}

DEFINE_MAP(managed_class_map, const char *, uint32_t, string_hash, string_equal)

static struct error *class_find(struct managed_heap *heap, struct managed_class_map *map,
	const struct managed_object *object, uint32_t *ret)
{
	const char *name;
	bool is_new;
	struct error *error = class_name(heap, object, &name);
	if (error)
		return error;
	uint32_t *known = managed_class_map_insert(map, name, &is_new);
	if (!known)
		return error_no_memory();
	if (is_new) {
		*known = (uint32_t)heap->classes.len;
		if (!managed_classes_push(&heap->classes, (struct managed_class){.name = name}))
			return error_no_memory();
	}
	*ret = *known;
	return NULL;
}

/* A class of each string that names one, and of each type, is kept: names are compared once. */
static struct error *classes_find(struct managed_heap *heap, struct managed_class_map *map,
	uint32_t *by_string, uint32_t *by_type)
{
	struct error *error = NULL;
	memset(by_string, 0xff, heap->strings.len * sizeof(*by_string));
	memset(by_type, 0xff, MANAGED_TYPES_MAX * sizeof(*by_type));
	for (size_t i = 0; i < heap->objects.len && !error; i++) {
		const struct managed_object *object = &heap->objects.data[i];
		enum managed_type type = heap->types[object->type];
		bool has_name = type == MANAGED_OBJECT || type == MANAGED_NATIVE;
		uint32_t *known = has_name ? &by_string[object->name] : &by_type[object->type];
		if (*known == MANAGED_NONE)
			error = class_find(heap, map, object, known);
		if (error)
			break;
		heap->class_of[i] = *known;
		struct managed_class *class = &heap->classes.data[*known];
		class->objects += object->bytes > 0;
		class->bytes += object->bytes;
	}
	return error;
}

struct error *managed_heap_classify(struct managed_heap *heap)
{
	struct managed_class_map map;
	uint32_t by_type[MANAGED_TYPES_MAX];
	uint32_t *by_string = malloc((heap->strings.len + 1) * sizeof(*by_string));
	heap->class_of = malloc((heap->objects.len + 1) * sizeof(*heap->class_of));
	managed_class_map_init(&map);
	struct error *error = by_string && heap->class_of ? NULL : error_no_memory();
	if (!error)
		error = classes_find(heap, &map, by_string, by_type);
	managed_class_map_deinit(&map);
	free(by_string);
	return error;
}

const struct managed_class *managed_heap_class(const struct managed_heap *heap, const char *name)
{
	for (size_t i = 0; i < heap->classes.len; i++)
		if (strcmp(heap->classes.data[i].name, name) == 0)
			return &heap->classes.data[i];
	return NULL;
}
