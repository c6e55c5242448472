/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The buckets of Go's heap profile, as the runtime has them (runtime/mprof.go): one for each stack
 * and size that was sampled. They are made once and never freed or moved, so that they can be read
 * while the program runs.
 *
 *	runtime.mbuckets → bucket → bucket → …
 *
 *	| next of the hash | next of all | type 1 | hash | size | frames | frame… | figures × 4 |
 *
 * Figures are allocations, frees, and the bytes of both: those published, up to the last collection
 * that is complete, then those of three cycles to come. The sum of all four is the state now.
 *
 * That a bucket is one is checked by its hash, which is that of its frames and size.
 */
#ifndef GO_BUCKETS_H
#define GO_BUCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"

struct go_figures {
	uint64_t allocations, frees, allocated_bytes, freed_bytes;
};

struct go_bucket {
	uint64_t figures_at; /* address of its figures */
	uint64_t size;       /* of its blocks */
	size_t first_frame;  /* in `frames`, innermost first */
	uint32_t frame_count;
	struct go_figures published, now;
};
DEFINE_VEC(go_bucket_vec, struct go_bucket)
DEFINE_VEC(go_frame_vec, uint64_t)

struct go_buckets {
	struct go_bucket_vec buckets;
	struct go_frame_vec frames; /* addresses that calls return to */
	size_t unsettled;           /* buckets whose figures changed each time they were read */
};

/* Reads memory; returns how many bytes were read. */
typedef size_t go_memory_read(void *context, uint64_t address, void *ret, size_t bytes);

struct go_memory {
	go_memory_read *read;
	void *context;
};

/* Returns whether a bucket of the heap profile is at this address. */
bool go_bucket_recognise(const struct go_memory *memory, uint64_t address);

/*
 * Reads all buckets from the list that begins at `first` (0: there are none). `program` is for
 * messages. ERROR_INPUT if what is there is no list of buckets of this layout; *ret is empty then.
 * Call go_buckets_deinit() in any case.
 */
struct error *go_buckets_read(const struct go_memory *memory, uint64_t first, const char *program,
	struct go_buckets *ret) must_check_;
void go_buckets_deinit(struct go_buckets *buckets);

/* Returns whether a later reading of the same program still has the same figures as published. */
bool go_figures_equal(const struct go_figures *a, const struct go_figures *b);

/*
 * Estimates from a sample of blocks of one size what was allocated, as runtime/pprof does
 * (protomem.go): each block was sampled with a probability of 1 - exp(-size / rate).
 */
void go_figures_estimate(
	uint64_t count, uint64_t bytes, uint64_t rate, uint64_t *ret_count, uint64_t *ret_bytes);

#endif
