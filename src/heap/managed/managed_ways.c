/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How objects of a class are held: shortest ways from the root, by a walk in breadth. */
#include "heap/managed_heap.h"

#include <stdlib.h>
#include <string.h>

struct way_key {
	uint32_t holder, class, name;
	uint8_t kind;
};

static uint64_t way_hash(struct way_key key)
{
	return hash_u64((uint64_t)key.holder << 32 | key.class) ^
	       hash_u64(((uint64_t)key.name << 8 | key.kind) + 1);
}

static bool way_equal(struct way_key a, struct way_key b)
{
	return a.holder == b.holder && a.class == b.class && a.name == b.name && a.kind == b.kind;
}

DEFINE_MAP(way_map, struct way_key, uint32_t, way_hash, way_equal)

struct breadth {
	const struct managed_heap *heap;
	struct managed_ways *ways;
	struct way_map groups,
		names; /* of the latter: how many names lead from a group to a class */
	uint32_t *queue;
	uint32_t *group_of; /* of each object; MANAGED_NONE: not seen */
};

/* A name that V8 numbers has no one name; nor has an element. */
static struct way_key key_of(const struct breadth *breadth, uint32_t holder, uint32_t object,
	const struct managed_edge *edge)
{
	const struct managed_heap *heap = breadth->heap;
	const struct managed_object *row = &heap->objects.data[object];
	enum managed_type type = heap->types[row->type];
	bool is_root = type == MANAGED_SYNTHETIC || type == MANAGED_CLASS;
	struct way_key key = {.holder = holder,
		.class = is_root ? MANAGED_WAY_NAMED | row->name : heap->class_of[object],
		.name = edge->name,
		.kind = edge->kind};
	if (edge->kind == MANAGED_ELEMENT || edge->is_number) {
		key.kind = MANAGED_ELEMENT;
		key.name = 0;
	}
	return key;
}

static struct error *name_limit(struct breadth *breadth, struct way_key *key)
{
	struct way_key both = {.holder = key->holder, .class = key->class};
	uint32_t *count = way_map_insert(&breadth->names, both, NULL);
	if (!count)
		return error_no_memory();
	if (*count < MANAGED_WAY_NAMES_MAX) {
		++*count;
		return NULL;
	}
	key->kind = MANAGED_WEAK;
	key->name = 0;
	return NULL;
}

static struct error *group_find(struct breadth *breadth, struct way_key key, uint32_t *ret)
{
	struct managed_way_vec *groups = &breadth->ways->groups;
	const uint32_t *known = way_map_find(&breadth->groups, key);
	if (!known) {
		struct error *error = name_limit(breadth, &key);
		if (error)
			return error;
		known = way_map_find(&breadth->groups, key);
	}
	if (known) {
		*ret = *known;
		return NULL;
	}
	if (groups->len == MANAGED_WAYS_MAX) {
		breadth->ways->is_full = true;
		*ret = key.holder == MANAGED_NONE ? 0 : key.holder;
		return NULL;
	}
	uint32_t *value = way_map_insert(&breadth->groups, key, NULL);
	struct managed_way row = {
		.holder = key.holder, .class = key.class, .name = key.name, .kind = key.kind};
	if (!value || !managed_way_vec_push(groups, row))
		return error_no_memory();
	*value = *ret = (uint32_t)groups->len - 1;
	return NULL;
}

/* The group of an object that one of `holder` references first. */
static struct error *group_step(
	struct breadth *breadth, uint32_t holder, const struct managed_edge *edge, uint32_t *ret)
{
	struct way_key key = key_of(breadth, holder, edge->to, edge);
	struct managed_way *above =
		holder == MANAGED_NONE ? NULL : &breadth->ways->groups.data[holder];
	if (above && above->class == key.class && above->kind == key.kind &&
		above->name == key.name) {
		above->repeats = true;
		*ret = holder;
		return NULL;
	}
	return group_find(breadth, key, ret);
}

/* Whether a reference of the root is to one of V8's own roots. */
static bool is_own_root(const struct managed_heap *heap, uint32_t object)
{
	return heap->types[heap->objects.data[object].type] == MANAGED_SYNTHETIC;
}

/* Takes what `object` holds into the queue; of the root only V8's own roots, or only others. */
static struct error *object_expand(
	struct breadth *breadth, uint32_t object, bool own_roots, size_t *len)
{
	const struct managed_heap *heap = breadth->heap;
	uint32_t end = managed_heap_edges_end(heap, object);
	/* The root is in no group: what it holds is in groups without a holder. */
	uint32_t holder = object ? breadth->group_of[object] : MANAGED_NONE;
	for (uint32_t i = heap->objects.data[object].first_edge; i < end; i++) {
		const struct managed_edge *edge = &heap->edges.data[i];
		uint32_t *group = &breadth->group_of[edge->to];
		if (*group != MANAGED_NONE || !managed_heap_holds(heap, object, edge) ||
			(!object && is_own_root(heap, edge->to) != own_roots))
			continue;
		struct error *error = group_step(breadth, holder, edge, group);
		if (error)
			return error;
		breadth->queue[(*len)++] = edge->to;
	}
	return NULL;
}

/* Static fields are what programs see: ways from them begin at their classes. */
static struct error *classes_take(struct breadth *breadth, size_t *len)
{
	const struct managed_heap *heap = breadth->heap;
	struct error *error = NULL;
	for (uint32_t i = 1; i < heap->objects.len && !error; i++) {
		const struct managed_edge edge = {.to = i, .kind = MANAGED_BY_ROOT};
		if (heap->types[heap->objects.data[i].type] != MANAGED_CLASS)
			continue;
		error = group_step(breadth, MANAGED_NONE, &edge, &breadth->group_of[i]);
		breadth->queue[(*len)++] = i;
	}
	return error;
}

static struct error *breadth_run(struct breadth *breadth)
{
	size_t taken = 0, len = 0;
	breadth->group_of[0] = MANAGED_NONE - 1;
	struct error *error = classes_take(breadth, &len);
	/* Roots of a JVM are as near as its classes. */
	if (!error && len)
		error = object_expand(breadth, 0, true, &len);
	for (int own_roots = 0; own_roots < 2 && !error; own_roots++) {
		error = object_expand(breadth, 0, own_roots, &len);
		while (taken < len && !error)
			error = object_expand(breadth, breadth->queue[taken++], false, &len);
	}
	return error;
}

static int by_bytes(const void *a, const void *b, void *context)
{
	const struct managed_way *ways = context;
	const struct managed_way *x = &ways[*(const uint32_t *)a], *y = &ways[*(const uint32_t *)b];
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->objects != y->objects)
		return x->objects > y->objects ? -1 : 1;
	return x < y ? -1 : x > y;
}

static struct error *ways_choose(struct breadth *breadth, uint32_t class)
{
	const struct managed_heap *heap = breadth->heap;
	struct managed_ways *ways = breadth->ways;
	for (uint32_t i = 1; i < heap->objects.len; i++) {
		if (heap->class_of[i] != class || !heap->objects.data[i].bytes)
			continue;
		if (breadth->group_of[i] == MANAGED_NONE) {
			ways->unheld++;
			continue;
		}
		struct managed_way *way = &ways->groups.data[breadth->group_of[i]];
		way->objects++;
		way->bytes += heap->objects.data[i].bytes;
	}
	ways->chosen = malloc((ways->groups.len + 1) * sizeof(*ways->chosen));
	if (!ways->chosen)
		return error_no_memory();
	for (uint32_t i = 0; i < ways->groups.len; i++)
		if (ways->groups.data[i].objects)
			ways->chosen[ways->chosen_count++] = i;
	qsort_r(ways->chosen, ways->chosen_count, sizeof(*ways->chosen), by_bytes,
		ways->groups.data);
	return NULL;
}

struct error *managed_heap_ways(const struct managed_heap *heap, const struct managed_class *class,
	struct managed_ways *ret)
{
	*ret = (struct managed_ways){.chosen = NULL};
	size_t bytes = (heap->objects.len + 1) * sizeof(uint32_t);
	struct breadth breadth = {
		.heap = heap, .ways = ret, .queue = malloc(bytes), .group_of = malloc(bytes)};
	struct error *error = breadth.queue && breadth.group_of ? NULL : error_no_memory();
	if (!error) {
		memset(breadth.group_of, 0xff, bytes);
		error = breadth_run(&breadth);
	}
	if (!error)
		error = ways_choose(&breadth, (uint32_t)(class - heap->classes.data));
	way_map_deinit(&breadth.groups);
	way_map_deinit(&breadth.names);
	free(breadth.queue);
	free(breadth.group_of);
	if (error)
		managed_ways_deinit(ret);
	return error;
}

void managed_ways_deinit(struct managed_ways *ways)
{
	managed_way_vec_deinit(&ways->groups);
	free(ways->chosen);
	*ways = (struct managed_ways){.chosen = NULL};
}
