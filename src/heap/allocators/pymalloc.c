/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPython's allocator of small blocks, pymalloc (Objects/obmalloc.c), 3.6 to 3.13, without symbols.
 *
 * Its memory is mapped by arenas, which are cut into pools of one page, or four from 3.10 on; the
 * blocks of a pool are all of one size. A pool begins with a header that looks like nothing else,
 * so no table of arenas is needed.
 */
#include <string.h>

#include "heap/allocators/allocator.h"
#include "heap/blocks/unclaimed.h"

#define POOL_BYTES_OLD 4096u
#define POOL_BYTES 16384u
#define HEADER_BYTES 48u
#define LARGEST 512u
/* Blocks have at most this many bytes more than was requested (ALIGNMENT). */
#define SPARE 15u
/* Sizes are multiples of 16; of 8 before 3.8. */
#define STEP_MIN 8u
#define STEP 16u
#define BLOCKS_MAX (POOL_BYTES / STEP_MIN)

/* struct pool_header, the same in all versions. */
struct header {
	uint32_t used;
	uint32_t unused;
	uint64_t free_list;
	uint64_t next, previous; /* pools of the same size */
	uint32_t arena;
	uint32_t size_index;
	uint32_t next_offset; /* of the first block that was never given out */
	uint32_t last_offset; /* beyond which none begins */
};
_Static_assert(sizeof(struct header) == HEADER_BYTES, "pool_header");

struct pool {
	uint64_t address;
	uint32_t bytes;
	uint32_t block_bytes, blocks;
	uint32_t given; /* blocks that were given out once: the first ones */
	uint32_t used;
	uint64_t free_list;
};

static bool pymalloc_fits(const struct header *h, struct pool *ret, uint64_t address, uint32_t step)
{
	uint32_t size = (h->size_index + 1) * step, bytes = h->last_offset + size;
	if (size > LARGEST || (bytes != POOL_BYTES && bytes != POOL_BYTES_OLD) || address % bytes ||
		h->next_offset < HEADER_BYTES || h->next_offset > bytes ||
		(h->next_offset - HEADER_BYTES) % size)
		return false;
	*ret = (struct pool){.address = address,
		.bytes = bytes,
		.block_bytes = size,
		.blocks = (bytes - HEADER_BYTES) / size,
		.given = (h->next_offset - HEADER_BYTES) / size,
		.used = h->used,
		.free_list = h->free_list};
	uint64_t first = address + HEADER_BYTES;
	bool is_listed = h->free_list >= first && h->free_list < address + bytes &&
			 !((h->free_list - first) % size);
	return ret->given <= ret->blocks && ret->used <= ret->given &&
	       (is_listed || (!h->free_list && ret->used == ret->given));
}

/* What the header of a pool says, if it is one. */
static bool is_pool(const uint8_t *bytes, uint64_t address, struct pool *ret)
{
	struct header h;
	memcpy(&h, bytes, sizeof(h));
	if (h.size_index >= LARGEST / STEP_MIN || h.last_offset >= POOL_BYTES)
		return false;
	return pymalloc_fits(&h, ret, address, STEP) || pymalloc_fits(&h, ret, address, STEP_MIN);
}

static bool add_pool(struct heap_area_vec *found, const struct pool *pool)
{
	struct heap_area *last = found->len ? &found->data[found->len - 1] : NULL;
	uint64_t end = pool->address + pool->bytes;
	if (last && last->end == pool->address && last->data == pool->bytes) {
		last->end = last->high = end;
		return true;
	}
	struct heap_area area = {.start = pool->address,
		.low = pool->address,
		.end = end,
		.high = end,
		.allocator = HEAP_PYMALLOC,
		.data = pool->bytes};
	return heap_areas_add(found, &area);
}

static bool pymalloc_look(
	struct unclaimed_walk *walk, uint64_t at, uint64_t end, uint64_t *ret_next)
{
	struct pool pool;
	const uint8_t *bytes = window_at(&walk->window, at, HEADER_BYTES, end);
	if (!bytes || !is_pool(bytes, at, &pool) || pool.bytes > end - at)
		return true;
	*ret_next = at + pool.bytes;
	return add_pool(walk->context, &pool);
}

/* Adds runs of pools in the program's own memory that no area of `areas`, sorted, has; `data` of
 * an area are the bytes of a pool. */
static struct error *pymalloc_areas(const struct address_space *space, struct heap_area_vec *areas)
{
	struct heap_area_vec found = {0};
	struct unclaimed_walk walk = {
		.space = space, .areas = areas, .context = &found, .look = pymalloc_look};
	struct error *error = unclaimed_walk(&walk);
	bool ok = true;
	for (size_t i = 0; !error && ok && i < found.len; i++)
		ok = heap_areas_add(areas, &found.data[i]);
	heap_area_vec_deinit(&found);
	return error || ok ? error : error_no_memory();
}

/* Pools are looked for only where there is an interpreter. */
static struct error *pymalloc_find(struct heap *heap)
{
	struct error *error = python_find(heap->space, &heap->python);
	if (error || !python_is_there(&heap->python))
		return error;
	return pymalloc_areas(heap->space, &heap->areas);
}

static void pymalloc_close(struct heap *heap)
{
	python_close(&heap->python);
}

/* Marks what is in the pool's list of free blocks. False: it does not end, or not where it should.
 */
static bool read_list(const struct pool *pool, const uint8_t *bytes, uint8_t *is_free)
{
	uint64_t at = pool->free_list, first = pool->address + HEADER_BYTES;
	uint32_t count = 0;
	while (at) {
		uint64_t block = (at - first) / pool->block_bytes;
		if (at < first || block > pool->given || (at - first) % pool->block_bytes)
			return false;
		if (block == pool->given) /* the first that was never given out: nothing follows */
			break;
		if (is_free[block])
			return false;
		is_free[block] = 1;
		count++;
		memcpy(&at, bytes + (at - pool->address), 8);
	}
	return count == pool->given - pool->used;
}

static struct error *report_pool(const struct pool *pool, const uint8_t *bytes, bool *ret_right,
	const struct heap_sink *sink)
{
	uint8_t is_free[BLOCKS_MAX + 1] = {0};
	*ret_right = read_list(pool, bytes, is_free);
	for (uint32_t i = 0; i < pool->given; i++) {
		uint32_t offset = HEADER_BYTES + i * pool->block_bytes;
		struct heap_block block = {pool->address + offset, pool->block_bytes,
			is_free[i] ? BLOCK_FREE : BLOCK_USED};
		struct error *error =
			sink->take(sink->context, &block, bytes + offset, pool->block_bytes);
		if (error)
			return error;
	}
	uint32_t rest = HEADER_BYTES + pool->given * pool->block_bytes;
	struct heap_block block = {pool->address + rest, pool->bytes - rest, BLOCK_FREE};
	if (pool->given == pool->blocks)
		return NULL;
	return sink->take(sink->context, &block, bytes + rest, block.size);
}

static struct error *pymalloc_walk(struct heap *heap, const struct heap_area *area,
	struct window *window, const struct heap_sink *sink)
{
	const uint32_t step = (uint32_t)area->data;
	for (uint64_t at = area->start; at < area->end; at += step) {
		struct pool pool;
		bool right;
		const uint8_t *bytes = window_at(window, at, step, area->end);
		if (!bytes || !is_pool(bytes, at, &pool) || pool.bytes != step)
			continue; /* the process goes on meanwhile */
		struct error *error = report_pool(&pool, bytes, &right, sink);
		struct heap_damage broken = {
			.address = at, .what = "a pool's list of free blocks does not end"};
		if (!error && !right && !heap_damage_vec_push(&heap->damage, broken))
			error = error_no_memory();
		if (error)
			return error;
	}
	return NULL;
}

static void pymalloc_requested(
	const struct heap *heap, const struct heap_area *area, struct search_requested *asked)
{
	(void)heap, (void)area;
	allocator_requested_but(asked, SPARE);
}

const struct allocator python_allocator = {
	"pymalloc", pymalloc_find, pymalloc_walk, pymalloc_close, pymalloc_requested, NULL};
