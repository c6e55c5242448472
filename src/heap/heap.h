/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds every block of a heap without a recording: the allocators' data in memory says where blocks
 * are, how large they are, and which of them are free.
 */
#ifndef HEAP_HEAP_H
#define HEAP_HEAP_H

#include "heap/allocators/glibc.h"
#include "heap/allocators/go_spans.h"
#include "heap/allocators/je_malloc.h"
#include "heap/allocators/mi_malloc.h"
#include "heap/allocators/ng_malloc.h"
#include "heap/allocators/old_malloc.h"
#include "heap/allocators/tc_malloc.h"
#include "heap/blocks/areas.h"
#include "heap/python/python.h"
#include "process/address_space.h"

struct heap {
	const struct address_space *space; /* borrowed */
	struct heap_area_vec areas;        /* ascending, none overlaps another */
	struct heap_ranges metadata; /* allocators' metadata outside areas, and modules' data */
	struct heap_damage_vec damage;
	bool is_mid_update;  /* a thread is in the middle of glibc's malloc() or free() */
	size_t damage_found; /* of `damage`, the first: known before blocks are walked */
#define HEAP_MEMBER_(id, noun) struct noun noun;
	HEAP_ALLOCATOR_ROWS(HEAP_MEMBER_) /* heap->glibc, … */
#undef HEAP_MEMBER_
};

/* Finds the allocators and their areas. `space` must outlive the heap, which must not be moved. */
struct error *heap_open(const struct address_space *space, struct heap *ret) must_check_;
void heap_close(struct heap *heap);

/* Reports all blocks to `sink`, ascending. heap->damage is complete afterwards. */
struct error *heap_walk(struct heap *heap, const struct heap_sink *sink) must_check_;

/* Notes for the entries of heap->damage from index `from` on, of glibc's metadata, whether a thread
 * was changing it. */
void heap_note_mid_update(struct heap *heap, size_t from);

/* Splits areas at memory of other owners between blocks; call it after heap_walk(). */
struct error *heap_leave_gaps(struct heap *heap) must_check_;

/* Returns why no heap was found, and what to do: the end of a sentence. */
const char *heap_absence(const struct heap *heap);

#endif
