/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The allocator's memory in a held process: leak_roots.h says how it is told. */
#ifndef CAPTURE_LEAK_HEAPS_H
#define CAPTURE_LEAK_HEAPS_H

#include "base/ranges.h"
#include "capture/leaks/leak_roots.h"

/* Whether a mapping can be an allocator's: private, writable, without a file. */
bool leak_heap_like(const struct process_map *map);

/* The module, as the runtime numbers them, that an address is in; 0: none. */
uint32_t leak_module_of(const struct hw_shm *shm, uint64_t address);

/*
 * Adds the ranges of all heaps, joined, and those of what the allocator keeps for itself elsewhere:
 * in the data of its module, and what these point to.
 */
struct error *leak_heaps_find(const struct leak_place *place, struct address_ranges *ret_heaps,
	struct address_ranges *ret_books) must_check_;

/* Adds where an allocator's library has its data: of libc, and of a program that is linked with its
 * allocator, nothing. False: no memory. */
bool leak_allocator_data(const struct leak_place *place, struct address_ranges *ret);

/* How far below a thread's pointer an allocator's library has its thread-local memory, and how
 * much. Of libc, of a program that is linked with its allocator, and where it is not known: false.
 */
bool leak_allocator_local(
	const struct leak_place *place, uint64_t *ret_distance, uint64_t *ret_bytes);

#endif
