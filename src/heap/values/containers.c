/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Goes through all that may hold containers: the blocks that point to others, and roots. */

#include <stdlib.h>

#include "base/cleanup.h"
#include "heap/blocks/window.h"
#include "heap/cxx.h"
#include "heap/types/recognisers.h"
#include "heap/values/containers_find.h"

/* glibc's: what it may give more than was asked for, of small blocks and of mappings. */
#define SPARE_BYTES 31u
#define SPARE_MAPPED 8192u
/* What glibc leaves besides after a block of such an alignment and more. */
#define ALIGNED_LEAST 32u
#define SPARE_ALIGNED 16u
#define MAPPED_FROM (128ull << 10)
/* Of nodes what is known of them is fetched so far ahead. */
#define AHEAD_NODES 16u

static const struct {
	enum heap_type_kind kind;
	const char *name;
	uint64_t links;             /* this many bytes at its beginning are not of elements */
	uint8_t text_at, text_unit; /* as a type of the heap's has them */
} parts[CONTAINER_PARTS] = {
	[PART_STRING] = {HEAP_TYPE_STRING, "std::string buffer", UINT64_MAX, 0, 0},
	[PART_COW_STRING] = {HEAP_TYPE_STRING, "std::string buffer (copy-on-write)", UINT64_MAX, 24,
		1},
	[PART_COW_STRING_16] = {HEAP_TYPE_STRING, "std::u16string buffer (copy-on-write)",
		UINT64_MAX, 24, 2},
	[PART_COW_STRING_32] = {HEAP_TYPE_STRING, "std::wstring/u32string buffer (copy-on-write)",
		UINT64_MAX, 24, 4},
	[PART_VECTOR] = {HEAP_TYPE_CONTAINER, "std::vector buffer", 0, 0, 0},
	[PART_LIST] = {HEAP_TYPE_CONTAINER, "std::list node", 16, 0, 0},
	[PART_TREE] = {HEAP_TYPE_CONTAINER, "std::map/set node", 24, 0, 0},
	[PART_HASH] = {HEAP_TYPE_CONTAINER, "std::unordered node", 8, 0, 0},
	[PART_BUCKETS] = {HEAP_TYPE_CONTAINER, "std::unordered buckets", UINT64_MAX, 0, 0},
	[PART_DEQUE_MAP] = {HEAP_TYPE_CONTAINER, "std::deque map", UINT64_MAX, 0, 0},
	[PART_DEQUE_BLOCK] = {HEAP_TYPE_CONTAINER, "std::deque block", 0, 0, 0},
};

static uint32_t class_type(const struct container_search *f, uint32_t block)
{
	return heap_types_of_label(f->types, block_label(f->search, block));
}

bool find_is_free(const struct container_search *f, uint32_t block)
{
	return class_type(f, block) == HEAP_TYPE_NONE;
}

bool find_is_room(const struct container_search *f, uint32_t block)
{
	uint32_t type = class_type(f, block);
	if (heap_types_shape(f->types, block_label(f->search, block)) == HEAP_SHAPE_NONE)
		return false;
	return type == HEAP_TYPE_NONE || f->types->types.data[type].kind == HEAP_TYPE_CXX;
}

bool find_fits(const struct container_search *f, uint64_t wanted, uint32_t block)
{
	uint64_t size = size_of(f, block), spare = SPARE_BYTES;
	if (f->loose && size / 4 > spare)
		spare = size / 4;
	if (size >= MAPPED_FROM && spare < SPARE_MAPPED)
		spare = SPARE_MAPPED;
	/* Elements that ask for an alignment are of multiples of it. */
	if (wanted <= size && size - wanted > spare && wanted % ALIGNED_LEAST == 0 &&
		search_block_address(f->search, block) % ALIGNED_LEAST == 0)
		spare += SPARE_ALIGNED;
	return wanted <= size && size - wanted <= spare;
}

static uint32_t type_of_part(struct container_search *f, enum container_part part)
{
	uint32_t *type = &f->part_types[part];
	if (*type == HEAP_TYPE_NONE && !f->error) {
		f->error = heap_types_add(f->types, parts[part].kind, parts[part].name, type);
		if (!f->error) {
			f->types->types.data[*type].text_at = parts[part].text_at;
			f->types->types.data[*type].text_unit = parts[part].text_unit;
		}
	}
	return *type;
}

void find_assign(struct container_search *f, uint32_t block, enum container_part part)
{
	uint32_t type = type_of_part(f, part);
	f->tails[block] = 0;
	if (!f->error)
		block_set_label(f->search, block, heap_types_label(f->types, type));
}

void find_assign_nodes(struct container_search *f, enum container_part part)
{
	uint32_t type = type_of_part(f, part);
	struct block_label label = heap_types_label(f->types, type);
	if (f->nodes.len >= HEAP_FAMILY_LEAST && !f->error)
		f->error = heap_types_add_family(f->types, type, &label);
	for (size_t i = 0; i < f->nodes.len && !f->error; i++) {
		if (i + AHEAD_NODES < f->nodes.len)
			search_prefetch_block(f->search, f->nodes.data[i + AHEAD_NODES]);
		f->tails[f->nodes.data[i]] = 0;
		block_set_label(f->search, f->nodes.data[i], label);
	}
}

/* How many bytes a character of UTF-8 has; 0: none begins so. */
static unsigned utf8_len(uint8_t first)
{
	return first < 0x80   ? 1
	       : first < 0xc2 ? 0
	       : first < 0xe0 ? 2
	       : first < 0xf0 ? 3
	       : first < 0xf5 ? 4
			      : 0;
}

static bool is_readable(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len;) {
		unsigned count = utf8_len(bytes[i]);
		bool is_control =
			bytes[i] == 127 || (bytes[i] < ' ' && (bytes[i] < '\t' || bytes[i] > '\r'));
		if (!count || is_control)
			return false;
		for (i++; --count && i < len; i++) {
			if ((bytes[i] & 0xc0) != 0x80)
				return false;
		}
	}
	return true;
}

/* Six bytes of a pointer may be letters. */
bool find_is_text(const struct container_search *f, const uint8_t *bytes, size_t len)
{
	for (size_t at = 0; at < len; at += 8) {
		uint64_t word;
		memcpy(&word, bytes + at, 8);
		if (block_of(f, word) != SPACE_NONE)
			return false;
	}
	return is_readable(bytes, len);
}

/* What comes first is the surer. Three words on a stack are a vector's only if no block says
 * otherwise. */
static bool containers_look(struct container_search *f, const struct container_place *place)
{
	if (place->is_stack && f->is_late)
		return find_vector(f, place);
	return find_deque(f, place) || find_deque_of_libcxx(f, place) || find_tree(f, place) ||
	       find_hash(f, place) || find_tree_of_libcxx(f, place) || find_list(f, place) ||
	       find_string(f, place) || find_string_of_libcxx(f, place) ||
	       (!place->is_stack && find_vector(f, place));
}

/* What a container's second word can be, if its first points to a block. */
static inline bool is_second(const struct container_search *f, uint64_t word)
{
	const struct space *space = f->graph->space;
	return word <= COUNT_MOST || word - space->low < space->high - space->low;
}

/* What leads into blocks as well as to their starts. */
static void look_inside(struct container_search *f, const struct container_place *place)
{
	if (f->is_late || f->error)
		return;
	/* Blocks begin at multiples of 16. */
	if (place->words[0] % 16 != 8 || !find_cow_string(f, place))
		find_chunks(f, place);
}

/* `bytes`: of [start, start + len), all that may be looked at; start and they are aligned. */
static void containers_look_at(struct container_search *f, const uint8_t *bytes, uint64_t start,
	size_t len, uint64_t address, uint32_t holder, uint64_t offset, bool is_stack,
	bool is_interior)
{
	const uint64_t *words = (const void *)(bytes + (address - start));
	struct container_place place = {.words = words,
		.before = (size_t)(address - start) / 8,
		.after = (size_t)(start + len - address) / 8,
		.address = address,
		.holder = holder,
		.offset = offset,
		.is_stack = is_stack};
	look_inside(f, &place);
	if (is_interior)
		return;
	if (!f->is_late && ((place.before && find_is_outside(f, words[-1])) ||
				   (place.after > 3 && find_is_outside(f, words[2])) ||
				   find_may_be_inside(f, &place)))
		find_held(f, &place);
	/* libc++'s strings end with the pointer. */
	bool is_first = place.after > 1 && is_second(f, words[1]);
	if (is_first || (place.before && words[-1] <= COUNT_MOST))
		containers_look(f, &place);
}

/* The words of a piece of a block from `from` on, until `to`. */
static void look_through(struct container_search *f, const uint8_t *bytes, uint64_t start,
	size_t len, size_t from, size_t to, uint32_t holder, uint64_t offset)
{
	uint64_t low = f->graph->space->low, room = f->graph->space->high - low;
	for (size_t at = from; at + 8 <= to; at += 8) {
		uint64_t word;
		memcpy(&word, bytes + at, 8);
		if (__builtin_expect(word - low < room && !(word & 7), 0))
			containers_look_at(f, bytes, start, len, start + at, holder, offset + at,
				false, false);
	}
}

/* Where elements begin in a block, as far as it is known what that is. */
static uint64_t elements_at(const struct container_search *f, uint32_t block)
{
	struct block_label label = block_label(f->search, block);
	if (heap_types_shape(f->types, label) != HEAP_SHAPE_NONE)
		return 0;
	uint32_t type = heap_types_of_label(f->types, label);
	for (size_t i = 0; i < CONTAINER_PARTS; i++) {
		if (type == f->part_types[i])
			return parts[i].links;
	}
	return 0;
}

static void look_through_block(
	struct container_search *f, struct window *window, uint32_t block, uint64_t address)
{
	const size_t before = 8 * PLACE_BEFORE, after = 8 * PLACE_AFTER;
	uint64_t size = size_of(f, block) & ~7ull, at = elements_at(f, block);
	while (at < size && !f->error) {
		uint64_t first = at > before ? at - before : 0;
		size_t len = size - first < WINDOW_BYTES ? (size_t)(size - first) : WINDOW_BYTES;
		const uint8_t *bytes =
			window_at(window, address + first, len, f->graph->space->high);
		size_t to = first + len == size ? len : len - after;
		if (bytes)
			look_through(f, bytes, address + first, len, (size_t)(at - first), to,
				block, first);
		at = first + to;
	}
}

static struct error *look_through_blocks(struct container_search *f, struct window *window)
{
	struct space_walk walk = {f->graph->space, 0, 0};
	for (; walk.block < f->blocks && !f->error; walk.block++) {
		uint64_t address = space_walk_address(&walk);
		if (address % 8 == 0 &&
			graph_edges(f->graph, walk.block) < graph_edges_end(f->graph, walk.block))
			look_through_block(f, window, walk.block, address);
	}
	return f->error;
}

/* The words of roots that point to blocks; they come by roots and ascending in each. */
static struct error *look_through_roots(
	struct container_search *f, const struct heap_root_vec *roots, struct window *window)
{
	for (size_t i = 0; i < f->graph->roots.len && !f->error; i++) {
		const struct graph_root *word = &f->graph->roots.data[i];
		const struct heap_root *root = &roots->data[word->root];
		if (root->values || word->address % 8 ||
			(f->is_late && root->kind != HEAP_ROOT_STACK))
			continue;
		uint64_t start = (root->start + 7) & ~7ull;
		if (word->address - start > 8 * PLACE_BEFORE)
			start = word->address - 8 * PLACE_BEFORE;
		uint64_t end = root->end - word->address > 8 * PLACE_AFTER
				       ? word->address + 8 * PLACE_AFTER
				       : root->end;
		size_t len = (size_t)(end - start);
		const uint8_t *bytes = window_at(window, start, len, root->end);
		if (bytes)
			containers_look_at(f, bytes, start, len, word->address, SPACE_NONE, 0,
				root->kind == HEAP_ROOT_STACK, word->edge & GRAPH_INTERIOR);
	}
	return f->error;
}

/* A string ends with a NUL, and where little speaks for it, it has to read as one. */
static bool is_string(struct container_search *f, struct window *window, uint64_t address,
	uint64_t len, bool must_be_text)
{
	uint64_t high = f->graph->space->high;
	size_t some = len < TEXT_LOOKED_AT ? (size_t)len : TEXT_LOOKED_AT;
	const uint8_t *bytes =
		must_be_text && len ? window_at(window, address, find_text_room(len), high) : NULL;
	if (must_be_text && (!bytes || !find_is_text(f, bytes, some)))
		return false;
	const uint8_t *end = window_at(window, address + len, 1, high);
	return end && !*end;
}

/* What nothing surer was found to be. */
static struct error *look_at_tails(struct container_search *f, struct window *window)
{
	struct space_walk walk = {f->graph->space, 0, 0};
	for (; walk.block < f->blocks && !f->error; walk.block++) {
		uint64_t address = space_walk_address(&walk);
		uint16_t tail = f->tails[walk.block];
		if (!tail)
			continue;
		uint64_t len = size_of(f, walk.block) - (tail & ~TAIL_TEXT);
		f->tails[walk.block] = 0;
		if (find_is_free(f, walk.block) &&
			is_string(f, window, address, len, (tail & TAIL_TEXT) != 0))
			find_assign(f, walk.block, PART_STRING);
	}
	return f->error;
}

static struct error *containers_find_all(
	struct container_search *f, const struct heap_root_vec *roots)
{
	_cleanup_(window_cleanup) struct window window;
	struct error *error = window_open(f->heap->space, &window);
	if (!error)
		error = look_through_roots(f, roots, &window);
	if (!error)
		error = look_through_blocks(f, &window);
	if (!error)
		error = look_at_tails(f, &window);
	f->is_late = true;
	return error ? error : look_through_roots(f, roots, &window);
}

struct error *containers_recognise(struct heap_scan *scan, struct inferred_subset *subset)
{
	const struct heap *heap = &scan->heap;
	struct search *search = scan->search;
	struct container_search f = {.heap = heap,
		.names = scan->names,
		.search = search,
		.graph = search_graph(search),
		.types = &scan->types,
		.blocks = search_block_count(search)};
	(void)subset;
	if (!f.blocks || !cxx_is_there(heap->space))
		return NULL;
	f.steps = 4ull * f.blocks + (1u << 20);
	f.tails = calloc(f.blocks, sizeof(*f.tails));
	for (size_t i = 0; i < CONTAINER_PARTS; i++)
		f.part_types[i] = HEAP_TYPE_NONE;
	for (size_t i = 0; i < heap->areas.len; i++)
		f.loose = f.loose || (heap->areas.data[i].allocator != HEAP_GLIBC &&
					     heap->areas.data[i].allocator != HEAP_PYMALLOC);
	struct error *error = f.tails ? containers_find_all(&f, &scan->roots) : error_no_memory();
	space_u32_deinit(&f.nodes);
	space_u32_deinit(&f.owners);
	held_map_deinit(&f.managers);
	free(f.tails);
	return error;
}
