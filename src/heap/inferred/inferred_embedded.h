/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which structures have which others in them, as members or bases. Private to inferred_pools.c. */
#ifndef HEAP_INFERRED_EMBEDDED_H
#define HEAP_INFERRED_EMBEDDED_H

#include "base/vec.h"
#include "symbols/types.h"

/* A member of `whole`, or an array of such. */
struct embedded {
	uint64_t key;    /* of the member's type */
	uint64_t at;     /* of the first, bytes from the beginning of the whole … */
	uint64_t stride; /* … how far the next one is from it, … */
	uint64_t count;  /* … and how many there are */
	uint32_t whole;
};
DEFINE_VEC(embedded_vec, struct embedded)

/* Those of all structures and classes of the modules that are known, by key; reads what was not
 * read yet. A structure that is nothing but elements of one type is none. `*ret_whole` is
 * false if one has more members than are looked at (LIMIT_TYPE_STEPS). False: no memory. */
bool embedded_find(struct types *types, struct embedded_vec *ret, bool *ret_whole);

/* Of those the ones in which a type, plain, is a member: from *ret_first on this many. */
size_t embedded_of(const struct embedded_vec *all, const struct types *types, uint32_t type,
	size_t *ret_first);

/* Returns whether at an offset of a type there is an object of another one, plain both: a member,
 * or one of its members or bases; also the type itself. */
bool embedded_has(struct types *types, uint32_t outer, uint64_t offset, uint32_t inner);

#endif
