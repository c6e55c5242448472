/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What Python's lines keep alive, as its module tracemalloc groups it: each live block belongs to
 * the frames of Python in its stack, innermost first, whatever native code is between them. Blocks
 * whose stack has none are counted beside. Orders and filters are those of tracemalloc (CPython,
 * Lib/tracemalloc.py).
 */
#ifndef ANALYSIS_PYTHON_STATISTICS_H
#define ANALYSIS_PYTHON_STATISTICS_H

#include "analysis/rows.h"

enum python_key {
	PYTHON_BY_LINE,      /* of the innermost frame: "lineno" */
	PYTHON_BY_FILE,      /* of the innermost frame: "filename" */
	PYTHON_BY_TRACEBACK, /* all frames: "traceback" */
};

struct python_place {
	const char *file; /* never NULL */
	uint32_t line;    /* 0: not known, or the key is the file */
};

/* As tracemalloc.Filter. A pattern is one of Python's fnmatch: file_pattern.h. */
struct python_filter {
	const char *pattern; /* of `len` bytes; borrowed */
	size_t len;
	bool exclusive; /* leaves out what fits */
	bool has_line;
	uint32_t line;
};

DEFINE_VEC(python_filters, struct python_filter)

struct python_grouping {
	enum python_key key;
	size_t depth;   /* how many innermost frames count; 0: all. As of tracemalloc.start() */
	bool any_frame; /* filters look at all of these frames, not at the innermost alone */
	bool cum;       /* a block counts for each line or file in its stack, once; not by traceback
			 */
	struct python_filters filters;
};

struct python_statistic {
	const struct python_place *frames; /* outermost first; belong to the statistics */
	size_t depth;                      /* at least 1 */
	uint64_t size, count;
};

DEFINE_VEC(python_statistic_vec, struct python_statistic)

struct python_statistics {
	struct python_statistic_vec list;     /* the largest first */
	uint64_t native_bytes, native_blocks; /* live, without any frame of Python */
	struct arena arena;
};

void python_statistics_init(struct python_statistics *statistics);
void python_statistics_deinit(struct python_statistics *statistics);

/* Fills empty ones from rows, which must outlive them: names are borrowed. */
struct error *python_statistics_build(const struct rows *rows,
	const struct python_grouping *grouping, struct python_statistics *ret) must_check_;

/* A key in two recordings: the newer one's figures, and by how much they changed. */
struct python_change {
	const struct python_place *frames; /* as above, of either statistics */
	size_t depth;
	uint64_t size, count; /* 0: gone */
	int64_t size_change, count_change;
};

DEFINE_VEC(python_changes, struct python_change)

/* Fills an empty list with the keys of both, the largest change first. Both must outlive it. */
struct error *python_statistics_compare(const struct python_statistics *older,
	const struct python_statistics *newer, struct python_changes *ret) must_check_;

#endif
