/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds blocks with their own mappings (IS_MMAPPED), which nothing in the arenas leads to: each
 * page outside of areas is examined. The kernel joins mappings, so they may begin anywhere in one.
 *
 * Of an aligned block the mapping's beginning has the stale head of the block that it was cut from;
 * the real one lies further on, and says how far (prev_size). What is in between was never given
 * out: it is as malloc() got it, or of one byte throughout (M_PERTURB). Once such a block was
 * reallocated it ends elsewhere than the stale head says.
 */
#include <string.h>

#include "base/util.h"
#include "heap/allocators/glibc.h"
#include "heap/blocks/unclaimed.h"

#define PAGE_BYTES UNCLAIMED_PAGE_BYTES

struct scan {
	struct glibc *glibc;
	struct window *window;
	struct heap_area_vec mapped, runs;
	uint64_t apart_bytes; /* of main arenas, still to be found */
};

/* A chunk at `at` of the mapping that begins at `base`: its size; 0: there is none. It may be
 * larger than what is there. */
static uint64_t mapped_size(struct scan *s, uint64_t base, uint64_t at, uint64_t end)
{
	const uint8_t *bytes = window_at(s->window, at, CHUNK_HEADER, end);
	uint64_t lead, head;
	if (!bytes)
		return 0;
	memcpy(&lead, bytes, 8);
	memcpy(&head, bytes + 8, 8);
	uint64_t size = chunk_size(head);
	bool is_right = (head & CHUNK_FLAGS) == CHUNK_MMAPPED && lead == at - base &&
			size >= CHUNK_MIN && (lead + size) % PAGE_BYTES == 0;
	return is_right ? size : 0;
}

/* The first place from `at` on where not all is of the byte that is there; `end`: there is none. */
static uint64_t unlike_from(struct scan *s, uint64_t at, uint64_t end)
{
	const uint8_t *bytes = window_at(s->window, at, 8, end);
	const uint8_t fill = bytes ? *bytes : 0;
	while (bytes) {
		size_t len;
		bytes = window_peek(s->window, at, (size_t)(end - at), &len);
		if (*bytes != fill || memcmp(bytes, bytes + 1, len - 1) != 0) {
			while (*bytes == fill)
				bytes++, at++;
			return at;
		}
		at += len;
		if (at < end && !fill)
			at += address_space_untouched(s->glibc->space, at, (size_t)(end - at));
		bytes = at < end ? window_at(s->window, at, 1, end) : NULL;
	}
	return end;
}

/* The chunk of the block to which the mapping at `at` belongs, and where it ends; 0: there is none.
 */
static uint64_t mapped_chunk(struct scan *s, uint64_t at, uint64_t end, uint64_t *ret_end)
{
	uint64_t size = mapped_size(s, at, at, end);
	if (!size || end - at <= CHUNK_HEADER)
		return 0;
	/* Of that chunk the first byte may be zero. */
	uint64_t unlike = unlike_from(s, at + CHUNK_HEADER, end) & ~(uint64_t)(CHUNK_ALIGN - 1);
	uint64_t aligned = unlike > at + CHUNK_MIN && end - unlike > CHUNK_HEADER
				   ? mapped_size(s, at, unlike, end)
				   : 0;
	uint64_t chunk = aligned && aligned <= end - unlike ? unlike : at;
	*ret_end = chunk + (chunk == at ? size : aligned);
	return size <= end - at || chunk > at ? chunk : 0;
}

/* How far chunks of a main arena go from a page on; 0: there are none. */
static uint64_t apart_end(struct scan *s, uint64_t at, uint64_t end)
{
	if (!s->apart_bytes)
		return 0;
	struct glibc_piece piece = glibc_piece_read(s->window, at, end);
	return piece.closes || piece.chunks >= GLIBC_CHAIN ? piece.end : 0;
}

static bool add_run(struct scan *s, uint64_t start, uint64_t end)
{
	struct heap_area area = {.low = start,
		.start = start,
		.end = end,
		.high = end,
		.allocator = HEAP_GLIBC,
		.kind = GLIBC_RUN};
	s->apart_bytes -= min(end - start, s->apart_bytes);
	return heap_areas_add(&s->runs, &area);
}

static bool glibc_mapped_take(
	struct unclaimed_walk *walk, uint64_t at, uint64_t end, uint64_t *ret_next)
{
	struct scan *s = walk->context;
	uint64_t chunk_end = 0, chunk = mapped_chunk(s, at, end, &chunk_end);
	struct heap_area area = {.low = at,
		.start = at,
		.end = chunk_end,
		.high = chunk_end,
		.allocator = HEAP_GLIBC,
		.kind = GLIBC_MAPPED,
		.data = chunk};
	chunk_end = chunk ? chunk_end : apart_end(s, at, end);
	if (!chunk_end)
		return true;
	*ret_next = (chunk_end + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	return chunk ? heap_areas_add(&s->mapped, &area) : add_run(s, at, chunk_end);
}

/*
 * All runs of the main arena in memory that no other allocator has, which need not begin at pages:
 * where the program break was moved by others. Chunks must lead to an end mark, and be as long as
 * what is missing if they are few; what lies before so much is none of malloc's.
 */
static bool take_mid_update(
	struct unclaimed_walk *walk, uint64_t at, uint64_t end, uint64_t *ret_next)
{
	struct scan *s = walk->context;
	bool ok = true;
	*ret_next = end;
	while (ok && s->apart_bytes && (at = glibc_piece_from(s->window, at, end)) < end) {
		struct glibc_piece piece = glibc_piece_read(s->window, at, end);
		uint64_t bytes = min(s->apart_bytes, piece.end), last = piece.end - bytes;
		uint64_t start = (last + CHUNK_ALIGN - 1) & ~(uint64_t)(CHUNK_ALIGN - 1);
		struct glibc_piece exact = glibc_piece_read(s->window, start, end);
		bool is_exact =
			start >= at && start < piece.end && exact.closes && exact.end == piece.end;
		if (piece.closes && (is_exact || (piece.chunks >= GLIBC_CHAIN && start < at)))
			ok = add_run(s, is_exact ? start : at, piece.end);
		at = piece.closes || piece.chunks >= GLIBC_CHAIN ? piece.end : at + CHUNK_ALIGN;
	}
	return ok;
}

static bool add_all(const struct heap_area_vec *from, struct heap_area_vec *to)
{
	bool ok = true;
	for (size_t i = 0; ok && i < from->len; i++)
		ok = heap_areas_add(to, &from->data[i]);
	return ok;
}

/* What main arenas lack, all together. */
static struct error *sum_missing(
	struct glibc *glibc, const struct heap_area_vec *areas, uint64_t *ret)
{
	struct error *error = NULL;
	*ret = 0;
	for (uint32_t i = 0; !error && i < glibc->arenas.len; i++) {
		uint64_t missing;
		error = glibc_sums_missing(glibc, i, areas, &missing);
		*ret += error ? 0 : missing;
	}
	return error;
}

/* Looks for the runs of main arenas again, if some of its memory is still missing: a page that
 * looked like the beginning of one may be inside it. */
static struct error *find_mid_update(struct scan *s, const struct heap_area_vec *areas)
{
	struct heap_area_vec claimed = {.data = NULL};
	struct scan again = {.glibc = s->glibc};
	struct error *error = sum_missing(s->glibc, areas, &again.apart_bytes);
	if (error)
		return error;
	struct unclaimed_walk walk = {.space = s->glibc->space,
		.areas = &claimed,
		.context = &again,
		.look = take_mid_update};
	again.window = &walk.window;
	bool ok = add_all(areas, &claimed) && add_all(&s->mapped, &claimed) &&
		  heap_areas_sort(&claimed);
	error = ok ? unclaimed_walk(&walk) : error_no_memory();
	if (!error && again.apart_bytes < s->apart_bytes) {
		struct heap_area_vec swap = s->runs;
		s->runs = again.runs;
		again.runs = swap;
	}
	heap_area_vec_deinit(&again.runs);
	heap_area_vec_deinit(&claimed);
	return error;
}

struct error *glibc_mapped_find(struct glibc *glibc, struct heap_area_vec *areas)
{
	struct scan s = {.glibc = glibc};
	struct error *error = sum_missing(glibc, areas, &s.apart_bytes);
	if (error)
		return error;
	struct unclaimed_walk walk = {
		.space = glibc->space, .areas = areas, .context = &s, .look = glibc_mapped_take};
	s.window = &walk.window;
	error = unclaimed_walk(&walk);
	if (!error)
		error = glibc_mapped_check(glibc, &s.mapped);
	if (!error && s.apart_bytes >= CHUNK_ALIGN)
		error = find_mid_update(&s, areas);
	if (!error)
		error = glibc_owners_find(glibc, areas, &s.runs);
	bool ok = error || (add_all(&s.mapped, areas) && add_all(&s.runs, areas));
	heap_area_vec_deinit(&s.mapped);
	heap_area_vec_deinit(&s.runs);
	return error || ok ? error : error_no_memory();
}
