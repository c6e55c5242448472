/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: any thread, any moment. May touch: nothing.
 *
 * How to step over one frame: where its caller's stack pointer (the CFA, DWARF 5 section 6.4) comes from and where it saved
 * rbp. The return address is always at CFA - 8. Packed into one word so that a table entry is read in one piece.
 */
#ifndef RUNTIME_RULE_H
#define RUNTIME_RULE_H

#include <stdbool.h>
#include <stdint.h>

enum rt_cfa {
	RT_CFA_NONE = 0, /* no unwind information: try the frame pointer */
	RT_CFA_RSP = 1, /* rsp + offset */
	RT_CFA_RBP = 2, /* rbp + offset */
	RT_CFA_RBP_DEREF = 3, /* the word at rbp + offset (functions that realign their stack) */
	RT_CFA_SIGNAL = 4, /* signal trampoline: everything is in the ucontext at rsp */
	RT_CFA_END = 5, /* outermost frame */
};

enum rt_saved_rbp {
	RT_RBP_SAME = 0,
	RT_RBP_AT_CFA = 1, /* in memory at CFA + offset */
	RT_RBP_AT_RBP = 2, /* in memory at rbp + offset */
};

struct rt_rule {
	uint64_t cfa : 3;
	uint64_t rbp : 2;
	int64_t cfa_offset : 24; /* in 8-byte words: 64 MiB to either side */
	int64_t rbp_offset : 16; /* in 8-byte words */
	uint64_t module : 16;
	uint64_t spare : 3;
};
_Static_assert(sizeof(struct rt_rule) == 8, "read and written as one word");

#endif
