/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows that share their innermost part, as one row. Churn comes from a helper that is called along
 * many paths: a thousand stacks, none of which weighs anything, and one place to mend. But a helper
 * that is a mere wrapper (xmalloc) would swallow the whole program if only the innermost frame
 * counted, so a row goes outward as long as it still weighs something:
 *
 *   innermost three frames of the program, if together they make a tenth of the total; else
 *   innermost two, likewise; else the innermost one.
 *
 * Frames of language runtimes and wrappers known by their names do not count (row_depth_of). Blocks
 * that are freed by the very frame that allocated them are that frame's own doing: they always
 * merge by one frame.
 */
#ifndef ANALYSIS_MERGE_H
#define ANALYSIS_MERGE_H

#include "analysis/rows.h"

#define MERGE_FRAMES_MAX 3u

/*
 * Fills empty rows with groups of those rows of `from` that have any `weight`. A group shows the
 * frames that all of its stacks share. `from` must outlive it.
 */
struct error *rows_merge(const struct rows *from, enum metric weight, struct rows *ret);

/*
 * Merges rows that have a frame of `filter` and blame one place, however they lead there. Where
 * they differ inside of that place they are shown from it on. What libraries keep for themselves is
 * left out.
 */
struct error *rows_merge_places(const struct rows *from, enum metric filter, struct rows *ret);

#endif
