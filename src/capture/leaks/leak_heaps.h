/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the allocator's memory in a paused process; leak_roots.h says how. */
#ifndef CAPTURE_LEAK_HEAPS_H
#define CAPTURE_LEAK_HEAPS_H

#include "base/ranges.h"
#include "capture/leaks/leak_roots.h"

/* Returns whether a mapping may belong to an allocator: it is private, writable, and has no file.
 */
bool leak_heap_like(const struct process_map *map);

/* Returns the number, as the runtime counts, of the module that an address is in; 0 if there is
 * none. */
uint32_t leak_module_of(const struct hw_shm *shm, uint64_t address);

/*
 * Adds the ranges of all heaps, joined, to *ret_heaps, and to *ret_metadata the memory that the
 * allocator keeps for itself elsewhere: in the data of its module, and what that points to.
 */
struct error *leak_heaps_find(const struct leak_target *place, struct address_ranges *ret_heaps,
	struct address_ranges *ret_metadata) must_check_;

/* Adds the data of the allocator's library; nothing if that is libc or the program itself. Returns
 * false if there is no memory. */
bool leak_allocator_data(const struct leak_target *place, struct address_ranges *ret);

/* Gives how far below a thread pointer the allocator's library has its thread-local memory, and how
 * much. Returns false if the allocator is libc's or in the program itself, or that is unknown. */
bool leak_allocator_local(
	const struct leak_target *place, uint64_t *ret_distance, uint64_t *ret_bytes);

#endif
