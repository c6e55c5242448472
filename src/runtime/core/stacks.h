/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: any thread, any moment. May touch: the shared nodes and lines only.
 *
 * Call stacks as a tree in shared memory: a node is (parent, frame), so a stack is one number,
 * equal stacks are the same number in every thread, and the collector reads them without asking.
 */
#ifndef RUNTIME_STACKS_H
#define RUNTIME_STACKS_H

#include "format/shm.h"

#include <stdbool.h>
#include <stdint.h>

struct rt_stacks {
	struct hw_shm *shm; /* node count, overflow count */
	struct hw_node *nodes;
	uint32_t nodes_max;
	struct hw_line *lines;      /* HW_TABLES tables, one after another */
	struct hw_line *lines_more; /* HW_TABLES_MORE; not read if shm->lines_more is closed */
};

/*
 * The child of `parent` for `frame` (module << 48 | address), made when it is new. Lock-free: nodes
 * are only added, each published by one compare-and-swap on its entry. When the table is full: the
 * mark HW_MARK_TABLE_FULL if that one fits, else parent, counted in shm->stacks_full; the mark
 * itself if parent is one.
 */
uint32_t rt_stacks_child(const struct rt_stacks *stacks, uint32_t parent, uint64_t frame);

/*
 * Gives up the tables that only large trees need, before they are unmapped. Returns false if they
 * are in use already, or may be at any moment: then they have to stay. Any thread, any moment.
 */
bool rt_stacks_close_more(const struct rt_stacks *stacks);

/*
 * A thread's own answers of rt_stacks_child(), which never change: one place for each hash value.
 * The tree is spread over megabytes, a thread's working set of it is not. A frame goes by a number
 * here, never 0, that stands for it for ever (rules.h has one).
 */
#define RT_CHILD_CACHE 2048

struct rt_child {
	uint64_t key; /* parent << 32 | number of the frame; 0: empty */
	uint64_t child;
};
_Static_assert((RT_CHILD_CACHE & (RT_CHILD_CACHE - 1)) == 0, "a mask");

/* The place of (parent, frame number). Both are dense, so xor spreads them well enough. */
static inline struct rt_child *rt_child_place(
	struct rt_child *cache, uint32_t parent, uint32_t number)
{
	return &cache[(parent ^ number) & (RT_CHILD_CACHE - 1)];
}

static inline uint64_t rt_child_key(uint32_t parent, uint32_t number)
{
	return (uint64_t)parent << 32 | number;
}

#endif
