/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of heap profiles, in the program. */
#ifndef RUNTIME_SHIMS_GPERFTOOLS_FILES_H
#define RUNTIME_SHIMS_GPERFTOOLS_FILES_H

#include <stdbool.h>
#include <stddef.h>

#define GP_FOLDER_BYTES 4096
#define GP_FOLDER_FILE "/profile"

/* Reads the first bytes of a file, with a NUL behind. Returns false if it can't. */
bool gp_file_begin(const char *path, char *ret, size_t bytes);

/* Returns all of a file with a NUL behind, from malloc(3); NULL: it can't be read. */
char *gp_file_read(const char *path);

/* Removes PREFIX.*.heap, profiles of an earlier run. */
void gp_files_remove_old(const char *prefix);

/* Makes a folder for one file, GP_FOLDER_FILE in it, in TMPDIR, or else in /tmp. Returns false if
 * it can't. */
bool gp_folder_make(char ret[static GP_FOLDER_BYTES]);

/* Removes it and that file. */
void gp_folder_remove(const char *folder);

#endif
