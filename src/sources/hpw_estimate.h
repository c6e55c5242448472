/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a sampled recording says of all blocks. A block of n bytes was sampled with the probability
 * p = 1 - exp(-(n + 1) / mean), so each that was stands for 1 / p blocks (Horvitz and Thompson, "A
 * generalization of sampling without replacement", 1952): sums of these are unbiased, whatever the
 * program does. The variance of such a sum of x / p is estimated, unbiased too, by the sum of
 * x^2 (1 - p) / p^2.
 */
#ifndef SOURCES_HPW_ESTIMATE_H
#define SOURCES_HPW_ESTIMATE_H

#include "base/error.h"
#include "model/model.h"

/* A sum of blocks and one of bytes, each with its variance. */
struct hpw_sum {
	double blocks, bytes, blocks_variance, bytes_variance;
};

struct hpw_estimate_site {
	struct hpw_sum all, live, peak;
	struct hpw_sum failed; /* blocks alone: calls */
	uint64_t peak_seen;    /* number of the peak that `peak` belongs to */
};

struct hpw_estimate {
	double mean_bytes; /* 0: nothing was sampled, everything recorded; nothing below is used */
	struct hpw_estimate_site *sites;
	struct hpw_estimate_site totals;
	size_t sites_len;
	uint64_t peak_number, peak_stamp;
};

/* One block more than `sites` sites, for what belongs to no known one. */
struct error *hpw_estimate_init(struct hpw_estimate *estimate, uint64_t mean_bytes, size_t sites);
void hpw_estimate_deinit(struct hpw_estimate *estimate);

/* How many blocks a sampled one stands for. */
double hpw_estimate_weight(const struct hpw_estimate *estimate, uint64_t size);

/* In whole numbers; what subtraction left of nothing is nothing, and a file may claim the absurd.
 */
uint64_t hpw_estimate_whole(double value);

/* A sampled block of site number `place` came, at the time `stamp`; it went. */
void hpw_estimate_alloc(struct hpw_estimate *estimate, size_t place, uint64_t size, uint64_t stamp);
void hpw_estimate_free(struct hpw_estimate *estimate, size_t place, uint64_t size);

/* A sampled call for so many bytes failed. */
void hpw_estimate_failed(struct hpw_estimate *estimate, size_t place, uint64_t size);

/* Results in whole numbers, with their variances; peak_time_ns and what cannot be estimated are
 * left alone. */
void hpw_estimate_put_site(const struct hpw_estimate *estimate, size_t place, struct site *ret);
void hpw_estimate_put_totals(const struct hpw_estimate *estimate, struct totals *ret);

#endif
