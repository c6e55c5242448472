/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arrays among what looks alike: of some elements a member is NULL, or a number that happens to be
 * no pointer, so hardly two blocks have pointers at the same places. Taken modulo the size of an
 * element they have: "pointers at 0 16 of every 24".
 */
#ifndef HEAP_REPEATS_H
#define HEAP_REPEATS_H

#include "heap/scan/shapes.h"

struct heap_repeat {
	uint64_t pointers; /* bit i: word i of an element is a pointer */
	uint32_t words;    /* of an element; 0: nothing repeats */
};

/*
 * Of each class the element that its group and others of the same size repeat. Those of which
 * `left` is false stay as they are. *ret: one for each class, which the caller frees.
 */
struct error *heap_repeats_find(
	const struct heap_shapes *classes, const bool *left, struct heap_repeat **ret) must_check_;

#endif
