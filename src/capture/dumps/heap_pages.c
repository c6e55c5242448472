/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/dumps/heap_pages.h"

#include "base/util.h"

#define PAGE_BITS 12
/* Classes: 8, then each 16 bytes up to 128, then four for each doubling. */
#define TINY_BYTES 8
#define EVEN_BITS 4
#define EVEN_LAST_BITS 7
#define GROUP_FIRST 9
#define GROUP_BITS 2
#define SMALL_BYTES 14336
/* Larger than any block is; what a process reports may be. */
#define SIZE_MOST ((uint64_t)1 << 47)
#define PARTS 256.0
#define PARTS_MOST 1e15

struct size_class {
	unsigned index; /* if it has slabs */
	uint64_t bytes; /* of its blocks */
};

static struct size_class class_of(uint64_t size)
{
	if (size <= TINY_BYTES)
		return (struct size_class){0, TINY_BYTES};
	if (size <= 1u << EVEN_LAST_BITS) {
		unsigned index = (unsigned)((size - 1) >> EVEN_BITS) + 1;
		return (struct size_class){index, (uint64_t)index << EVEN_BITS};
	}
	unsigned base = 63 - (unsigned)__builtin_clzll(size - 1), delta = base - GROUP_BITS;
	uint64_t more = (size - 1 - (1ull << base)) >> delta;
	return (struct size_class){
		GROUP_FIRST + ((base - EVEN_LAST_BITS) << GROUP_BITS) + (unsigned)more,
		(1ull << base) + ((more + 1) << delta)};
}

/* A slab has as few pages as its blocks fill wholly. */
static uint64_t slab_pages(uint64_t bytes)
{
	uint64_t pages = 1;
	while ((pages << PAGE_BITS) % bytes)
		pages++;
	return pages;
}

static uint64_t slabs_of(const struct size_class *class, uint64_t parts)
{
	uint64_t pages = slab_pages(class->bytes);
	uint64_t blocks = (parts + (uint64_t)PARTS - 1) / (uint64_t)PARTS;
	uint64_t in_slab = (pages << PAGE_BITS) / class->bytes;
	return (blocks + in_slab - 1) / in_slab * pages;
}

static uint64_t parts_of(uint64_t pieces, double weight)
{
	double parts = (double)pieces * weight * PARTS;
	return parts < PARTS_MOST ? (uint64_t)(parts + 0.5) : (uint64_t)PARTS_MOST;
}

/* A page more: jemalloc begins large blocks anywhere in it, for the sake of caches. */
static uint64_t parts_of_large(const struct size_class *class, double weight)
{
	return parts_of((class->bytes >> PAGE_BITS) + 1, weight);
}

void heap_pages_begin(struct heap_pages *pages)
{
	*pages = (struct heap_pages){.is_on = true};
}

static uint64_t pages_of_large(const struct heap_pages *pages)
{
	return (pages->large_parts + (uint64_t)PARTS - 1) / (uint64_t)PARTS;
}

void heap_pages_add(struct heap_pages *pages, uint64_t size, double weight)
{
	const struct size_class class = class_of(min(size, SIZE_MOST));
	if (class.bytes > SMALL_BYTES) {
		pages->pages -= pages_of_large(pages);
		pages->large_parts += parts_of_large(&class, weight);
		pages->pages += pages_of_large(pages);
	} else {
		uint64_t *parts = &pages->parts[class.index];
		pages->pages -= slabs_of(&class, *parts);
		*parts += parts_of(1, weight);
		pages->pages += slabs_of(&class, *parts);
	}
	pages->peak = max(pages->peak, pages->pages);
}

void heap_pages_remove(struct heap_pages *pages, uint64_t size, double weight)
{
	const struct size_class class = class_of(min(size, SIZE_MOST));
	if (class.bytes > SMALL_BYTES) {
		pages->pages -= pages_of_large(pages);
		pages->large_parts -= min(pages->large_parts, parts_of_large(&class, weight));
		pages->pages += pages_of_large(pages);
	} else {
		uint64_t *parts = &pages->parts[class.index];
		pages->pages -= slabs_of(&class, *parts);
		*parts -= min(*parts, parts_of(1, weight));
		pages->pages += slabs_of(&class, *parts);
	}
}
