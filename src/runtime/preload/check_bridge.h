/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program allocates, frees, or has made an error; any thread, any moment, also in
 * signal handlers. May touch: the thread's ring; the shared memory.
 *
 * The functions of this library for the one that serves the programs of `heapwise check`
 * (runtime/guard), which refers to them weakly: they are NULL without this library. None touches
 * errno.
 */
#ifndef RUNTIME_CHECK_BRIDGE_H
#define RUNTIME_CHECK_BRIDGE_H

#include "format/check.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns the number of the stack that begins at return address `pc` with stack pointer `sp` and
 * rbp as they are in that frame; 0: not known (the process is not recorded, or the thread is in the
 * middle of another event). `exact`: pc is where the frame was interrupted, not a return address.
 * Frames of this library at its beginning are left out.
 */
uint32_t heapwise_rt_check_stack(uint64_t pc, uint64_t sp, uint64_t rbp, bool exact)
	__attribute__((weak));

/* Records a report. Async-signal-safe. Returns whether there was room for it. */
bool heapwise_rt_check_report(enum hw_error_kind kind, const struct hw_error_report *report)
	__attribute__((weak));

/* Returns where coverage is counted; NULL: nowhere yet. Stays valid; in a forked child it is
 * another one once that child is recorded. */
struct hw_check_sums *heapwise_rt_check_sums(void) __attribute__((weak));

/* Returns whether an object that every search finds before this library has malloc: what it hands
 * out is not ours, and may be freed by calls that don't come here. */
bool heapwise_rt_check_is_passed_by(void) __attribute__((weak));

/* The one function in the other direction, NULL without that library: the process is recorded from
 * now on, where the sums can be shown. A program that allocates nothing would seem not to be served
 * otherwise. */
void heapwise_guard_recorded(void) __attribute__((weak));

#endif
