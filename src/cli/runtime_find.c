/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/runtime_find.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *runtime_find(void)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n <= 0)
		return NULL;
	self[n] = 0;
	*strrchr(self, '/') = 0;
	static const char *const places[] = {HW_RT_BUILD_RELPATH, HW_RT_INSTALL_RELPATH};
	for (int i = 0; i < 2; i++) {
		char path[2 * PATH_MAX];
		if (places[i][0] == '/')
			snprintf(path, sizeof(path), "%s", places[i]);
		else
			snprintf(path, sizeof(path), "%s/%s", self, places[i]);
		char *found = realpath(path, NULL);
		if (found && !strpbrk(found, " :"))
			return found;
		free(found);
	}
	return NULL;
}

char *runtime_find_lsan(const char *runtime)
{
	char *path = NULL;
	int folder = (int)(strrchr(runtime, '/') - runtime);
	if (asprintf(&path, "%.*s/libheapwise-lsan.so", folder, runtime) < 0)
		return NULL;
	if (!access(path, R_OK))
		return path;
	free(path);
	return NULL;
}
