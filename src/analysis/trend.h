/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What grows steadily over several models, the oldest first: places whose figure never shrinks from
 * one to the next and grows in more than half of the steps. A cache that fills once, or a burst, is
 * none of them. Places are matched as match.h says.
 */
#ifndef ANALYSIS_TREND_H
#define ANALYSIS_TREND_H

#include "analysis/compare/match.h"
#include "base/text.h"

struct trend_row {
	const struct row *row;  /* of the newest model that has it; figures of all together */
	const uint64_t *values; /* of the metric, one a model */
};

DEFINE_VEC(trend_row_vec, struct trend_row)

struct trend {
	enum metric metric;
	size_t count; /* of models */
	/* Of what is live without what libraries keep for themselves. */
	uint64_t totals[FRAME_KEYS_SIDES_MAX];
	bool without_libraries; /* they keep something in one of them */
	bool total_grows;       /* steadily too */
	struct match *match;
	struct rows rows;
	uint64_t *values;             /* of all rows */
	struct trend_row_vec growing; /* largest growth from first to last first */
	struct text verdict;          /* sentences, each with a newline */
};

void trend_init(struct trend *trend);
void trend_deinit(struct trend *trend);

/* Fills a fresh one; models, rows and resolvers must outlive it. Precondition: 1 < count <=
 * FRAME_KEYS_SIDES_MAX. */
struct error *trend_build(const struct match_side *sides, size_t count, enum metric metric,
	bool same_recording, struct trend *ret) must_check_;

#endif
