/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: hooks of an attached process. May touch: see state.h.
 *
 * The events that hooks record. An event runs between row->busy = the caller's stack pointer and
 * row->busy = 0, as in preload/events.c; all events are stamped: allocations after the real call,
 * frees before it. One that interrupts another of its thread (a signal handler's), and those of
 * threads without a ring, go to the shared ring.
 */
#ifndef RUNTIME_ATTACH_EVENTS_H
#define RUNTIME_ATTACH_EVENTS_H

#include "format/kinds.h"
#include "runtime/attach/sampling.h"
#include "runtime/attach/state.h"

struct at_caller {
	uint64_t pc, sp, rbp;
};

/* The hook's own caller: see RT_CALLER() of preload/events.h. */
#define AT_CALLER()                                                                                \
	({                                                                                         \
		const uint64_t *at_fp = __builtin_frame_address(0);                                \
		__asm__ volatile("" : "+r"(at_fp)::"memory");                                      \
		(struct at_caller){at_fp[1], (uint64_t)(at_fp + 2), at_fp[0]};                     \
	})

#define AT_HOOK __attribute__((visibility("default"), noinline))
/* The process's own function. */
#define AT_REAL(function, type) ((type)hw_attach.real[function])

typedef void *at_malloc_function(size_t size);
typedef void *at_realloc_function(void *block, size_t size);
typedef void *at_resize_function(void *block, size_t size, uint64_t flags);
typedef void at_free_function(void *block);
typedef void *at_aligned_alloc_function(size_t alignment, size_t size);

/* An allocation by a call of the real function, recorded with the hook's caller unless it is not
 * sampled. The value is the block. */
#define AT_RECORDED(call, bytes, kind)                                                             \
	({                                                                                         \
		void *at_block = (call);                                                           \
		size_t at_bytes = (bytes);                                                         \
		if (!at_passes(at_bytes))                                                          \
			at_record_alloc(at_block, at_bytes, (kind), AT_CALLER());                  \
		at_block;                                                                          \
	})

/* Records a free of a block, before it, unless that is NULL or was not sampled. */
#define AT_RECORDED_FREE(block, kind)                                                              \
	do {                                                                                       \
		if ((block) && !at_passes_free(block))                                             \
			at_record_free((block), (kind), AT_CALLER());                              \
	} while (0)

/* Records an allocation of `size` bytes that gave `block`, or failed (NULL), unless it is not
 * sampled; at_passes() has not returned true for it. Returns `block`. */
void *at_record_alloc(void *block, size_t size, enum hw_alloc_kind kind, struct at_caller caller);

/* Records that a block (not NULL) is about to be freed, unless it was not sampled. */
void at_record_free(void *block, enum hw_free_kind kind, struct at_caller caller);

/* How a block is resized: by realloc, to which a third argument makes no difference, or jemalloc's
 * rallocx. */
struct at_resize {
	at_resize_function *real;
	uint64_t flags; /* rallocx's, an alignment, or none */
};

/* Calls `how` for a block that is not NULL and records it. Returns the result. */
void *at_record_realloc(
	const struct at_resize *how, void *block, size_t size, struct at_caller caller);

/* Forks by a function of the process: see at_keep_for_child(). */
int at_fork(int (*real)(void));

/* Looks for unloaded modules, after a dlclose. */
void at_review_modules(uint64_t sp);

#endif
