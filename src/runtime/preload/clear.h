/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see clear.c. May touch: the same.
 *
 * Memory that is to be searched for leaks is cleared as it is given out: what earlier uses of it
 * have left there is no pointer of the program's. Valgrind's memcheck knows which bytes were
 * written; here the others are zero.
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

/* Whether this process's memory is cleared. Never goes back to false. */
extern bool rt_clears;

/* A recording begins: does what shm says. */
void rt_clear_prepare(const struct hw_shm *shm);

/* Those of which more is known than that they allocate. */
enum rt_allocator {
	RT_ANY_ALLOCATOR,
	RT_CLIB,
	RT_JEMALLOC,
	RT_MIMALLOC,
};

/* Puts the functions that clear in the place of those just resolved; `measures`: malloc_usable_size
 * is of the allocator that malloc is of. */
void rt_clear_wrap(struct rt_real *real, enum rt_allocator allocator, bool measures);

/* The malloc that is called in the end. */
void *(*rt_clear_allocator(void))(size_t);

/* Clears a block that an allocator's own operator new gave out, if that is wanted. */
void rt_clear_given(void *block, size_t size);

#endif
