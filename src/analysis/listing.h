/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures line by line: of functions, each in its file, or of whole files. *flat* is what a line
 * allocated itself, *cum* what was allocated below it as well; a stack counts once for a line and
 * once for its part, however often it comes by. Native code that a line of an interpreter's or
 * virtual machine's function calls is what the line does itself.
 */
#ifndef ANALYSIS_LISTING_H
#define ANALYSIS_LISTING_H

#include "analysis/grain.h"
#include "analysis/rows.h"

struct listing_line {
	uint32_t line;        /* 0: it is not known which */
	struct row flat, cum; /* without frames: sums and base alone, for row_value() */
};

DEFINE_VEC(listing_lines, struct listing_line)
DEFINE_VEC(listing_traces, struct traced_line)

struct listing_part {
	const char *function; /* NULL: all of the file */
	const char *file, *module_path;
	/* Of functions of interpreters and virtual machines, as far as their code has lines; 0: not
	 * known. */
	uint32_t first_line, last_line;
	struct row flat, cum;
	struct listing_lines lines; /* ascending; the one without a number first */
	/* What was seen of its lines while they were traced; ascending, each once. */
	struct listing_traces traces;
};

DEFINE_VEC(listing_parts, struct listing_part)

struct listing {
	struct listing_parts parts; /* the largest cum of allocated bytes first */
	size_t without_lines;       /* frames that were meant, but whose lines are not known */
	uint64_t traces_left_out;   /* of traced lines: how often some ran that found no room */
};

/* A part's file as it was found here, or not; strings are the caller's. */
struct listing_source {
	const char *found; /* its path; NULL: nowhere */
	const char *text;  /* with NUL after `len` bytes; NULL: not found */
	size_t len;
	const char *const *tried; /* paths that were looked at, all of them if it was not found */
	size_t tried_count;
	const char
		*refused; /* one of `tried` that is there, but has no name of source code; NULL */
	bool newer;       /* it has changed since the recording began: lines may have moved */
};

void listing_init(struct listing *listing);
void listing_deinit(struct listing *listing);

/*
 * Fills an empty listing with the frames whose spot is chosen: of functions a part for each
 * function and file, of files one for each file. `spots` know all frames of the rows
 * and must outlive the listing, whose figures they own.
 */
struct error *listing_build(const struct rows *rows, struct spots *spots, const bool *is_chosen,
	struct listing *ret) must_check_;

/* Returns whether a traced function has that name, whole or after its last dot. */
bool listing_is_traced(const struct model *model, const char *wanted);

/* Adds what was seen of lines while they were traced; and traced functions that have the wanted
 * name and are in no stack. */
struct error *listing_add_traces(
	struct listing *listing, const struct model *model, const char *wanted) must_check_;

/* Returns what was seen of a line of a part; NULL: nothing. */
const struct traced_line *listing_trace(const struct listing_part *part, uint32_t line);

#endif
