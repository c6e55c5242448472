/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts that programs give libraries in a variable, as their malloc_conf, before they run. */
#ifndef PROCESS_ELF_TEXT_H
#define PROCESS_ELF_TEXT_H

/*
 * Returns the text that an exported variable (const char *) of an ELF program points to when the
 * program is loaded; the caller frees it. NULL: there is no such variable, it points to nothing, or
 * there is no memory.
 */
char *elf_find_text(const char *program, const char *variable);

#endif
