/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How an event counts: in the figures of its site, of its thread and of the heap. The collector,
 * both step by step and in its fast loop (capture/recorder), and the reader's replay
 * (sources/events) call these functions and have no others, so that a figure is the same by all
 * roads. Quantities are defined in docs/quantities.md.
 *
 * A site's share of the peak needs no snapshot at each new peak: the time from one peak to the next
 * is an epoch. A site remembers the epoch of its last change and, before its first change in a
 * later one, catches up: its live figures have not moved since, so they are its share of the latest
 * peak. O(1) an event, exact.
 */
#ifndef ACCOUNTS_ACCOUNTS_H
#define ACCOUNTS_ACCOUNTS_H

#include "accounts/counters.h"
#include "format/hpw.h"

/* All sites together. */
struct heap_counters {
	uint64_t live_blocks, live_bytes;
	uint64_t live_padding; /* what live blocks lack to whole HPW_PADDED bytes */
	uint64_t
		highest_bytes; /* live at any moment since the part began; without parts the peak */
	uint64_t epoch, peak_epoch; /* the latest, and that which began with the latest peak */
	uint64_t peak_blocks, peak_bytes;
	uint64_t failed;
};

/* A block that is freed. */
struct account_free {
	uint64_t size;
	bool temporary, same_frame;
};

static inline uint64_t account_padding(uint64_t size)
{
	return (0 - size) % HPW_PADDED;
}

/* A site is about to change that did so last in the epoch `seen`; or its figures are about to be
 * read. The caller notes that it has seen heap->epoch. */
static inline void account_catch_up(
	const struct heap_counters *heap, struct site_counters *site, uint64_t seen)
{
	if (seen >= heap->peak_epoch)
		return;
	site->peak_blocks = site->live_blocks;
	site->peak_bytes = site->live_bytes;
}

/* More is live than ever before in this part, and maybe at all. True: it is the peak. */
static inline bool account_higher(struct heap_counters *heap)
{
	heap->highest_bytes = heap->live_bytes;
	if (heap->live_bytes <= heap->peak_bytes)
		return false;
	heap->peak_bytes = heap->live_bytes;
	heap->peak_blocks = heap->live_blocks;
	heap->peak_epoch = ++heap->epoch;
	return true;
}

/*
 * An allocation, at a site that has caught up. `same_size`: the caller knows that the site had one
 * of that size in this part, so that its extremes remain valid. True: the peak is now.
 */
static inline __attribute__((always_inline)) bool account_alloc(struct heap_counters *heap,
	struct site_counters *site, struct call_counters *thread, uint64_t size, bool same_size)
{
	if (!same_size) {
		if (size < site->min_size || !site->allocations)
			site->min_size = size;
		if (size > site->max_size)
			site->max_size = size;
	}
	site->allocations++;
	site->allocated_bytes += size;
	site->live_blocks++;
	site->live_bytes += size;
	thread->allocations++;
	thread->allocated_bytes += size;
	heap->live_blocks++;
	heap->live_bytes += size;
	heap->live_padding += account_padding(size);
	return __builtin_expect(heap->live_bytes > heap->highest_bytes, 0) && account_higher(heap);
}

/* A free of a known block of a site that has caught up, by a thread. */
static inline __attribute__((always_inline)) void account_free(struct heap_counters *heap,
	struct site_counters *site, struct call_counters *thread, const struct account_free *freed)
{
	site->live_blocks--;
	site->live_bytes -= freed->size;
	site->temporary += freed->temporary;
	site->same_frame += freed->same_frame;
	thread->frees++;
	thread->temporary += freed->temporary;
	heap->live_blocks--;
	heap->live_bytes -= freed->size;
	heap->live_padding -= account_padding(freed->size);
}

/* A free of a block that is not known. */
static inline void account_unknown_free(struct call_counters *thread)
{
	thread->frees++;
}

/* A call for `size` bytes that failed, at a site that has caught up. */
static inline void account_failed(
	struct heap_counters *heap, struct site_counters *site, uint64_t size)
{
	site->failed++;
	if (size > site->max_failed_size)
		site->max_failed_size = size;
	heap->failed++;
}

/* A part begins: highest_bytes is its own from here on. */
static inline void account_begin_part(struct heap_counters *heap)
{
	heap->epoch++;
	heap->highest_bytes = heap->live_bytes;
}

/* Figures begin anew: what is live stays, and is the first peak. */
static inline void account_begin_anew(struct heap_counters *heap)
{
	account_begin_part(heap);
	heap->peak_epoch = heap->epoch;
	heap->peak_blocks = heap->live_blocks;
	heap->peak_bytes = heap->live_bytes;
	heap->failed = 0;
}

#endif
