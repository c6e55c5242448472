/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of a program's first recording: its name from a pattern, and its creation.
 */
#ifndef CAPTURE_RECORDING_FILE_H
#define CAPTURE_RECORDING_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct recording_name {
	const char *pattern; /* with %n %p %h %%; NULL: heapwise.%n.%p.hpw. In the current folder */
	const char *program; /* %n is its base name */
	pid_t pid;           /* %p */
	bool overwrite;      /* replace an existing file, which stays until the program started */
};

struct recording_file {
	int fd;     /* write only, closed on exec, mode 0600 */
	char *name; /* absolute */
	char *now;  /* its name until the program has started: another one if it replaces a file */
};

/* Returns ERROR_USAGE with what is wrong with a pattern; NULL if nothing is. NULL is a valid
 * pattern. */
struct error *recording_pattern_check(const char *pattern) must_check_;

/* Makes an absolute name of a pattern, which the caller frees. ERROR_USAGE if the pattern is wrong.
 */
struct error *recording_name_make(const struct recording_name *from, char **ret) must_check_;

/* Creates the file. On failure no file remains. */
struct error *recording_file_open(
	const struct recording_name *name, struct recording_file *ret) must_check_;

/* Frees the names; the descriptor was handed over by then. */
void recording_file_deinit(struct recording_file *file);

/* Closes and removes the file, if it is open, and frees the names. */
void recording_file_discard(struct recording_file *file);

#endif
