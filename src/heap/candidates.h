/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Candidates for the types of unknown blocks, from debug information: by size, and by the words
 * where a type has pointers, of one block or of many that look alike. Pointers to blocks of known
 * types weigh more.
 *
 * Bytes after the type's own may be stale and are ignored. Bytes and unions may be anything.
 */
#ifndef HEAP_CANDIDATES_H
#define HEAP_CANDIDATES_H

#include "heap/heap_scan.h"

struct candidate {
	uint32_t type;
	uint64_t size;   /* of one */
	uint64_t count;  /* of elements; 1: a single one, unless is_array */
	uint64_t header; /* bytes before the first: what new[] counts its elements with */
	bool is_array;
	/* Bits of words of the block. */
	uint64_t pointers; /* pointers where it has some */
	uint64_t agreeing; /* of these, to blocks that are known, and of the declared type */
	uint64_t nulls;    /* it has pointers there, and the blocks never */
	uint64_t strays;   /* there are pointers where it has other things */
	uint64_t numbers;  /* it has pointers there, and the blocks something else */
	uint64_t denied;   /* pointers to blocks that are known, and of another type */
	uint64_t declared; /* it has pointers there */
	/* This many words that lead to the looked at blocks are declared to lead to such, or to
	 * what such begins with. */
	uint32_t declared_by;
	/* This many blocks that are known to be of the type have pointers at the same places, there
	 * (of the first 256 that are as large as these). */
	uint32_t known;
	uint64_t known_pointers;
	uint64_t broken; /* values that none of those has there, and the type does not allow */
	int score;       /* the more the better */
};
DEFINE_VEC(candidate_vec, struct candidate)

/*
 * Finds the candidates for one block, or (block SPACE_NONE) for all blocks of a type of the scan;
 * the best first. Call heap_layouts_open() before. *ret_sampled: the number of blocks that were
 * read.
 */
struct error *candidates_find(struct heap_scan *scan, uint32_t block, uint32_t type,
	struct candidate_vec *ret, uint32_t *ret_sampled) must_check_;

/* A member that is declared to point to a type. */
struct holding_member {
	uint32_t owner;
	uint64_t offset;
};
DEFINE_VEC(holding_members, struct holding_member)

/* Finds all members of all types that may point to an object of type `layout`. Returns false if out
 * of memory. */
bool candidates_holders(struct heap_scan *scan, uint32_t layout, struct holding_members *ret);

#endif
