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

/* A part's file as it was found here, or not; strings are the caller's. */
struct listing_source {
	const char *found; /* its path; NULL: nowhere */
	const char *text;  /* with NUL behind `len` bytes; NULL: not found */
	size_t len;
	const char *const *tried; /* paths that were looked at, all of them if it was not found */
	size_t tried_count;
	const char
		*refused; /* one of `tried` that is there, but has no name of source code; NULL */
	bool newer;       /* it was changed after the recording began: lines may have moved */
};

struct listing_options {
	const char *sought; /* as given */
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
