/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program file before it is started: where it is, and whether a preloaded library can record it.
 */
#ifndef PROCESS_PROGRAM_H
#define PROCESS_PROGRAM_H

#include "base/error.h"

enum program_state {
	PROGRAM_OK,
	PROGRAM_NOT_FOUND,      /* exit status 127, as env(1) has it */
	PROGRAM_NOT_EXECUTABLE, /* exit status 126 */
	PROGRAM_CANNOT_RECORD,  /* static, set-user-ID, 32-bit, sanitizer, … */
};

/*
 * Finds `name` as execvp(3) would (in $PATH unless it has a slash) and looks at the file, and at
 * its interpreter if it is a script with #!. What is neither a script nor ELF is PROGRAM_OK: the
 * kernel may know it, and if it does not it is a shell's, as for execvp(3). On PROGRAM_OK *ret_path
 * is the file to execute (caller frees) and NULL is returned. Otherwise an error whose message is
 * one sentence with the reason and the way out, and *ret_state says which kind.
 */
struct error *program_find(const char *name, char **ret_path, enum program_state *ret_state);

#endif
