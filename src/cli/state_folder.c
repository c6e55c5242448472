/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/state_folder.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/text.h"

char *state_folder(const char *name)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	_cleanup_(text_deinit) struct text path;
	text_init(&path);
	if (state && state[0] == '/')
		text_add(&path, state);
	else if (home && home[0] == '/')
		text_printf(&path, "%s/.local/state", home);
	else
		return NULL;
	text_add(&path, "/heapwise/");
	if (name)
		text_printf(&path, "%s/", name);
	if (path.failed)
		return NULL;
	/* What cannot be made, opening a file in it will tell. */
	for (char *slash = path.data; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(path.data, 0700);
		*slash = '/';
	}
	return text_steal(&path);
}
