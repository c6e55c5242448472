/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that a process that runs has mapped. Their paths may lead elsewhere by now: they are of
 * its own mounts or root (a container), or were removed or replaced since it started (an upgrade).
 */
#ifndef PROCESS_LIVE_FILE_H
#define PROCESS_LIVE_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "process/maps.h"

enum live_file {
	LIVE_FILE_AT_PATH, /* nothing else is needed */
	LIVE_FILE_IN_ROOT, /* below the root that the process has */
	LIVE_FILE_HELD,    /* removed or replaced: the process still holds it */
	LIVE_FILE_LOST,    /* so, but it may not be opened */
};

/*
 * Where the file of a mapping can be opened, as long as `pid` lives; NULL: at its own path,
 * nowhere, or no memory. is_program: it is that which the process runs. The caller frees it.
 */
char *live_file_find(
	pid_t pid, const struct process_map *map, bool is_program, enum live_file *ret);

#endif
