/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where an allocator's blocks lie: ranges of memory that are walked one by one, each by the
 * allocator that made it.
 */
#ifndef HEAP_AREAS_H
#define HEAP_AREAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"

/*
 * The allocators, in the order in which they are looked for: what one has is no other's. The second
 * column is the tag of its struct, which is a member of struct heap, and begins the name of its row
 * (allocators/allocator.h).
 */
#define HEAP_ALLOCATOR_ROWS(X)                                                                     \
	X(HEAP_GLIBC, glibc)                                                                       \
	X(HEAP_JEMALLOC, je_malloc)                                                                \
	X(HEAP_TCMALLOC, tc_malloc)                                                                \
	X(HEAP_MIMALLOC, mi_malloc)                                                                \
	X(HEAP_MALLOCNG, ng_malloc)                                                                \
	X(HEAP_OLDMALLOC, old_malloc)                                                              \
	X(HEAP_PYMALLOC, python)                                                                   \
	X(HEAP_GO, go_spans)

#define HEAP_ALLOCATOR_(id, noun) id,
enum heap_allocator { HEAP_ALLOCATOR_ROWS(HEAP_ALLOCATOR_) HEAP_ALLOCATORS };
#undef HEAP_ALLOCATOR_

/* Static; as users know it. */
const char *heap_allocator_name(enum heap_allocator allocator);

enum block_state {
	BLOCK_USED,
	BLOCK_FREE,
	BLOCK_CACHED, /* free, and kept for the next taker: by a thread, or in a fast bin */
	BLOCK_OWN,    /* the allocator's own: tables, lists */
	BLOCK_STATES
};

struct heap_block {
	uint64_t address;
	uint64_t size; /* that the program may use: what it asked for or a little more */
	enum block_state state;
};

struct heap_area {
	uint64_t start, end; /* of blocks */
	uint64_t low, high;  /* of all that the maker has there: its metadata before, spare memory
				after */
	enum heap_allocator allocator;
	uint32_t arena; /* of the maker's, from 0: the main one */
	uint32_t kind;  /* as the maker likes */
	uint64_t data;  /* as the maker likes */
};
DEFINE_VEC(heap_area_vec, struct heap_area)

struct heap_range {
	uint64_t start, end;
};
DEFINE_VEC(heap_ranges, struct heap_range)

DEFINE_VEC(heap_addresses, uint64_t)

/* What bytes of damage are. */
enum heap_damage_how {
	HEAP_PASSED_OVER, /* they were skipped, to go on */
	HEAP_MISSING,     /* the allocator has them by its own count, and they were not found */
	HEAP_TOO_MANY,    /* found beyond what it counts */
};

/* A place where the allocator's metadata makes no sense, or do not agree with what was found. */
struct heap_damage {
	uint64_t address, bytes;
	enum heap_damage_how how; /* of the bytes */
	uint64_t before; /* the block in front, which likely wrote beyond its end; 0: none */
	uint64_t before_size;
	uint64_t blocks;  /* that count as used, and may be free */
	bool amid;        /* a thread was just changing these metadata: nothing need be wrong */
	const char *what; /* static */
};
DEFINE_VEC(heap_damage_vec, struct heap_damage)

/* A receiver of blocks. `bytes`: the first `len` of its content that are loaded, which may be none.
 * What it returns, if not NULL, ends the walk. */
struct heap_sink {
	void *context;
	struct error *(*take)(
		void *context, const struct heap_block *block, const uint8_t *bytes, size_t len);
};

/* Adds; false: no memory. Empty areas are left out. */
bool heap_areas_add(struct heap_area_vec *areas, const struct heap_area *area);
/* Sorts by address; of overlapping ones the first that was added stays whole. */
bool heap_areas_sort(struct heap_area_vec *areas);
/* Returns the area of an address; NULL: none. They are sorted. */
const struct heap_area *heap_areas_find(const struct heap_area_vec *areas, uint64_t address);

/* Ascending, each once. */
void heap_addresses_sort(struct heap_addresses *addresses);
/* Of sorted ones: the number of the first that is not below `address`. */
size_t heap_addresses_from(const struct heap_addresses *addresses, uint64_t address);
/* Returns whether it is among them; a caller that goes through them in ascending order passes
 * *next. */
static inline bool heap_addresses_next(
	const struct heap_addresses *addresses, size_t *next, uint64_t address)
{
	while (*next < addresses->len && addresses->data[*next] < address)
		++*next;
	return *next < addresses->len && addresses->data[*next] == address;
}

#endif
