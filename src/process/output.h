/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What another program says: for the few questions that only a tool of the system can answer. */
#ifndef PROCESS_OUTPUT_H
#define PROCESS_OUTPUT_H

/*
 * Runs argv[0] (a path) without standard input and error, and gives what it wrote to its standard
 * output, at most 1 MiB; the caller frees. NULL: it is not there, did not end well, took longer
 * than 10 s, or no memory.
 */
char *output_of(char *const argv[]);

/*
 * The Debian package that a file belongs to, "jq" say; the caller frees. NULL: none, or this is no
 * Debian system.
 */
char *package_of(const char *path);

/*
 * The libraries that the dynamic linker would load with an ELF program, as it lists them: one
 * absolute path a line; the caller frees. The program itself does not run. NULL: it can't tell.
 */
char *libraries_of(const char *path);

#endif
