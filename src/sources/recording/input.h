/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of a known number, read by offset: a file or a buffer, so that a test, a fuzzer and a
 * user's file look the same to a reader. Files are read, not mapped: one that another program cuts
 * while we read it gives an error, not a SIGBUS.
 */
#ifndef SOURCES_INPUT_H
#define SOURCES_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct input {
	const char *name; /* for messages; borrowed */
	const char *path; /* of a file; borrowed */
	/* The folder that stands for "/" where other files are looked for that this one names;
	 * NULL: "/" itself. Borrowed. */
	const char *root;
	/* The program that a log is of, wherever the log says that it is; NULL: it is there.
	 * Borrowed. */
	const char *program;
	uint64_t bytes;
	/* Reads exactly len bytes at offset; the caller keeps to offset + len <= bytes. */
	struct error *(*read)(const struct input *input, uint64_t offset, void *buffer, size_t len);
	const void *data; /* of a buffer; borrowed */
	int fd;           /* of a file, else -1 */
};

/* Opens a regular file; anything else (folder, pipe, device) is refused without reading it. */
struct error *input_open_file(struct input *input, const char *path);
void input_of_buffer(struct input *input, const char *name, const void *data, size_t len);
void input_close(struct input *input);

/* Returns whether another process says that it is still writing the file (FORMAT.md, "Recording in
 * progress"). */
bool input_is_being_written(const struct input *input);

#endif
