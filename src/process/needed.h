/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names in a program and in the libraries that it is linked with, before it is started. */
#ifndef PROCESS_NEEDED_H
#define PROCESS_NEEDED_H

#include <stdbool.h>

/*
 * Whether a text is part of a name that an ELF program, or a library that the dynamic linker will
 * load with it, defines or refers to; of the program also names that it does not export. What it
 * loads later, by dlopen(3), is not looked at; a file that can't be read has no names.
 */
bool needed_mention(const char *program, const char *text);

#endif
