/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For programs that want to say something to heapwise while they are recorded. Header only, C and
 * C++, nothing to link: in a program that nobody records, each call is the test of a pointer.
 *
 *	#include <heapwise/client.h>
 *
 *	load_level(7);
 *	heapwise_mark("loaded");
 *
 *	$ heapwise run ./game
 *	$ heapwise report --at mark:loaded
 */
#ifndef HEAPWISE_CLIENT_H
#define HEAPWISE_CLIENT_H

/* Where heapwise can record programs; elsewhere the calls do nothing. */
#if defined(__linux__) && defined(__x86_64__)
#define HEAPWISE_CLIENT_SUPPORTED 1
#else
#define HEAPWISE_CLIENT_SUPPORTED 0
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if HEAPWISE_CLIENT_SUPPORTED

/*
 * The address of a function of the runtime; NULL: it is not there. By the table that the loader
 * fills, whatever the compiler makes of weak functions: for an executable at a fixed address most
 * would have it settled at link time, when no library has them, that they are not there.
 */
#define HEAPWISE_FIND_(function, ret)                                                              \
	__asm__(".weak " function "\n\t"                                                           \
		"{movq " function "@GOTPCREL(%%rip), %0|mov %0, QWORD PTR " function               \
		"@GOTPCREL[rip]}"                                                                  \
		: "=r"(ret))

#endif

/*
 * Marks this moment in the recording. `name`: bytes up to a NUL, of which the first 255 count; read
 * during the call alone. Of marks that have the same name each has its number: --at mark:NAME#2. A
 * mark without a name, or with one that begins with "fork:", is none. In the recording control
 * characters, and what is no UTF-8, are '?'.
 *
 * All that this thread has allocated and freed before the call is before the mark, all after it
 * behind; what other threads do is before or after as it happens. Thread-safe and
 * async-signal-safe; keeps errno. Never blocks for longer than an allocation under heapwise does;
 * where that is dropped and counted (a signal handler that has interrupted the recording of an
 * event, and finds no room), the mark is.
 */
static __inline__ __attribute__((nothrow)) void heapwise_mark(const char *name)
{
#if HEAPWISE_CLIENT_SUPPORTED
	void (*mark)(const char *);
	HEAPWISE_FIND_("heapwise_rt_mark", mark);
	if (mark)
		mark(name);
#else
	(void)name;
#endif
}

/* Whether this process is being recorded: 1 or 0. Thread-safe and async-signal-safe; keeps errno.
 */
static __inline__ __attribute__((nothrow)) int heapwise_is_recording(void)
{
#if HEAPWISE_CLIENT_SUPPORTED
	int (*is_recording)(void);
	HEAPWISE_FIND_("heapwise_rt_is_recording", is_recording);
	return is_recording ? is_recording() : 0;
#else
	return 0;
#endif
}

#ifdef __cplusplus
}
#endif

#endif
