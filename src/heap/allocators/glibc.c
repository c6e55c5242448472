/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/allocators/glibc.h"

#include <inttypes.h>

#include "base/text.h"
#include "heap/allocators/allocator.h"

/* Chunks are of multiples of 16 bytes, those of their own of pages, with an unused word after
 * the header (malloc.c, request2size(), sysmalloc_mmap()). Now and then one has 16 bytes
 * more, since what was left of a larger one was too small for a chunk. */
#define GLIBC_SPARE (CHUNK_ALIGN - 1)
#define GLIBC_LEFT_OVER (CHUNK_MIN - CHUNK_ALIGN)
#define GLIBC_MAPPED_SPARE (4096u + 7)

static struct error *glibc_find(struct heap *heap)
{
	struct glibc *glibc = &heap->glibc;
	glibc->space = heap->space;
	glibc->damage = &heap->damage;
	struct error *error = glibc_arenas_find(glibc);
	if (!error)
		error = glibc_areas(glibc, &heap->areas);
	bool memory = true;
	heap->is_mid_update = !error && glibc_is_mid_update(glibc, &memory);
	if (!memory)
		return error_no_memory();
	return error ? error : glibc_metadata(glibc, &heap->metadata);
}

static struct error *glibc_walk_area(struct heap *heap, const struct heap_area *area,
	struct window *window, const struct heap_sink *sink)
{
	return glibc_walk(&heap->glibc, area, window, sink);
}

static void glibc_close(struct heap *heap)
{
	glibc_arenas_deinit(&heap->glibc.arenas);
	glibc_caches_deinit(&heap->glibc.caches);
	glibc_addresses_deinit(&heap->glibc.cached);
}

static void glibc_requested(
	const struct heap *heap, const struct heap_area *area, struct search_requested *asked)
{
	(void)heap;
	allocator_requested_but(
		asked, area->kind == GLIBC_MAPPED ? GLIBC_MAPPED_SPARE : GLIBC_SPARE);
	asked->least -= asked->least > GLIBC_LEFT_OVER ? GLIBC_LEFT_OVER : asked->least;
}

static void glibc_refused(const struct heap *heap, struct text *text)
{
	unsigned right;
	uint64_t at;
	struct error *error = glibc_bins_seen(heap->space, &right, &at);
	text->failed |= error != NULL;
	error_destroy(error);
	if (right)
		text_printf(text,
			"of whose %u rings of free chunks %u close at 0x%" PRIx64 " (%u have to)",
			GLIBC_BINS, right, at, GLIBC_BINS_RIGHT);
	else
		text_printf(text, "none of whose %u rings of free chunks closes", GLIBC_BINS);
}

const struct allocator glibc_allocator = {
	"glibc", glibc_find, glibc_walk_area, glibc_close, glibc_requested, glibc_refused};
