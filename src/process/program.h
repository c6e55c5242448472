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

/* What is known of a program file. Strings are the struct's own. */
struct program {
	enum program_state state;
	char *path;       /* the file to execute; NULL: PROGRAM_NOT_FOUND in $PATH */
	char *image;      /* what the process is made of: path, or the interpreter of a script; if
			     state is not PROGRAM_OK, the file that is at fault */
	unsigned scripts; /* interpreters between the two */
	bool is_elf;      /* image is an ELF program that can be recorded, and could be read */
	bool own_malloc;  /* it defines malloc itself: its calls of it can't be seen */
	char *why;        /* NULL for PROGRAM_OK; else a sentence without a subject's name */
	const char *fix;  /* the way out, for PROGRAM_CANNOT_RECORD; static */
};

/*
 * Finds `name` as execvp(3) would (in $PATH unless it has a slash) and looks at the file, and at
 * its interpreter if it is a script with #!. What is neither a script nor ELF is PROGRAM_OK: the
 * kernel may know it, and if it does not it is a shell's, as for execvp(3). An error is lack of
 * memory; *ret is to be given back by program_deinit() in any case.
 */
struct error *program_examine(const char *name, struct program *ret) must_check_;
void program_deinit(struct program *program);

/* Whether the ELF file at `path` defines malloc for others to find; false too if it can't be read.
 */
bool program_defines_malloc(const char *path);

/*
 * Whether it has an allocator of its own, whose calls nothing loaded can see: a malloc that it
 * exports or keeps to itself, or one of the known allocators under another name (je_malloc,
 * mi_malloc…). Of a stripped file the exported ones alone are known; false too if it can't be read.
 */
bool program_has_own_malloc(const char *path);

/*
 * The same for who only wants to start it. On PROGRAM_OK *ret_path is the file to execute,
 * *ret_image what the process is made of (caller frees both), and NULL is returned. Otherwise an
 * error whose message is one sentence with the reason and the way out, and *ret_state says which
 * kind.
 */
struct error *program_find(
	const char *name, char **ret_path, char **ret_image, enum program_state *ret_state);

#endif
