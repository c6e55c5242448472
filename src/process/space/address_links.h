/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds which files were mapped where in a core without the note NT_FILE. */
#ifndef PROCESS_ADDRESS_LINKS_H
#define PROCESS_ADDRESS_LINKS_H

#include "process/address_space.h"

/*
 * Fills space->core.mapped from other sources: the dynamic linker's list of loaded files, the
 * auxiliary vector, ELF headers at the start of segments. `files` may be NULL. The only error is
 * lack of memory.
 */
struct error *address_links_find(
	struct address_space *space, const struct address_files *files) must_check_;

#endif
