/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which files were mapped where, of a core that does not say it (NT_FILE). */
#ifndef PROCESS_ADDRESS_LINKS_H
#define PROCESS_ADDRESS_LINKS_H

#include "process/address_space.h"

/*
 * Fills space->core.mapped from what else tells it: the dynamic linker's list of what it has
 * loaded, the auxiliary vector, ELF headers that segments begin with. `files` may be NULL. The only
 * errors are of memory.
 */
struct error *address_links_find(
	struct address_space *space, const struct address_files *files) must_check_;

#endif
