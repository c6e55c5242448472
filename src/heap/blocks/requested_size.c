/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/blocks/requested_size.h"

/* glibc (malloc.c, request2size(), sysmalloc_mmap()): chunks are of multiples of 16 bytes, those of
 * their own of pages, with a word after the header that is not used. Now and then one has 16 bytes
 * more, since what was left of a larger one was too small for a chunk. */
#define GLIBC_SPARE (CHUNK_ALIGN - 1)
#define GLIBC_LEFT_OVER (CHUNK_MIN - CHUNK_ALIGN)
#define GLIBC_MAPPED_SPARE (4096u + 7)
/* pymalloc (Objects/obmalloc.c, ALIGNMENT). */
#define PYTHON_SPARE 15u
/* musl's older one (malloc.c, adjust_size()): as glibc's, but of multiples of 32 bytes. */
#define OLD_SPARE (OLD_ALIGN - 1)
#define OLD_MAPPED_SPARE (4096u + OLD_SPARE)
/* jemalloc and mimalloc: multiples of 16 bytes up to here, then four sizes up to each double. */
#define STEPS_END 128u
#define STEPS 16u
/* mimalloc: beyond that pages of one block each are cut to fit, by slices. */
#define MI_LARGE (128u << 10)

/* The size below one of those that are four up to each double (jemalloc: sz.h; mimalloc:
 * page-queue.c). */
static uint64_t quarter_below(uint64_t size)
{
	if (size <= STEPS_END)
		return size > STEPS ? size - STEPS : 0;
	return size - (1ull << (63 - __builtin_clzll(size - 1))) / 4;
}

/* tcmalloc: what has no size of its own is of pages. */
static uint64_t tc_below(const struct tc_malloc *tc, uint64_t size)
{
	uint64_t below = 0, spare = (1ull << tc->page_bits) - 1;
	bool has_own = false;
	for (uint32_t i = 0; i < tc->classes; i++) {
		has_own |= tc->sizes[i] == size;
		if (tc->sizes[i] < size && tc->sizes[i] > below)
			below = tc->sizes[i];
	}
	return has_own ? below : size - 1 - (size - 1 < spare ? size - 1 : spare);
}

static uint64_t requested_size_less(uint64_t size, uint64_t spare)
{
	return size > spare ? size - spare : 0;
}

struct search_requested heap_requested_size(
	const struct heap *heap, uint64_t address, uint64_t size)
{
	const struct heap_area *area = heap_areas_find(&heap->areas, address);
	struct search_requested asked = {size, size, size};
	if (!area || !size)
		return asked;
	switch (area->allocator) {
	case HEAP_GLIBC:
		asked.mostly = requested_size_less(
			size, area->kind == GLIBC_MAPPED ? GLIBC_MAPPED_SPARE : GLIBC_SPARE);
		asked.least = requested_size_less(asked.mostly, GLIBC_LEFT_OVER);
		return asked;
	case HEAP_TCMALLOC:
		asked.least = tc_below(&heap->tc_malloc, size) + 1;
		break;
	case HEAP_MIMALLOC:
		asked.least = size > MI_LARGE ? size / 3 * 2 : quarter_below(size) + 1;
		break;
	case HEAP_GO:
	case HEAP_JEMALLOC:
		asked.least = quarter_below(size) + 1;
		break;
	case HEAP_MALLOCNG:
		return asked; /* its sizes are those */
	case HEAP_OLDMALLOC:
		asked.least = requested_size_less(
			size, area->kind == OLD_MAPPED ? OLD_MAPPED_SPARE : OLD_SPARE);
		break;
	default:
		asked.least = requested_size_less(size, PYTHON_SPARE);
	}
	asked.mostly = asked.least;
	return asked;
}
