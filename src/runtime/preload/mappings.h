/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program maps memory, gives it back or makes a thread; when a recording begins. May
 * touch: events, next definitions.
 *
 * With `run --mmap` mmap, munmap, mremap, brk, sbrk and stacks of threads are recorded, each with
 * its stack: enum hw_mappings. What libc maps for itself (its arenas, libraries) does not come by
 * these functions; nor does what a program maps by syscall().
 */
#ifndef RUNTIME_MAPPINGS_H
#define RUNTIME_MAPPINGS_H

#include "format/kinds.h"
#include "runtime/preload/events.h"
#include "runtime/preload/process.h"

/* enum hw_mappings, of the recording; a forked child has its parent's until it has one. */
extern uint32_t rt_mappings;

/* What a call has done: at first a range is mapped no longer, then another one is. No bytes: there
 * is no such range. */
struct rt_mapping {
	uint64_t gone_at, gone_bytes;
	uint64_t at, bytes;
	enum hw_map_kind kind;
	uint32_t flags; /* enum hw_map_flag, or'ed */
};

/* Prepares when a recording begins, as the shared memory says. */
void rt_mappings_prepare(struct rt_process *p);

/* Returns whether mappings are recorded; begins the recording if that is not known. */
bool rt_mappings_wanted(void);

/*
 * Both ends of an event around a call that gives memory back: what other threads do with that
 * memory afterwards comes later. `gone` of the mapping is known before; where the event goes to the
 * shared ring it is recorded then. rt_event_mapping_end() gets what came of it (NULL: the call
 * failed).
 */
struct rt_mapping_event {
	struct rt_process *p; /* NULL: nothing is recorded */
	struct rt_thread *t;  /* NULL: with p, by the shared ring */
	uint64_t before;
	uint32_t changes; /* of the mode, that it was decided by: see sampling.h */
	bool nested, with_stamp, gone_recorded;
};
void rt_event_mapping_begin(
	struct rt_mapping_event *event, const struct rt_mapping *mapping, uint64_t sp);
void rt_event_mapping_end(
	struct rt_mapping_event *event, const struct rt_mapping *mapping, struct rt_caller caller);

/* Writes the four words of a mapping; returns how many. */
static inline uint32_t rt_put_map(uint64_t *w, const struct rt_mapping *mapping, uint32_t stack)
{
	w[0] = HW_R_MAP | HW_R_STAMPED | mapping->at << 8;
	w[1] = stack | (uint64_t)mapping->kind << 32 | (uint64_t)mapping->flags << 40;
	w[2] = mapping->bytes;
	w[3] = sys_tsc_fenced();
	return 4;
}

#endif
