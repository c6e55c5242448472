/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/cleanup.h"
#include "heap/blocks/window.h"
#include "heap/heap_scan.h"
#include "heap/types/recognisers.h"

/* Words of objects, from ob_type on, that point to what they have beside them: the same in all
 * versions (Include/cpython/dictobject.h, listobject.h, setobject.h). */
#define DICT_KEYS 3u
#define DICT_VALUES 4u
#define LIST_ITEMS 2u
#define SET_TABLE 4u
#define OBJECT_WORDS 5u
/* What the garbage collector has right before an object: its list's links. */
#define LINK_WORDS 2u
#define LINK_WORDS_OLD 4u
/* The words before a collected object's head, where its values or its dict are (3.11, 3.12). */
#define BEFORE_WORDS 2u
/* A table of values begins so far before what points to it, at most. */
#define VALUES_LEAD_MAX 64u

enum { PART_KEYS, PART_VALUES, PART_ITEMS, PART_TABLE, PART_ATTRIBUTES, PARTS };

static const char *const part_names[PARTS] = {
	"dict keys", "dict values", "list items", "set table", "instance attributes"};

struct assigner {
	struct heap_scan *scan;
	struct window window;
	uint32_t parts[PARTS]; /* types */
};

/* Objects of a type begin at a word of their blocks. */
static void assign_head(struct heap_type *type, unsigned word, const struct python_type *of)
{
	/* Before Python 3.8 a count and a gap follow the links, which are no pointers. */
	type->starts |= 1ull << word;
	if (!of->collected)
		return;
	type->listed |= 1ull << word;
	type->links = of->has_values ? LINK_WORDS : LINK_WORDS_OLD;
}

static struct error *assign_objects(struct heap_scan *s, bool *ret_parts)
{
	struct python *python = &s->heap.python;
	struct error *error = NULL;
	*ret_parts = false;
	for (uint32_t i = 0; i < s->types.shape_count && !error; i++) {
		const struct heap_shape *class = &s->classes.classes.data[i];
		if (!class->head_at)
			continue;
		const struct python_type *of = python_type(python, class->key.head);
		uint32_t type;
		if (!of)
			continue;
		error = heap_types_add(&s->types, HEAP_TYPE_PYTHON, of->name, &type);
		if (!error)
			heap_types_assign(&s->types, i, type);
		/* Others have the object's address, not the block's. */
		if (!error)
			assign_head(&s->types.types.data[type], class->head_at - 1u, of);
		*ret_parts |= of->parts || of->has_values;
	}
	return error;
}

/* What an object points to is its part, if it is a block that nothing else is known of. */
static void assign_part(struct assigner *w, uint64_t pointer, unsigned part, uint64_t lead)
{
	struct heap_scan *s = w->scan;
	uint64_t offset;
	uint32_t block = pointer ? search_block_at(s->search, pointer, &offset) : SPACE_NONE;
	if (block == SPACE_NONE || offset > lead + python_lead_most(&s->heap.python))
		return;
	struct block_label label = block_label(s->search, block);
	if (heap_types_of_label(&s->types, label) == HEAP_TYPE_NONE)
		block_set_label(s->search, block, heap_types_label(&s->types, w->parts[part]));
}

/* `head`: the block's content from its type on, `words` of them. */
static void assign_parts_of(
	struct assigner *w, enum python_parts kind, const uint64_t *head, size_t words)
{
	/* Of a list malloc() gives four words from there on. */
	if (words < (kind == PYTHON_PARTS_LIST ? LIST_ITEMS + 1 : OBJECT_WORDS))
		return;
	switch (kind) {
	case PYTHON_PARTS_DICT:
		assign_part(w, head[DICT_KEYS], PART_KEYS, 0);
		assign_part(w, head[DICT_VALUES], PART_VALUES, VALUES_LEAD_MAX);
		break;
	case PYTHON_PARTS_LIST:
		assign_part(w, head[LIST_ITEMS], PART_ITEMS, 0);
		break;
	case PYTHON_PARTS_SET:
		assign_part(w, head[SET_TABLE], PART_TABLE, 0);
		break;
	case PYTHON_PARTS_TYPE:
	case PYTHON_PARTS_NONE:
		break;
	}
}

static void assign_parts(struct assigner *w, uint32_t block, const struct heap_shape *class,
	const struct python_type *type)
{
	uint64_t words[OBJECT_WORDS + 10];
	uint64_t size = class->key.size;
	size_t wanted = size < sizeof(words) ? (size_t)size & ~7ul : sizeof(words);
	uint64_t address = search_block_address(w->scan->search, block);
	const uint8_t *bytes = window_at(&w->window, address, wanted, address + WINDOW_BYTES);
	if (!bytes)
		return;
	memcpy(words, bytes, wanted);
	assign_parts_of(w, type->parts, words + class->head_at, wanted / 8 - class->head_at);
	/* Two words before the collector's; what is kept there differs, and has marks in its last
	 * bit. */
	size_t first = python_debug_words(size, bytes);
	for (size_t i = first;
		type->has_values && class->head_at > first + 4 && i < first + BEFORE_WORDS; i++)
		assign_part(w, words[i] & ~1ull, PART_ATTRIBUTES, VALUES_LEAD_MAX);
}

static struct error *assign_all_parts(struct heap_scan *s)
{
	struct assigner w = {.scan = s};
	struct error *error = window_open(s->heap.space, &w.window);
	for (unsigned i = 0; i < PARTS && !error; i++)
		error = heap_types_add(
			&s->types, HEAP_TYPE_PYTHON_PART, part_names[i], &w.parts[i]);
	const unsigned tables[] = {PART_VALUES, PART_ATTRIBUTES};
	for (unsigned i = 0; i < 2 && !error; i++)
		s->types.types.data[w.parts[tables[i]]].starts = (2ull << VALUES_LEAD_MAX / 8) - 1;
	uint32_t count = search_block_count(s->search);
	for (uint32_t block = 0; block < count && !error; block++) {
		uint32_t number = heap_types_shape(&s->types, block_label(s->search, block));
		const struct heap_shape *class =
			number != HEAP_SHAPE_NONE ? &s->classes.classes.data[number] : NULL;
		if (!class || !class->head_at)
			continue;
		const struct python_type *type = python_type(&s->heap.python, class->key.head);
		if (type && (type->parts || type->has_values))
			assign_parts(&w, block, class, type);
	}
	window_close(&w.window);
	return error;
}

struct error *python_objects_recognise(struct heap_scan *scan, struct inferred_subset *subset)
{
	(void)subset;
	if (!python_is_there(&scan->heap.python))
		return NULL;
	bool has_parts;
	struct error *error = assign_objects(scan, &has_parts);
	return error || !has_parts ? error : assign_all_parts(scan);
}
