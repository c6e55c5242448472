/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of paths, as text: nothing is looked up. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* What follows the last slash, in `path` itself; all of it if nothing does. */
static inline const char *path_last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/* Whether a path of `len` bytes is named as libraries are: "libc.so.6", "libm-2.15.so". */
static inline bool path_is_library(const char *path, size_t len)
{
	for (size_t at = 0; at + 3 <= len; at++)
		if (!memcmp(path + at, ".so", 3) &&
			(at + 3 == len || path[at + 3] == '.' || path[at + 3] == '_'))
			return true;
	return false;
}

#endif
