/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stack that the kernel made for the first thread. */
#ifndef ROOTS_MAIN_STACK_H
#define ROOTS_MAIN_STACK_H

#include "process/address_space.h"

/* Returns whether a mapping is that stack. */
bool main_stack_is(const struct address_space *space, const struct process_map *map);

/* Returns where arguments and environment begin on it, which stay when the first thread has ended;
 * 0 if they are not found. */
uint64_t main_stack_bottom(const struct address_space *space, const struct process_map *map);

#endif
