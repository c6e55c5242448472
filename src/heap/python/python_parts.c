/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of objects of CPython's libraries. Layouts are those of 3.11 (Objects/bytearrayobject.c,
 * Objects/odictobject.c, Modules/arraymodule.c, Modules/_collectionsmodule.c,
 * Modules/_io/stringio.c); in other versions what does not agree with the blocks is left unnamed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "heap/blocks/page_cache.h"
#include "heap/blocks/window.h"
#include "heap/heap_scan.h"
#include "heap/types/recognisers.h"
#include "search/graph.h"

enum part {
	PART_BYTEARRAY,
	PART_ARRAY,
	PART_STRINGIO,
	PART_DEQUE,
	PART_ORDERED_NODE,
	PART_ORDERED_TABLE,
	PARTS
};
static const char *const part_names[PARTS] = {[PART_BYTEARRAY] = "bytearray buffer",
	[PART_ARRAY] = "array buffer",
	[PART_STRINGIO] = "StringIO buffer",
	[PART_DEQUE] = "deque block",
	[PART_ORDERED_NODE] = "OrderedDict node",
	[PART_ORDERED_TABLE] = "OrderedDict table"};

/* Words of an object, from its type (ob_type) on. */
enum { VAR_SIZE = 1 };
enum { BYTEARRAY_ROOM = 2, BYTEARRAY_BYTES, BYTEARRAY_START };
enum { ARRAY_ITEMS = 2, ARRAY_ROOM, ARRAY_KIND };
enum { STRINGIO_BUFFER = 1, STRINGIO_POSITION, STRINGIO_SIZE, STRINGIO_ROOM };
enum { DEQUE_LEFT = 2, DEQUE_RIGHT, DEQUE_LEFT_INDEX, DEQUE_RIGHT_INDEX };
enum { ORDERED_USED = 1, ORDERED_FIRST = 5, ORDERED_LAST, ORDERED_TABLE, ORDERED_TABLE_SIZE };
#define OBJECT_WORDS 9u
/* A block of a deque: the one before, items, the next one. */
#define DEQUE_ITEMS 64u
#define DEQUE_BEFORE 0u
#define DEQUE_NEXT (DEQUE_ITEMS + 1)
#define DEQUE_BYTES (8ull * (DEQUE_ITEMS + 2))
/* A node of an OrderedDict: key, hash, next, the one before. */
#define NODE_NEXT 2u
#define NODE_BEFORE 3u
#define NODE_BYTES 32u
/* The bytes of array.array's item, in what describes its kind: a letter, an int. */
#define KIND_BYTES 4u
#define ITEM_BYTES_MAX 16u

struct assigner {
	struct heap_scan *scan;
	struct window window;    /* of objects */
	struct page_cache pages; /* of what they lead to */
	uint32_t types[PARTS];
};

/* The block of unknown type that has this many bytes from an address on that an object keeps;
 * SPACE_NONE: there is none. */
static uint32_t python_parts_find_part(const struct assigner *w, uint64_t address, uint64_t bytes)
{
	const struct heap_scan *s = w->scan;
	uint64_t into;
	uint32_t block = address ? search_block_at(s->search, address, &into) : SPACE_NONE;
	if (block == SPACE_NONE || !python_is_lead(&s->heap.python, into) ||
		bytes > search_block_size(s->search, block) - into ||
		heap_types_of_label(&s->types, block_label(s->search, block)) != HEAP_TYPE_NONE)
		return SPACE_NONE;
	return block;
}

static bool python_parts_assign(
	struct assigner *w, uint64_t address, uint64_t bytes, enum part part)
{
	struct heap_scan *s = w->scan;
	uint32_t block = python_parts_find_part(w, address, bytes);
	if (block != SPACE_NONE)
		block_set_label(s->search, block, heap_types_label(&s->types, w->types[part]));
	return block != SPACE_NONE;
}

static void assign_bytearray(struct assigner *w, const uint64_t *head)
{
	uint64_t room = head[BYTEARRAY_ROOM];
	if (head[VAR_SIZE] <= room && room && head[BYTEARRAY_START] - head[BYTEARRAY_BYTES] <= room)
		python_parts_assign(w, head[BYTEARRAY_BYTES], room, PART_BYTEARRAY);
}

static void assign_array(struct assigner *w, const uint64_t *head)
{
	uint64_t kind, room = head[ARRAY_ROOM];
	if (head[VAR_SIZE] > room || !room || room > UINT64_MAX / ITEM_BYTES_MAX ||
		!page_cache_word(&w->pages, head[ARRAY_KIND], &kind))
		return;
	uint64_t bytes = kind >> 8 * KIND_BYTES;
	if (bytes && bytes <= ITEM_BYTES_MAX && (kind & 0xff) > ' ')
		python_parts_assign(w, head[ARRAY_ITEMS], bytes * room, PART_ARRAY);
}

static void assign_stringio(struct assigner *w, const uint64_t *head)
{
	uint64_t room = head[STRINGIO_ROOM];
	if (room && room < UINT64_MAX / 4 && head[STRINGIO_SIZE] <= room)
		python_parts_assign(w, head[STRINGIO_BUFFER], 4 * room, PART_STRINGIO);
}

/* From the first to the last; each but the first points back. */
static void assign_deque(struct assigner *w, const uint64_t *head)
{
	uint64_t at = head[DEQUE_LEFT], before = 0, back;
	uint64_t left = head[DEQUE_LEFT_INDEX], right = head[DEQUE_RIGHT_INDEX];
	uint64_t all = left + head[VAR_SIZE];
	/* An empty one begins after where it ends. */
	if (left > DEQUE_ITEMS || right >= DEQUE_ITEMS || all < left)
		return;
	uint64_t count = all ? (all + DEQUE_ITEMS - 1) / DEQUE_ITEMS : 1;
	for (uint64_t i = 0; i < count; i++) {
		if (before && (!page_cache_word(&w->pages, at + 8ull * DEQUE_BEFORE, &back) ||
				      back != before))
			return;
		before = at;
		if (!python_parts_assign(w, at, DEQUE_BYTES, PART_DEQUE) ||
			at == head[DEQUE_RIGHT] ||
			!page_cache_word(&w->pages, at + 8ull * DEQUE_NEXT, &at))
			return;
	}
}

static void assign_ordered(struct assigner *w, const uint64_t *head)
{
	uint64_t at = head[ORDERED_FIRST], before = 0, back;
	uint64_t size = head[ORDERED_TABLE_SIZE];
	if (size && size < UINT64_MAX / 8 && (size & (size - 1)) == 0)
		python_parts_assign(w, head[ORDERED_TABLE], 8 * size, PART_ORDERED_TABLE);
	for (uint64_t i = 0; i < head[ORDERED_USED]; i++) {
		if (!page_cache_word(&w->pages, at + 8ull * NODE_BEFORE, &back) || back != before)
			return;
		before = at;
		if (!python_parts_assign(w, at, NODE_BYTES, PART_ORDERED_NODE) ||
			at == head[ORDERED_LAST] ||
			!page_cache_word(&w->pages, at + 8ull * NODE_NEXT, &at))
			return;
	}
}

/* What types keep beside their objects. */
static const struct holder {
	const char *type;
	void (*assign)(struct assigner *w, const uint64_t *head);
} holders[] = {
	{"bytearray", assign_bytearray},
	{"array.array", assign_array},
	{"_io.StringIO", assign_stringio},
	{"collections.deque", assign_deque},
	{"collections.OrderedDict", assign_ordered},
};
#define HOLDER_NONE ((uint8_t)ARRAY_SIZE(holders))

static void python_parts_look_at(struct assigner *w, uint32_t block, uint64_t address,
	unsigned head_at, const struct holder *holder)
{
	uint64_t words[OBJECT_WORDS] = {0};
	uint64_t size = search_block_size(w->scan->search, block) & ~7ull;
	if (size <= 8ull * head_at)
		return;
	size_t wanted = min((size_t)size - 8ul * head_at, sizeof(words));
	const uint8_t *bytes = window_at(&w->window, address + 8ull * head_at, wanted,
		search_graph(w->scan->search)->space->high);
	if (!bytes)
		return;
	memcpy(words, bytes, wanted);
	holder->assign(w, words);
}

/* Of each class of objects which of the holders they are. */
static bool find_holders(struct heap_scan *s, uint8_t *ret)
{
	struct python *python = &s->heap.python;
	bool any = false;
	for (size_t i = 0; i < s->types.shape_count; i++) {
		const struct heap_shape *class = &s->classes.classes.data[i];
		const struct python_type *type =
			class->head_at ? python_type(python, class->key.head) : NULL;
		ret[i] = HOLDER_NONE;
		for (uint8_t k = 0; type && k < HOLDER_NONE && ret[i] == HOLDER_NONE; k++) {
			if (python_type_is(python, class->key.head, holders[k].type))
				ret[i] = k;
		}
		any |= ret[i] != HOLDER_NONE;
	}
	return any;
}

static void look_at_all(struct assigner *w, const uint8_t *of_shape)
{
	struct heap_scan *s = w->scan;
	struct space_walk walk = {search_graph(s->search)->space, 0, 0};
	uint32_t count = search_block_count(s->search);
	for (; walk.block < count; walk.block++) {
		uint32_t class = heap_types_shape(&s->types, block_label(s->search, walk.block));
		if (class != HEAP_SHAPE_NONE && of_shape[class] != HOLDER_NONE)
			python_parts_look_at(w, walk.block, space_walk_address(&walk),
				s->classes.classes.data[class].head_at, &holders[of_shape[class]]);
	}
}

struct error *python_parts_recognise(struct heap_scan *scan, struct inferred_subset *subset)
{
	(void)subset;
	struct heap_scan *s = scan;
	if (!python_is_there(&s->heap.python))
		return NULL;
	_cleanup_free_ uint8_t *of_shape = malloc(s->types.shape_count + 1);
	struct assigner w = {.scan = s};
	if (!of_shape)
		return error_no_memory();
	if (!find_holders(s, of_shape))
		return NULL;
	struct error *error = window_open(s->heap.space, &w.window);
	if (!error)
		error = page_cache_open(s->heap.space, &w.pages);
	for (unsigned i = 0; i < PARTS && !error; i++)
		error = heap_types_add(
			&s->types, HEAP_TYPE_PYTHON_PART, part_names[i], &w.types[i]);
	if (!error)
		look_at_all(&w, of_shape);
	page_cache_close(&w.pages);
	window_close(&w.window);
	return error;
}
