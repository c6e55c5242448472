/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where objects of a type have pointers, and what these point to by their declarations. */
#ifndef HEAP_SLOTS_H
#define HEAP_SLOTS_H

#include "base/map.h"
#include "base/vec.h"
#include "heap/layouts.h"

struct slot {
	uint64_t offset;
	uint32_t target; /* plain; never one that says nothing */
	bool is_node;    /* of a container, whose declaration names only what all nodes have */
	bool is_link;    /* the type is a node itself, and that leads to others of its container */
};
DEFINE_VEC(slot_vec, struct slot)

/* Adds those of a type, ascending; of arrays in it all elements, up to `most` in all. False: no
 * memory. */
bool slots_find(struct types *types, uint32_t type, size_t most, struct slot_vec *ret);

/* Whether a pointer to such a type says what is there: it has a size, and is no void. */
bool slots_tells(const struct types *types, uint32_t plain);

#endif
