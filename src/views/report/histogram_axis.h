/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Buckets of lifetimes as they are written, alone and compared. Inside views/ only. */
#ifndef VIEWS_HISTOGRAM_AXIS_H
#define VIEWS_HISTOGRAM_AXIS_H

#include "base/text.h"
#include "model/lives.h"

/* How values of a histogram are written. */
struct life_axis {
	const char *title, *least; /* of the column, and of the bucket of 0 */
	void (*add)(struct text *text, uint64_t value);
};
extern const struct life_axis life_by_time, life_by_others;

/* The buckets from the first to the last that has something; both 0: none has. */
void life_bounds(const struct life_count *counts, unsigned *ret_first, unsigned *ret_end);
/* "≤ 10 ms", 16 characters wide. */
void life_add_bound(const struct life_axis *axis, unsigned bucket, struct text *out);

#endif
