/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program has accessed memory that it may not, in a signal handler. May touch: the
 * pages of slots; the interrupted registers.
 *
 * After a report the page is accessible, so that the instruction can be carried out. It is stepped
 * over (by the trap flag), and then the page is made inaccessible again, with what the program has
 * written there: so the next error at that page is found, too. An instruction that makes the same
 * error again is not reported again.
 *
 * A page stays accessible where that can't be done: the thread blocks SIGTRAP, or is being stepped
 * by a debugger; after STEP_FAULTS_MOST faults of one block or STEPS_MOST of all, since each takes
 * some microseconds; beyond STEP_BLOCKS_MOST blocks, since each may take two mappings
 * (HW_CHECK_LIMIT_ERRORS).
 */
#ifndef RUNTIME_GUARD_STEP_H
#define RUNTIME_GUARD_STEP_H

#include "runtime/guard/slots.h"

#include <signal.h>
#include <ucontext.h>

#define STEP_FAULTS_MOST 256u
#define STEPS_MOST 100000u
#define STEP_BLOCKS_MOST 1024u

/* Whether an error at an address has not been made before by that instruction, on that stack (0:
 * not known). `ret_steps`: whether its page may be closed again. */
bool step_is_new(uint64_t address, uint64_t rip, uint32_t stack, bool *ret_steps);

/* The page of `address` was made accessible for the interrupted instruction: has it closed again
 * after that, if that can be done. */
void step_over(ucontext_t *context, uint64_t address);

/* A SIGTRAP: returns whether it was of a step that ends, and the program goes on. */
bool step_end(const siginfo_t *info, ucontext_t *context);

#endif
