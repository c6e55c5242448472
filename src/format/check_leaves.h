/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bytes that a program hands to the kernel and that may never have been written: what
 * runtime/guard and `heapwise check --uninit` tell each other, in the file of `sums` (check.h).
 *
 * New blocks are filled with one byte in each run. A run notes which bytes of which buffers have
 * that value; further runs with other fills note which of these have theirs, too. What follows the
 * fill in all of them was never written, or was made of what was never written.
 */
#ifndef FORMAT_CHECK_LEAVES_H
#define FORMAT_CHECK_LEAVES_H

#include "format/check.h"

/* Ranges that a run can note. */
#define HW_LEAVES_MOST 4096u
/* Of calls that are alike (struct hw_leaving_range, `call`), so many are looked at. */
#define HW_LEAVES_ALIKE_MOST 64u
/* Ranges of one call. */
#define HW_LEAVES_OF_CALL_MOST 16u

/* A range of bytes in a buffer that one call handed over. */
struct hw_leaving_range {
	uint64_t call;   /* of function, sizes of buffer and block, and its place in that: a hash */
	uint64_t number; /* of the call, among those that are alike, from 0 */
	uint64_t first, last; /* of the buffer's bytes, `last` inclusive */
	uint64_t seen;        /* in a list of what is wanted: 1: this call was made. Relaxed */
};
static_assert(sizeof(struct hw_leaving_range) == 40, "shared");

enum hw_leaves_mode {
	HW_LEAVES_OFF = 0,   /* nothing is noted */
	HW_LEAVES_ALL = 1,   /* all ranges are */
	HW_LEAVES_AGAIN = 2, /* those in `wanted` are */
};

/* The command sets mode, byte and what is wanted, and clears the rest, before each run. The library
 * adds, by relaxed operations. */
struct hw_check_leaves {
	uint32_t mode;      /* enum hw_leaves_mode */
	uint32_t byte;      /* that new blocks have */
	uint64_t calls;     /* looked at */
	uint64_t uncounted; /* not looked at: there were too many that are not alike */
	uint64_t left_out;  /* calls with such bytes of which some were not noted: see the bounds */
	uint64_t wanted_count, found_count; /* the latter may be larger than there is room */
	struct hw_leaving_range wanted[HW_LEAVES_MOST]; /* ascending by call, number and first */
	struct hw_leaving_range found[HW_LEAVES_MOST];
};

/* The file of `sums`. */
struct hw_check_page {
	struct hw_check_sums sums;
	struct hw_check_leaves leaves;
};

#endif
