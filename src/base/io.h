/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole files. Errors name the path. */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Reads a file to its end, also one whose size is not known before (/proc, pipes). ERROR_INPUT if
 * it cannot be read or is longer than `max` bytes. The caller frees *ret_data; a NUL follows the
 * data.
 */
struct error *read_file(
	const char *path, size_t max, uint8_t **ret_data, size_t *ret_len) must_check_;

/*
 * Does as the function above for a file that can be read again and that ends: refuses a pipe, a
 * socket and a terminal, where opening or reading would wait.
 */
struct error *read_stored_file(
	const char *path, size_t max, uint8_t **ret_data, size_t *ret_len) must_check_;

/* Writes everything, across signals and short writes. `name` is for the message. */
struct error *write_all(int fd, const char *name, const void *data, size_t len) must_check_;

/* A file as memory. If another process truncates it meanwhile, reading gives SIGBUS, as with every
 * mapping. */
struct file_map {
	const uint8_t *data; /* NULL if empty */
	size_t len;
};

/* Maps a regular file. Other files are refused: their end is not reliable, and opening a FIFO would
 * wait. */
struct error *file_map_open(const char *path, struct file_map *ret) must_check_;
void file_map_deinit(struct file_map *map);

#endif
