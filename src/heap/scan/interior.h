/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that are pointed into: which of them heuristics can explain, as far as it was seen when
 * all blocks were walked. Most fit none, so that few are looked at once more.
 */
#ifndef HEAP_INTERIOR_H
#define HEAP_INTERIOR_H

#include "base/vec.h"
#include "heap/blocks/mapped.h"
#include "heap/blocks/page_cache.h"
#include "heap/blocks/search_maps.h"
#include "heap/heap.h"
#include "search/search.h"

DEFINE_VEC(interior_bits, uint64_t)
DEFINE_VEC(interior_words, uint32_t)

/* Of a block that is no longer than this many words it is noted which of them lead to vtables. */
#define INTERIOR_WORDS_MOST 32u
#define INTERIOR_TABLES_RECENT 256u

struct interior {
	struct search_map_vec maps; /* where vtables are */
	struct process_maps files;  /* the same, for `tables` */
	struct mapped tables;
	struct interior_bits fitting; /* bit set of blocks */
	/* Of these the bit set of those that have a note, the notes in the same order (bit i: word
	 * i of the block leads to a vtable), and how many notes come before each word of `noted`.
	 */
	struct interior_bits noted;
	struct interior_words notes, before;
	struct page_cache pages; /* of vtables */
	/* Words that were asked for lately, and whether they lead to vtables; 0: none. */
	struct {
		uint64_t word;
		bool is_table;
	} recent[INTERIOR_TABLES_RECENT];
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

/* All blocks were taken. False: no memory. */
bool interior_finish(struct interior *interior);

/* As in struct search_options, of a scan. */
enum search_chance interior_may_explain(
	void *context, uint32_t block, uint64_t into, struct search_requested *asked);

struct heap_scan;
/* Returns the heuristic that explains a pointer so far into a block, whatever else holds it; 0:
 * none, or they are not used. */
enum search_heuristic interior_explain(const struct heap_scan *scan, uint32_t block, uint64_t into);

#endif
