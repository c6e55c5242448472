/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A walk from a set of blocks along members, by debug information: from each block, of any type, to
 * the member of a name, and to what that leads to. A pointer leads to its block, a container
 * (contents.h) to its elements, an array to its own; a structure stays in its block. Objects
 * without such a member, and pointers to no block, end the walk.
 */
#ifndef HEAP_FOLLOW_H
#define HEAP_FOLLOW_H

#include "base/vec.h"
#include "heap/contents.h"

/* An object: a block's, or a part of one. */
struct follow_place {
	uint64_t address;
	uint32_t type; /* plain; TYPE_VOID: what the block there is says it */
};
DEFINE_VEC(follow_places, struct follow_place)

struct follow {
	const struct heap_scan *scan;
	struct types *types;
	struct follow_places at; /* where the walk is */
	uint64_t nulls;          /* pointers that lead nowhere, in all steps */
	uint64_t outside;        /* … and to what is no block in use */
	uint64_t broken; /* containers, and what is too deep inside of others, that could not all be
			    read */
	/* Objects that ended it before its last step: they have no such member, or nothing says
	 * what they are. */
	uint64_t memberless;
	bool failed; /* no memory */
};

/* Initialises a walk without objects. heap_layouts_open() has been called for the scan. */
void follow_init(struct follow *follow, const struct heap_scan *scan);
void follow_deinit(struct follow *follow);

/* Adds a block to the start, or an object of a type (plain) at an address. */
void follow_add(struct follow *follow, uint32_t block);
/* Adds the objects of a type (plain) in a pool to the start. Returns whether there are any. */
bool follow_add_from_pool(struct follow *follow, uint32_t block, uint32_t type);
void follow_add_object(struct follow *follow, uint64_t address, uint32_t type);

/*
 * Goes one step along a member; repeats: follows it until there is nothing new, and includes the
 * start. Returns ERROR_INPUT if there are objects, but none has the member; the message names
 * existing members.
 */
struct error *follow_step(struct follow *follow, const char *member, bool repeats) must_check_;

/* Returns the blocks with the objects that were reached, as a bit set that the caller frees. NULL:
 * out of memory. */
uint64_t *follow_blocks(const struct follow *follow);

#endif
