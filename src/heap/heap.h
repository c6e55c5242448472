/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every block of a heap without a recording: what its allocators have in memory says where blocks
 * are, how large, and which of them are free.
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
	size_t damage_found; /* of `damage`, the first: known before blocks are gone through */
	struct glibc glibc;
	struct je_malloc je_malloc;
	struct tc_malloc tc_malloc;
	struct mi_malloc mi_malloc;
	struct ng_malloc ng_malloc;
	struct old_malloc old_malloc;
	struct python python;
	struct go_spans go_spans;
};

/* Finds the allocators and where their blocks lie. The space must outlive the heap, which stays
 * where it is. */
struct error *heap_open(const struct address_space *space, struct heap *ret) must_check_;
void heap_close(struct heap *heap);

/* Tells all blocks, ascending. Damage is known afterwards. */
struct error *heap_walk(struct heap *heap, const struct heap_sink *sink) must_check_;

/* Says of damage to glibc's metadata, from a place of `damage` on, whether a thread was just
 * changing them. */
void heap_note_mid_update(struct heap *heap, size_t from);

/* Splits areas where memory of others lies between blocks; once all blocks were gone through. */
struct error *heap_leave_gaps(struct heap *heap) must_check_;

/* Why none was found, and what to do: a sentence's end. */
const char *heap_absence(const struct heap *heap);

#endif
