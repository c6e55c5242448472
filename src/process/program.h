/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program file before it is started: where it is, and whether a preloaded library can record it.
 */
#ifndef PROCESS_PROGRAM_H
#define PROCESS_PROGRAM_H

#include <stdbool.h>

#include "base/error.h"

enum program_state {
	PROGRAM_OK,
	PROGRAM_NOT_FOUND,      /* exit status 127, as env(1) has it */
	PROGRAM_NOT_EXECUTABLE, /* exit status 126 */
	PROGRAM_CANNOT_RECORD,  /* static, set-user-ID, 32-bit, sanitizer, … */
};

/* What is known of a program file. Strings belong to the struct. */
struct program {
	enum program_state state;
	char *path;            /* the file to execute; NULL: PROGRAM_NOT_FOUND in $PATH */
	char *image;           /* the file that the process will run: path, or the interpreter of a
				  script; if state is not PROGRAM_OK, the file at fault */
	unsigned scripts;      /* interpreters between the two */
	bool is_elf;           /* image is an ELF program that can be recorded, and could be read */
	bool own_malloc;       /* it defines malloc itself, so its calls can't be recorded */
	const char *sanitizer; /* "AddressSanitizer": it is built with it, and state says so; NULL:
				  with none that is known; static */
	char *why;             /* NULL for PROGRAM_OK; else a sentence without a subject's name */
	const char *fix;       /* the way out, for PROGRAM_CANNOT_RECORD; static */
};

/*
 * Finds `name` as execvp(3) would (in $PATH unless it has a slash) and examines the file, and its
 * interpreter if it is a script with #!. A file that is neither a script nor ELF is PROGRAM_OK: the
 * kernel may know its format, and else it is run by a shell, as execvp(3) does. The only error is
 * lack of memory. Call program_deinit() for *ret in any case.
 */
struct error *program_examine(const char *name, struct program *ret) must_check_;
void program_deinit(struct program *program);

/* Returns whether the ELF file at `path` exports malloc; false also if it can't be read. */
bool program_defines_malloc(const char *path);

/*
 * Returns whether the ELF file at `path` has an allocator of its own, whose calls a preloaded
 * library can't see: a malloc that it exports or not, or a known allocator under another name
 * (je_malloc, mi_malloc…). Of a stripped file only the exported ones are known; false also if it
 * can't be read.
 */
bool program_has_own_malloc(const char *path);

/*
 * Does as program_examine() for callers that only start the program. If it can be recorded, returns
 * NULL; *ret_path is the file to execute and *ret_image the file that the process will run (the
 * caller frees both). Else returns an error with the reason and what to do, and sets *ret_state.
 */
struct error *program_find(
	const char *name, char **ret_path, char **ret_image, enum program_state *ret_state);

#endif
