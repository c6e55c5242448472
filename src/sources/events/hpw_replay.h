/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The books of a recording without a footer: every figure that a footer has, computed from the
 * events. How a step counts is in accounts/accounts.h, as the collector counts it; here is what a
 * reader knows besides: ranges, choices of blocks, estimates.
 */
#ifndef SOURCES_HPW_REPLAY_H
#define SOURCES_HPW_REPLAY_H

#include <stdbool.h>

#include "accounts/accounts.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/build.h"
#include "sources/events/hpw_block_filter.h"
#include "sources/events/hpw_blocks.h"
#include "sources/events/hpw_estimate.h"
#include "sources/events/hpw_events.h"
#include "sources/recording/hpw_damage.h"

struct hpw_tally_site {
	SITE_COUNTERS_MEMBERS;
	uint64_t seen;                      /* epoch of the last change */
	uint64_t older_blocks, older_bytes; /* of the live ones, allocated before the range */
};

struct hpw_tally_thread {
	uint64_t next; /* number of its next allocation */
	uint64_t from; /* the same where the range begins */
	uint64_t first_stamp, last_stamp;
	CALL_COUNTERS_MEMBERS;
	double estimated, estimated_bytes, estimated_frees; /* if sampled */
	bool seen, ended;
	bool fresh;      /* it has begun, and allocated nothing yet */
	uint64_t first;  /* number of its first allocation, of those with its index */
	uint64_t others; /* threads that had this index before */
	bool in_realloc; /* its last step freed the old block of a realloc */
};
DEFINE_VEC(hpw_tally_thread_vec, struct hpw_tally_thread)

static inline bool hpw_size_equal(uint64_t a, uint64_t b)
{
	return a == b;
}
DEFINE_MAP(hpw_size_map, uint64_t, uint64_t, hash_u64, hpw_size_equal)

/* Sizes below are counted in an array, others in a map. */
#define HPW_SIZES_SMALL 4096u

struct hpw_replay {
	const struct model *model; /* borrowed; has all sites */
	struct hpw_tally_site *sites;
	size_t sites_len; /* of the model; one more place holds what belongs to no known site */
	size_t sites_end; /* from there on no site has had anything yet */
	struct hpw_tally_thread_vec threads;
	uint64_t *sizes_small;
	struct hpw_size_map sizes; /* by size ^ the seed of blocks: see hpw_hash.h */
	struct hpw_blocks blocks;
	uint64_t blocks_max;
	uint32_t unknown;           /* figures of sites that the sums it was filled with have not */
	struct call_counters calls; /* of all threads */
	struct heap_counters heap;
	uint64_t older_blocks, older_bytes; /* as of a site */
	struct totals totals;               /* after hpw_replay_settle(); peak_time_ns unset */
	uint64_t peak_stamp;
	struct hpw_estimate estimate; /* of all blocks, if those here were sampled */
	uint64_t events, lost, unknown_frees, mismatched;
	uint64_t stamp;      /* of the current steps */
	uint64_t done_stamp; /* of the latest step that has been done */
	uint64_t next_step;
	uint64_t step;               /* number of the current step */
	uint64_t peak_step;          /* this many steps lead to the peak */
	uint64_t from_step, to_step; /* figures are of the steps between these; 0, UINT64_MAX: all
				      */
	bool begun;                  /* from_step has been reached */
	uint64_t before_bytes;       /* allocated before from_step */
	uint64_t peak_allocated, peak_padding; /* at the peak: bytes allocated so far; padding */
	const struct hpw_block_filter *choice; /* which blocks count; NULL: all */
	uint64_t allocation; /* number of the next one, whether it counts or not */
	/* Called before the first step from watch_step on, which it sets anew; or NULL. */
	void (*watch)(void *context, struct hpw_replay *replay);
	void *watch_context; /* on_mark's too */
	uint64_t watch_step;
	/* Called between the steps of one stamp and those of the next; or NULL. */
	void (*watch_time)(void *context, struct hpw_replay *replay, uint64_t next_stamp);
	/* Called at each mark, which is all that happens at that step; or NULL. */
	struct error *(*on_mark)(
		void *context, const struct hpw_replay *replay, const char *name, size_t len);
	uint64_t marks;    /* those of users */
	const char *until; /* NULL, or a mark's name: what comes after it is left out */
	bool reached;      /* that mark has come */
	uint64_t missing;  /* steps before the current chunk that no chunk had */
	/* First and last pair of TSC and ns that chunks gave. */
	uint64_t pair_tsc[2], pair_ns[2];
};

/* Returns how many live blocks are believed of a file of this many bytes. */
uint64_t hpw_replay_blocks_max(uint64_t file_bytes);

/* Initialises a replay. blocks_max: gives up when that many blocks live at once. The model needs
 * its sites; if it is of a sampled recording, results are estimates. */
struct error *hpw_replay_init(
	struct hpw_replay *replay, const struct model *model, uint64_t blocks_max);
void hpw_replay_deinit(struct hpw_replay *replay);

/*
 * Goes through one EVENTS chunk; chunks come in file order. *ret_missing: how many steps are
 * missing before it. ERROR_INPUT: the chunk is malformed; the steps before that place are counted.
 */
struct error *hpw_replay_chunk(
	struct hpw_replay *replay, const struct hpw_payload *payload, uint64_t *ret_missing);

/* Goes through a story of its own. */
struct hpw_visitor hpw_replay_visitor(struct hpw_replay *replay);

/* Brings the peak figures of all sites up to date. */
void hpw_replay_settle_peak(struct hpw_replay *replay);
/* Counts the free of a block of the site that was allocated before the range. */
void hpw_replay_older_freed(struct hpw_replay *replay, struct hpw_tally_site *site, uint64_t size);
/* Counts allocations of that size. */
struct error *hpw_replay_count_size(struct hpw_replay *replay, uint64_t size, uint64_t allocations);

/* Completes the figures; called after the last chunk, before the results are read. */
void hpw_replay_settle(struct hpw_replay *replay);

/* Put the results into the model: counters of every site; sizes. */
struct error *hpw_replay_put_sites(const struct hpw_replay *replay, struct model *model);
struct error *hpw_replay_put_sizes(const struct hpw_replay *replay, struct model *model);

#endif
