/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums over the lives of all blocks: how long they live, and what reallocs make of them. A block's
 * life ends with its free or with the realloc that makes another one of it. Only sources that were
 * asked for them fill these.
 */
#ifndef MODEL_LIVES_H
#define MODEL_LIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;

/* Lives that were not requested are computed for recordings of at most this number of events, which
 * takes less than a second. */
#define LIVES_FEW_EVENTS UINT64_C(2000000)
/* … and growth only for at most this number of sites: a series has each of them many times. */
#define LIVES_FEW_SITES 50000u

/* 0; up to 1, 2, 5, 10, 20, 50…; the last has all that is more than 5 × 10^14. */
#define LIFE_BUCKETS 47u
/* Returns the bucket of a value. */
unsigned life_bucket_of(uint64_t value);
/* Returns the largest value of a bucket. */
uint64_t life_bucket_most(unsigned bucket);

/* Blocks of one bucket: those that were freed, and those that live at the end, so far. */
struct life_count {
	uint64_t freed_blocks, freed_bytes;
	uint64_t live_blocks, live_bytes;
};

struct lifetimes {
	bool known;                                /* else all is 0 */
	struct life_count by_time[LIFE_BUCKETS];   /* ns; 0: shorter than the recording can tell */
	struct life_count by_others[LIFE_BUCKETS]; /* the process's allocations in between */
};

/* Successful reallocs of blocks at one site. */
struct realloc_site {
	uint32_t site; /* struct site_id */
	uint64_t calls, grown, shrunk;
	uint64_t grown_bytes; /* by those that made a block larger */
	uint64_t
		copied_bytes; /* the smaller one of both sizes each time: at most that was copied */
	uint64_t chains;      /* blocks that were reallocated more than twice, at last here */
	/* Of the block that was reallocated most often, and from which size to which. */
	uint64_t longest, longest_from, longest_to;
	uint64_t step_bytes, step_count; /* the most usual growth, and how often it was that */
	double log2_factors; /* sum of the logarithms of new / old size, of those that grew */
};

const struct lifetimes *model_lifetimes(const struct model *model);
/* Ascending by site. */
const struct realloc_site *model_reallocs(const struct model *model, size_t *ret_count);

#endif
