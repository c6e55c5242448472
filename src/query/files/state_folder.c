/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/state_folder.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

/* Makes all folders that a path names before its last slash, for their owner alone. What cannot be
 * made, opening a file in it will tell. */
static void make_parents(char *path)
{
	for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
}

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
	make_parents(path.data);
	return text_steal(&path);
}

/* `absent`: what is said of one that is not there, and could be made. */
static bool is_own_folder(const char *path, bool absent)
{
	struct stat status;
	if (stat(path, &status) < 0)
		return absent;
	return S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

char *names_folder(void)
{
	const char *given = getenv("HEAPWISE_SYMBOL_CACHE");
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	_cleanup_(text_deinit) struct text path;
	text_init(&path);
	if (given && given[0])
		return given[0] == '/' ? strdup(given) : NULL;
	if (cache && cache[0] == '/' && is_own_folder(cache, true))
		text_add(&path, cache);
	else if (!(cache && cache[0] == '/') && home && home[0] == '/' &&
		 is_own_folder(home, false))
		text_printf(&path, "%s/.cache", home);
	else
		return NULL;
	text_add(&path, "/heapwise/names");
	if (path.failed)
		return NULL;
	make_parents(path.data);
	return text_steal(&path);
}
