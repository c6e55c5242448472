/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a unit's part of the program's .debug_addr and .debug_ranges ends. Before DWARF 5 nothing
 * says so but the beginning of the next unit's part.
 */
#ifndef SYMBOLS_SPLIT_BASES_H
#define SYMBOLS_SPLIT_BASES_H

#include <elfutils/libdw.h>

#include "base/vec.h"

DEFINE_VEC(base_vec, uint64_t)

struct split_bases {
	struct base_vec addresses, ranges; /* ascending */
	bool read;
};

void split_bases_deinit(struct split_bases *bases);

/* Goes through the skeletons of a program, once. Without memory some are missing. */
void split_bases_read(struct split_bases *bases, Dwarf *dwarf);

/* Returns the base that follows; `most` where there is none before that. */
uint64_t split_bases_end(const struct base_vec *bases, uint64_t base, uint64_t most);

/* A base that a skeleton has as an attribute; `missing`: it has none. */
uint64_t split_base_of(Dwarf_Die *skeleton, unsigned attribute, uint64_t missing);

#endif
