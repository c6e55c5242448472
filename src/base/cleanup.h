/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ownership by scope: `_cleanup_free_ char *line = NULL;` is freed wherever the block is left, and
 * `*ret = steal_ptr(line);` hands it over. A cleanup function gets the address of the variable.
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"

#define _cleanup_(function) __attribute__((cleanup(function)))

/* Yields the pointer and leaves NULL in the variable. */
#define steal_ptr(pointer)                                                                         \
	({                                                                                         \
		__auto_type stolen_ = (pointer);                                                   \
		(pointer) = NULL;                                                                  \
		stolen_;                                                                           \
	})

static inline void cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

static inline void cleanup_error(struct error **error)
{
	error_destroy(*error);
}

#define _cleanup_free_ _cleanup_(cleanup_free)
#define _cleanup_close_ _cleanup_(cleanup_close)
#define _cleanup_fclose_ _cleanup_(cleanup_fclose)
#define _cleanup_error_ _cleanup_(cleanup_error)

#endif
