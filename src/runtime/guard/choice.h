/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program allocates, any thread, any moment. May touch: the table of call stacks,
 * the sums.
 *
 * Which blocks are guarded. Of each call stack the first K blocks, then ever fewer: of the blocks
 * K * 2^n to K * 2^(n+1) half of K, chosen by the seed. K becomes smaller with many call stacks and
 * with much memory in guarded blocks, so that stacks that come later have their share. Altogether
 * no more than FREE_GUARDED blocks and one of so many that the CPU budget allows: by number, which
 * is the same in each run. Only where that estimate was far off the clock decides, and the sums say
 * so (HW_CHECK_LIMIT_BUDGET).
 */
#ifndef RUNTIME_GUARD_CHOICE_H
#define RUNTIME_GUARD_CHOICE_H

#include "runtime/guard/guard.h"

enum block_choice {
	CHOICE_PLAIN = 0, /* not guarded */
	CHOICE_GUARDED = 1,
	CHOICE_FIRST = 2, /* guarded, and the first block of its call stack */
};

/* Counts an allocation of the call stack `key`, and says what it is to be. */
enum block_choice choice_of(uint64_t key, size_t bytes);

/* Around the work of guarding a block: the first returns what the second is given. */
uint64_t choice_clock(void);
void choice_spent(uint64_t since);

/* Counts a block that has been guarded, of the same call stack. */
void choice_guarded(uint64_t key, size_t bytes);

void choice_init(void);

/* A forked child begins again, as its sums do. */
void choice_fork_child(void);

#endif
