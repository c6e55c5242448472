/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: in every hook. May touch: see state.h.
 *
 * Which calls are nothing but the real function, as preload/sampling.h has it: of a sampled
 * recording nearly all. The thread's distance to its next sample is in its row of the table of
 * threads, and is looked at only where the row is at the place at which it is looked for first; the
 * others of its threads take the longer way, to the same decision. In a forked child all of it is
 * zeros: no row is a thread's, and no block is a sample.
 *
 * The mode of an attached process never changes, so nobody looks whether it has.
 */
#ifndef RUNTIME_ATTACH_SAMPLING_H
#define RUNTIME_ATTACH_SAMPLING_H

#include "runtime/attach/state.h"

/* Returns what samples are taken with if the usual call has nothing else to look at; NULL: every
 * event is recorded, or none, or see at_sampling_slowly(). */
static inline struct at_own *at_sampling(void)
{
	return (struct at_own *)__atomic_load_n(&hw_attach.sampled, __ATOMIC_RELAXED);
}

/* Returns what samples are taken with, also in processes in which it depends on the caller whether
 * a call is an event (hw_attach.inner): there each call takes the longer way. */
static inline struct at_own *at_sampling_slowly(void)
{
	return (struct at_own *)__atomic_load_n(&hw_attach.samples, __ATOMIC_RELAXED);
}

/* Takes an allocation that is not sampled off the distance. Returns false if it may be one. */
static inline bool at_distance_passes(struct at_thread *row, size_t size)
{
	/* Read once: a handler may draw another one in between. */
	uint64_t until = __atomic_load_n(&row->until, __ATOMIC_RELAXED);
	if (rt_unlikely(size >= until))
		return false;
	__atomic_store_n(&row->until, until - size - 1, __ATOMIC_RELAXED);
	return true;
}

/* Returns whether an allocation is not sampled and needs no event; called once for each, or not at
 * all. */
static inline bool at_passes(size_t size)
{
	struct at_own *own = at_sampling();
	if (rt_unlikely(!own)) /* unlikely where it counts: the rest of an exact event is more */
		return false;
	uint64_t pointer = sys_thread_pointer();
	struct at_thread *row = at_thread_first(own, pointer);
	return rt_likely(__atomic_load_n(&row->pointer, __ATOMIC_RELAXED) == pointer) &&
	       at_distance_passes(row, size);
}

/* Returns whether a free needs no event, since the block was not sampled; called before it. */
static inline bool at_passes_free(const void *block)
{
	const struct at_own *own = at_sampling();
	return rt_likely(own) && rt_likely(!rt_filter_has(own->filter, (uint64_t)block));
}

/* Returns it for a free that has taken the longer way. */
static inline bool at_passes_free_slowly(const void *block)
{
	const struct at_own *own = at_sampling_slowly();
	return own && !rt_filter_has(own->filter, (uint64_t)block);
}

/* Reads the mode, at the start. */
void at_sampling_prepare(struct at_own *own);

/* Returns whether an allocation is sampled, for which at_passes() has not returned true; before its
 * event, in a sampled recording. A failed call is sampled by the size that it asked
 * for. */
bool at_is_sampled(size_t size);

/* Adds a sampled block, in its event: its free will be recorded, too. Returns false if there is no
 * room, which is counted. */
bool at_sample_add(struct at_own *own, const void *block);

/* Returns whether a block that is about to be freed was sampled; in its event. It is none any more.
 */
bool at_sample_take(struct at_own *own, const void *block);

#endif
