/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program frees a plain block, any thread, any moment. May touch: the queues.
 *
 * Freed blocks that are kept from reuse: first in, first out, until they are more than
 * settings.keep bytes, or a thousand in each queue. A few queues, so that threads seldom wait for
 * each other; each may hold its share of the bytes, and a program of one thread has but one queue.
 */
#ifndef RUNTIME_GUARD_KEPT_H
#define RUNTIME_GUARD_KEPT_H

#include "runtime/guard/guard.h"

struct kept_entry {
	uint64_t start, bytes;
};

#define KEPT_OUT 4u

/* Adds a block. Writes blocks that are no more kept to `out` (KEPT_OUT of them), and returns how
 * many; the new one is among them if it is too large to be kept. */
unsigned kept_add(struct kept_entry entry, struct kept_entry *out);

/* Around a fork: the child finds no queue in the midst of a change. */
void kept_lock_all(void);
void kept_unlock_all(bool child);

#endif
