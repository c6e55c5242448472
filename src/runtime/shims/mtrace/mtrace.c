/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program calls mtrace() or muntrace(); any thread, any moment. May touch: the
 * runtime, by what heapwise/client.h declares.
 *
 * The functions of <mcheck.h> that begin and end a log of all calls, for programs that heapwise
 * records. They mark these moments; the log is written from the recording when it is complete, by
 * the tool. glibc's own functions do nothing unless libc_malloc_debug.so is preloaded (since 2.34).
 */
#include <sys/types.h>
#include <unistd.h>

#include <heapwise/client.h>

#define API __attribute__((visibility("default")))

/* As mcheck.h declares them. */
void mtrace(void);
void muntrace(void);

/* The process whose log has begun and not ended, 0: none. A second call has no effect (mtrace(3)),
 * but in a forked child, which has a log of its own. */
static pid_t logging;

API void mtrace(void)
{
	pid_t self = getpid();
	if (__atomic_exchange_n(&logging, self, __ATOMIC_RELAXED) != self)
		heapwise_mark("mtrace");
}

API void muntrace(void)
{
	if (__atomic_exchange_n(&logging, 0, __ATOMIC_RELAXED) == getpid())
		heapwise_mark("muntrace");
}
