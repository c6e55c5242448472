/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How far an estimate of a sampled recording can be off. */
#ifndef ANALYSIS_INTERVAL_H
#define ANALYSIS_INTERVAL_H

#include "analysis/metric.h"

struct interval {
	uint64_t low, high;
};

/*
 * The range that holds the true figure in 19 of 20 recordings: all truths that would not make the
 * estimate a surprise (the score interval: Wilson, "Probable inference", 1927). Unlike estimate ±
 * 1.96 deviations it holds for few samples too, and says something when there are none. False: the
 * recording is not sampled, or the metric is none that is estimated.
 */
bool interval_of_site(const struct recording *recording, enum metric metric,
	const struct site *site, struct interval *ret);
bool interval_of_totals(const struct recording *recording, enum metric metric,
	const struct totals *totals, struct interval *ret);

#endif
