/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ranges of split units, made absolute: their base is in the program, which the unit's copy is
 * without. */
#ifndef SYMBOLS_SPLIT_RANGES_H
#define SYMBOLS_SPLIT_RANGES_H

#include "symbols/split/image.h"
#include "symbols/split/split_parts.h"

/*
 * Adds .debug_rnglists of DWARF 5 (7.28) to the image. `table` is the unit's, `addresses` what it
 * has by number, `base` the skeleton's address. A damaged table is left out, a damaged list ends
 * there.
 */
void split_add_ranges(
	struct image *image, struct split_bytes table, struct split_bytes addresses, uint64_t base);

/* As .debug_ranges of DWARF 4. */
void split_add_old_ranges(struct image *image, struct split_bytes table, uint64_t base);

#endif
