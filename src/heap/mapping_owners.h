/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which allocator has what of a program's memory, by the allocators' own tables: for those who ask
 * for nothing else. Blocks are not looked at, and glibc's heaps are left out, which their own
 * headers tell (sources/maps/live_owners.h).
 */
#ifndef HEAP_MAPPING_OWNERS_H
#define HEAP_MAPPING_OWNERS_H

#include "base/error.h"
#include "base/vec.h"
#include "process/address_space.h"

#define MAPPING_OWNER_NO_ARENA UINT32_MAX

struct mapping_owner_range {
	uint64_t start, end;
	const char *allocator; /* "jemalloc"…; static */
	uint32_t arena;        /* the allocator's number; MAPPING_OWNER_NO_ARENA: not known */
};
DEFINE_VEC(mapping_owner_ranges, struct mapping_owner_range)

/*
 * Adds what allocators have, ascending, without overlaps. The program may run meanwhile: what it
 * just changes may be missing. Errors: lack of memory.
 */
struct error *mapping_owner_ranges_find(
	const struct address_space *space, struct mapping_owner_ranges *ret) must_check_;

#endif
