/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/heap_scan.h"

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "heap/block_slack.h"
#include "heap/blocks/page_cache.h"
#include "heap/inferred.h"
#include "heap/inferred/inferred_subset.h"
#include "heap/limits.h"
#include "heap/scan/scan_blocks.h"
#include "heap/scan/stale_words.h"
#include "heap/types/recognisers.h"

/* To that places in a table of hashes are rounded (hashbrown). */
#define PLACES_ROUNDED 16u

static size_t read_memory(void *context, uint64_t address, void *ret, size_t bytes)
{
	return address_space_read(context, address, ret, bytes);
}

static size_t untouched_memory(void *context, uint64_t address, size_t bytes)
{
	return address_space_empty(context, address, bytes);
}

static size_t read_paged(void *context, uint64_t address, void *ret, size_t bytes)
{
	return page_cache_read(context, address, ret, bytes);
}

static size_t untouched_paged(void *context, uint64_t address, size_t bytes)
{
	return address_space_empty(((struct page_cache *)context)->space, address, bytes);
}

/* Does what looks at a few words of many blocks, one thread alone: not by a system call each. */
static struct error *do_paged(struct heap_scan *s, struct error *(*step)(struct heap_scan *s))
{
	struct search_memory memory = s->memory;
	struct page_cache pages;
	struct error *error = page_cache_open(s->heap.space, &pages);
	s->memory = (struct search_memory){&pages, read_paged, untouched_paged};
	if (!error)
		error = step(s);
	s->memory = memory;
	page_cache_close(&pages);
	return error;
}

static struct error *read_graph(struct heap_scan *s)
{
	size_t count = s->roots.len;
	_cleanup_free_ struct search_root *roots = calloc(count + 1, sizeof(*roots));
	if (!roots)
		return error_no_memory();
	for (size_t i = 0; i < count; i++) {
		const struct heap_root *from = &s->roots.data[i];
		roots[i] = (struct search_root){
			from->start, from->end, from->values, from->value_count, (uint32_t)i};
	}
	return search_read(s->search, &s->memory, roots, count);
}

/* Whether a table that is held by a pointer after its places may have this many bytes of these,
 * which are rounded up for what is after them. */
static bool is_after_places(const struct heap_type *type, uint64_t into)
{
	uint64_t count = type->place ? into / type->place : 0;
	return count && !(count & (count - 1)) && into - count * type->place < PLACES_ROUNDED;
}

/* Types are known when this is asked. */
static bool is_start(void *context, uint32_t site, uint64_t into)
{
	const struct heap_scan *s = context;
	if (into < 8 && s->pointers == POINTERS_TAGGED)
		return true;
	const struct heap_type *type = &s->types.types.data[heap_scan_site_type(s, site)];
	/* Of a pool the structures are what is held. */
	return (into < 512 && type->starts >> into / 8 & 1) || is_after_places(type, into) ||
	       (type->is_pool && into % 4 == 0) || (into && python_is_lead(&s->heap.python, into));
}

struct error *heap_scan_open(const struct address_space *space, struct heap_names *names,
	enum pointer_rule pointers, unsigned heuristics, struct heap_scan *ret)
{
	*ret = (struct heap_scan){.names = names,
		.pointers = pointers,
		.heuristics = pointers == POINTERS_START ? 0 : heuristics};
	struct error *error = interior_init(space, &ret->interior);
	if (error)
		return error;
	struct search_options options = {.alignment = 8,
		.heuristics = ret->heuristics,
		.maps = ret->interior.maps.data,
		.map_count = ret->interior.maps.len,
		.may_explain = interior_may_explain,
		.may_explain_context = ret,
		.starts_only = pointers == POINTERS_START,
		.is_start = is_start,
		.is_start_context = ret};
	error = search_create(&options, &ret->search);
	if (!error)
		error = heap_shapes_open(space, pointers, &ret->classes);
	if (!error)
		error = heap_open(space, &ret->heap);
	ret->memory = (struct search_memory){(void *)space, read_memory, untouched_memory};
	if (!error)
		error = scan_blocks_read(ret);
	if (!error)
		error = heap_leave_gaps(&ret->heap);
	if (!error)
		error = heap_shapes_group(&ret->classes);
	if (heap_shapes_are_full(&ret->classes))
		heap_limit_reach(ret, REACHED_SHAPES);
	if (!error)
		error = thread_blocks_find(space, &ret->thread_blocks);
	if (!error)
		error = heap_roots_find(&ret->heap, &ret->thread_blocks, &ret->roots);
	if (!error)
		error = stack_places_create(space, names, &ret->stacks);
	return error ? error : read_graph(ret);
}

void heap_scan_close(struct heap_scan *scan)
{
	search_destroy(scan->search);
	interior_deinit(&scan->interior);
	scan->search = NULL;
	heap_scan_sites_deinit(&scan->sites);
	space_u32_deinit(&scan->cut);
	pools_deinit(&scan->pools);
	heap_root_vec_deinit(&scan->roots);
	free(scan->alike.looks);
	free(scan->alike.settled);
	scan->alike = (struct heap_scan_alike){.looks = NULL};
	thread_blocks_deinit(&scan->thread_blocks);
	stack_places_destroy(scan->stacks);
	scan->stacks = NULL;
	heap_layouts_close(&scan->layouts);
	stale_words_close(&scan->left);
	heap_types_close(&scan->types);
	heap_shapes_close(&scan->classes);
	heap_close(&scan->heap);
}

/* From now on a block's site is its type. */
static void heap_scan_settle(struct heap_scan *s)
{
	uint32_t count = search_block_count(s->search);
	for (uint32_t block = 0; block < count; block++) {
		uint32_t type = heap_types_of_label(&s->types, block_label(s->search, block));
		struct heap_type *of = &s->types.types.data[type];
		of->blocks++;
		of->bytes += search_block_size(s->search, block);
		search_block_set_site(s->search, block, type);
		stale_words_take(s, block, type);
	}
}

#define BASES_DEPTH 8u

/* A pointer to one of the classes that an object's derives from is as good as one to its start; and
 * so is one to the first element of an array, after their number. */
static void add_bases(
	struct types *types, uint32_t layout, uint64_t at, unsigned depth, uint64_t *starts)
{
	const struct type of = *types_get(types, layout);
	for (uint32_t i = 0; depth < BASES_DEPTH && i < of.member_count; i++) {
		uint64_t offset = at + of.members[i].bits / 8;
		/* The first member's bases, too: a pointer to that is one to the start. */
		bool is_first = of.members[i].kind == MEMBER_PLAIN && !offset &&
				(of.kind == TYPE_STRUCT || of.kind == TYPE_CLASS);
		if ((of.members[i].kind != MEMBER_BASE && !is_first) || offset % 8 ||
			offset >= 8ul * SHAPE_WORDS)
			continue;
		*starts |= 1ull << offset / 8;
		add_bases(types, types_plain(types, of.members[i].type), offset, depth + 1, starts);
	}
}

/* Objects without virtual functions, too, if their type is known. */
static void start_at_bases(struct heap_scan *s)
{
	for (size_t i = 0; s->layouts.types && i < s->types.types.len; i++) {
		struct heap_type *type = &s->types.types.data[i];
		bool is_object = type->kind == HEAP_TYPE_CXX ||
				 (type->kind == HEAP_TYPE_INFERRED && !type->is_array);
		if (is_object && type->layout != TYPE_VOID)
			add_bases(s->layouts.types, type->layout, 0, 0, &type->starts);
		else if (type->header)
			type->starts |= 1ull << type->header / 8;
	}
}

/* What single blocks are; the rest is known by classes. */
static struct error *assign_blocks(struct heap_scan *s, struct inferred_subset *subset)
{
	struct error *error = heap_types_open(&s->classes, &s->types);
	return error ? error : recognisers_ask(s, subset);
}

static struct error *heap_scan_finish(struct heap_scan *s)
{
	struct error *error = do_paged(s, block_slack_cut);
	if (!error)
		error = heap_types_finish(&s->types, &s->classes);
	if (!error)
		error = stale_words_open(s);
	if (error)
		return error;
	heap_scan_settle(s);
	start_at_bases(s);
	if (s->pointers == POINTERS_START)
		search_drop_interiors(s->search);
	return NULL;
}

static struct error *finish_subset(struct heap_scan *s, const struct inferred_subset *subset)
{
	struct error *error = heap_types_finish(&s->types, &s->classes);
	const struct space_u32 *blocks = &subset->reverse->blocks;
	if (!error)
		error = stale_words_open(s);
	for (size_t i = 0; i < blocks->len && !error; i++) {
		uint32_t block = blocks->data[i];
		uint32_t type = heap_types_of_label(&s->types, block_label(s->search, block));
		search_block_set_site(s->search, block, type);
		stale_words_take(s, block, type);
	}
	return error;
}

struct error *heap_scan_find_types_of(struct heap_scan *scan, struct inferred_subset *subset)
{
	assert(scan->phase == HEAP_SCAN_READ);
	scan->phase = HEAP_SCAN_TYPED;
	struct error *error = assign_blocks(scan, subset);
	if (!error)
		error = subset && subset->is_complete ? finish_subset(scan, subset)
						      : heap_scan_finish(scan);
	return error ? error : search_check_sites(scan->search);
}

struct error *heap_scan_find_types(struct heap_scan *scan)
{
	return heap_scan_find_types_of(scan, NULL);
}

static inline uint64_t site_hash(struct heap_scan_site site)
{
	return hash_u64((uint64_t)site.place << 32 | site.type);
}
static inline bool site_equal(struct heap_scan_site a, struct heap_scan_site b)
{
	return a.type == b.type && a.place == b.place;
}
DEFINE_MAP(site_map, struct heap_scan_site, uint32_t, site_hash, site_equal)

/* The number of a pair, a new one if it was not met so far. NULL: no memory. */
static const uint32_t *heap_scan_number_of(
	struct heap_scan_sites *sites, struct site_map *map, struct heap_scan_site site)
{
	bool is_new;
	uint32_t *number = site_map_insert(map, site, &is_new);
	if (!number || !is_new)
		return number;
	*number = (uint32_t)sites->len;
	return heap_scan_sites_push(sites, site) ? number : NULL;
}

struct error *heap_scan_set_sites(struct heap_scan *scan,
	uint32_t (*place_of)(
		void *context, uint64_t address, uint64_t size, uint64_t *ret_requested),
	void *context)
{
	assert(scan->phase == HEAP_SCAN_TYPED);
	scan->phase = HEAP_SCAN_SITED;
	struct search *search = scan->search;
	struct heap_scan_sites sites = {.data = NULL};
	_cleanup_(site_map_deinit) struct site_map map = {.len = 0};
	uint32_t count = search_block_count(search);
	for (uint32_t block = 0; block < count; block++) {
		uint64_t size = search_block_size(search, block), requested = size;
		struct heap_scan_site site = {search_block_site(search, block),
			place_of(context, search_block_address(search, block), size, &requested)};
		if (requested < size)
			search_ignore_tail(search, block, requested);
		const uint32_t *number = heap_scan_number_of(&sites, &map, site);
		if (!number) {
			heap_scan_sites_deinit(&sites);
			return error_no_memory();
		}
		search_block_set_site(search, block, *number);
	}
	scan->sites = sites;
	return search_check_sites(search);
}

static struct error *heap_scan_find_leaks_all(struct heap_scan *s)
{
	return search_classify(s->search);
}

struct error *heap_scan_find_leaks(struct heap_scan *scan)
{
	assert(scan->phase == HEAP_SCAN_TYPED || scan->phase == HEAP_SCAN_SITED);
	scan->phase = HEAP_SCAN_LEAKS;
	struct error *error = do_paged(scan, heap_scan_find_leaks_all);
	if (!error)
		inferred_count_alike(scan);
	return error;
}
