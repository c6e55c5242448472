/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each function, file or module allocated: *flat* what it asked for itself (it is the
 * innermost frame shown), *cum* what was allocated anywhere below it as well. A stack counts once
 * in cum, however often the spot is in it.
 */
#ifndef ANALYSIS_SPOT_TOTALS_H
#define ANALYSIS_SPOT_TOTALS_H

#include "analysis/grain.h"
#include "analysis/rows.h"

struct spot_total {
	const struct spot *spot;
	struct row flat, cum; /* without frames: sums and base alone, for row_value() */
};

DEFINE_VEC(spot_total_vec, struct spot_total)

/* Fills an empty list, by the metric: flat (or cum) of the largest amount first, equals by the
 * other one, then by name. Figures belong to `spots`. */
struct error *spot_totals_build(const struct rows *rows, struct spots *spots, enum metric sort,
	bool by_cum, struct spot_total_vec *ret) must_check_;

#endif
