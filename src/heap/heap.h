/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every block of a heap that nobody recorded: what its allocators have in memory says where blocks
 * are, how large, and which of them are free.
 */
#ifndef HEAP_HEAP_H
#define HEAP_HEAP_H

#include "heap/areas.h"
#include "heap/glibc.h"
#include "process/address_space.h"

struct heap {
	const struct address_space *space; /* borrowed */
	struct heap_area_vec areas;        /* ascending, none overlaps another */
	struct heap_ranges books;          /* of allocators, outside of areas; of modules' data */
	struct glibc glibc;
};

/* Finds the allocators and where their blocks lie. The space must outlive the heap. */
struct error *heap_open(const struct address_space *space, struct heap *ret) must_check_;
void heap_close(struct heap *heap);

/* Tells all blocks, ascending. Damage is known afterwards. */
struct error *heap_walk(struct heap *heap, const struct heap_sink *sink) must_check_;

#endif
