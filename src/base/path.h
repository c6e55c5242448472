/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of paths, as text: nothing is looked up. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <string.h>

/* What follows the last slash, in `path` itself; all of it if nothing does. */
static inline const char *path_last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

#endif
