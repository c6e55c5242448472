/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What mappings of a running process are for, as far as their bytes prove it:
 *
 *	arena          a header of glibc's (malloc/arena.c, heap_info) at a multiple of its size
 *	thread stack   the stack pointer of a waiting thread (/proc/PID/task/TID/syscall), or
 *glibc's descriptor of a thread at its end, which points to itself malloc block   a chunk's header
 *with the mark of its own mapping, as long as the mapping
 */
#ifndef SOURCES_MAPS_LIVE_OWNERS_H
#define SOURCES_MAPS_LIVE_OWNERS_H

#include <sys/types.h>

#include "base/error.h"
#include "model/memory_look.h"

/* Fills in owners. *ret_known: the process's memory could be read; false: they stay as they are. */
struct error *live_owners_find(pid_t pid, struct memory_look *look, bool *ret_known) must_check_;

#endif
