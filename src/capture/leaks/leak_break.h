/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory at the program break ("[heap]"), of which a program may take parts itself, by sbrk(2):
 * those are no part of glibc's heap.
 *
 *	[heap]:  chunk chunk … fence fence | the program's own | chunk chunk … top | its own
 *
 * Where glibc finds that the break was moved by somebody else, it leaves two fences at the end of
 * what it has, chunks of 16 bytes (malloc/malloc.c: sysmalloc), and goes on behind.
 */
#ifndef CAPTURE_LEAK_BREAK_H
#define CAPTURE_LEAK_BREAK_H

#include "base/ranges.h"
#include "capture/leaks/leak_roots.h"

/* Adds what of `map` is glibc's. Where chunks don't say, all of it is. */
struct error *leak_break_find(const struct leak_place *place, const struct process_map *map,
	struct address_ranges *ret) must_check_;

#endif
