/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of address ranges. */
#ifndef BASE_RANGES_H
#define BASE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct address_range {
	uint64_t start, end;
};
DEFINE_VEC(address_ranges, struct address_range)

/* Adds a range, unless it is empty. Returns false if there is no memory. */
bool address_ranges_add(struct address_ranges *ranges, uint64_t start, uint64_t end);

/* Sorts the ranges and joins those that overlap or touch. */
void address_ranges_join(struct address_ranges *ranges);

/* Returns the first of joined ranges that ends after an address; NULL if there is none. */
const struct address_range *address_ranges_from(
	const struct address_ranges *ranges, uint64_t address);

/* Returns whether an address is in one of joined ranges. */
static inline bool address_ranges_has(const struct address_ranges *ranges, uint64_t address)
{
	const struct address_range *range = address_ranges_from(ranges, address);
	return range && address >= range->start;
}

#endif
