/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: an event has no ring of its own. May touch: the shared ring, the process, futexes.
 *
 * The shared ring takes the events of threads that came when all rings were taken, and those of
 * signal handlers that interrupted an event of their own thread. It has one writer at a time, the
 * holder of rt_process->shared_lock. Every record is after a word that names its thread, and is
 * stamped.
 *
 * Who finds the lock taken sleeps for as long as that is worth it: while the lock changes hands, or
 * its holder waits for room and the collector moves. When nothing of that has happened for
 * RT_WAIT_MAX_NS the event is dropped, and others do not wait for the same holder again. A handler
 * that interrupted the holder on its own thread never waits. A thread that ended inside an event
 * (cancelled, say) leaves the lock locked: a waiting thread detects that, and takes it over.
 *
 * A realloc is recorded in two parts, because other threads' events come between its beginning,
 * which makes the old block's place free for others, and the moment when its outcome is known:
 * HW_R_MOVING before, the outcome after.
 *
 * All of these are called between the start and the end of an event; `sp` is the stack pointer that
 * identifies it (events.c). `changes` is the number of changes of the mode that it was decided by:
 * if the shared ring has seen more of them, that mode is over, and the event in no recording. None
 * of them touches errno.
 */
#ifndef RUNTIME_SHARED_H
#define RUNTIME_SHARED_H

#include "runtime/preload/events.h"
#include "runtime/preload/process.h"

/* Does what rt_event_alloc() does, for a block or a failure (NULL). */
void rt_shared_alloc(struct rt_process *p, uint32_t changes, void *block, size_t size,
	enum hw_alloc_kind kind, struct rt_caller caller);

void rt_shared_free(
	struct rt_process *p, uint32_t changes, void *block, enum hw_free_kind kind, uint64_t sp);

/* Calls realloc and records it; if `p` is NULL, it is not recorded. Returns the result. */
void *rt_shared_realloc(
	struct rt_process *p, uint32_t changes, void *block, size_t size, struct rt_caller caller);

/* Records a fork. Returns the stamp of the record; 0 if there was no room. */
uint64_t rt_shared_fork(struct rt_process *p, uint32_t changes, uint64_t sp);

/* What rt_event_annotate() says. */
void rt_shared_annotate(struct rt_process *p, uint32_t changes, enum hw_annotation what,
	uint64_t address, uint64_t bytes, uint64_t sp);

/* Does what rt_event_mark() does. */
void rt_shared_mark(
	struct rt_process *p, uint32_t changes, uint32_t bytes, const uint64_t *name, uint64_t sp);

/*
 * Records an error (check_bridge.h). It waits for room even in a handler: nobody reports it again.
 * Returns whether there was any.
 */
bool rt_shared_error(struct rt_process *p, uint32_t changes, enum hw_error_kind kind,
	const struct hw_error_report *report, uint64_t sp);

/* Does what rt_event_pool() does. */
void rt_shared_pool(struct rt_process *p, uint32_t changes, const struct rt_pool_words *pool,
	struct rt_caller caller);

/* Drops the unfinished event of this thread that holds the lock, if there is one. Signals may come.
 */
void rt_shared_abandon(struct rt_process *p);

/* Resets the lock in a forked child that has its parent's memory: another holder is not in it. */
void rt_shared_inherit(struct rt_process *p);

/* Record what a call has mapped, or what one is about to unmap: see mappings.h. */
struct rt_mapping;
void rt_shared_map(struct rt_process *p, uint32_t changes, const struct rt_mapping *mapping,
	bool gone_recorded, struct rt_caller caller);
void rt_shared_unmap(
	struct rt_process *p, uint32_t changes, uint64_t at, uint64_t bytes, uint64_t sp);

#endif
