/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/runtime.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/message.h"

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
	message("libheapwise-rt.so is not where it belongs beside this command; build or install "
		"again");
	return NULL;
}

void hold_standard_streams(void)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
			return;
	}
}
