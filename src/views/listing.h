/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source lines with their figures, as text, CSV and JSON: "heapwise.list/1", described in
 * docs/schema/list-1.md; or in memory_profiler's layout.
 */
#ifndef VIEWS_LISTING_H
#define VIEWS_LISTING_H

#include "analysis/listing.h"
#include "analysis/profile.h"
#include "table/answer.h"
#include "views/views.h"

extern const struct answer_type listing_answer_type;

struct listing_options {
	struct view_options view; /* all metrics are shown, whichever is in it */
	const char *wanted;       /* as given */
	uint32_t line;            /* of files: only around this one; 0: all of it */
	/* Of memory_profiler's layout: what Increment is, in bytes, and with how many decimals. */
	enum metric increment;
	unsigned precision;
	bool as_traced; /* functions that were traced with what was seen then */
};

/* Writes the listing; a source for each part. NULL also when the sink stopped it: the sink knows.
 */
struct error *listing_write(const struct profile *profile, const struct listing *listing,
	const struct listing_source *sources, const struct listing_options *options,
	const struct sink *sink) must_check_;

/* Writes it in the layout of Python's memory_profiler: Filename, then lines with Mem usage,
 * Increment and Occurrences. Otherwise as above. */
struct error *memory_profiler_write(const struct listing *listing,
	const struct listing_source *sources, const struct listing_options *options,
	const struct sink *sink) must_check_;

#endif
