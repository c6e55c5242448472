/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that libraries keep for themselves: buffers of standard streams, libstdc++'s reserve for
 * exceptions, locales… The program can't free them, so verdicts, lists of what was never freed and
 * budgets leave them out, and say so.
 *
 * Which they are is a table (suppress_built_in.c): a stack fits or it does not. Of a stack only the
 * innermost frames count that are the system's own libraries', so that no entry spans code of
 * somebody else; what only debug files name is recognised without them
 * (symbols/names/inner_names.h) or not at all, and what one stack has is bounded. If leaks were
 * searched for, blocks that were found lost are never a library's, and what `leaks` calls a
 * library's is one here: all blocks of a stack are, or none.
 */
#ifndef ANALYSIS_LIBRARY_OWN_H
#define ANALYSIS_LIBRARY_OWN_H

#include "analysis/resolve.h"
#include "analysis/rows.h"
#include "analysis/suppress.h"

/* Returns the table in *ret. */
struct error *library_own_table(struct suppressions **ret) must_check_;

/*
 * Finds what of the table a stack fits, given after the called function, whose blocks a search
 * found to be of these kinds (bits 1 << enum leak_kind; 0: no search); NULL: nothing. How much the
 * stack has is not looked at. The name belongs to the table.
 */
struct error *library_own_name(struct suppressions *table, struct resolver *resolver,
	const struct row_key *stack, unsigned kinds, const char **ret) must_check_;

/*
 * Sets `library` of the rows of a model that are libraries' own, to a name that belongs to the
 * rows. Of this many recordings, from 1 on, that were added up each may have what is a library's.
 */
struct error *library_own_mark(const struct model *model, struct resolver *resolver,
	uint64_t recordings, struct rows *rows) must_check_;

/* Returns whether figures are of all blocks, libraries' too: those of a moment, and what another
 * tool wrote down of a state. Shares and lists are then, too. */
bool library_own_counts(const struct model *model);

/* Takes the marks back: all blocks count as the program's. */
void library_own_forget(struct rows *rows);

/* Says of stacks that have more than a library keeps that they are the program's, if some are. */
void library_own_note(const struct rows *rows, struct text *out);

/* Adds up the memory that libraries keep, into an empty site. */
void library_own_sum(const struct rows *rows, struct site *ret);

/* Returns the totals of a model without what libraries keep: live blocks and bytes, and their
 * spread. */
struct totals library_own_left(const struct totals *totals, const struct rows *rows);

/* Returns what such blocks are for: "buffers of files"; NULL: no such name is known. Static. */
const char *library_own_reason(const char *library);

#endif
