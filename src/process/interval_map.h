/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which part of an address space belongs to whom: ranges that do not overlap, each with an owner. A
 * new range takes the place of what was there; a part that is taken out of a range leaves up to two
 * pieces of the same owner. That is what mmap, MAP_FIXED and munmap do.
 *
 * The ranges are in pages of at most INTERVALS_IN_PAGE, and these in an array, both ascending: a
 * change moves a page and now and then the array. (One sorted array, which this replaces, was moved
 * as a whole by each mmap, since the kernel gives the next one below the last.)
 */
#ifndef PROCESS_INTERVAL_MAP_H
#define PROCESS_INTERVAL_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct owned_range {
	uint64_t start, end; /* start < end */
	uint32_t owner;
};

#define INTERVALS_IN_PAGE 256u
struct interval_page {
	uint32_t count; /* never 0 */
	struct owned_range rows[INTERVALS_IN_PAGE];
};
DEFINE_VEC(interval_pages, struct interval_page *)

#define INTERVAL_SPARES 2
struct interval_map {
	struct interval_pages pages;
	size_t count;                                  /* of all intervals */
	struct interval_page *spares[INTERVAL_SPARES]; /* for what one change may need */
};

/* Called for each piece that an owner loses, ascending by address. */
typedef void interval_lost(void *context, uint32_t owner, uint64_t bytes);

void interval_map_init(struct interval_map *map);
void interval_map_deinit(struct interval_map *map);

/* Takes [start, end) out, and calls `lost` (NULL: nobody). Returns false if there is no memory: the
 * map is as before then, and nothing was called. */
bool interval_map_remove(struct interval_map *map, uint64_t start, uint64_t end,
	interval_lost *lost, void *context) __attribute__((warn_unused_result));

/* Gives [start, end) to an owner, after taking it out. As interval_map_remove(); an empty range
 * does nothing. */
bool interval_map_set(struct interval_map *map, uint64_t start, uint64_t end, uint32_t owner,
	interval_lost *lost, void *context) __attribute__((warn_unused_result));

/* Returns the first interval that ends after an address; NULL if there is none. Valid until the map
 * changes. */
const struct owned_range *interval_map_from(const struct interval_map *map, uint64_t address);

#endif
