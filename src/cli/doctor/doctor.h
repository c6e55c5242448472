/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The examinations of `heapwise doctor`, each adding what it finds. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "cli/commands/findings.h"

/* Whether anything can be recorded here: kernel, limits, the runtime library, folders. */
void doctor_machine(struct findings *findings);

/*
 * Whether a program, found as a shell would, can be recorded and will have names and lines. An
 * error (ERROR_INPUT): there is no such program, or it can't be looked at.
 */
struct error *doctor_program(struct findings *findings, const char *name) must_check_;

/* The same for a process that runs. An error (ERROR_INPUT): it is not there, or not ours to see. */
struct error *doctor_process(struct findings *findings, pid_t pid) must_check_;

/* Whether a file is to be read rather than run: a recording, by its first bytes, or one that is
 * neither executable nor ELF nor a script, such as a bundle or another tool's file. */
bool doctor_is_recording(const char *path);

/* How a recording went: whether it is complete, what was lost, how long the program waited. Of
 * another tool's file only that it can be read. An error: it can't be read. */
struct error *doctor_recording(struct findings *findings, const char *path) must_check_;

/* What `heapwise check` can do on this machine: each way to guard blocks is tried. */
void doctor_check_machine(struct findings *findings);
struct program;
/* What check does with a program that can't be recorded, and what to do instead; `name` is as
 * given.
 */
void doctor_check_refused(struct findings *findings, const struct program *p, const char *name);
/* What check does with a program that has an allocator of its own, and what to do instead. */
void doctor_check_own_heap(struct findings *findings, const struct program *p);

/* Whether LD_PRELOAD, as this command was given it, names a malloc before the recorder's library.
 */
void doctor_preload_order(struct findings *findings);

/*
 * What is known of the names and lines of an ELF file. main: it is the program itself, whose lines
 * one wants; else a library, where it is only noted.
 */
void doctor_debug(struct findings *findings, const char *path, bool main);

#endif
