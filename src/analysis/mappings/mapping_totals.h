/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The totals of a series, by kinds of memory. False: no memory. */
#ifndef ANALYSIS_MAPPINGS_MAPPING_TOTALS_H
#define ANALYSIS_MAPPINGS_MAPPING_TOTALS_H

#include "analysis/mapping_series.h"

void mapping_totals_deinit(struct mapping_total_vec *totals);

/* Sums up a look. `kept`: how many looks are kept before it. */
bool mapping_totals_take(
	struct mapping_total_vec *totals, const struct memory_look *look, size_t kept);

/* Keeps the figures of the last look. */
bool mapping_totals_keep(struct mapping_total_vec *totals);

/* Drops every other kept look, from the second one on. */
void mapping_totals_thin(struct mapping_total_vec *totals);

#endif
