/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which member of a structure lies at an offset of a block, as debug information says: by the
 * variable that the block's address is given to where it is allocated.
 */
#ifndef ANALYSIS_BLOCK_TYPE_H
#define ANALYSIS_BLOCK_TYPE_H

#include <stdbool.h>

#include "analysis/resolve.h"

struct block_types;

/* `resolver` must outlive it. Reads nothing before it is asked. */
struct error *block_types_create(struct resolver *resolver, struct block_types **ret) must_check_;
void block_types_destroy(struct block_types *types);
static inline void block_types_cleanup(struct block_types **types)
{
	block_types_destroy(*types);
}

/* A member. Texts belong to the one who asked. */
struct block_member {
	struct text type;   /* "struct record"; empty: not known, and the rest is empty, too */
	struct text member; /* "inner.number[2]"; if is_padding, the member before: may be empty */
	struct text by;     /* the variable that points to it; empty: what the function returns */
	bool is_padding;    /* the offset is in no member, but between two or at the end */
	bool is_sure; /* the variable is declared where the block is allocated; else its type has
			 the block's size, and it is the only one in that function */
};
void block_member_init(struct block_member *member);
void block_member_deinit(struct block_member *member);

/* Finds what lies at an offset of a block of `bytes` that was allocated at a stack. */
struct error *block_types_find(struct block_types *types, struct stack_id stack, uint64_t bytes,
	uint64_t offset, struct block_member *ret) must_check_;

/* Adds it as a sentence without its end: "offset 4 of it is flag, of struct record (…)"; nothing,
 * if it is not known. */
void block_member_add(const struct block_member *member, uint64_t offset, struct text *text);

#endif
