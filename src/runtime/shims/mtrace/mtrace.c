/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program calls mtrace() or muntrace(); any thread, any moment. May touch: the
 * runtime, by what heapwise/client.h declares.
 *
 * The functions of <mcheck.h> that begin and end a log of all calls, for programs that heapwise
 * records. They mark these moments; the log is written from the recording when it is complete, by
 * the tool. glibc's own functions do nothing unless libc_malloc_debug.so is preloaded (since 2.34).
 */
#include <stdbool.h>

#include <heapwise/client.h>

#define API __attribute__((visibility("default")))

/* As mcheck.h declares them. */
void mtrace(void);
void muntrace(void);

/* Whether the log has begun and not ended: mtrace(3), a second call has no effect. */
static bool logging;

API void mtrace(void)
{
	if (!__atomic_exchange_n(&logging, true, __ATOMIC_RELAXED))
		heapwise_mark("mtrace");
}

API void muntrace(void)
{
	if (__atomic_exchange_n(&logging, false, __ATOMIC_RELAXED))
		heapwise_mark("muntrace");
}
