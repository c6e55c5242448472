/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see clear.c. May touch: the same.
 *
 * If memory is to be searched for leaks, blocks are cleared when they are allocated, so that stale
 * contents don't count as pointers. Valgrind's memcheck knows which bytes were written; here the
 * others are zero.
 *
 * The next definitions (rt_real) are replaced by functions that clear, so that a recording without
 * a search for leaks pays nothing, not even a branch.
 */
#ifndef RUNTIME_CLEAR_H
#define RUNTIME_CLEAR_H

#include "runtime/preload/real.h"

#include <stdbool.h>
#include <stddef.h>

struct hw_shm;

/* Whether this process's blocks are cleared. Never becomes false again. */
extern bool rt_clears;

/* Begins to clear when a recording begins, if `shm` says so. */
void rt_clear_prepare(const struct hw_shm *shm);

/* The allocators of which more is known than their functions. */
enum rt_allocator {
	RT_ANY_ALLOCATOR,
	RT_CLIB,
	RT_JEMALLOC,
	RT_MIMALLOC,
};

/* Replaces the functions that were just resolved by those that clear. `measures`:
 * malloc_usable_size belongs to the same allocator as malloc. */
void rt_clear_wrap(struct rt_real *real, enum rt_allocator allocator, bool measures);

/* Returns the malloc that is called in the end. */
void *(*rt_clear_allocator(void))(size_t);

/* Clears a block that an allocator's own operator new has returned, if that is wanted. */
void rt_clear_given(void *block, size_t size);

#endif
