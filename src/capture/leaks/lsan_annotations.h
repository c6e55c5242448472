/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program says by LeakSanitizer's functions: blocks that are not leaks, all blocks that a
 * thread allocates for a while, and memory that may hold blocks. A block is identified by its
 * thread and number, so that an annotation ends by itself when the block is freed.
 */
#ifndef CAPTURE_LSAN_ANNOTATIONS_H
#define CAPTURE_LSAN_ANNOTATIONS_H

#include "base/map.h"
#include "base/vec.h"
#include "capture/recorder/live_table.h"
#include "format/shm.h"

struct kept_block {
	uint64_t address, number;
	uint32_t thread;
};
DEFINE_VEC(kept_blocks, struct kept_block)

/* Allocations number `from` to (not including) `end` of a thread. */
struct kept_span {
	uint64_t from, end; /* end UINT64_MAX: it goes on */
	uint32_t thread;
};
DEFINE_VEC(kept_spans, struct kept_span)

static inline uint64_t kept_hash_thread(uint32_t thread)
{
	return hash_u64(thread);
}

static inline bool kept_same_thread(uint32_t a, uint32_t b)
{
	return a == b;
}
/* The last span of a thread. */
DEFINE_MAP(kept_threads, uint32_t, size_t, kept_hash_thread, kept_same_thread)

struct kept_root {
	uint64_t start, end;
};
DEFINE_VEC(kept_roots, struct kept_root)

struct lsan_annotations {
	struct kept_blocks blocks;
	struct kept_spans spans;
	struct kept_threads threads;
	struct kept_roots roots;
	uint64_t roots_missed; /* regions that are not in `roots`: there are too many */
	size_t review;         /* number of blocks at which freed ones are dropped */
};

void lsan_annotations_init(struct lsan_annotations *annotations);
void lsan_annotations_deinit(struct lsan_annotations *annotations);

/* Adds what thread number `thread`, which has made `allocations` allocations so far, says of its
 * memory. Returns false if there is no memory. */
bool lsan_annotations_add(struct lsan_annotations *annotations, const struct live_table *live,
	uint32_t thread, uint64_t allocations, enum hw_annotation what, uint64_t address,
	uint64_t bytes);

/* Ends a thread's annotations; it has ended after `allocations` allocations. */
void lsan_annotations_thread_end(
	struct lsan_annotations *annotations, uint32_t thread, uint64_t allocations);

DEFINE_VEC(kept_addresses, uint64_t)

/* Lists the addresses of all live blocks that are not leaks. Returns false if there is no memory.
 */
bool lsan_annotations_find_kept(const struct lsan_annotations *annotations,
	const struct live_table *live, struct kept_addresses *ret);

#endif
