/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens the files that a running process has mapped. A path may lead elsewhere for the caller: the
 * process may have its own mounts or root (a container), or the file was removed or replaced since
 * the process started (an upgrade).
 */
#ifndef PROCESS_MAPPED_FILE_H
#define PROCESS_MAPPED_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "process/maps.h"

enum mapped_file_place {
	MAPPED_FILE_AT_PATH, /* at its own path */
	MAPPED_FILE_IN_ROOT, /* below the root of the process */
	MAPPED_FILE_HELD,    /* removed or replaced, but the process still holds it */
	MAPPED_FILE_LOST,    /* removed or replaced, and the held one may not be opened */
};

/*
 * Returns a path at which the file of a mapping can be opened as long as the process lives; the
 * caller frees it. Returns NULL if that is the mapping's own path, there is none, or there is no
 * memory; *ret says which of the first two. is_program: the file is the program that the process
 * runs.
 */
char *mapped_file_find(
	pid_t pid, const struct process_map *map, bool is_program, enum mapped_file_place *ret);

#endif
