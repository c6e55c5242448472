/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How far an estimate of a sampled recording can be off. */
#ifndef ANALYSIS_INTERVAL_H
#define ANALYSIS_INTERVAL_H

#include "analysis/metric.h"

struct interval {
	uint64_t low, high;
	/* It takes all blocks of a stack for blocks of its mean size, since the file does not say
	 * how large they are: it is of a number of blocks, and too narrow if they are not alike. */
	bool by_mean_sizes;
};

/* After such a range, in a text. */
#define INTERVAL_BY_MEAN_SIZES "by mean sizes"

/*
 * Finds the range that holds the true figure in 19 of 20 recordings: all truths that would not make
 * the estimate a surprise (the score interval: Wilson, "Probable inference", 1927). Unlike estimate
 * ± 1.96 deviations it holds for few samples too, and says something when there are none. False:
 * the recording is not sampled, the metric is none that is estimated, or no range of a site can be
 * known (interval_is_open()).
 */
bool interval_of_site(const struct recording *recording, enum metric metric,
	const struct site *site, struct interval *ret);
bool interval_of_totals(const struct recording *recording, enum metric metric,
	const struct totals *totals, struct interval *ret);

/* Returns whether a site's estimate may be off by any factor, as samples were not taken by chance;
 * that of the totals has a range all the same. */
bool interval_is_open(const struct recording *recording, enum metric metric);

/* Returns whether the ranges of some metric of the model are by mean sizes. */
bool interval_model_is_by_mean_sizes(const struct model *model);

/*
 * Finds the range for verdicts and gates: it holds for blocks of any sizes. Much wider where the
 * other one rests on mean sizes (then by_mean_sizes is set), else the same.
 */
bool interval_of_site_any_sizes(const struct recording *recording, enum metric metric,
	const struct site *site, struct interval *ret);
bool interval_of_totals_any_sizes(const struct recording *recording, enum metric metric,
	const struct totals *totals, struct interval *ret);

#endif
