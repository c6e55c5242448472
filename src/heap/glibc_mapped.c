/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks with mappings of their own (IS_MMAPPED), which nothing in the arenas leads to: each page
 * that no area has is looked at. The kernel joins mappings, so they may begin anywhere in one.
 *
 * Of an aligned block the mapping's beginning has the stale head of the block that it was cut from;
 * the real one lies further on, and says how far (prev_size). What lies in between nobody has had:
 * it is as malloc() got it, or of one byte throughout (M_PERTURB). Once such a block was
 * reallocated it ends elsewhere than the stale head says.
 */
#include <string.h>

#include "heap/glibc.h"
#include "heap/unclaimed.h"

#define PAGE_BYTES UNCLAIMED_PAGE_BYTES

struct scan {
	struct glibc *glibc;
	struct window *window;
	struct heap_area_vec mapped, runs;
	uint64_t apart_bytes; /* of the main arena, still to be found */
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

/* How far chunks of the main arena go from a page on; 0: there are none. */
static uint64_t apart_end(struct scan *s, uint64_t at, uint64_t end)
{
	if (!s->apart_bytes || !glibc_chain_is(s->glibc->space, at, end, 24))
		return 0;
	return glibc_run_end(s->window, at, end);
}

static bool take(struct unclaimed_walk *walk, uint64_t at, uint64_t end, uint64_t *ret_next)
{
	struct scan *s = walk->context;
	uint64_t chunk_end = 0, chunk = mapped_chunk(s, at, end, &chunk_end);
	struct heap_area area = {.low = at, .start = at, .end = chunk_end, .maker = HEAP_GLIBC};
	if (chunk) {
		area.kind = GLIBC_MAPPED;
		area.data = chunk;
	} else {
		area.end = apart_end(s, at, end);
		area.kind = GLIBC_RUN;
		uint64_t bytes = area.end ? area.end - at : 0;
		s->apart_bytes -= bytes < s->apart_bytes ? bytes : s->apart_bytes;
	}
	if (!area.end)
		return true;
	area.high = area.end;
	*ret_next = (area.end + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	return heap_areas_add(chunk ? &s->mapped : &s->runs, &area);
}

/* What of the main arena's memory is not in the run that is known. */
static uint64_t missing(const struct glibc *glibc, const struct heap_area_vec *areas)
{
	const struct glibc_arena *arena = glibc->arenas.len ? &glibc->arenas.data[0] : NULL;
	if (!arena || !arena->apart)
		return 0;
	uint64_t known = arena->top_size;
	for (size_t i = 0; i < areas->len; i++) {
		if (!areas->data[i].arena && areas->data[i].kind == GLIBC_RUN)
			known += areas->data[i].end - areas->data[i].start;
	}
	return arena->system_bytes > known ? arena->system_bytes - known : 0;
}

static bool add_all(const struct heap_area_vec *from, struct heap_area_vec *to)
{
	bool ok = true;
	for (size_t i = 0; ok && i < from->len; i++)
		ok = heap_areas_add(to, &from->data[i]);
	return ok;
}

struct error *glibc_mapped_find(struct glibc *glibc, struct heap_area_vec *areas)
{
	struct scan s = {.glibc = glibc};
	s.apart_bytes = missing(glibc, areas);
	struct unclaimed_walk walk = {
		.space = glibc->space, .areas = areas, .context = &s, .look = take};
	s.window = &walk.window;
	struct error *error = unclaimed_walk(&walk);
	if (!error)
		error = glibc_mapped_check(glibc, &s.mapped);
	bool ok = error || (add_all(&s.mapped, areas) && add_all(&s.runs, areas));
	heap_area_vec_deinit(&s.mapped);
	heap_area_vec_deinit(&s.runs);
	return error || ok ? error : error_no_memory();
}
