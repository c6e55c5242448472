/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Libraries that few commands need, loaded when one of them does. Linked in the usual way,
 *libarchive and libcurl with all that they need took 55 MiB of address space and most of the time
 *to start from each command and each collector, and under an address space limit that the program
 *keeps to heapwise did not start.
 *
 * Who uses such a library has a struct of nothing but pointers to its functions, typed by the
 * library's own header, and a table of their names in the same order. Both are made of one list:
 *
 *	#define SOME_FUNCTIONS(X) X(some_open) X(some_close)
 *	struct some_library {
 *		SOME_FUNCTIONS(LIBRARY_MEMBER)
 *	};
 *	static const char *const names[] = {SOME_FUNCTIONS(LIBRARY_NAME)};
 */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <stddef.h>

#include "base/error.h"

/* The member of a function that its header declares, called as the function is. */
#define LIBRARY_MEMBER(function) __typeof__(function) *function;
#define LIBRARY_NAME(function) #function,

struct library {
	const char *file;         /* as the loader searches for it, "libarchive.so.13" */
	const char *package;      /* where Debian has it */
	const char *const *names; /* of the functions */
	size_t len;
};

/*
 * Loads the library, unless it is there already, and fills `ret_functions`, an array of
 * library->len pointers to functions. It stays loaded until the end: such libraries leave ends of
 * their own after, for exit(). ERROR_ENVIRONMENT: it is not there, or too old, or there is no room
 * for it; the message names the package.
 */
struct error *library_load(const struct library *library, void *ret_functions) must_check_;

#endif
