/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program speaks to LeakSanitizer; any thread, any moment outside of an event. May
 * touch: the thread's ring; the shared memory.
 *
 * The functions of this library for the one that implements sanitizer/lsan_interface.h
 * (runtime/lsan). That library refers to them weakly: they are NULL without this library. No other
 * library calls functions of this one.
 */
#ifndef RUNTIME_LSAN_BRIDGE_H
#define RUNTIME_LSAN_BRIDGE_H

#include "format/shm.h"

#include <stddef.h>
#include <stdint.h>

/* Whether a check was made before the end, or the program wants none. */
enum rt_lsan_over {
	RT_LSAN_OPEN = 0,
	RT_LSAN_OVER = 1, /* LeakSanitizer would not search any more */
	RT_LSAN_ENDS = 2, /* nor here: the program ends because leaks were found */
};

/* What the program says before it is searched. The texts are in its own memory; NULL: none. */
struct rt_lsan_strings {
	const char *texts[HW_LSAN_TEXTS];
	enum rt_lsan_over over;
};

/* Asks the program for that. Called by the thread that ends it or requests a check. */
typedef void rt_lsan_ask(struct rt_lsan_strings *ret);

/* Sets the function that is called before the program is searched; NULL removes it. */
void heapwise_rt_lsan_join(rt_lsan_ask *ask) __attribute__((weak));

/* Records what the program says of its memory. Not async-signal-safe only in that a signal
 * handler's word may get lost. Keeps errno. */
void heapwise_rt_lsan_annotate(enum hw_annotation what, const void *address, size_t bytes)
	__attribute__((weak));

/* Returns a function of the program that it does not export, so that no reference finds it; NULL if
 * it has none. Its type follows from `which`. */
void *heapwise_rt_lsan_function(enum hw_lsan_function which) __attribute__((weak));

/* The caller's registers at a call: rbx, rbp, r12 to r15, and where its return address is. */
struct rt_lsan_caller {
	uint64_t registers[HW_LEAVING_REGISTERS], sp[];
};

/*
 * Has the process searched for leaks now, and the result shown; waits for that as long as the tool
 * is at it. *ret_status: the exit status that is for leaks, 0 if the program is to go on. Keeps
 * errno. Not for signal handlers.
 */
enum hw_found heapwise_rt_lsan_check(const struct rt_lsan_caller *caller, uint32_t *ret_status)
	__attribute__((weak));

/*
 * As heapwise_rt_lsan_check(), for gperftools' HeapLeakChecker and by its rules: searches for leaks
 * among what was allocated since HW_ANNOTATE_CHECK `check`; 0: among all blocks. *ret_sums: what
 * was found, 0 unless the result is known.
 */
enum hw_found heapwise_rt_leak_check(const struct rt_lsan_caller *caller, uint32_t check,
	struct hw_found_sums *ret_sums) __attribute__((weak));

/* Returns what HEAPCHECK wants of this process: enum hw_heap_check. */
uint32_t heapwise_rt_heap_check(void) __attribute__((weak));

/* Leaves out the search at the end of this process, and of those that it forks. */
void heapwise_rt_leak_check_cancel(void) __attribute__((weak));

#endif
