/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the modules of an address space by the ELF headers in its memory. */
#ifndef PROCESS_ADDRESS_MODULES_H
#define PROCESS_ADDRESS_MODULES_H

#include "process/address_space.h"

/* Fills space->modules from its mappings. `files` finds files of modules; NULL if all memory is
 * there. */
struct error *address_modules_find(
	struct address_space *space, const struct address_files *files) must_check_;

#endif
