/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program speaks to LeakSanitizer; any thread, any moment outside of an event. May
 * touch: the thread's ring; the shared memory.
 *
 * What this library does for the one beside it that has the functions of sanitizer/lsan_interface.h
 * (runtime/lsan): the only functions of ours that another library calls. That one refers to them
 * weakly; without this library they are not there.
 */
#ifndef RUNTIME_TOLD_H
#define RUNTIME_TOLD_H

#include "format/shm.h"

#include <stddef.h>
#include <stdint.h>

/* Whether a check has come before the end, or the program wants none. */
enum rt_lsan_over {
	RT_LSAN_OPEN = 0,
	RT_LSAN_OVER = 1, /* LeakSanitizer would search no more */
	RT_LSAN_ENDS = 2, /* and the leaks that were found are why the program ends */
};

/* What the program has to say when it is about to be searched. Its own memory; NULL: nothing. */
struct rt_lsan_said {
	const char *texts[HW_LSAN_TEXTS];
	enum rt_lsan_over over;
};

/* Asks the program. Called by the thread that ends it, or that wants a check. */
typedef void rt_lsan_ask(struct rt_lsan_said *ret);

/* From now on the program is asked before it is searched. NULL: no longer. */
void heapwise_rt_lsan_join(rt_lsan_ask *ask) __attribute__((weak));

/* Records what the program says of its memory. Not async-signal-safe only in that a signal
 * handler's word may get lost. Keeps errno. */
void heapwise_rt_lsan_tell(enum hw_told what, const void *address, size_t bytes)
	__attribute__((weak));

/* A function of the program's that it does not export, so that no reference finds it; NULL: it has
 * none. The type is the name's. */
void *heapwise_rt_lsan_function(enum hw_lsan_function which) __attribute__((weak));

/* As a call has found them: rbx, rbp, r12 to r15, and where its return address stands. */
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

#endif
