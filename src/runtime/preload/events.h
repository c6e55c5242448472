/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: any thread, any moment, in every hook. May touch: the thread's ring and private state,
 * libc's
 * __libc_single_threaded.
 *
 * What a hook tells. `pc`, `sp` and `rbp` describe the caller at its call of the hook.
 */
#ifndef RUNTIME_EVENTS_H
#define RUNTIME_EVENTS_H

#include "format/kinds.h"
#include "format/shm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rt_caller {
	uint64_t pc, sp, rbp;
};

/*
 * The hook's own caller. Hooks are built with a frame pointer: [rbp] is the caller's rbp, [rbp + 8]
 * the return address, rbp + 16 the caller's stack pointer (AMD64 ABI 1.0, figure 3.3).
 */
#define RT_CALLER()                                                                                \
	({                                                                                         \
		const uint64_t *rt_fp = __builtin_frame_address(0);                                \
		__asm__ volatile("" : "+r"(rt_fp)::"memory"); /* now: not kept over a call */      \
		(struct rt_caller){rt_fp[1], (uint64_t)(rt_fp + 2), rt_fp[0]};                     \
	})

/* After an allocation that gave `block`, or failed (NULL). Returns block. */
void *rt_event_alloc(
	void *block, size_t size, enum hw_alloc_kind kind, uint64_t pc, uint64_t sp, uint64_t rbp);

/* Whether the latest event of this thread was the allocation of `block`, and no
 * rt_event_forget_latest() came after. */
bool rt_event_is_latest(const void *block);
void rt_event_forget_latest(void);
/* Whether an allocation of this thread was told as failed since that. */
bool rt_event_has_failed(void);

/* Before a block (not NULL) is given back. */
void rt_event_free(void *block, enum hw_free_kind kind, uint64_t pc, uint64_t sp, uint64_t rbp);

/*
 * After rt_event_free() of the same block: from which stack it is given back. Not in sampled
 * recordings.
 */
void rt_event_freed_from(void *block, uint64_t pc, uint64_t sp, uint64_t rbp);

/* The event that this thread is in will not go on: drops what it left half done. Signals may come.
 */
void rt_event_abandon(void);

/*
 * Between these two calls a free of `block`, which has been told of already, is not told again.
 */
void rt_event_ending(const void *block);
void rt_event_ended(void);

/*
 * Before a fork: its stamp, which is recorded among the events of this thread; 0: it is not
 * (nothing is recorded, not event by event, or there is no room). A forked child that has told
 * nothing yet begins to be recorded: it is what its own children come from. Async-signal-safe.
 */
uint64_t rt_event_fork(uint64_t sp);

/* What the program says of its memory: see enum hw_told. */
void rt_event_told(enum hw_told what, uint64_t address, uint64_t bytes, uint64_t sp);

/* The program marks this moment: see rt_put_mark(). Async-signal-safe. */
void rt_event_mark(uint32_t bytes, const uint64_t *name, uint64_t sp);

/* Does and records a realloc of a block that is not NULL. */
void *rt_event_realloc(void *block, size_t size, struct rt_caller caller);

#endif
