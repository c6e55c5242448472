/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program tells who looks for leaks to keep: blocks by name, all blocks of a thread for a
 * while, and memory that may hold blocks. A block is known by its thread and number, so that what
 * has been freed since, or given out again, drops out without anybody looking.
 */
#ifndef CAPTURE_SPARED_H
#define CAPTURE_SPARED_H

#include "base/map.h"
#include "base/vec.h"
#include "capture/recorder/live.h"
#include "format/shm.h"

struct spared_block {
	uint64_t address, number;
	uint32_t thread;
};
DEFINE_VEC(spared_blocks, struct spared_block)

/* Allocations number `from` to (not including) `end` of a thread. */
struct spared_span {
	uint64_t from, end; /* end UINT64_MAX: it goes on */
	uint32_t thread;
};
DEFINE_VEC(spared_spans, struct spared_span)

static inline uint64_t spared_hash_thread(uint32_t thread)
{
	return hash_u64(thread);
}

static inline bool spared_same_thread(uint32_t a, uint32_t b)
{
	return a == b;
}
/* The last span of a thread. */
DEFINE_MAP(spared_threads, uint32_t, size_t, spared_hash_thread, spared_same_thread)

struct spared_root {
	uint64_t start, end;
};
DEFINE_VEC(spared_roots, struct spared_root)

struct spared {
	struct spared_blocks blocks;
	struct spared_spans spans;
	struct spared_threads threads;
	struct spared_roots roots;
	size_t review; /* so many blocks, and those that are gone are dropped */
};

void spared_init(struct spared *spared);
void spared_deinit(struct spared *spared);

/* What thread number `thread`, which has made so many allocations, says of its memory. False: no
 * memory for it. */
bool spared_tell(struct spared *spared, const struct live *live, uint32_t thread,
	uint64_t allocations, enum hw_told what, uint64_t address, uint64_t bytes);

/* The thread has ended after so many allocations. */
void spared_thread_end(struct spared *spared, uint32_t thread, uint64_t allocations);

DEFINE_VEC(spared_addresses, uint64_t)

/* The addresses of all live blocks that are to be kept. False: no memory. */
bool spared_find(
	const struct spared *spared, const struct live *live, struct spared_addresses *ret);

#endif
