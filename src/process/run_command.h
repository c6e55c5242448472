/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs tools of the system, for the few questions that only they can answer. */
#ifndef PROCESS_RUN_COMMAND_H
#define PROCESS_RUN_COMMAND_H

/*
 * Runs argv[0] (a path) without standard input and error. Returns what it wrote to its standard
 * output, at most 1 MiB; the caller frees it. Returns NULL if there is no such program, it failed
 * or took longer than 10 s, or there is no memory.
 */
char *command_output(char *const argv[]);

/*
 * Returns the name of the Debian package that a file belongs to, such as "jq"; the caller frees it.
 * Returns NULL if there is none or this is no Debian system.
 */
char *debian_package_of(const char *path);

/*
 * Returns the libraries that the dynamic linker would load with an ELF program, as it lists them:
 * one absolute path a line; the caller frees it. The program itself does not run. Returns NULL if
 * that is unknown.
 */
char *linked_libraries_of(const char *path);

#endif
