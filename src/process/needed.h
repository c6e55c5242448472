/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names in a program and in the libraries that it is linked with, before it is started. */
#ifndef PROCESS_NEEDED_H
#define PROCESS_NEEDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether a text is part of a name that an ELF program, or a library that the dynamic linker will
 * load with it, defines or refers to; of the program also names that it does not export. What it
 * loads later, by dlopen(3), is not looked at; a file that can't be read has no names.
 */
bool needed_mention(const char *program, const char *text);

/*
 * Where a program has global functions by these names, as its whole table of symbols says:
 * addresses as linked, 0: nowhere, or nobody knows.
 */
void program_functions(
	const char *program, const char *const *names, size_t count, uint64_t *ret_addresses);

#endif
