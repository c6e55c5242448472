/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When growth, reallocs and churn matter so much that a report's verdict says them. The thresholds
 * are only here; docs/quantities.md has them in words. They are high: a program that starts, works
 * and ends within a second grows while it works, which needs no fix.
 */
#ifndef ANALYSIS_NOTABLE_H
#define ANALYSIS_NOTABLE_H

#include "analysis/growth.h"
#include "analysis/reallocs.h"

/* A place keeps growing: for so long, by so much, and by so large a part of the peak. */
#define NOTABLE_GROWTH_NS UINT64_C(1000000000)
#define NOTABLE_GROWTH_BYTES (UINT64_C(16) << 10)
#define NOTABLE_GROWTH_PART 10u /* a tenth */
/* One block was reallocated so often, step by step, and so much was copied for it, in bytes and
 * against the size that it came to. */
#define NOTABLE_CHAIN 1000u
#define NOTABLE_COPIED_BYTES (UINT64_C(16) << 20)
#define NOTABLE_COPIED_TIMES 16u
/* This many allocations, and so much more memory in all than was ever there at a time. */
#define NOTABLE_CHURN_ALLOCATIONS UINT64_C(100000)
#define NOTABLE_CHURN_TIMES 32u
/* Blocks that were freed before this many others were allocated. */
#define NOTABLE_SHORT_OTHERS 100u

/* Returns whether a row of a growth over `judged_ns` is worth a sentence, in a program with that
 * peak. */
bool notable_growth(const struct growth_row *row, uint64_t judged_ns, uint64_t peak_bytes);
bool notable_reallocs(const struct realloc_row *row);
bool notable_churn(const struct totals *totals);
/* Returns how many of the freed blocks lived for at most NOTABLE_SHORT_OTHERS allocations. */
uint64_t notable_short_lived(const struct lifetimes *lives);

/*
 * Add sentences, each with a newline; nothing if nothing is notable or known. `growth` and
 * `reallocs` were built from the model; NULL if they were not.
 */
void notable_describe_growth(
	const struct totals *totals, const struct growth *growth, struct text *text);
void notable_describe_reallocs(const struct reallocs *reallocs, struct text *text);

#endif
