/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/java/java_library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/setup/runtime_find.h"

#define LIBRARY "libheapwise-java.so"

struct error *java_library_find(char **ret)
{
	_cleanup_free_ char *runtime = NULL, *path = NULL;
	struct error *error = runtime_find(&runtime);
	if (error)
		return error;
	/* Not through the link that LD_PRELOAD may need. */
	_cleanup_free_ char *file = realpath(runtime, NULL);
	if (!file || asprintf(&path, "%.*s/" LIBRARY, (int)(strrchr(file, '/') - file), file) < 0) {
		path = NULL;
		return error_no_memory();
	}
	if (access(path, R_OK))
		return error_errno(ERROR_ENVIRONMENT, errno,
			"can't find %s, which a JVM loads; build or install heapwise again", path);
	*ret = steal_ptr(path);
	return NULL;
}
