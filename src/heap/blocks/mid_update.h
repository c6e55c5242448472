/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that are in the middle of changing an allocator's metadata: a core that gcore wrote, or
 * a process, may stop anywhere. Lists are half changed then, which looks as damage does.
 *
 * A thread is amid if the address of what describes the metadata is in its registers or innermost
 * frames, and it does nothing else: what died there, or aborts, has found damage.
 */
#ifndef HEAP_MID_UPDATE_H
#define HEAP_MID_UPDATE_H

#include "process/address_space.h"

/* Returns whether a thread has one of these addresses at hand, and is in no system call but one
 * that gets or gives back memory. `is_code`: whether it may be there at all; NULL: anywhere. */
bool mid_update_any(const struct address_space *space, const uint64_t *addresses, size_t count,
	bool (*is_code)(const void *context, uint64_t pc), const void *context);

#endif
