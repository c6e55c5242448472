/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fragmentation: free memory that can't go back to the system. How much each arena has, how it is
 * spread over pages, and which blocks keep pages in use. A page that is used to less than a quarter
 * is *pinned* by the blocks in it.
 */
#ifndef HEAP_FRAGMENTS_H
#define HEAP_FRAGMENTS_H

#include "base/vec.h"
#include "heap/heap_scan.h"

struct fragment_arena {
	enum heap_allocator allocator;
	uint32_t arena;
	uint64_t bytes;      /* of all of its areas */
	uint64_t used, free; /* of blocks */
	uint64_t spare;      /* after the last block: never given out, or given back to the top */
	uint64_t pages;      /* that blocks lie in */
	uint64_t free_pages; /* without a block in use */
	uint64_t pinned_pages, pinned_bytes; /* and what is free in them */
};
DEFINE_VEC(fragment_arenas, struct fragment_arena)

/* What pins pages, by type. Free bytes of a page are shared by its blocks, equally. */
struct fragment_pin {
	uint32_t type;
	uint64_t blocks;
	double bytes;
};
DEFINE_VEC(fragment_pins, struct fragment_pin)

/* Go's spans of a class (runtime/sizeclasses.go): of elements of one size, with pointers or
 * without. What is free in them is the class's slack: it serves elements of this class alone, until
 * a span is free as a whole. */
struct fragment_span_class {
	uint32_t size_class;    /* 0: large elements, each a span of its own */
	bool has_pointers;      /* the collector looks for them ("scan") */
	uint64_t element_bytes; /* 0: of a large one each has its own */
	uint64_t spans, bytes;  /* with their tails */
	uint64_t elements, used_elements;
	uint64_t used_bytes, free_bytes; /* of elements */
	uint64_t tail_bytes;             /* behind the last element of each span */
};
DEFINE_VEC(fragment_span_classes, struct fragment_span_class)

struct fragments {
	struct fragment_arenas arenas;        /* by free bytes */
	struct fragment_span_classes classes; /* Go's, by free bytes */
	struct fragment_pins pins;            /* by bytes */
};

/* Computes the fragmentation. The scan has types; the heap is walked once more. */
struct error *heap_fragments(struct heap_scan *scan, struct fragments *ret) must_check_;
void heap_fragments_deinit(struct fragments *fragments);

#endif
