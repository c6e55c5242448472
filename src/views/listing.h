/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source lines with their figures, as text and as JSON: "heapwise.list/1", described in
 * docs/schema/list-1.md.
 */
#ifndef VIEWS_LISTING_H
#define VIEWS_LISTING_H

#include "analysis/listing.h"
#include "analysis/profile.h"
#include "views/views.h"

struct listing_options {
	const char *wanted; /* as given */
	uint32_t line;      /* of files: only around this one; 0: all of it */
	bool json;
	bool colour; /* of text */
};

/* Writes the listing; a source for each part. NULL also when the sink stopped it: the sink knows.
 */
struct error *listing_write(const struct profile *profile, const struct listing *listing,
	const struct listing_source *sources, const struct listing_options *options,
	const struct sink *sink) must_check_;

#endif
