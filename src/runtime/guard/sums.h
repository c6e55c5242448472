/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program allocates, or has made an error; any thread, any moment. May touch: the
 * counters; the sums in the runtime's shared memory, if there are any.
 *
 * What is shown of the coverage. Blocks are counted by each thread for itself and passed on after
 * every SUMS_BATCH of them and at the end of the program; all else is passed on at once.
 */
#ifndef RUNTIME_GUARD_SUMS_H
#define RUNTIME_GUARD_SUMS_H

#include "runtime/guard/guard.h"

#define SUMS_BATCH 64u

/* Begins. In the process that was started the sums are shown in the file of the settings from now
 * on, if they name one; its descriptor is closed. */
void sums_init(enum hw_check_backend backend);

/* Counts a block of the program. */
void sums_add_block(size_t bytes);

/* Blocks that have been passed on. */
uint64_t sums_blocks(void);

void sums_add_guarded(size_t bytes, bool first_of_stack);
void sums_add_stack(void);
void sums_add_uncounted(void);
/* Notes that so many blocks were numbered (fill.h), where a file shows the sums. */
void sums_set_numbered(uint64_t count);
/* Notes the size of a block that was filled otherwise, likewise. */
void sums_set_filled(size_t bytes);
void sums_add_report(bool is_new, bool dropped);
void sums_add_limit(enum hw_check_limit why);

/* Passes on what threads have counted, to where it is shown by now. */
void sums_publish(void);

/* A forked child begins again: what it shares with its parent is its parent's. */
void sums_fork_child(void);

#endif
