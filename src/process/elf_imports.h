/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which names a program and the libraries that it is linked with define or import, before it is
 * started. */
#ifndef PROCESS_ELF_IMPORTS_H
#define PROCESS_ELF_IMPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Returns whether `text` is part of a name that an ELF program, or a library that the dynamic
 * linker will load with it, defines or refers to; of the program also of a name that it does not
 * export. Libraries that are loaded later, by dlopen(3), are not examined. A file that can't be
 * read has no names.
 */
bool elf_mentions_name(const char *program, const char *text);

/*
 * Gives the addresses (as linked) of a program's global functions with these `count` names, from
 * its full symbol table; 0 of a function that is not there, or unknown.
 */
void elf_find_functions(
	const char *program, const char *const *names, size_t count, uint64_t *ret_addresses);

#endif
