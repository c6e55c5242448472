/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that libraries keep for themselves: buffers of standard streams, libstdc++'s reserve for
 * exceptions, locales… Nobody can free them, so verdicts, lists of what was never freed and budgets
 * leave them out, and say so.
 *
 * Which they are is a table, the one that `leaks` has too (suppress_built_in.c): a stack fits or it
 * does not. Functions that debug files alone can name are left out of it, as answers may not depend
 * on such files, and what one stack has is bounded. Where somebody searched for leaks, blocks that
 * were found lost are never a library's.
 */
#ifndef ANALYSIS_LIBRARY_OWN_H
#define ANALYSIS_LIBRARY_OWN_H

#include "analysis/rows.h"

/* Sets `library` of the rows that are libraries' own, to a name that belongs to the rows. Of so
 * many recordings, from 1 on, that were added up each may have what is a library's. */
struct error *library_own_mark(struct rows *rows, uint64_t recordings) must_check_;

/* Takes the marks back: all blocks count as the program's. */
void library_own_forget(struct rows *rows);

/* What they have together, in an empty site. */
void library_own_sum(const struct rows *rows, struct site *ret);

/* The totals of a model without what libraries keep: live blocks and bytes, and their spread. */
struct totals library_own_left(const struct totals *totals, const struct rows *rows);

/* What such blocks are for: "buffers of files"; NULL: no such name is known. Static. */
const char *library_own_reason(const char *library);

#endif
