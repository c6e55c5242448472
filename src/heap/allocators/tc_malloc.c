/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/allocators/tc_malloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "heap/allocators/allocator.h"
#include "heap/blocks/page_tree.h"

#define ADDRESS_BITS 48u
/* The most that a page may have is 256 KiB (configure --with-tcmalloc-pagesize). */
#define PAGE_BITS_LEAST 12u
#define PAGE_BITS_USUAL 13u
#define PAGE_BITS_LAST 18u

/* struct Span: words. */
#define SPAN_PAGE 0u
#define SPAN_PAGES 1u
#define SPAN_OBJECTS 4u
#define SPAN_BITS 5u
#define SPAN_WORDS 6u
#define BITS_USED(bits) ((uint32_t)((bits)&0xffff))
#define BITS_CLASS(bits) ((uint32_t)((bits) >> 16 & 0xff))
#define BITS_LOCATION(bits) ((bits) >> 24 & 3)
#define LOCATION_IN_USE 0u
#define LOCATION_MAX 2u

/* Blocks of a span. */
#define BLOCKS_MAX (WINDOW_BYTES / 8)

/* pagemap.h, TCMalloc_PageMap2: half of a page number's bits, rounded up, are a leaf's. */
static uint8_t leaf_bits(uint32_t page_bits)
{
	return (uint8_t)((ADDRESS_BITS - page_bits + 1) / 2);
}

static bool read_span(const struct tc_malloc *tc, uint64_t at, uint64_t *ret)
{
	const uint64_t pages = 1ull << (ADDRESS_BITS - tc->page_bits);
	return at % 8 == 0 &&
	       address_space_read(tc->space, at, ret, 8ul * SPAN_WORDS) == 8ul * SPAN_WORDS &&
	       ret[SPAN_PAGE] && ret[SPAN_PAGES] && ret[SPAN_PAGE] < pages &&
	       ret[SPAN_PAGES] < pages && BITS_LOCATION(ret[SPAN_BITS]) <= LOCATION_MAX &&
	       BITS_CLASS(ret[SPAN_BITS]) < TC_CLASSES_MAX;
}

static bool tc_malloc_decode(void *context, uint64_t word, uint64_t *ret)
{
	const struct tc_malloc *tc = context;
	uint64_t span[SPAN_WORDS];
	if (!read_span(tc, word, span) ||
		!address_space_map(tc->space, span[SPAN_PAGE] << tc->page_bits))
		return false;
	*ret = span[SPAN_PAGE];
	return true;
}

static struct error *tc_malloc_take(void *context, uint64_t word, uint64_t leaf)
{
	struct tc_malloc *tc = context;
	uint64_t words[SPAN_WORDS];
	(void)leaf;
	if (!read_span(tc, word, words))
		return NULL;
	uint32_t class = BITS_CLASS(words[SPAN_BITS]);
	struct tc_span span = {.address = words[SPAN_PAGE] << tc->page_bits,
		.size = words[SPAN_PAGES] << tc->page_bits,
		.free_list = words[SPAN_OBJECTS],
		.block_bytes = class < tc->classes ? tc->sizes[class] : 0,
		.used = BITS_USED(words[SPAN_BITS])};
	const struct tc_span *last = tc->spans.len ? &tc->spans.data[tc->spans.len - 1] : NULL;
	struct heap_range range = {span.address, span.address + span.size};
	bool ok = true;
	if (BITS_LOCATION(words[SPAN_BITS]) != LOCATION_IN_USE)
		ok = heap_ranges_push(&tc->metadata, range);
	else if ((!last || span.address >= last->address + last->size) &&
		 (!class || (class < tc->classes && span.block_bytes <= span.size &&
				    span.size <= WINDOW_BYTES))) {
		ok = tc_spans_push(&tc->spans, span);
		tc->blocks += class ? span.size / span.block_bytes : 0;
	}
	return ok ? NULL : error_no_memory();
}

/* A vote for how large pages are: a span that lies in memory as a whole. */
static struct error *count_span(void *context, uint64_t word, uint64_t leaf)
{
	struct tc_malloc *tc = context;
	uint64_t words[SPAN_WORDS];
	(void)leaf;
	if (!read_span(tc, word, words))
		return NULL;
	uint64_t last = (words[SPAN_PAGE] + words[SPAN_PAGES]) << tc->page_bits;
	tc->votes += address_space_map(tc->space, last - 1) != NULL;
	return NULL;
}

/* Finds the tree, if pages have this many bits, and how many spans agree with that. */
static struct error *try_bits(struct tc_malloc *tc, uint32_t bits, struct page_tree *ret)
{
	*ret = (struct page_tree){.space = tc->space,
		.root_words = 1u << (ADDRESS_BITS - bits - leaf_bits(bits)),
		.leaf_bits = leaf_bits(bits),
		.context = tc,
		.decode = tc_malloc_decode,
		.leading_bits = UINT64_MAX};
	tc->page_bits = bits;
	tc->votes = 0;
	struct error *error = page_tree_find(ret);
	return error || !ret->root ? error : page_tree_read(ret, tc, count_span);
}

/* The tree that most spans agree with; of two 8 KiB, which is usual, comes first. */
static struct error *find_tree(struct tc_malloc *tc, struct page_tree *ret)
{
	uint64_t votes = 0;
	uint32_t best = PAGE_BITS_USUAL;
	struct error *error = try_bits(tc, PAGE_BITS_USUAL, ret);
	votes = tc->votes;
	for (uint32_t bits = PAGE_BITS_LEAST; bits <= PAGE_BITS_LAST && !error; bits++) {
		struct page_tree other;
		if (bits == PAGE_BITS_USUAL)
			continue;
		error = try_bits(tc, bits, &other);
		if (!error && tc->votes > votes) {
			votes = tc->votes;
			best = bits;
			*ret = other;
		}
	}
	tc->page_bits = best;
	tc->root = votes ? ret->root : 0;
	return error;
}

/* Whether some module's data has a table of sizes, which costs less to see than a tree. */
static struct error *has_sizes(struct tc_malloc *tc, bool *ret)
{
	struct error *error = NULL;
	const uint64_t least = 8ull << (ADDRESS_BITS - PAGE_BITS_LAST - leaf_bits(PAGE_BITS_LAST));
	for (size_t i = 0; i < tc->space->maps.maps.len && !tc->classes && !error; i++) {
		const struct process_map *map = &tc->space->maps.maps.data[i];
		tc->root = map->start;
		if (map->writable && map->end - map->start >= least &&
			address_space_module(tc->space, map->start))
			error = tc_sizes_find(tc);
	}
	*ret = tc->has_sizes = tc->classes;
	tc->root = tc->classes = 0;
	return error;
}

/* Finds the tree, its spans, and what caches keep. */
static struct error *find_spans(struct tc_malloc *tc)
{
	struct page_tree tree;
	bool may_be;
	struct error *error = has_sizes(tc, &may_be);
	if (error || !may_be)
		return error;
	error = find_tree(tc, &tree);
	if (!error && tc->root)
		error = tc_sizes_find(tc);
	if (error || !tc->classes)
		return error;
	error = page_tree_read(&tree, tc, tc_malloc_take);
	if (!error)
		error = tc_kept_find(tc);
	return error ? error : tc_moving_find(tc);
}

static void tc_malloc_close(struct heap *heap)
{
	struct tc_malloc *tc = &heap->tc_malloc;
	tc_spans_deinit(&tc->spans);
	heap_ranges_deinit(&tc->metadata);
	heap_addresses_deinit(&tc->kept);
	heap_addresses_deinit(&tc->caches);
}

static struct error *tc_malloc_areas(const struct tc_malloc *tc, struct heap_area_vec *ret)
{
	struct heap_area area = {.allocator = HEAP_TCMALLOC};
	for (size_t i = 0; i < tc->spans.len; i++) {
		const struct tc_span *span = &tc->spans.data[i];
		if (span->address != area.end) {
			if (!heap_areas_add(ret, &area))
				return error_no_memory();
			area.start = area.low = span->address;
			area.data = i;
		}
		area.end = area.high = span->address + span->size;
	}
	return heap_areas_add(ret, &area) ? NULL : error_no_memory();
}

static struct error *tc_malloc_find(struct heap *heap)
{
	struct tc_malloc *tc = &heap->tc_malloc;
	tc->space = heap->space;
	tc->damage = &heap->damage;
	struct error *error = find_spans(tc);
	if (!error)
		error = tc_malloc_areas(tc, &heap->areas);
	return error ? error : allocator_add_metadata(heap, &tc->metadata);
}

const struct tc_span *tc_block_span(const struct tc_malloc *tc, uint64_t address)
{
	size_t low = 0, high = tc->spans.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (tc->spans.data[middle].address + tc->spans.data[middle].size <= address)
			low = middle + 1;
		else
			high = middle;
	}
	const struct tc_span *span = low < tc->spans.len ? &tc->spans.data[low] : NULL;
	bool is_block =
		span && address >= span->address && span->block_bytes &&
		(address - span->address) / span->block_bytes < span->size / span->block_bytes &&
		(address - span->address) % span->block_bytes == 0;
	return is_block ? span : NULL;
}

struct walk {
	const struct tc_malloc *tc;
	const struct heap_area *area;
	struct window *window;
	const struct heap_sink *sink;
	size_t kept; /* the next one */
	uint8_t *is_free;
};

/* Marks the blocks in the span's list. False: it does not end, or is not as long as it should. */
static bool read_list(struct walk *w, const struct tc_span *span, const uint8_t *bytes)
{
	uint64_t blocks = span->size / span->block_bytes, at = span->free_list, count = 0;
	memset(w->is_free, 0, blocks);
	while (at) {
		uint64_t into = at - span->address, block = into / span->block_bytes;
		if (at < span->address || block >= blocks || into % span->block_bytes ||
			w->is_free[block])
			return false;
		w->is_free[block] = 1;
		count++;
		memcpy(&at, bytes + into, 8);
	}
	return count + span->used == blocks;
}

static struct error *report_small(struct walk *w, const struct tc_span *span)
{
	const uint8_t *bytes = window_at(w->window, span->address, span->size, w->area->end);
	struct heap_damage broken = {
		.address = span->address, .what = "a span's list of free blocks does not end"};
	if (!bytes)
		return NULL;
	if (!read_list(w, span, bytes)) {
		/* No block is allocated: a thread is just making its list, or gives the span back.
		 */
		if (!span->used)
			memset(w->is_free, 1, span->size / span->block_bytes);
		else if (!heap_damage_vec_push(w->tc->damage, broken))
			return error_no_memory();
	}
	for (uint64_t i = 0; i < span->size / span->block_bytes; i++) {
		uint64_t offset = i * span->block_bytes;
		struct heap_block block = {span->address + offset, span->block_bytes, BLOCK_USED};
		if (w->is_free[i])
			block.state = BLOCK_FREE;
		else if (heap_addresses_next(&w->tc->kept, &w->kept, block.address))
			block.state = BLOCK_CACHED;
		struct error *error =
			w->sink->take(w->sink->context, &block, bytes + offset, block.size);
		if (error)
			return error;
	}
	return NULL;
}

static struct error *report_large(struct walk *w, const struct tc_span *span)
{
	struct heap_block block = {span->address, span->size, BLOCK_USED};
	const uint8_t *bytes = window_at(w->window, span->address, 8, w->area->end);
	size_t len = 0;
	if (bytes)
		bytes = window_peek(w->window, span->address, span->size, &len);
	return w->sink->take(w->sink->context, &block, bytes, len);
}

static struct error *tc_malloc_walk(struct heap *heap, const struct heap_area *area,
	struct window *window, const struct heap_sink *sink)
{
	const struct tc_malloc *tc = &heap->tc_malloc;
	_cleanup_free_ uint8_t *is_free = malloc(BLOCKS_MAX);
	struct walk w = {
		tc, area, window, sink, heap_addresses_from(&tc->kept, area->start), is_free};
	struct error *error = is_free ? NULL : error_no_memory();
	for (size_t i = area->data; i < tc->spans.len && !error; i++) {
		const struct tc_span *span = &tc->spans.data[i];
		if (span->address >= area->end)
			break;
		if (span->address < area->start || span->size > area->end - span->address)
			continue; /* another's */
		error = span->block_bytes ? report_small(&w, span) : report_large(&w, span);
	}
	return error;
}

/* What has no size of its own is of pages. */
static void tc_malloc_requested(
	const struct heap *heap, const struct heap_area *area, struct search_requested *asked)
{
	const struct tc_malloc *tc = &heap->tc_malloc;
	uint64_t size = asked->most, below = 0, spare = (1ull << tc->page_bits) - 1;
	bool has_own = false;
	(void)area;
	for (uint32_t i = 0; i < tc->classes; i++) {
		has_own |= tc->sizes[i] == size;
		if (tc->sizes[i] < size && tc->sizes[i] > below)
			below = tc->sizes[i];
	}
	if (!has_own)
		below = size - 1 - (size - 1 < spare ? size - 1 : spare);
	asked->least = asked->mostly = below + 1;
}

static void tc_malloc_refused(const struct heap *heap, struct text *text)
{
	const struct tc_malloc *tc = &heap->tc_malloc;
	text_add(text, !tc->has_sizes ? "no table of size classes of which is there"
		       : tc->root
			       ? "whose tables are there, and no page in use"
			       : "of which there are size classes, but no tree leads to its pages");
}

const struct allocator tc_malloc_allocator = {"tcmalloc", tc_malloc_find, tc_malloc_walk,
	tc_malloc_close, tc_malloc_requested, tc_malloc_refused};
