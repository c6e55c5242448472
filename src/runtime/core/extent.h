/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: any thread, in events. May touch: the calling thread's ring and its private state; raw
 * system calls.
 *
 * How far down the thread's stack reaches: an allocation that is lower than those before it says so
 * in the ring, in its place (HW_R_STACK). What counts as before begins anew when the collector
 * asks, and every this many words, since a collector that is late asks late. The usual allocation
 * does one comparison. A stack pointer that is in other memory (a coroutine's, an alternate signal
 * stack) says nothing: what is between it and the part of the stack that is known can be read as a
 * whole only if it is the same stack, since a guard page or a hole lies below each.
 */
#ifndef RUNTIME_EXTENT_H
#define RUNTIME_EXTENT_H

#include "runtime/core/ring.h"

/* After this part of the ring a thread records anew how deep its stack is. */
#define RT_EXTENT_PART 16

/* Returns whether the stack has become larger, or its size was not recorded yet. */
static inline bool rt_extent_grows(const struct rt_thread *t, uint64_t sp)
{
	return t->stack_below - sp < t->stack_room;
}

static inline bool rt_extent_wanted(const struct rt_thread *t, uint64_t sp)
{
	return rt_extent_grows(t, sp) ||
	       __atomic_load_n(&t->ring->stack_asked, __ATOMIC_RELAXED) != t->stack_asked;
}

/* Lets the stack's size be recorded before the next record. first: the top of the stack of the
 * process's first thread; pointer: the thread's control block, which glibc puts at the top of other
 * stacks. */
void rt_extent_note(struct rt_thread *t, uint64_t sp, uint64_t first, uint64_t pointer);

/* Lets the next event record how large the stack is if the collector has asked for that, or much
 * was written since. */
static inline void rt_extent_renew(struct rt_thread *t)
{
	if (!t->stack_top)
		return;
	if (t->head >= t->stack_due ||
		__atomic_load_n(&t->ring->stack_asked, __ATOMIC_RELAXED) != t->stack_asked) {
		t->stack_below = t->stack_top - 1;
		t->stack_room = t->stack_top - t->stack_end;
		t->stack_due = t->head + t->size / RT_EXTENT_PART;
	}
}

#endif
