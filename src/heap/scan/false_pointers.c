/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/false_pointers.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "heap/inferred.h"
#include "heap/python/python_left.h"
#include "heap/scan/stale_words.h"
#include "heap/thread_locals.h"
#include "search/false_pointers.h"
#include "search/graph.h"

/* Of this many words on stacks it is asked which variables they are. */
#define STACK_WORDS_MOST 256u

struct finding {
	const struct heap_scan *scan;
	unsigned stack_words;      /* that are left */
	struct heap_layout layout; /* of the block that is asked about; its count is 0: not known */
	const struct heap_type *type; /* of the same */
	uint64_t links, links_end;    /* of the same: its words of Python's list of all objects */
	uint32_t mapped;              /* type whose words `map` has; TYPE_VOID: none */
	struct word_map map;
	struct heap_ranges above_frames; /* of Python: stale; ascending */
	const uint64_t *is_subset;       /* bit set of the blocks that are known; NULL: all are */
};

/* What a type has at an offset. */
static enum word_evidence word_of(struct finding *f, uint32_t type, uint64_t offset)
{
	struct types *types = f->scan->layouts.types;
	type = types_plain(types, type);
	if (type == TYPE_VOID || offset % 8)
		return WORD_UNKNOWN;
	if (type != f->mapped)
		inferred_word_map(types, type, &f->map);
	f->mapped = type;
	uint64_t word = offset / 8;
	if (word < SHAPE_WORDS && f->map.texts >> word & 1)
		return WORD_STALE;
	if (word < SHAPE_WORDS)
		return f->map.pointers >> word & 1 ? WORD_POINTER
		       : f->map.data >> word & 1   ? WORD_OTHER
						   : WORD_UNKNOWN;
	struct types_place place;
	types_locate(types, type, offset, &place, NULL);
	enum type_kind kind = types_get(types, place.type)->kind;
	return (kind == TYPE_POINTER || kind == TYPE_REFERENCE) && !place.into ? WORD_POINTER
									       : WORD_UNKNOWN;
}

/* Where a few are known, others still have the number of what looks alike. */
static const struct heap_type *false_pointers_type_of(const struct finding *f, uint32_t block)
{
	const struct heap_scan *s = f->scan;
	uint32_t type = f->is_subset && !(f->is_subset[block / 64] >> block % 64 & 1)
				? heap_types_of_label(&s->types, block_label(s->search, block))
				: heap_scan_type_of(s, block);
	return &s->types.types.data[type];
}

/* Whether a block is an object that Python's garbage collector has in its list, which goes through
 * nearly all objects and holds none of them. */
static bool is_listed(const struct heap_type *type)
{
	return type->listed;
}

/* Where objects of one name begin at different words of their blocks, the block says where its own
 * does: a pointer to its type follows the count of references. */
static bool begins_at(
	const struct heap_scan *s, uint32_t block, const struct heap_type *type, unsigned word)
{
	uint64_t pointer;
	if (!(type->starts & (type->starts - 1)))
		return true;
	const struct python_type *of = NULL;
	if (address_space_word(s->heap.space,
		    search_block_address(s->search, block) + 8ull * (word + 1), &pointer))
		of = python_type_known(&s->heap.python, pointer);
	return of && of->collected && !strcmp(of->name, type->name);
}

static void find_links(struct finding *f, uint32_t block)
{
	f->links = f->links_end = 0;
	for (uint64_t left = f->type->listed; left; left &= left - 1) {
		unsigned word = (unsigned)__builtin_ctzll(left);
		if (!begins_at(f->scan, block, f->type, word))
			continue;
		f->links = word - min(word, (unsigned)f->type->links);
		f->links_end = word;
		return;
	}
}

static bool false_pointers_knows(void *context, uint32_t block)
{
	struct finding *f = context;
	bool is_known = heap_layout_of(f->scan, block, &f->layout);
	if (!is_known)
		f->layout.count = 0;
	f->type = false_pointers_type_of(f, block);
	find_links(f, block);
	return is_listed(f->type) || is_known;
}

static enum word_evidence in_block(void *context, uint32_t block, uint64_t offset)
{
	struct finding *f = context;
	const struct heap_layout *layout = &f->layout;
	const struct vector_end *end = heap_types_vector_end(&f->scan->types, block);
	if (end && offset >= end->end)
		return WORD_STALE;
	const struct table_part *part = heap_types_table_part(&f->scan->types, block);
	if (part && (offset < part->begin || offset >= part->end))
		return WORD_STALE;
	if (offset / 8 >= f->links && offset / 8 < f->links_end)
		return WORD_STALE;
	if (!layout->count || offset < layout->header ||
		(offset - layout->header) / layout->size >= layout->count)
		return WORD_UNKNOWN;
	return word_of(f, layout->type, (offset - layout->header) % layout->size);
}

static enum start_pointers false_pointers_starts(void *context, uint32_t block)
{
	const struct finding *f = context;
	const struct heap_type *type = false_pointers_type_of(f, block);
	if (type->kind == HEAP_TYPE_STRING)
		return START_POINTERS_STALE;
	if (is_listed(type))
		return START_POINTERS_ASK;
	return stale_words_has(f->scan, block) ? START_POINTERS_ASK : START_POINTERS_COUNT;
}

static bool any_is_left(const struct heap_scan *scan)
{
	const struct heap_type_vec *types = &scan->types.types;
	if (scan->left.masks || scan->types.vector_ends.len || scan->types.table_parts.len)
		return true;
	for (size_t i = 0; i < types->len; i++) {
		if (types->data[i].kind == HEAP_TYPE_STRING || is_listed(&types->data[i]))
			return true;
	}
	return false;
}

/* A word on a stack, and what the variables of its frame say of it. */
struct asking {
	struct finding *f;
	uint64_t address;
	enum word_evidence says;
};

static void take_variable(void *context, uint32_t type, uint64_t start)
{
	struct asking *a = context;
	uint64_t size = types_get(a->f->scan->layouts.types, type)->size;
	if (a->says == WORD_UNKNOWN && a->address - start < size)
		a->says = word_of(a->f, type, a->address - start);
}

static enum word_evidence on_stack(struct finding *f, uint32_t thread, uint64_t address)
{
	struct asking a = {f, address, WORD_UNKNOWN};
	bool any = f->scan->layouts.types && f->stack_words;
	f->stack_words -= any;
	for (size_t i = 0; any; i++) {
		struct local_frame frame;
		const struct address_module *module;
		uint32_t number;
		struct error *error =
			stack_places_frame(f->scan->stacks, thread, i, &frame, &module, &any);
		any = any && !error;
		/* Without memory nothing is known of it. */
		error_destroy(error);
		if (!any || !module || address >= frame.cfa)
			continue;
		if (heap_names_symbols(f->scan->names, module, &number))
			types_locals(f->scan->layouts.types, number, &frame, 0, take_variable, &a);
		break;
	}
	return a.says;
}

static enum word_evidence in_root(void *context, const struct graph_root *word)
{
	struct finding *f = context;
	const struct heap_root *root = &f->scan->roots.data[word->root];
	uint64_t address = heap_root_address(root, word->address);
	struct heap_global global;
	if (root->kind == HEAP_ROOT_STACK)
		return on_stack(f, root->thread, address);
	bool is_known = root->kind == HEAP_ROOT_DATA
				? heap_layouts_global(f->scan, address, &global)
				: root->kind == HEAP_ROOT_TLS &&
					  thread_locals_declared(f->scan, address, &global);
	return is_known ? word_of(f, global.variable.type, global.offset) : WORD_UNKNOWN;
}

/* Whether a word of a module's data is the head of the garbage collector's list: it leads to an
 * object's links, and one of these back to it. Marks are in the links' last bits. */
static bool is_head(struct finding *f, uint32_t block, uint64_t address)
{
	const struct address_space *space = f->scan->heap.space;
	uint64_t at, links[2];
	f->type = false_pointers_type_of(f, block);
	if (!is_listed(f->type))
		return false;
	find_links(f, block);
	bool is_link = f->links_end && address_space_word(space, address, &at) &&
		       at == search_block_address(f->scan->search, block) + 8 * f->links;
	return is_link && address_space_read(space, at, links, sizeof(links)) == sizeof(links) &&
	       ((links[1] & ~7ull) == address || (links[0] & ~7ull) == address - 8);
}

static bool is_above_frames(const struct finding *f, uint64_t address)
{
	const struct heap_range *ranges = f->above_frames.data;
	size_t low = 0, high = f->above_frames.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < ranges[low - 1].end;
}

static int false_pointers_by_start(const void *a, const void *b)
{
	const struct heap_range *x = a, *y = b;
	return (x->start > y->start) - (x->start < y->start);
}

/* Whether a word of the interpreter's own holds nothing. */
static bool is_left(void *context, const struct graph_root *word)
{
	struct finding *f = context;
	const struct heap_root *root = &f->scan->roots.data[word->root];
	uint64_t address = heap_root_address(root, word->address);
	if (root->kind == HEAP_ROOT_MAPPING)
		return is_above_frames(f, address);
	return root->kind == HEAP_ROOT_DATA &&
	       (is_head(f, GRAPH_BLOCK(word->edge), address) ||
		       python_left_is_place(f->scan->heap.space, address));
}

struct error *false_pointers_find(const struct heap_scan *scan, const struct space_u32 *subset)
{
	if (search_graph(scan->search)->has_false_pointers)
		return NULL;
	struct finding f = {.scan = scan, .stack_words = STACK_WORDS_MOST, .mapped = TYPE_VOID};
	const struct false_pointer_rule rule = {.context = &f,
		.knows = false_pointers_knows,
		.in_block = in_block,
		.in_root = in_root,
		.is_stale = python_is_there(&scan->heap.python) ? is_left : NULL,
		.starts = any_is_left(scan) ? false_pointers_starts : NULL,
		.has_tags = scan->pointers == POINTERS_TAGGED};
	_cleanup_free_ uint64_t *is_subset =
		subset ? calloc((size_t)search_block_count(scan->search) / 64 + 1, 8) : NULL;
	if (subset && !is_subset)
		return error_no_memory();
	for (size_t i = 0; subset && i < subset->len; i++)
		is_subset[subset->data[i] / 64] |= 1ull << subset->data[i] % 64;
	f.is_subset = is_subset;
	struct error *error = python_is_there(&scan->heap.python)
				      ? python_left_stacks(scan->heap.space, &f.above_frames)
				      : NULL;
	if (f.above_frames.len)
		qsort(f.above_frames.data, f.above_frames.len, sizeof(*f.above_frames.data),
			false_pointers_by_start);
	if (!error)
		error = search_find_false_pointers(scan->search, &rule, subset);
	heap_ranges_deinit(&f.above_frames);
	return error;
}

struct false_words false_words_of(const struct heap_scan *scan, uint32_t block)
{
	const struct graph *graph = search_graph(scan->search);
	return (struct false_words){
		graph, graph_edges(graph, block), graph_edges_end(graph, block), 0, false};
}

bool false_words_take(struct false_words *words, uint64_t value)
{
	const struct graph *graph = words->graph;
	/* Of equal ones to a start that follow each other there is one edge. */
	if (value && value == words->last)
		return words->last_is_false;
	if (words->next == words->end)
		return false;
	uint32_t number = words->next, into = graph_offset(graph, number);
	uint64_t start = space_address(graph->space, GRAPH_BLOCK(graph->edges.data[number]));
	if (into == UINT32_MAX ? value - start < into : value != start + into)
		return false;
	words->next++;
	words->last = into ? 0 : value;
	words->last_is_false = graph_is_false_pointer(graph, number);
	return words->last_is_false;
}
