/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The most that a figure may be. */
#ifndef ANALYSIS_LIMIT_H
#define ANALYSIS_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct limit {
	uint64_t value;
	double percent; /* of another figure; below 0: `value` counts */
};

/* Returns whether a figure is more than the limit; `whole` is what percents are of. */
static inline bool limit_exceeded(const struct limit *limit, uint64_t figure, uint64_t whole)
{
	if (limit->percent < 0)
		return figure > limit->value;
	return (long double)figure * 100 > (long double)whole * limit->percent;
}

/* Returns the limit as a figure. */
static inline uint64_t limit_value(const struct limit *limit, uint64_t whole)
{
	return limit->percent < 0 ? limit->value
				  : (uint64_t)((long double)whole * limit->percent / 100);
}

#endif
