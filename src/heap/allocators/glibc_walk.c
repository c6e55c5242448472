/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/util.h"
#include "heap/allocators/glibc.h"
#include "heap/blocks/window.h"

/* An end mark: a chunk too small to be one, after which the run ends, or memory of another owner is
 * in between (malloc/malloc.c: sysmalloc, "fencepost"). */
#define FENCE_BYTES 16u
#define PAGE_BYTES 4096u
/* Of a chunk that does not fit into the window so much of its beginning is at hand. */
#define BEGINNING_BYTES 1024u
/* At most this many false chunks are assumed before a real one. */
#define LEADING 2u
/* Bytes in which a chunk in the middle of a run is looked for, to go through it in two halves. */
#define MIDDLE_MOST (4ul << 20)
#define UNCLEAR                                                                                    \
	"where chunks go on behind memory that somebody else took from the program break can be "  \
	"read in several ways: blocks may be missing, or be none"

struct walk {
	struct glibc *glibc;
	const struct heap_area *area;
	struct window *window;
	const struct heap_sink *sink;
	uint64_t flags;  /* that none of its chunks may have; free ones have no CHUNK_NOT_MAIN */
	size_t cached;   /* next of the free ones that chunks do not tell */
	uint64_t before; /* user address of the last block */
	uint64_t before_size;
	uint64_t unclear; /* the place just found, if chunks may begin elsewhere; else 0 */
};

static inline bool glibc_walk_read_head(struct walk *w, uint64_t chunk, uint64_t *ret)
{
	const uint8_t *at = window_at(w->window, chunk + 8, 8, w->area->end);
	if (!at)
		return false;
	memcpy(ret, at, 8);
	return true;
}

/* As
 * glibc_walk_read_head(), for steps that may lead far: the window of the walk in order is kept. */
static bool read_far(struct walk *w, uint64_t chunk, uint64_t *ret)
{
	if (chunk + 8 >= w->window->start && chunk + 16 <= w->window->end)
		return glibc_walk_read_head(w, chunk, ret);
	return w->area->end - chunk >= CHUNK_HEADER &&
	       address_space_word(w->window->space, chunk + 8, ret);
}

static inline bool is_head(const struct walk *w, uint64_t chunk, uint64_t head)
{
	uint64_t size = chunk_size(head);
	return size >= CHUNK_MIN && size % CHUNK_ALIGN == 0 && size <= w->area->end - chunk &&
	       !(head & w->flags);
}

bool glibc_chain_is(const struct address_space *space, uint64_t chunk, uint64_t end, unsigned count)
{
	uint64_t head, size;
	if (chunk % CHUNK_ALIGN)
		return false;
	for (unsigned i = 0; i < count && chunk < end; i++, chunk += size) {
		if (!address_space_word(space, chunk + 8, &head))
			return false;
		size = chunk_size(head);
		if (i && size == FENCE_BYTES)
			return true;
		if (size < CHUNK_MIN || size % CHUNK_ALIGN || size > end - chunk ||
			head & CHUNK_MMAPPED)
			return false;
	}
	return true;
}

/* Passes over the end mark at the end of a piece: two fences, or three if the rest of the top chunk
 * was too small for a free one. What malloc has got ends with a page (sysmalloc asserts it). */
static void close_piece(struct walk *w, struct glibc_piece *piece)
{
	uint64_t head, at = piece->end;
	unsigned fences = 0;
	while (fences < 3 && w->area->end - at >= FENCE_BYTES && read_far(w, at, &head) &&
		chunk_size(head) == FENCE_BYTES &&
		(!fences || head == (FENCE_BYTES | CHUNK_PREV_INUSE))) {
		at += FENCE_BYTES;
		fences++;
		if (fences >= 2 && at % PAGE_BYTES == 0) {
			piece->closes = true;
			piece->end = at;
			return;
		}
	}
}

/* `may_end`: an end mark ends it as well. */
static bool leads_on(struct walk *w, uint64_t chunk, bool may_end)
{
	for (unsigned i = 0; i < GLIBC_CHAIN && chunk < w->area->end; i++) {
		uint64_t head;
		if (!read_far(w, chunk, &head))
			return false;
		if (i && may_end && chunk_size(head) == FENCE_BYTES)
			return true;
		if (!is_head(w, chunk, head))
			return false;
		chunk += chunk_size(head);
	}
	return true;
}

static bool is_chain(struct walk *w, uint64_t chunk)
{
	return leads_on(w, chunk, true);
}

/* Of a place that nothing else speaks for: numbers by chance look like a chunk and an end mark. */
static bool is_long_chain(struct walk *w, uint64_t chunk)
{
	return leads_on(w, chunk, false);
}

/* Where to look on from an address that no can read; it may be after the end. */
static uint64_t readable_from(const struct walk *w, uint64_t address)
{
	uint64_t empty = address_space_empty(w->window->space, address, w->area->end - address);
	uint64_t page = (address | (PAGE_BYTES - 1)) + 1;
	return address + empty > page ? (address + empty) & ~(uint64_t)(CHUNK_ALIGN - 1) : page;
}

/* The next place before `until` at which chunks begin as that says; the area's end: there is none.
 */
static uint64_t next_where(struct walk *w, uint64_t chunk, uint64_t until,
	bool (*begins)(struct walk *w, uint64_t chunk))
{
	uint64_t head;
	while (chunk < until) {
		if (!glibc_walk_read_head(w, chunk, &head)) {
			chunk = readable_from(w, chunk);
			continue;
		}
		if (is_head(w, chunk, head) && begins(w, chunk))
			return chunk;
		chunk += CHUNK_ALIGN;
	}
	return w->area->end;
}

/* The next place from which on chunks follow each other; the area's end: there is none. */
static uint64_t glibc_walk_resume(struct walk *w, uint64_t chunk)
{
	return next_where(w, chunk, w->area->end, is_chain);
}

/* The next chunk; 0: there is none. */
static uint64_t step_on(struct walk *w, uint64_t chunk)
{
	uint64_t head;
	bool is_right = chunk < w->area->end && w->area->end - chunk >= CHUNK_HEADER &&
			read_far(w, chunk, &head) && is_head(w, chunk, head);
	return is_right ? chunk + chunk_size(head) : 0;
}

/* Whether chunks from one place lead to where those from another one do, soon. */
static bool glibc_walk_joins(struct walk *w, uint64_t chunk, uint64_t other)
{
	for (unsigned i = 0; i < 2 * GLIBC_CHAIN && chunk && other && chunk != other; i++) {
		if (chunk < other)
			chunk = step_on(w, chunk);
		else
			other = step_on(w, other);
	}
	return chunk && chunk == other;
}

/* Whether chunks of the main arena begin here: before the first one nothing is free, and few of
 * them lead to an end mark. */
static bool is_first(struct walk *w, uint64_t chunk)
{
	struct glibc_piece piece = {.end = chunk};
	uint64_t head;
	if (!address_space_word(w->window->space, chunk + 8, &head) || !(head & CHUNK_PREV_INUSE))
		return false;
	for (uint64_t next; piece.chunks < GLIBC_CHAIN && (next = step_on(w, piece.end));
		piece.end = next)
		piece.chunks++;
	if (piece.chunks < GLIBC_CHAIN && piece.end < w->area->end)
		close_piece(w, &piece);
	return piece.chunks == GLIBC_CHAIN || piece.end == w->area->end ||
	       (piece.chunks && piece.closes);
}

/* The first page of a chunk from which on chunks lead to where its next ones do; 0: there is none.
 */
static uint64_t page_within(struct walk *w, uint64_t chunk, uint64_t next)
{
	for (uint64_t page = (chunk | (PAGE_BYTES - 1)) + 1; page < next; page += PAGE_BYTES) {
		if (is_first(w, page) && glibc_walk_joins(w, page, next))
			return page;
	}
	return 0;
}

/* Whether chunks may begin in one, too, and lead to where its next ones do. */
static bool is_another_within(struct walk *w, uint64_t chunk, uint64_t next)
{
	for (uint64_t at = chunk + CHUNK_MIN; at < next; at += CHUNK_ALIGN) {
		uint64_t head;
		if (!glibc_walk_read_head(w, at, &head))
			at = readable_from(w, at) - CHUNK_ALIGN;
		else if (is_head(w, at, head) && is_first(w, at) && glibc_walk_joins(w, at, next))
			return true;
	}
	return false;
}

/*
 * Where chunks go on at or after `from`; the area's end: nowhere. In between is memory that other
 * code took from the program break, and that may look like a chunk that leads to one of the real
 * ones, past others. What others take are mostly whole pages: of two places the one at a page is
 * more likely. Of others nothing says which.
 */
static uint64_t resume_from(struct walk *w, uint64_t from)
{
	uint64_t first = next_where(w, from, w->area->end, is_first), chunk = first;
	w->unclear = 0;
	for (unsigned i = 0; i < LEADING && chunk < w->area->end && chunk % PAGE_BYTES; i++) {
		uint64_t next = step_on(w, chunk);
		uint64_t page = page_within(w, chunk, next);
		if (page || is_another_within(w, chunk, next))
			w->unclear = first;
		if (page)
			return page;
		chunk = next;
	}
	return first;
}

/* Likewise after the two or three fences of an end mark. In the main arena malloc sets one only
 * before memory of other code: what looks like chunks at once belongs to that, or some of it. */
static uint64_t resume_after(struct walk *w, uint64_t from)
{
	uint64_t head;
	if (w->area->end - from >= FENCE_BYTES && read_far(w, from, &head) &&
		head == (FENCE_BYTES | CHUNK_PREV_INUSE))
		from += FENCE_BYTES;
	uint64_t chunk = resume_from(w, from);
	if (chunk == from && chunk < w->area->end && w->flags & CHUNK_NOT_MAIN)
		w->unclear = chunk;
	return chunk;
}

/* Of a run that nothing is known of: up to `end`, with chunks of the main arena. */
#define RUN_FLAGS (CHUNK_MMAPPED | CHUNK_NOT_MAIN)

uint64_t glibc_piece_from(struct window *window, uint64_t from, uint64_t end)
{
	struct heap_area area = {.start = from, .end = end};
	struct walk w = {.area = &area, .window = window, .flags = RUN_FLAGS};
	return glibc_walk_resume(&w, from);
}

struct glibc_piece glibc_piece_read(struct window *window, uint64_t chunk, uint64_t end)
{
	struct heap_area area = {.start = chunk, .end = end};
	struct walk w = {.area = &area, .window = window, .flags = RUN_FLAGS};
	struct glibc_piece piece = {.end = chunk};
	uint64_t head;
	/* Nothing is before it that could be free. */
	if (chunk >= end || !glibc_walk_read_head(&w, chunk, &head) || !(head & CHUNK_PREV_INUSE))
		return piece;
	while (piece.end < end && glibc_walk_read_head(&w, piece.end, &head) &&
		is_head(&w, piece.end, head)) {
		piece.end += chunk_size(head);
		piece.chunks++;
	}
	if (piece.chunks && piece.end == end)
		piece.closes = true;
	else if (piece.chunks)
		close_piece(&w, &piece);
	return piece;
}

/* Notes as damage, once, that the place just found may not be where chunks begin. */
static bool note_unclear(struct walk *w, struct heap_damage_vec *damage)
{
	struct heap_damage unclear = {.address = w->unclear, .what = UNCLEAR};
	bool ok = !w->unclear || heap_damage_vec_push(damage, unclear);
	w->unclear = 0;
	return ok;
}

/* Where chunks go on after a fence, past what others have there. */
static uint64_t resume_past(
	struct walk *w, uint64_t chunk, const struct heap_area_vec *others, size_t *next)
{
	chunk = resume_after(w, chunk);
	for (; *next < others->len && others->data[*next].low <= chunk; ++*next) {
		if (others->data[*next].high > chunk)
			chunk = resume_from(w, (others->data[*next].high + 15) & ~15ull);
	}
	return chunk;
}

struct error *glibc_run_split(const struct address_space *space, const struct heap_area *run,
	const struct heap_area_vec *others, struct heap_damage_vec *damage,
	struct heap_area_vec *ret)
{
	struct window window;
	struct error *error = window_open(space, &window);
	struct walk w = {.area = run, .window = &window, .flags = RUN_FLAGS};
	struct heap_area piece = *run;
	uint64_t chunk = run->start, head;
	size_t next = 0;
	bool ok = true;
	while (!error && ok && chunk < run->end) {
		bool readable = glibc_walk_read_head(&w, chunk, &head);
		if (readable && is_head(&w, chunk, head)) {
			chunk += chunk_size(head);
		} else if (readable && chunk_size(head) == FENCE_BYTES) {
			uint64_t after = chunk + 2ull * FENCE_BYTES;
			piece.end = piece.high = min(after, run->end);
			piece.data = 0;
			ok = heap_areas_add(ret, &piece);
			chunk = resume_past(&w, piece.end, others, &next);
			ok = ok && (!damage || note_unclear(&w, damage));
			piece = *run;
			piece.low = piece.start = chunk;
		} else {
			chunk = glibc_walk_resume(&w, chunk + CHUNK_ALIGN);
		}
	}
	if (ok && piece.low < piece.high)
		ok = heap_areas_add(ret, &piece);
	window_close(&window);
	return error || ok ? error : error_no_memory();
}

static bool note_damage(struct walk *w, uint64_t chunk, uint64_t next, const char *what)
{
	struct heap_damage damage = {.address = chunk,
		.bytes = next - chunk,
		.before = w->before,
		.before_size = w->before_size,
		.what = what};
	return heap_damage_vec_push(w->glibc->damage, damage);
}

/* Goes on after a head that is none. *ret: where. False: no memory. */
static bool glibc_walk_skip(
	struct walk *w, uint64_t chunk, bool readable, uint64_t head, uint64_t *ret)
{
	if (readable && chunk_size(head) == FENCE_BYTES) {
		/* Two of them, and nothing more; or memory that is not ours, and then more. */
		uint64_t after = chunk + 2ull * FENCE_BYTES;
		*ret = after < w->area->end ? resume_after(w, after) : w->area->end;
		w->glibc->has_gaps |= !w->area->arena && *ret > after + CHUNK_ALIGN;
		return note_unclear(w, w->glibc->damage);
	}
	*ret = glibc_walk_resume(w, chunk + CHUNK_ALIGN);
	if (readable)
		return note_damage(w, chunk, *ret, "the size of a chunk makes no sense");
	/* That is no block's doing. */
	w->before = w->before_size = 0;
	return note_damage(w, chunk, *ret, "memory that can't be read");
}

static bool is_cached(struct walk *w, uint64_t address)
{
	const struct glibc_addresses *cached = &w->glibc->cached;
	while (w->cached < cached->len && cached->data[w->cached] < address)
		w->cached++;
	return w->cached < cached->len && cached->data[w->cached] == address;
}

/* Of which sizes chunks of threads' caches are (glibc_caches.c): others need not be looked up. */
#define CACHE_CHUNK_LEAST 0x250u
#define CACHE_CHUNK_LARGEST 0x310u

static inline bool may_be_own(uint64_t size)
{
	return size >= CACHE_CHUNK_LEAST && size <= CACHE_CHUNK_LARGEST;
}

static inline enum block_state state_of(
	struct walk *w, uint64_t chunk, uint64_t size, uint64_t next)
{
	uint64_t address = chunk + CHUNK_HEADER;
	if (!(next & CHUNK_PREV_INUSE))
		return BLOCK_FREE;
	if (is_cached(w, address))
		return BLOCK_CACHED;
	return may_be_own(size) && glibc_is_cache(w->glibc, address) ? BLOCK_OWN : BLOCK_USED;
}

static struct error *glibc_walk_report(struct walk *w, uint64_t chunk, uint64_t size, uint64_t next)
{
	struct heap_block block = {chunk + CHUNK_HEADER, size - 8, state_of(w, chunk, size, next)};
	size_t len = 0;
	const uint8_t *bytes = NULL;
	if (block.address >= w->window->start && block.address < w->window->end)
		bytes = window_peek(w->window, block.address, block.size, &len);
	w->before = block.address;
	w->before_size = block.size;
	return w->sink->take(w->sink->context, &block, bytes, len);
}

static size_t first_cached(const struct glibc_addresses *cached, uint64_t address)
{
	size_t low = 0, high = cached->len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (cached->data[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* After the last chunk of a run there is the top chunk, or nothing that would say it is in use. */
static uint64_t head_after(struct walk *w)
{
	uint64_t head;
	if (w->area->data && address_space_word(w->glibc->space, w->area->end + 8, &head))
		return head;
	return CHUNK_PREV_INUSE;
}

/* Whether the size of a free chunk stands after it, too, before the head that says it is free: a
 * byte that was written beyond a block's end may clear that flag. What can't be read may be so. */
static bool is_repeated(struct walk *w, uint64_t after, uint64_t size, const uint8_t *at)
{
	uint64_t again = size;
	if (at)
		memcpy(&again, at, 8);
	else
		(void)address_space_word(w->glibc->space, after, &again);
	return again == size;
}

static struct error *walk_run(struct walk *w)
{
	uint64_t end = w->area->end, chunk = w->area->start, head, next;
	bool readable = glibc_walk_read_head(w, chunk, &head);
	while (chunk < end) {
		if (!readable || !is_head(w, chunk, head)) {
			if (!glibc_walk_skip(w, chunk, readable, head, &chunk))
				return error_no_memory();
			readable = chunk < end && glibc_walk_read_head(w, chunk, &head);
			continue;
		}
		uint64_t size = chunk_size(head), after = chunk + size;
		/* The content must still be in the window, so a chunk is reported before the next
		 * head is read, unless that is far away. */
		bool is_whole = size <= WINDOW_BYTES / 2;
		const uint8_t *at = window_at(
			w->window, chunk, is_whole ? size + 16 : BEGINNING_BYTES, end + 16);
		if (at && is_whole && after < end)
			memcpy(&next, at + size + 8, 8);
		else if (after < end && !address_space_word(w->glibc->space, after + 8, &next))
			next = CHUNK_PREV_INUSE;
		else if (after >= end)
			next = head_after(w);
		/* A head that was written over says nothing of the chunk before. */
		if (!(next & CHUNK_PREV_INUSE) && after < end && !is_head(w, after, next) &&
			chunk_size(next) != FENCE_BYTES)
			next = CHUNK_PREV_INUSE;
		bool is_wrong = !(next & CHUNK_PREV_INUSE) && after < end &&
				!is_repeated(w, after, size, at && is_whole ? at + size : NULL);
		struct error *error = glibc_walk_report(
			w, chunk, size, is_wrong ? next | CHUNK_PREV_INUSE : next);
		if (!error && is_wrong &&
			!note_damage(w, after, after,
				"a chunk says that the block before it is free, which it is not"))
			error = error_no_memory();
		if (error)
			return error;
		chunk = after;
		readable = chunk < end && glibc_walk_read_head(w, chunk, &head);
	}
	return NULL;
}

static struct error *report_mapped(
	const struct heap_area *area, struct window *window, const struct heap_sink *sink)
{
	uint64_t address = area->data + CHUNK_HEADER;
	struct heap_block block = {address, area->end - address, BLOCK_USED};
	const uint8_t *bytes = window_at(window, address, 8, area->end);
	size_t len = 0;
	if (bytes)
		bytes = window_peek(window, address, block.size, &len);
	return sink->take(sink->context, &block, bytes, len);
}

static void glibc_walk_begin(struct walk *w, struct glibc *glibc, const struct heap_area *area,
	struct window *window, const struct heap_sink *sink)
{
	*w = (struct walk){.glibc = glibc,
		.area = area,
		.window = window,
		.sink = sink,
		.flags =
			glibc_is_main(glibc, area) ? CHUNK_MMAPPED | CHUNK_NOT_MAIN : CHUNK_MMAPPED,
		.cached = first_cached(&glibc->cached, area->start)};
}

uint64_t glibc_chunk_from(
	struct glibc *glibc, const struct heap_area *area, uint64_t address, struct window *window)
{
	struct walk w;
	if (area->kind == GLIBC_MAPPED)
		return address > area->start ? area->end : area->data;
	glibc_walk_begin(&w, glibc, area, window, NULL);
	uint64_t into = (address - area->start + CHUNK_ALIGN - 1) & ~(uint64_t)(CHUNK_ALIGN - 1);
	if (into >= area->end - area->start)
		return area->end;
	uint64_t from = area->start + into, most = area->end - from;
	return next_where(&w, from, from + min(most, MIDDLE_MOST), is_long_chain);
}

struct error *glibc_walk(struct glibc *glibc, const struct heap_area *area, struct window *window,
	const struct heap_sink *sink)
{
	struct walk w;
	if (area->kind == GLIBC_MAPPED)
		return report_mapped(area, window, sink);
	glibc_walk_begin(&w, glibc, area, window, sink);
	return walk_run(&w);
}
