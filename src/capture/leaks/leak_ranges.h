/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of address ranges. */
#ifndef CAPTURE_LEAK_RANGES_H
#define CAPTURE_LEAK_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "format/shm.h"

struct leak_range {
	uint64_t start, end;
};
DEFINE_VEC(leak_ranges, struct leak_range)

/* Empty ranges are left out. False: no memory. */
bool leak_ranges_add(struct leak_ranges *ranges, uint64_t start, uint64_t end);

/* Adds what the runtime keeps for itself, the rings apart: nothing for rings that nobody uses. */
bool leak_ranges_add_own(struct leak_ranges *ranges, const struct hw_shm *shm);

/* Sorts, and joins what overlaps or touches. */
void leak_ranges_join(struct leak_ranges *ranges);

/* Of joined ranges: the first one that ends behind an address; NULL: none. */
const struct leak_range *leak_ranges_from(const struct leak_ranges *ranges, uint64_t address);

static inline bool leak_ranges_has(const struct leak_ranges *ranges, uint64_t address)
{
	const struct leak_range *range = leak_ranges_from(ranges, address);
	return range && address >= range->start;
}

#endif
