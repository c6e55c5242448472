/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a sampled recording says of all blocks. A block of n bytes was sampled with the probability
 * p = 1 - exp(-(n + 1) / mean), so each that was stands for 1 / p blocks (Horvitz and Thompson, "A
 * generalization of sampling without replacement", 1952): sums of these are unbiased, whatever the
 * program does. The variance of such a sum of x / p is estimated, unbiased too, by the sum of
 * x^2 (1 - p) / p^2.
 *
 * The highest of such sums over time is no estimate of the highest truth: it is where luck was
 * best. So samples are dealt to two halves that know nothing of each other, as if each had been
 * taken on its own, with the probability q = 1 - exp(-(n + 1) / (2 mean)): since 1 - p = (1 - q)^2,
 * a sampled block is in both with the probability q / (2 - q), else in either. Each half chooses
 * the moment at which it is highest, the other says how much that was:
 *
 *     half 0   ──╱╲──╱╲___╱╲_    highest here: half 1 is read
 *     half 1   __╱╲──╱──╲_╱╲_    and the other way round; the peak is the mean of both readings
 *
 * A reading is an unbiased estimate of the truth at a moment that is a little below the peak, if
 * at all. A site's share of it comes as in hpw_replay.h, O(1) a step.
 */
#ifndef SOURCES_HPW_ESTIMATE_H
#define SOURCES_HPW_ESTIMATE_H

#include <stdbool.h>

#include "base/error.h"
#include "model/model.h"

/* A sum of blocks and one of bytes, each with its variance. */
struct hpw_sum {
	double blocks, bytes, blocks_variance, bytes_variance;
};

/* As above, for several sites, each in whole numbers. */
struct hpw_whole {
	uint64_t blocks, bytes;
};

struct hpw_whole_sums {
	struct hpw_whole all, live, kept, failed;
};

#define HPW_HALVES 2

struct hpw_estimate_site {
	struct hpw_sum all, live;
	struct hpw_sum kept, freed;        /* of `live`: in the range; blocks that went */
	struct hpw_sum failed;             /* blocks alone: calls */
	struct hpw_sum halves[HPW_HALVES]; /* live, by one half of the samples */
	struct hpw_sum read[HPW_HALVES];   /* by the other half, at this one's highest */
	uint64_t read_seen[HPW_HALVES];    /* number of the highest that `read` belongs to */
};

/* A block that was sampled. */
struct hpw_estimate_block {
	size_t place; /* number of its site */
	uint64_t size;
	uint64_t identity; /* no other's: decides which half it is in */
	bool in_range;     /* it was allocated since hpw_estimate_begin_range() */
};

struct hpw_estimate_moment {
	uint64_t step, stamp; /* step: this many lead to it */
};

struct hpw_estimate {
	double mean_bytes; /* 0: nothing was sampled, everything recorded; nothing below is used */
	struct hpw_estimate_site *sites;
	struct hpw_estimate_site totals;
	struct hpw_whole_sums whole; /* of all sites, so that these add up to the totals shown */
	uint64_t before_bytes;       /* allocated before the range began */
	size_t sites_len;
	double highest[HPW_HALVES]; /* bytes */
	uint64_t number[HPW_HALVES];
	struct hpw_estimate_moment moment[HPW_HALVES]; /* at which each was highest, first */
	struct hpw_estimate_moment again[HPW_HALVES];  /* the last such */
	bool at_end;                                   /* the peak is the last moment */
	/* Of a part from the beginning to the peak of all: what all samples say of the peak, after
	 * hpw_estimate_settle(), for the same sites. Its peak is this one's. NULL: a part of its
	 * own. Borrowed. */
	const struct hpw_estimate *leads_to;
};

/* Initialises estimates for `sites` sites, and one more for blocks of no known site. */
struct error *hpw_estimate_init(struct hpw_estimate *estimate, uint64_t mean_bytes, size_t sites);
void hpw_estimate_deinit(struct hpw_estimate *estimate);

/* Returns how many blocks a sampled one stands for. */
double hpw_estimate_weight(const struct hpw_estimate *estimate, uint64_t size);

/* Rounds to a whole number; negative remainders of subtractions give 0, and absurd values of files
 * are clamped.
 */
uint64_t hpw_estimate_whole(double value);

/* Rounds the next one of a row of figures. Any that follow one another then add up to their sum, to
 * one: of many small ones, each rounded alone, the sum may be a third too low. `so_far` is the sum
 * of those before it, at first 0.
 */
uint64_t hpw_estimate_next(double *so_far, double value);

/* Count the allocation of a sampled block, with its time, and its free. */
void hpw_estimate_alloc(struct hpw_estimate *estimate, const struct hpw_estimate_block *block,
	struct hpw_estimate_moment moment);
void hpw_estimate_free(struct hpw_estimate *estimate, const struct hpw_estimate_block *block);

/* Sums of what happens begin anew; what is live stays, and is the highest so far. */
void hpw_estimate_begin_range(struct hpw_estimate *estimate, struct hpw_estimate_moment moment);

/* Counts a failed sampled call for that many bytes. */
void hpw_estimate_failed(struct hpw_estimate *estimate, size_t place, uint64_t size);

/* After the last block, before results are taken. Where a half is still at its highest, and so
 * cannot tell the moments since, it is read at the last one. */
void hpw_estimate_settle(struct hpw_estimate *estimate);

/* Returns the time of the peak: of the two candidates the one with the higher figure, or, if it
 * lasts to the end, the later one. */
struct hpw_estimate_moment hpw_estimate_peak_moment(const struct hpw_estimate *estimate);

/* Returns the counters of a site that a sample does not tell: of enum unknown_figure. */
uint32_t hpw_estimate_unknown(void);

/* Puts the results in whole numbers, with their variances; peak_time_ns and what cannot be
 * estimated are left alone. */
void hpw_estimate_put_site(const struct hpw_estimate *estimate, size_t place, struct site *ret);
void hpw_estimate_put_totals(const struct hpw_estimate *estimate, struct totals *ret);

#endif
