/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/setup/runtime_find.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/setup/preload_link.h"

/* The library's file, without links in its path; NULL: it is not there. */
static char *library_find(void)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n <= 0)
		return NULL;
	self[n] = 0;
	*strrchr(self, '/') = 0;
	static const char *const places[] = {HW_RT_BUILD_RELPATH, HW_RT_INSTALL_RELPATH};
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char path[2 * PATH_MAX];
		if (places[i][0] == '/')
			snprintf(path, sizeof(path), "%s", places[i]);
		else
			snprintf(path, sizeof(path), "%s/%s", self, places[i]);
		char *found = realpath(path, NULL);
		if (found)
			return found;
	}
	return NULL;
}

struct error *runtime_find(char **ret)
{
	_cleanup_free_ char *found = library_find();
	if (!found)
		return error_create(ERROR_ENVIRONMENT,
			"can't find libheapwise-rt.so next to this command or in its library "
			"directory; build or install heapwise again");
	if (!preload_can_name(found))
		return preload_link(found, ret);
	*ret = steal_ptr(found);
	return NULL;
}

bool runtime_is_linked(const char *path)
{
	_cleanup_free_ char *file = realpath(path, NULL);
	return file && strcmp(file, path) != 0;
}
