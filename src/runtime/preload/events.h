/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: any thread, any moment, in every hook. May touch: the thread's ring and private state,
 * libc's
 * __libc_single_threaded.
 *
 * The events that hooks record. `pc`, `sp` and `rbp` describe the caller at its call of the hook.
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

/* Records an allocation of `size` bytes that gave `block`, or failed (NULL). Returns `block`. */
void *rt_event_alloc(
	void *block, size_t size, enum hw_alloc_kind kind, uint64_t pc, uint64_t sp, uint64_t rbp);

/* Returns whether the latest event of this thread was the allocation of `block` and was not
 * forgotten by rt_event_forget_latest(). */
bool rt_event_is_latest(const void *block);
void rt_event_forget_latest(void);
/* Returns whether a failed allocation of this thread was recorded since that. */
bool rt_event_has_failed(void);

/* As rt_event_alloc(), for a block of Python's allocator: `kind` is one of these. */
void *rt_event_object(
	void *block, size_t size, enum hw_alloc_kind kind, uint64_t pc, uint64_t sp, uint64_t rbp);

/* Calls realloc of an allocator of Python's for a block that is not NULL, and records it. Returns
 * the result. */
struct rt_python_allocator;
void *rt_event_object_realloc(const struct rt_python_allocator *real, void *block, size_t size,
	enum hw_alloc_kind kind, struct rt_caller caller);

/* rt_here.python is set: returns whether that call still runs, of which a call at stack pointer
 * `sp` is a part. If not (control left it for good), clears it. */
bool rt_event_within_python(uint64_t sp);

/* Records that a block (not NULL) is about to be freed. */
void rt_event_free(void *block, enum hw_free_kind kind, uint64_t pc, uint64_t sp, uint64_t rbp);

/*
 * Records the stack of a free, after rt_event_free() of the same block. Not in sampled recordings.
 */
void rt_event_freed_from(void *block, uint64_t pc, uint64_t sp, uint64_t rbp);

/* Begins, or ends, a time in which the allocations of this thread are not recorded; these nest. */
void rt_event_ignore(bool begins);

/* Drops the unfinished event of this thread, which will not go on. Signals may come. */
void rt_event_abandon(void);

/*
 * Between these two calls a free of `block`, which was recorded already, is not recorded again.
 */
void rt_event_ending(const void *block);
void rt_event_ended(void);

/*
 * Records a fork, before it happens, and returns its stamp. Returns 0 if it was not recorded (there
 * is no recording, it has no single events, or there is no room). In a forked child without events
 * its own recording begins, for its children to refer to. Async-signal-safe.
 */
uint64_t rt_event_fork(uint64_t sp);

/* Records what the program says of its memory: see enum hw_annotation. */
void rt_event_annotate(enum hw_annotation what, uint64_t address, uint64_t bytes, uint64_t sp);

/* Records a mark at this moment: see rt_put_mark(). Async-signal-safe. */
void rt_event_mark(uint32_t bytes, const uint64_t *name, uint64_t sp);

/* Records what the program says of a pool. Async-signal-safe. */
struct rt_pool_words;
void rt_event_pool(const struct rt_pool_words *pool, struct rt_caller caller);

/* Calls realloc for a block that is not NULL and records it. Returns the result. */
void *rt_event_realloc(void *block, size_t size, struct rt_caller caller);

#endif
