/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two snapshots of a process: what is new, what is gone, by class. Objects keep their ids. */
#include "heap/managed_heap.h"

#include <stdlib.h>
#include <string.h>

static uint64_t id_hash(uint32_t id)
{
	return hash_u64(id);
}

static bool id_equal(uint32_t a, uint32_t b)
{
	return a == b;
}

DEFINE_MAP(object_map, uint32_t, uint32_t, id_hash, id_equal)
DEFINE_MAP(change_map, const char *, uint32_t, string_hash, string_equal)

struct comparing {
	const struct managed_heap *older, *newer;
	struct object_map by_id; /* of the older heap → object */
	struct change_map rows;
	struct managed_changes *changes;
};

static const char *class_at(const struct managed_heap *heap, uint32_t object)
{
	return heap->classes.data[heap->class_of[object]].name;
}

static struct error *row_find(struct comparing *c, const char *name, struct managed_change **ret)
{
	bool is_new;
	uint32_t *row = change_map_insert(&c->rows, name, &is_new);
	if (!row)
		return error_no_memory();
	if (is_new) {
		*row = (uint32_t)c->changes->rows.len;
		if (!managed_change_vec_push(
			    &c->changes->rows, (struct managed_change){.name = name}))
			return error_no_memory();
	}
	*ret = &c->changes->rows.data[*row];
	return NULL;
}

static struct error *older_note(struct comparing *c)
{
	for (uint32_t i = 0; i < c->older->objects.len; i++) {
		const struct managed_object *object = &c->older->objects.data[i];
		if (!object->bytes)
			continue;
		uint32_t *value = object_map_insert(&c->by_id, object->id, NULL);
		if (!value)
			return error_no_memory();
		*value = i;
	}
	return NULL;
}

static struct error *object_count_new(struct comparing *c, uint32_t object)
{
	uint64_t bytes = c->newer->objects.data[object].bytes;
	struct managed_change *row;
	struct error *error = row_find(c, class_at(c->newer, object), &row);
	if (error)
		return error;
	row->new_objects++;
	row->new_bytes += bytes;
	row->more_objects++;
	row->more_bytes += (int64_t)bytes;
	return NULL;
}

static struct error *newer_count(struct comparing *c)
{
	for (uint32_t i = 0; i < c->newer->objects.len; i++) {
		const struct managed_object *object = &c->newer->objects.data[i];
		struct managed_change *row;
		if (!object->bytes)
			continue;
		const uint32_t *known = object_map_find(&c->by_id, object->id);
		bool same = known && !strcmp(class_at(c->older, *known), class_at(c->newer, i));
		c->changes->common_objects += known != NULL;
		c->changes->renamed_objects += known && !same;
		struct error *error =
			same ? row_find(c, class_at(c->newer, i), &row) : object_count_new(c, i);
		if (error)
			return error;
		if (!same)
			continue;
		row->more_bytes +=
			(int64_t)object->bytes - (int64_t)c->older->objects.data[*known].bytes;
		object_map_remove(&c->by_id, object->id);
	}
	return NULL;
}

/* What is left of the older heap. */
static struct error *gone_count(struct comparing *c)
{
	uint32_t index = 0;
	const uint32_t *object;
	while ((object = object_map_next(&c->by_id, &index, NULL))) {
		uint64_t bytes = c->older->objects.data[*object].bytes;
		struct managed_change *row;
		struct error *error = row_find(c, class_at(c->older, *object), &row);
		if (error)
			return error;
		row->gone_objects++;
		row->gone_bytes += bytes;
		row->more_objects--;
		row->more_bytes -= (int64_t)bytes;
	}
	return NULL;
}

/* Objects move, and have no ids: sums of classes are what can be compared. */
static struct error *classes_compare(struct comparing *c)
{
	struct managed_change *row;
	struct error *error = NULL;
	for (size_t i = 0; i < c->newer->classes.len && !error; i++) {
		const struct managed_class *class = &c->newer->classes.data[i];
		error = row_find(c, class->name, &row);
		if (error)
			break;
		row->more_objects += (int64_t) class->objects;
		row->more_bytes += (int64_t) class->bytes;
	}
	for (size_t i = 0; i < c->older->classes.len && !error; i++) {
		const struct managed_class *class = &c->older->classes.data[i];
		error = row_find(c, class->name, &row);
		if (error)
			break;
		row->more_objects -= (int64_t) class->objects;
		row->more_bytes -= (int64_t) class->bytes;
	}
	return error;
}

static struct error *objects_compare(struct comparing *c)
{
	struct error *error = older_note(c);
	if (!error)
		error = newer_count(c);
	return error ? error : gone_count(c);
}

static int by_growth(const void *a, const void *b)
{
	const struct managed_change *x = a, *y = b;
	if (x->more_bytes != y->more_bytes)
		return x->more_bytes > y->more_bytes ? -1 : 1;
	if (x->new_objects != y->new_objects)
		return x->new_objects > y->new_objects ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void rows_choose(struct managed_change_vec *rows)
{
	size_t kept = 0;
	for (size_t i = 0; i < rows->len; i++) {
		const struct managed_change *row = &rows->data[i];
		if (row->new_objects || row->gone_objects || row->more_bytes || row->more_objects)
			rows->data[kept++] = *row;
	}
	rows->len = kept;
	if (kept)
		qsort(rows->data, kept, sizeof(*rows->data), by_growth);
}

struct error *managed_heap_compare(const struct managed_heap *older,
	const struct managed_heap *newer, struct managed_changes *ret)
{
	*ret = (struct managed_changes){.common_objects = 0};
	struct comparing c = {.older = older, .newer = newer, .changes = ret};
	struct error *error =
		older->has_ids && newer->has_ids ? objects_compare(&c) : classes_compare(&c);
	rows_choose(&ret->rows);
	object_map_deinit(&c.by_id);
	change_map_deinit(&c.rows);
	if (error)
		managed_changes_deinit(ret);
	return error;
}

void managed_changes_deinit(struct managed_changes *changes)
{
	managed_change_vec_deinit(&changes->rows);
}
