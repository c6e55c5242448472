/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: a block is allocated, any thread. May touch: the block.
 *
 * New blocks are filled with a byte, so that what a program does with memory that it never wrote
 * is the same in each run, and some of them with another byte, so that it shows
 * (cli/check/uninit.h). Blocks of the process that was started are numbered from 0, in the order in
 * which they get their content, until it executes another program; those of calloc are not filled
 * and have no number. In its children, and in what it executes, all blocks get the second byte or
 * none does: numbers would not tell one process's blocks from another's.
 */
#ifndef RUNTIME_GUARD_FILL_H
#define RUNTIME_GUARD_FILL_H

#include "runtime/guard/guard.h"

#define FILL_LISTED 16u /* numbers of each kind in the settings; further ones are left out */

/* Bytes of the block of a number, `last` inclusive. */
struct fill_range {
	uint64_t number, first, last;
};

/* Read once (settings.c). */
struct fill_plan {
	int byte, other;      /* -1: none */
	uint64_t from, to;    /* blocks that get `other`; `to` exclusive */
	uint64_t first, last; /* and which of their bytes; `last` inclusive */
	bool others;          /* blocks of other processes get `other`, too, all of them */
	uint64_t skips[FILL_LISTED];
	struct fill_range reports[FILL_LISTED]; /* blocks to report as HW_ERROR_UNINIT */
	uint32_t skip_count, report_count;
};
extern struct fill_plan fill_plan;

static inline bool fill_is_wanted(void)
{
	return rt_unlikely(fill_plan.byte >= 0);
}

/*
 * Gives a new block its number and content, from byte `from` on: what a realloc has kept is before
 * that. Reports it, if that is wanted. Called if fill_is_wanted().
 */
void fill_new_block(
	uint8_t *block, uint64_t from, uint64_t bytes, enum hw_alloc_kind kind, uint32_t stack);

#endif
