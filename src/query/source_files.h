/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source files of a recorded program, wherever they are on this machine. */
#ifndef QUERY_SOURCE_FILES_H
#define QUERY_SOURCE_FILES_H

#include "analysis/listing.h"

/* Larger ones are none that people wrote. */
#define SOURCE_BYTES_MAX ((size_t)64 << 20)

struct source_search {
	const char *file;   /* as the debug information calls it */
	const char *cwd;    /* of the program */
	const char *bundle; /* folder of the bundle that the recording came in; NULL: in none */
	char *const *folders;
	size_t folder_count;
	uint64_t recorded_ns; /* when recording began, CLOCK_REALTIME; 0: unknown */
};

/*
 * Looks for the file: in the bundle; at its own place, or from `cwd` on if it is relative; then
 * below each folder, with as many of its last parts as are there. A file whose name (or that of
 * what it links to) is none of source code is not read: its path is in `refused`. Not found is no
 * error. The caller deinits *ret.
 */
struct error *source_file_find(
	const struct source_search *search, struct listing_source *ret) must_check_;
void source_file_deinit(struct listing_source *source);

#endif
