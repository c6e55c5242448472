/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of paths, as text: nothing is looked up. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Returns the part of `path` after the last slash; all of it if there is no such part. */
static inline const char *path_last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/* Returns whether a path of `len` bytes is named like a library: "libc.so.6", "libm-2.15.so". */
static inline bool path_is_library(const char *path, size_t len)
{
	for (size_t at = 0; at + 3 <= len; at++)
		if (!memcmp(path + at, ".so", 3) &&
			(at + 3 == len || path[at + 3] == '.' || path[at + 3] == '_'))
			return true;
	return false;
}

#endif
