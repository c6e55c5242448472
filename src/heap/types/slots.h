/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where objects of a type have pointers, and what these point to by their declarations. */
#ifndef HEAP_SLOTS_H
#define HEAP_SLOTS_H

#include "base/map.h"
#include "base/vec.h"
#include "heap/layouts.h"
#include "heap/types/rust.h"
#include "process/address_space.h"

/* Of what may be something else, or nothing (choices.h, and types that are one of several things):
 * it is this if a number says so. */
struct slot_when {
	int64_t at;         /* the number, from the slot's word on */
	uint64_t low, high; /* it is from low to high … */
	uint8_t bytes;
	bool is_outside; /* … or is not */
};
/* Those that are in each other; what is in more of them is left out. */
#define SLOT_CONDITIONS 3u

/* Of containers that say themselves how much is where (rust.h). */
struct slot_container {
	enum rust_form form;        /* RUST_NONE: a pointer as its type declares it */
	uint32_t type;              /* the container's */
	int32_t count, room, begin; /* where these words are, from the slot's on */
	bool has_begin, ends, is_held;
};

struct slot {
	uint64_t offset; /* of the first … */
	uint64_t stride; /* … and how far the next is from it, … */
	uint64_t count;  /* … of this many: in arrays */
	uint64_t reach;  /* after the last one of this slot and of all before it */
	uint32_t target; /* plain; never one that says nothing */
	bool is_node;    /* of a container, whose declaration names only what all nodes have */
	bool is_link;    /* the type is a node itself, and that leads to others of its container */
	uint32_t internal; /* of a pointer to a BTreeMap's leaf: it may lead to one of these, plain;
			    * TYPE_VOID: it is no such pointer */
	struct slot_container container;
	uint8_t when_count;
	struct slot_when when[SLOT_CONDITIONS]; /* all of them */
};
DEFINE_VEC(slot_vec, struct slot)

/* Lists those of a type, ascending; of arrays in it all elements are one slot each pointer. False:
 * no memory. *ret_whole false: the type has more members than are looked at (LIMIT_TYPE_STEPS). */
bool slots_find(struct types *types, uint32_t type, struct slot_vec *ret, bool *ret_whole);

/* Returns the slot of a word at an offset, whatever else is in the object; NULL: none. */
const struct slot *slots_at(const struct slot_vec *slots, uint64_t offset);
/* As above, for the word at an address: also members that may be something else, if they are that.
 */
const struct slot *slots_at_address(const struct slot_vec *slots, uint64_t offset,
	const struct address_space *space, uint64_t address);
/* Returns whether the word of a slot at an address is what the slot says. */
bool slots_holds(const struct slot *slot, const struct address_space *space, uint64_t address);
/* As above, for a copy of the bytes, in which the word is at `at`. */
bool slots_holds_in(const struct slot *slot, const uint8_t *bytes, size_t len, uint64_t at);

/* Returns whether a pointer to such a type says what is there: it has a size, and is no void. */
bool slots_are_distinctive(const struct types *types, uint32_t plain);

#endif
