/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program allocates or frees, any thread, any moment. May touch: see blocks.c.
 *
 * What the functions of malloc's family are made of, beside guard_allocate() and guard_free().
 */
#ifndef RUNTIME_GUARD_BLOCKS_H
#define RUNTIME_GUARD_BLOCKS_H

#include "runtime/guard/guard.h"

extern uint64_t guard_largest; /* bytes of the largest plain block so far; relaxed */

/* realloc(): moves the block in nearly all cases, so that uses of the old one show. */
void *guard_reallocate(void *block, size_t size, struct guard_caller caller);

/* malloc_usable_size(): what was asked for. */
size_t guard_usable_size(const void *block);

/* Reports a size that no block can have. */
void blocks_report_size(enum hw_alloc_kind kind, size_t bytes, struct guard_caller caller);

#endif
