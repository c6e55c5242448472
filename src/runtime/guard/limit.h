/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program starts; it reaches a bound, or changes what it may do; any thread. May
 * touch: the sums that are shown; procfs.
 *
 * Why less is guarded than was asked for, and what the system allows.
 */
#ifndef RUNTIME_GUARD_LIMIT_H
#define RUNTIME_GUARD_LIMIT_H

#include "runtime/guard/guard.h"

/* Notes that less is guarded, for the reader of the sums. */
void guard_limit_set(enum hw_check_limit why);

/* How many mappings a process may have (vm.max_map_count); what Linux sets by itself if that can't
 * be read. */
uint64_t guard_max_mappings(void);

/* The bytes of address space that may be used (RLIMIT_AS); UINT64_MAX: no limit. */
uint64_t guard_address_limit(void);

#endif
