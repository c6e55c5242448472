/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dominators by Lengauer and Tarjan, as in search/dominators.h, whose graph is one of addresses and
 * words; here references are listed already, and objects are of a file. All arrays below are by
 * the number that an object has in a depth-first walk from the root: what dominates an object has a
 * smaller one.
 */
#include "heap/managed_heap.h"

#include <stdlib.h>
#include <string.h>

struct walk {
	const struct managed_heap *heap;
	uint32_t count;    /* of objects that are held */
	uint32_t *objects; /* by number */
	uint32_t *numbers; /* by object; MANAGED_NONE: nothing holds it */
	uint32_t *parents;
	uint32_t *semi, *ancestors, *labels, *dominators;
	uint32_t *buckets, *next;  /* lists of numbers, by their semidominator */
	uint32_t *path;            /* of compress() */
	uint32_t *heads, *sources; /* numbers of those that hold one */
};

static void walk_deinit(struct walk *walk)
{
	uint32_t *all[] = {walk->objects, walk->numbers, walk->parents, walk->semi, walk->ancestors,
		walk->labels, walk->dominators, walk->buckets, walk->next, walk->path, walk->heads,
		walk->sources};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		free(all[i]);
}

static bool walk_init(struct walk *walk, const struct managed_heap *heap)
{
	*walk = (struct walk){.heap = heap};
	uint32_t **all[] = {&walk->objects, &walk->numbers, &walk->parents, &walk->semi,
		&walk->ancestors, &walk->labels, &walk->dominators, &walk->buckets, &walk->next,
		&walk->path, &walk->heads};
	size_t bytes = (heap->objects.len + 2) * sizeof(uint32_t);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		*all[i] = malloc(bytes);
		if (!*all[i])
			return false;
		memset(*all[i], 0xff, bytes);
	}
	return true;
}

static void number_give(struct walk *walk, uint32_t object, uint32_t parent)
{
	uint32_t number = walk->count++;
	walk->objects[number] = object;
	walk->numbers[object] = number;
	walk->parents[number] = parent;
	walk->semi[number] = walk->labels[number] = number;
	/* Where the walk goes on in it. */
	walk->next[number] = walk->heap->objects.data[object].first_edge;
}

static void objects_number(struct walk *walk)
{
	const struct managed_heap *heap = walk->heap;
	number_give(walk, 0, MANAGED_NONE);
	for (uint32_t at = 0; at != MANAGED_NONE;) {
		uint32_t object = walk->objects[at];
		if (walk->next[at] == managed_heap_edges_end(heap, object)) {
			at = walk->parents[at];
			continue;
		}
		const struct managed_edge *edge = &heap->edges.data[walk->next[at]++];
		if (walk->numbers[edge->to] != MANAGED_NONE ||
			!managed_heap_holds(heap, object, edge))
			continue;
		number_give(walk, edge->to, at);
		at = walk->count - 1;
	}
	memset(walk->next, 0xff, walk->count * sizeof(*walk->next));
}

/* Calls for each reference that holds: counts it, or notes its source. */
static void sources_pass(struct walk *walk, bool counts)
{
	const struct managed_heap *heap = walk->heap;
	for (uint32_t number = 0; number < walk->count; number++) {
		uint32_t object = walk->objects[number], end = managed_heap_edges_end(heap, object);
		for (uint32_t i = heap->objects.data[object].first_edge; i < end; i++) {
			const struct managed_edge *edge = &heap->edges.data[i];
			if (!managed_heap_holds(heap, object, edge))
				continue;
			uint32_t to = walk->numbers[edge->to];
			if (counts)
				walk->heads[to + 1]++;
			else
				walk->sources[walk->heads[to]++] = number;
		}
	}
}

static struct error *sources_list(struct walk *walk)
{
	memset(walk->heads, 0, (walk->count + 2) * sizeof(*walk->heads));
	sources_pass(walk, true);
	for (uint32_t i = 0; i < walk->count; i++)
		walk->heads[i + 1] += walk->heads[i];
	walk->sources = malloc((walk->heads[walk->count] + 1ul) * sizeof(*walk->sources));
	if (!walk->sources)
		return error_no_memory();
	sources_pass(walk, false);
	/* Each head was moved to its end, which is where the next one begins. */
	memmove(walk->heads + 1, walk->heads, walk->count * sizeof(*walk->heads));
	walk->heads[0] = 0;
	return NULL;
}

static void path_compress(struct walk *walk, uint32_t number)
{
	uint32_t len = 0, *anc = walk->ancestors, *labels = walk->labels;
	for (uint32_t at = number; anc[anc[at]] != MANAGED_NONE; at = anc[at])
		walk->path[len++] = at;
	while (len--) {
		uint32_t at = walk->path[len], above = anc[at];
		if (walk->semi[labels[above]] < walk->semi[labels[at]])
			labels[at] = labels[above];
		anc[at] = anc[above];
	}
}

static uint32_t label_find(struct walk *walk, uint32_t number)
{
	if (walk->ancestors[number] == MANAGED_NONE)
		return number;
	path_compress(walk, number);
	return walk->labels[number];
}

static void bucket_empty(struct walk *walk, uint32_t parent)
{
	for (uint32_t at = walk->buckets[parent], next; at != MANAGED_NONE; at = next) {
		uint32_t least = label_find(walk, at);
		next = walk->next[at];
		walk->dominators[at] = walk->semi[least] < walk->semi[at] ? least : parent;
	}
	walk->buckets[parent] = MANAGED_NONE;
}

static void dominators_compute(struct walk *walk)
{
	for (uint32_t number = walk->count; number-- > 1;) {
		for (uint32_t i = walk->heads[number]; i < walk->heads[number + 1]; i++) {
			uint32_t least = label_find(walk, walk->sources[i]);
			if (walk->semi[least] < walk->semi[number])
				walk->semi[number] = walk->semi[least];
		}
		uint32_t *bucket = &walk->buckets[walk->semi[number]];
		walk->next[number] = *bucket;
		*bucket = number;
		walk->ancestors[number] = walk->parents[number];
		bucket_empty(walk, walk->parents[number]);
	}
	for (uint32_t number = 1; number < walk->count; number++)
		if (walk->dominators[number] != walk->semi[number])
			walk->dominators[number] = walk->dominators[walk->dominators[number]];
}

/* Adds up what objects retain, those that are dominated first. */
static void retained_add_up(struct managed_heap *heap, const struct walk *walk)
{
	for (size_t i = 0; i < heap->objects.len; i++) {
		heap->retained[i] = heap->objects.data[i].bytes;
		heap->dominators[i] = MANAGED_NONE;
		if (walk->numbers[i] != MANAGED_NONE)
			continue;
		heap->unheld_objects++;
		heap->unheld_bytes += heap->retained[i];
		heap->classes.data[heap->class_of[i]].retained_bytes += heap->retained[i];
	}
	for (uint32_t number = walk->count; number-- > 1;) {
		uint32_t object = walk->objects[number];
		uint32_t above = walk->objects[walk->dominators[number]];
		heap->dominators[object] = above;
		heap->retained[above] += heap->retained[object];
	}
}

/* Goes through the tree of dominators. `open` has of each class how many of its objects are above:
 * what those retain has counted. Of the walk first children and siblings are in arrays that are no
 * longer needed. */
static void classes_add_up(struct managed_heap *heap, struct walk *walk, uint32_t *open)
{
	uint32_t *first = walk->buckets, *sibling = walk->next;
	memset(first, 0xff, walk->count * sizeof(*first));
	for (uint32_t number = walk->count; number-- > 1;) {
		sibling[number] = first[walk->dominators[number]];
		first[walk->dominators[number]] = number;
	}
	for (uint32_t at = 0; at != MANAGED_NONE;) {
		uint32_t object = walk->objects[at], class = heap->class_of[object];
		uint32_t below = first[at];
		if (walk->path[at] == MANAGED_NONE) {
			walk->path[at] = 0; /* entered */
			if (!open[class]++)
				heap->classes.data[class].retained_bytes += heap->retained[object];
		}
		if (below != MANAGED_NONE) {
			first[at] = sibling[below];
			at = below;
			continue;
		}
		open[class]--;
		at = at ? walk->dominators[at] : MANAGED_NONE;
	}
}

static struct error *heap_retain(struct managed_heap *heap, struct walk *walk, uint32_t *open)
{
	objects_number(walk);
	struct error *error = sources_list(walk);
	if (error)
		return error;
	dominators_compute(walk);
	retained_add_up(heap, walk);
	memset(walk->path, 0xff, walk->count * sizeof(*walk->path));
	classes_add_up(heap, walk, open);
	return NULL;
}

struct error *managed_heap_retain(struct managed_heap *heap)
{
	struct walk walk;
	uint32_t *open = calloc(heap->classes.len + 1, sizeof(*open));
	heap->retained = malloc((heap->objects.len + 1) * sizeof(*heap->retained));
	heap->dominators = malloc((heap->objects.len + 1) * sizeof(*heap->dominators));
	bool has_memory = walk_init(&walk, heap) && open && heap->retained && heap->dominators;
	struct error *error = has_memory ? heap_retain(heap, &walk, open) : error_no_memory();
	walk_deinit(&walk);
	free(open);
	return error;
}
