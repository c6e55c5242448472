/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where objects of a type have pointers, and what these point to by their declarations. */
#ifndef HEAP_SLOTS_H
#define HEAP_SLOTS_H

#include "base/map.h"
#include "base/vec.h"
#include "heap/layouts.h"

struct slot {
	uint64_t offset; /* of the first … */
	uint64_t stride; /* … and how far the next is from it, … */
	uint64_t count;  /* … of so many: in arrays */
	uint64_t reach;  /* behind the last one of this slot and of all before it */
	uint32_t target; /* plain; never one that says nothing */
	bool is_node;    /* of a container, whose declaration names only what all nodes have */
	bool is_link;    /* the type is a node itself, and that leads to others of its container */
};
DEFINE_VEC(slot_vec, struct slot)

/* Lists those of a type, ascending; of arrays in it all elements are one slot each pointer. False:
 * no memory. *ret_whole false: the type has more members than are looked at (LIMIT_TYPE_STEPS). */
bool slots_find(struct types *types, uint32_t type, struct slot_vec *ret, bool *ret_whole);

/* The one that a word at an offset is of; NULL: none. */
const struct slot *slots_at(const struct slot_vec *slots, uint64_t offset);

/* Whether a pointer to such a type says what is there: it has a size, and is no void. */
bool slots_tells(const struct types *types, uint32_t plain);

#endif
