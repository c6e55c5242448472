/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can be asked of foreign files, and where the modules that they name were. */
#ifndef SOURCES_FOREIGN_QUERY_H
#define SOURCES_FOREIGN_QUERY_H

#include "base/error.h"
#include "sources/foreign/foreign.h"
#include "sources/source.h"

/* What a format can answer, besides all of it. */
enum foreign_ability {
	FOREIGN_MOMENTS = 1, /* a moment, a part, a series */
	FOREIGN_BY_SIZE = 2, /* blocks by size */
	FOREIGN_BY_LIFE = 4, /* by lifetime, and live ones alone */
	FOREIGN_BY_THREAD = 8,
	FOREIGN_SERIES = 16, /* a series, without moments */
};

/* Returns NULL, or ERROR_INPUT if `what` ("a pprof profile") lacks what the query asks for. */
struct error *foreign_refuse(const struct input *input, const struct source_query *query,
	unsigned abilities, const char *what) must_check_;

/* Says in words which blocks figures are of (recording.blocks), by sizes and thread; NULL: all. */
struct error *foreign_describe(
	struct foreign *foreign, const struct source_blocks *blocks) must_check_;

/*
 * Returns the load bias (address in memory minus address in the file) of a mapping at `start` of a
 * file from `offset` on. Looks at the file, if it is there, for where its segments belong.
 */
uint64_t foreign_bias(const char *root, struct foreign_text path, uint64_t start, uint64_t offset);

/*
 * Returns the path on this machine of a file that a foreign one names, which the caller frees;
 * `root` as of struct input. NULL: nothing can be there, or no memory.
 */
char *foreign_locate(const char *root, struct foreign_text path);

/* Returns whether the file at path was changed after the input; false also if either is no file. */
bool foreign_is_newer(struct foreign_text path, const struct input *input);

#endif
