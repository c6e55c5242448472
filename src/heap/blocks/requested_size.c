/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/blocks/requested_size.h"

#include "heap/allocators/allocator.h"

/* Multiples of 16 bytes up to here, then four sizes up to each double. */
#define STEPS_END 128u
#define STEPS 16u

uint64_t allocator_quarter_below(uint64_t size)
{
	if (size <= STEPS_END)
		return size > STEPS ? size - STEPS : 0;
	return size - (1ull << (63 - __builtin_clzll(size - 1))) / 4;
}

void allocator_requested_quarters(
	const struct heap *heap, const struct heap_area *area, struct search_requested *asked)
{
	(void)heap, (void)area;
	asked->least = asked->mostly = allocator_quarter_below(asked->most) + 1;
}

void allocator_requested_but(struct search_requested *asked, uint64_t spare)
{
	asked->least = asked->mostly = asked->most > spare ? asked->most - spare : 0;
}

struct search_requested heap_requested_size(
	const struct heap *heap, uint64_t address, uint64_t size)
{
	const struct heap_area *area = heap_areas_find(&heap->areas, address);
	struct search_requested asked = {size, size, size};
	if (area && size && allocator_of(area->allocator)->requested)
		allocator_of(area->allocator)->requested(heap, area, &asked);
	return asked;
}
