/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory at the program break ("[heap]"). A program may take parts of it itself, by sbrk(2);
 *those do not belong to glibc's heap.
 *
 *	[heap]:  chunk chunk … fence fence | the program's own | chunk chunk … top | its own
 *
 * If glibc finds that the program moved the break, it leaves two fences at the end of its own
 *memory, chunks of 16 bytes (malloc/malloc.c: sysmalloc), and goes on after the program's part.
 */
#ifndef CAPTURE_LEAK_BREAK_H
#define CAPTURE_LEAK_BREAK_H

#include "base/ranges.h"
#include "capture/leaks/leak_roots.h"

/* Adds the parts of `map` that belong to glibc's heap; all of it if the chunks don't say. */
struct error *leak_break_find(const struct leak_target *place, const struct process_map *map,
	struct address_ranges *ret) must_check_;

#endif
