/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: in every hook. May touch: the thread's distance to the next sample, the filter of
 * sampled addresses; for a sampled block the process's sampler.
 *
 * In a sampled recording nearly every call is nothing but the real function: one thread-local
 * subtraction before an allocation, one look into a small table before a free. In an exact one the
 * distance is always 0, so that no size is below it.
 *
 * The mode can change (hw_shm.mode_changes). A thread looks whether it has before it decides
 * whether an event is recorded, and passes on the number of changes that it has seen with the
 * event: what is decided in one mode is written as of that mode, in a generation of the ring that
 * says the number, or nowhere. rt_mode and what belongs to it are never of an earlier mode than any
 * thread has seen, but may be of a later one: then the event is of a mode that is over, and in no
 * recording.
 *
 * The usual free and the usual exact event don't look. The free of a block of a new mode is not
 * passed over, since rt_mode and rt_filter were set before that block was given out. An exact
 * thread looks when its ring's limit lets it, after RT_TIME_EVERY words at most; if that is single,
 * no other one can have given it a block of a new mode, and a handler of its own that has seen the
 * change draws the limit in.
 */
#ifndef RUNTIME_SAMPLING_H
#define RUNTIME_SAMPLING_H

#include "runtime/core/sampler.h"
#include "runtime/preload/process.h"

enum rt_mode {
	RT_MODE_UNKNOWN = 0, /* the process's recording has not begun */
	RT_MODE_EXACT = 1,   /* or none at all */
	RT_MODE_SAMPLE = 2,
	/* As exact, but allocations are not recorded until the collector wants them again. */
	RT_MODE_STOPPED = 3,
};

/* Set when a recording begins; a forked child has its parent's until then. */
extern uint32_t rt_mode;
extern uint64_t rt_filter[RT_FILTER_WORDS];

/* No block is a sample, now and in forked children: only mappings, or errors, are recorded. */
extern bool rt_without_heap;

/* The present number of changes of the mode; of a forked child until it is recorded its parent's,
 * of a process that is not recorded any. Never NULL. */
extern const uint32_t *rt_changes;

/* Does what rt_mode_look() does if there is anything new. */
uint32_t rt_mode_adopt(bool begins);

/*
 * Looks whether the mode has changed, before the thread decides about an event. begins: if the
 * process's own recording has not begun, it does first. A forked child has its parent's mode and
 * number until then, and what was decided by these must not get into a recording that has others:
 * such a child is known by its threads having no rings. Returns the number of changes that the
 * event is decided by. Async-signal-safe.
 */
static inline uint32_t rt_mode_look(bool begins)
{
	const struct rt_here *here = &rt_here;
	uint32_t now = __atomic_load_n(rt_changes, __ATOMIC_ACQUIRE);
	return rt_likely(now == here->changes && (!begins || here->thread->ring))
		       ? now
		       : rt_mode_adopt(begins);
}

/* Returns whether an allocation is not sampled and needs no event; called before it. If the mode
 * has changed, it may. */
static inline bool rt_passes(size_t size)
{
	uint64_t until = rt_here.until;
	if (rt_likely(size < until) &&
		rt_likely(__atomic_load_n(rt_changes, __ATOMIC_RELAXED) == rt_here.changes)) {
		rt_here.until = until - size - 1;
		return true;
	}
	return false;
}

/* Returns whether a free needs no event, since the block was not sampled; called before it. */
static inline bool rt_passes_free(const void *block)
{
	return rt_mode == RT_MODE_SAMPLE && !rt_filter_has(rt_filter, (uint64_t)block);
}

/* Prepares when a recording begins, as the shared memory says, whose page with its head is mapped
 * at `head` for this process and its children. */
void rt_sampling_prepare(struct rt_process *p, const struct hw_shm *head);

/* Returns whether the recording samples; begins the recording if that is not known. */
bool rt_sampling(void);

/*
 * Returns whether an allocation is to be recorded in the recording's mode; after rt_passes()
 * returned false or was not called. If it is sampled, its free will be recorded, too. `block` NULL
 * is a failed call, which is sampled by its requested size.
 */
bool rt_sampling_records(const void *block, size_t size);

/* Begins to leave out allocations, in an exact recording. */
void rt_stop_begin(void);

/* Looks whether an exact recording has been stopped: called now and then, while it is not known
 * that it has. */
static inline void rt_stop_look(const struct hw_shm *shm)
{
	if (rt_unlikely(__atomic_load_n(&shm->stopped, __ATOMIC_RELAXED)))
		rt_stop_begin();
}

/* Returns whether allocations are not recorded now, in a recording that is exact otherwise; looks
 * whether they are wanted again. */
bool rt_stopped(void);

/*
 * A block of one of the program's own pools, as sampling knows it: the block of malloc that the
 * pool took it from may have the same address. For rt_sampling_records() and the like.
 */
#define RT_POOL_BLOCK (1ull << 63)
static inline const void *rt_pool_block(const void *block)
{
	return (const void *)((uint64_t)block | RT_POOL_BLOCK);
}

/* Returns whether a free is to be recorded; called before it. */
bool rt_sampling_records_free(const void *block);

/* Called when a block for which rt_sampling_records_free() returned true was not freed after all.
 */
void rt_sampling_goes_on(const void *block);

#endif
