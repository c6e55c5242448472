/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which mappings of a running process are heaps of allocators other than glibc's, by the
 * allocators' tables (heap/mapping_owners.h). Pages that are not in memory are not read.
 */
#ifndef SOURCES_MAPS_LIVE_ALLOCATORS_H
#define SOURCES_MAPS_LIVE_ALLOCATORS_H

#include <sys/types.h>

#include "base/error.h"
#include "model/memory_look.h"

enum live_allocators_result {
	LIVE_ALLOCATORS_KNOWN,   /* also if nothing had to be looked at */
	LIVE_ALLOCATORS_UNKNOWN, /* the process can't be read */
	LIVE_ALLOCATORS_ENDED,   /* reading ended at its bound: some may be missing */
};

/* Sets owner and `whose` of mappings that no owner is known of. The only error is lack of memory.
 */
struct error *live_allocators_find(
	pid_t pid, struct memory_look *look, enum live_allocators_result *ret) must_check_;

#endif
