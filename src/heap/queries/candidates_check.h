/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to candidates*.c. */
#ifndef HEAP_CANDIDATES_CHECK_H
#define HEAP_CANDIDATES_CHECK_H

#include "heap/candidates.h"
#include "heap/types/slots.h"

/* What is in the words of a block. */
struct sample {
	uint32_t block;
	uint64_t words[SHAPE_WORDS];
	size_t len;
	uint64_t filled;   /* bits: of words that are not 0 */
	uint64_t pointers; /* of these, to what is mapped */
	uint64_t code;     /* of these, to what may be run */
	uint64_t modules;  /* of these, to what modules have read-only: tables of functions */
};

struct candidate_check {
	struct heap_scan *scan;
	struct types *types;
	struct sample *samples;
	uint32_t count;
	uint64_t usable;
	uint64_t pointers, data; /* words that are pointers, or something else, in some block */
	uint64_t no_code;        /* pointers to no functions, in some */
	uint64_t elsewhere;      /* words that are no pointers to tables of functions in some */
	struct slot_vec slots;   /* of the type that is looked at */
	struct candidate_vec *found;
	bool failed;
};

void candidates_sample(
	const struct candidate_check *candidate_check, uint32_t block, struct sample *ret);

/* Words that the type covers. */
uint64_t candidates_covered(const struct candidate *candidate);

/* Fills `declared_by` of all that were found. False: no memory. */
bool candidates_find_declared(struct candidate_check *candidate_check);

/* Fills `known` and `broken` of all that were found. */
struct error *candidates_find_known(struct candidate_check *candidate_check) must_check_;

#endif
