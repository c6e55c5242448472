/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of a block the program can have asked for: allocators round that up, each in its way.
 */
#ifndef HEAP_ASKED_H
#define HEAP_ASKED_H

#include "heap/heap.h"

/* The least that a block of `size` usable bytes at `address` is given for; at most it is all of
 * them. */
uint64_t heap_asked_least(const struct heap *heap, uint64_t address, uint64_t size);

#endif
