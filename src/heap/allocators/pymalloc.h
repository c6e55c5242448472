/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPython's allocator of small blocks, pymalloc (Objects/obmalloc.c), 3.6 to 3.13, without symbols.
 *
 * Its memory is mapped by arenas, which are cut into pools of one page, or four from 3.10 on; the
 * blocks of a pool are all of one size. A pool begins with a header that looks like nothing else,
 * so no table of arenas is needed.
 */
#ifndef HEAP_PYMALLOC_H
#define HEAP_PYMALLOC_H

#include "heap/blocks/areas.h"
#include "heap/blocks/window.h"
#include "process/address_space.h"

/* Adds runs of pools in the program's own memory that no area of `areas`, sorted, has; `data` of
 * an area are the bytes of a pool. */
struct error *pymalloc_find(
	const struct address_space *space, struct heap_area_vec *areas) must_check_;

/* Tells the blocks of one area, ascending. */
struct error *pymalloc_walk(const struct heap_area *area, struct window *window,
	struct heap_damage_vec *damage, const struct heap_sink *sink) must_check_;

#endif
