/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A scan of a heap: all blocks in use, grouped by similarity, then by type, the references between
 * them, and which of them are leaked. All other questions begin with a scan.
 */
#ifndef HEAP_SCAN_H
#define HEAP_SCAN_H

#include <assert.h>

#include "base/vec.h"
#include "heap/heap.h"
#include "heap/layouts.h"
#include "heap/scan/interior.h"
#include "heap/scan/names.h"
#include "heap/scan/roots.h"
#include "heap/scan/shapes.h"
#include "heap/scan/stack_places.h"
#include "heap/types/pools.h"
#include "heap/types/types.h"
#include "search/search.h"
#include "search/space.h"

struct heap_scan_totals {
	uint64_t blocks[BLOCK_STATES], bytes[BLOCK_STATES];
};

/* The allocation site of blocks, as far as it is known; the caller numbers them. */
struct heap_scan_site {
	uint32_t type;
	uint32_t place; /* HEAP_NO_SITE: not known */
};
DEFINE_VEC(heap_scan_sites, struct heap_scan_site)
#define HEAP_NO_SITE UINT32_MAX

/* Bit sets of blocks whose type is a guess, by resemblance to blocks whose type is declared; NULL:
 * no block's is. */
struct heap_scan_alike {
	uint64_t *looks;   /* nothing but the resemblance */
	uint64_t *settled; /* all that refers to such blocks agrees with the guess */
};

/* Returns the requested size of a block. False: it is unknown for this one. */
struct heap_size_source {
	bool (*of)(void *context, uint64_t address, uint64_t size, uint64_t *ret); /* or NULL */
	void *context;
};

/* stale_words.h */
struct stale_words {
	uint64_t *masks;  /* of each type: bit i: word i of its blocks may be left over; NULL: of
			   * none */
	uint64_t *blocks; /* bit set: such a word of theirs looks like a pointer */
};

/* The phase of a scan; each function needs one phase and begins the next. In each of them the
 * search's site of a block is a different kind of number. */
enum heap_scan_phase {
	HEAP_SCAN_READ,  /* heap_scan_open(): a struct block_label (types.h), its class at first */
	HEAP_SCAN_TYPED, /* heap_scan_find_types(): the number of a type */
	HEAP_SCAN_SITED, /* heap_scan_set_sites(): an index of `sites` */
	HEAP_SCAN_LEAKS, /* heap_scan_find_leaks(): as before it; leaks are known */
};

struct heap_scan {
	enum heap_scan_phase phase;
	enum pointer_rule pointers;
	unsigned heuristics;           /* by which interior pointers hold: enum search_heuristic */
	struct interior interior;      /* for them */
	struct heap_size_source asked; /* set before heap_scan_find_leaks() */
	struct heap heap;
	struct heap_names *names; /* borrowed */
	struct heap_scan_totals totals;
	struct heap_shapes classes; /* of blocks in use */
	struct heap_types types;
	struct heap_layouts layouts;
	struct pools pools;
	bool no_inference; /* set before heap_scan_find_types(): debug information is not read for
			      it */
	struct heap_scan_alike alike;
	struct thread_blocks thread_blocks;
	struct heap_root_vec roots;
	struct stack_places *stacks;
	struct search *search; /* sites of its blocks: by `phase` */
	struct heap_scan_sites sites;
	struct stale_words left;
	unsigned reached;            /* bit set of enum heap_limit */
	struct space_u32 cut;        /* blocks that end where their types do (tails.h); ascending */
	struct search_memory memory; /* for it */
};

/* Reads all blocks, once. `space` and `names` must outlive the scan, which must not be moved.
 * heuristics: bits of enum search_heuristic; with POINTERS_START none is used. */
struct error *heap_scan_open(const struct address_space *space, struct heap_names *names,
	enum pointer_rule pointers, unsigned heuristics, struct heap_scan *ret) must_check_;
void heap_scan_close(struct heap_scan *scan);

/* Finds the types of all blocks. Called once, before heap_scan_find_leaks(). */
struct error *heap_scan_find_types(struct heap_scan *scan) must_check_;

/* Like heap_scan_find_types(), but types only the blocks of `subset` if their types are certain
 * without all others (inferred_subset.h). For callers that ask for nothing else. */
struct inferred_subset;
struct error *heap_scan_find_types_of(
	struct heap_scan *scan, struct inferred_subset *subset) must_check_;

/*
 * Sets the allocation sites of all blocks: calls `place_of` for each, ascending; it returns
 * HEAP_NO_SITE if the site is unknown. Blocks of one type that come from several places are
 * distinguished from then on. Once, after heap_scan_find_types() and before heap_scan_find_leaks().
 */
struct error *heap_scan_set_sites(struct heap_scan *scan,
	uint32_t (*place_of)(
		void *context, uint64_t address, uint64_t size, uint64_t *ret_requested),
	void *context) must_check_;

/* Returns the type of a site of the search; from HEAP_SCAN_TYPED on. */
static inline uint32_t heap_scan_site_type(const struct heap_scan *scan, uint32_t site)
{
	assert(scan->phase >= HEAP_SCAN_TYPED);
	return scan->sites.len ? scan->sites.data[site].type : site;
}
static inline uint32_t heap_scan_type_of(const struct heap_scan *scan, uint32_t block)
{
	return heap_scan_site_type(scan, search_block_site(scan->search, block));
}

/* Sorts the blocks into kinds of leaks, which search_records() then returns. Called once. */
struct error *heap_scan_find_leaks(struct heap_scan *scan) must_check_;

#endif
