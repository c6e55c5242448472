/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/js_heap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct error *js_heap_create(struct js_heap **ret)
{
	struct js_heap *heap = calloc(1, sizeof(*heap));
	if (!heap)
		return error_no_memory();
	strings_init(&heap->names);
	*ret = heap;
	return NULL;
}

void js_heap_destroy(struct js_heap *heap)
{
	if (!heap)
		return;
	js_objects_deinit(&heap->objects);
	js_edges_deinit(&heap->edges);
	js_traces_deinit(&heap->traces);
	js_functions_deinit(&heap->functions);
	js_strings_deinit(&heap->strings);
	js_classes_deinit(&heap->classes);
	strings_deinit(&heap->names);
	free(heap->text);
	free(heap->class_of);
	free(heap->retained);
	free(heap->dominators);
	free(heap);
}

/* "3 / part of key (Object @11) -> value (Array @13) pair in WeakMap (table @15)": the reference of
 * the key and that of the table are both called so. */
static bool is_of_weak_table(const struct js_heap *heap, uint32_t from, const struct js_edge *edge)
{
	static const char words[] = " pair in WeakMap (table @";
	if (edge->kind != JS_INTERNAL || edge->is_number)
		return false;
	const char *at = strstr(js_heap_string(heap, edge->name), words);
	return at && strtoull(at + strlen(words), NULL, 10) == heap->objects.data[from].id;
}

bool js_heap_holds(const struct js_heap *heap, uint32_t from, const struct js_edge *edge)
{
	if (edge->kind == JS_WEAK || (edge->kind == JS_SHORTCUT && from) || edge->to == from)
		return false;
	return !is_of_weak_table(heap, from, edge);
}

/* What Chrome's DevTools call it. */
static struct error *class_name(
	struct js_heap *heap, const struct js_object *object, const char **ret)
{
	static const char *const fixed[] = {[JS_HIDDEN] = "(system)",
		[JS_ARRAY] = "(array)",
		[JS_STRING] = "(string)",
		[JS_CODE] = "(compiled code)",
		[JS_CLOSURE] = "Function",
		[JS_REGEXP] = "RegExp",
		[JS_SYNTHETIC] = "(synthetic)"};
	enum js_type type = heap->types[object->type];
	if (type == JS_OBJECT || type == JS_NATIVE)
		return strings_keep(&heap->names, js_heap_string(heap, object->name), ret);
	if (type != JS_OTHER)
		return strings_keep(&heap->names, fixed[type], ret);
	char name[80];
	snprintf(name, sizeof(name), "(%s)", heap->type_names[object->type]);
	return strings_keep(&heap->names, name, ret);
}

DEFINE_MAP(js_class_map, const char *, uint32_t, string_hash, string_equal)

static struct error *class_find(struct js_heap *heap, struct js_class_map *map,
	const struct js_object *object, uint32_t *ret)
{
	const char *name;
	bool is_new;
	struct error *error = class_name(heap, object, &name);
	if (error)
		return error;
	uint32_t *known = js_class_map_insert(map, name, &is_new);
	if (!known)
		return error_no_memory();
	if (is_new) {
		*known = (uint32_t)heap->classes.len;
		if (!js_classes_push(&heap->classes, (struct js_class){.name = name}))
			return error_no_memory();
	}
	*ret = *known;
	return NULL;
}

/* A class of each string that names one, and of each type, is kept: names are compared once. */
static struct error *classes_find(
	struct js_heap *heap, struct js_class_map *map, uint32_t *by_string, uint32_t *by_type)
{
	struct error *error = NULL;
	memset(by_string, 0xff, heap->strings.len * sizeof(*by_string));
	memset(by_type, 0xff, JS_TYPES_MAX * sizeof(*by_type));
	for (size_t i = 0; i < heap->objects.len && !error; i++) {
		const struct js_object *object = &heap->objects.data[i];
		enum js_type type = heap->types[object->type];
		bool has_name = type == JS_OBJECT || type == JS_NATIVE;
		uint32_t *known = has_name ? &by_string[object->name] : &by_type[object->type];
		if (*known == JS_NONE)
			error = class_find(heap, map, object, known);
		if (error)
			break;
		heap->class_of[i] = *known;
		struct js_class *class = &heap->classes.data[*known];
		class->objects += object->bytes > 0;
		class->bytes += object->bytes;
	}
	return error;
}

struct error *js_heap_classify(struct js_heap *heap)
{
	struct js_class_map map;
	uint32_t by_type[JS_TYPES_MAX];
	uint32_t *by_string = malloc((heap->strings.len + 1) * sizeof(*by_string));
	heap->class_of = malloc((heap->objects.len + 1) * sizeof(*heap->class_of));
	js_class_map_init(&map);
	struct error *error = by_string && heap->class_of ? NULL : error_no_memory();
	if (!error)
		error = classes_find(heap, &map, by_string, by_type);
	js_class_map_deinit(&map);
	free(by_string);
	return error;
}

const struct js_class *js_heap_class(const struct js_heap *heap, const char *name)
{
	for (size_t i = 0; i < heap->classes.len; i++)
		if (strcmp(heap->classes.data[i].name, name) == 0)
			return &heap->classes.data[i];
	return NULL;
}
