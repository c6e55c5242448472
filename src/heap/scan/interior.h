/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that are pointed into: which of them heuristics can explain, as far as it was seen when
 * all blocks were walked. Most fit none, so that few are looked at once more.
 */
#ifndef HEAP_INTERIOR_H
#define HEAP_INTERIOR_H

#include "base/vec.h"
#include "heap/blocks/mapped.h"
#include "heap/blocks/search_maps.h"
#include "heap/heap.h"
#include "search/search.h"

DEFINE_VEC(interior_bits, uint64_t)

struct interior {
	struct search_map_vec maps; /* where vtables are */
	struct process_maps files;  /* the same, for `tables` */
	struct mapped tables;
	struct interior_bits fitting; /* bit set of blocks */
};

/* Must not be moved. */
struct error *interior_init(const struct address_space *space, struct interior *ret) must_check_;
void interior_deinit(struct interior *interior);

/* A block, with the first `len` bytes of its content; they come by their numbers. False: no
 * memory. */
bool interior_take(struct interior *interior, const struct heap *heap, uint32_t number,
	const struct heap_block *block, const uint8_t *bytes, size_t len);

/* What was seen of other blocks, which are numbered from `before` on. False: no memory. */
bool interior_append(struct interior *interior, uint32_t before, const struct interior *after);

/* As in struct search_options, of a scan. */
bool interior_may_explain(
	void *context, uint32_t block, uint64_t into, struct search_requested *asked);

struct heap_scan;
/* Returns the heuristic that explains a pointer so far into a block, whatever else holds it; 0:
 * none, or they are not used. */
enum search_heuristic interior_explain(const struct heap_scan *scan, uint32_t block, uint64_t into);

#endif
