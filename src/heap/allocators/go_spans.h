/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heap of a program in Go (runtime/mheap.go, mbitmap.go), without symbols. A garbage collector
 * owns it: what nothing points to is freed some day, and no leak.
 *
 *	runtime.mheap_.allspans → | span | span | … |, each → what describes a span:
 *
 *	| start | pages of 8 KiB | … | next to look at | elements | … | bits | … | class | state |
 *size |
 *
 * A span is pages for elements of one size, for a large one, or for a stack. Of elements the first
 * ones, up to the next to look at, are in use, and of the others those whose bit is set. What is no
 * more but not swept yet has its bit still, and counts as in use, as in runtime.MemStats.
 *
 * The list is found in writable data: a pointer, a length and a capacity whose spans all agree with
 * themselves and with each other. The
 * layout of a span differs by version, and is recognised by what fits.
 */
#ifndef HEAP_GO_SPANS_H
#define HEAP_GO_SPANS_H

#include "heap/blocks/areas.h"
#include "heap/blocks/window.h"
#include "process/address_space.h"

#define GO_PAGE_BYTES 8192ull
#define GO_CLASSES 68u

struct go_span {
	uint64_t start, end;
	uint64_t bits; /* address of a bit for each element */
	uint64_t size; /* of an element */
	uint32_t elements;
	uint32_t next; /* those before are in use */
	uint8_t class; /* of sizes, 0: a large element; twice, and 1 if it has no pointers */
};
DEFINE_VEC(go_span_vec, struct go_span)

struct go_spans {
	const struct address_space *space;
	struct go_span_vec spans;       /* of elements; ascending, none overlaps another */
	struct heap_addresses used;     /* elements in use */
	struct heap_ranges others;      /* spans of stacks and of the runtime's own */
	struct heap_ranges metadata;    /* what describes spans, and pages in none */
	struct heap_damage_vec *damage; /* borrowed */
};

/* Returns the span that has an address; NULL: none. */
const struct go_span *go_span_at(const struct go_spans *go, uint64_t address);

struct heap_scan;
/* Sums up elements in use, which are not classified as leaked. */
void go_types_sum(const struct heap_scan *scan, uint64_t *ret_blocks, uint64_t *ret_bytes);

#endif
