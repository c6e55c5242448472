/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see sweep.c. May touch: the same.
 *
 * Sweeps look for writes next to blocks that nobody frees any more: guard_sweep() (guard.h) when
 * the program ends by exit(3), and here where it ends otherwise. There may be several of a process
 * (an exec that fails), and the program may go on: what one has found the next ones don't report.
 */
#ifndef RUNTIME_GUARD_SWEEP_H
#define RUNTIME_GUARD_SWEEP_H

#include "runtime/guard/guard.h"

/* Before the first of the other functions, in the process that the library was loaded into. */
void sweep_init(void);

/* Sweeps, unless this is a child of vfork: before _exit, an exec, death by a signal. Not where the
 * kernel may not be asked which process this is. Async-signal-safe; takes no lock. */
void sweep_ending(void);

/* In a forked child: what was changed next to blocks so far isn't the child's doing. */
void sweep_fork_child(void);

/* Whether a sweep has reported that the byte `first` has changed next to or in a block; notes it.
 * Only for what has changed. */
bool sweep_has_reported(uint64_t block, uint64_t first);
void sweep_note(uint64_t block, uint64_t first);

#endif
