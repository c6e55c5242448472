/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A walk from a set of blocks along members, by debug information: from each block on, whatever
 * its type is, the member of a name, and what that leads to. A pointer leads to its block, a
 * container (contents.h) to its elements, an array to its own; a structure stays in its block. What
 * has no such member, or leads to no block, ends there.
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

/* The scan's types are known (heap_layouts_open()). */
void follow_init(struct follow *follow, const struct heap_scan *scan);
void follow_deinit(struct follow *follow);

/* Begins at a block, too, or at an object of a type in one (plain). */
void follow_add(struct follow *follow, uint32_t block);
/* Begins at what lies in a pool of a type, too (plain). Returns whether there is any. */
bool follow_add_from_pool(struct follow *follow, uint32_t block, uint32_t type);
void follow_add_object(struct follow *follow, uint64_t address, uint32_t type);

/*
 * One step along the member; repeats: along it again and again, until nothing new comes: what it
 * began with is among that. ERROR_INPUT: there are objects, and none has such a member; the
 * text names those that there are.
 */
struct error *follow_step(struct follow *follow, const char *member, bool repeats) must_check_;

/* The blocks that hold what was reached; bit set, which the caller frees. NULL: no memory. */
uint64_t *follow_blocks(const struct follow *follow);

#endif
