/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A folder of files (names_file.h) that may be lost at any time. Nothing here fails aloud: what
 * can't be read is not there, what can't be written is not kept.
 */
#ifndef SYMBOLS_NAMES_STORE_H
#define SYMBOLS_NAMES_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How much is kept; what was not used for longest goes first. */
#define NAMES_STORE_BYTES_MAX (256u << 20)
#define NAMES_STORE_FILES_MAX 4096u

/*
 * Finds the bytes of a file, which the caller frees; false: it is not there, longer than
 * NAMES_FILE_MAX, no plain file, or another user could have written it. It counts as used now.
 */
bool names_store_read(const char *folder, const char *name, uint8_t **ret_data, size_t *ret_len);

/*
 * Puts a file in the place of another one of its name, atomically: readers see one or the other.
 * The folder is made if its parents are there.
 */
void names_store_write(const char *folder, const char *name, const void *data, size_t len);

/* Removes what is too much, and what a process left that ended while it wrote. */
void names_store_trim(const char *folder, uint64_t bytes_max, size_t files_max);

#endif
