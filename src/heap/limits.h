/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bounds that can make an answer about a heap partial, and the sentences for them. All bounds of
 * the rooms heap, search, symbols and analysis are in docs/limits.md, which a lint compares with
 * the source.
 */
#ifndef HEAP_LIMITS_H
#define HEAP_LIMITS_H

#include <stdbool.h>

struct heap_scan;

/* Members of one type, those of its members included, an array counting once. No program has as
 * many; damaged debug information may. */
#define LIMIT_TYPE_STEPS 100000u
/* Frames of one thread's stack. */
#define LIMIT_STACK_FRAMES (1u << 16)
/* Frames of all threads whose variables tell types. */
#define LIMIT_TYPED_FRAMES (1u << 20)

/* Bounds that were reached. */
enum heap_limit {
	REACHED_TYPE_STEPS,
	REACHED_STACK_FRAMES,
	REACHED_TYPED_FRAMES,
	REACHED_SHAPES,
	REACHED_ARRAY_PLACES,
	REACHED_POOL_TRIES,
	REACHED_TYPE_ENTRIES,
	HEAP_LIMITS
};

/* Marks answers as partial from now on, for that reason. */
void heap_limit_reach(struct heap_scan *scan, enum heap_limit limit);
/* Returns whether the bound was reached. */
bool heap_limit_has_reached(const struct heap_scan *scan, enum heap_limit limit);
/* Return static strings: a word for JSON, and a sentence. */
const char *heap_limit_name(enum heap_limit limit);
const char *heap_limit_words(enum heap_limit limit);

#endif
