/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options of `report` and `diff` with --format tracemalloc: how the blocks of Python's lines are
 * grouped, and which are chosen, as tracemalloc.Filter and Snapshot.statistics() do.
 */
#ifndef CLI_TRACEMALLOC_OPTIONS_H
#define CLI_TRACEMALLOC_OPTIONS_H

#include <stdbool.h>

#include "analysis/python_statistics.h"
#include "base/error.h"

#define TRACEMALLOC_FORMAT "tracemalloc"

enum tracemalloc_option {
	TRACEMALLOC_OPT_FIRST = 950, /* beyond those of all that take them */
	TRACEMALLOC_OPT_INCLUDE,
	TRACEMALLOC_OPT_EXCLUDE,
	TRACEMALLOC_OPT_ANY_FRAME,
	TRACEMALLOC_OPT_NFRAME,
	TRACEMALLOC_OPT_RECENT_FIRST,
	TRACEMALLOC_OPT_LAST,
};

/* Rows for the options table of a command that takes them. */
#define TRACEMALLOC_SPECS                                                                          \
	{TRACEMALLOC_OPT_INCLUDE, "include", "GLOB[:LINE]",                                        \
		"of --format tracemalloc: only blocks whose innermost Python frame is in such a "  \
		"file, at that line; may be repeated"},                                            \
		{TRACEMALLOC_OPT_EXCLUDE, "exclude", "GLOB[:LINE]",                                \
			"leave such blocks out; may be repeated"},                                 \
		{TRACEMALLOC_OPT_ANY_FRAME, "any-frame", NULL,                                     \
			"--include and --exclude look at all Python frames of a stack"},           \
		{TRACEMALLOC_OPT_NFRAME, "nframe", "N",                                            \
			"use the N innermost Python frames only (default: all)"},                  \
		{TRACEMALLOC_OPT_RECENT_FIRST, "most-recent-first", NULL,                          \
			"in tracebacks the innermost frame comes first"},

/* All 0 before options are taken, but for the filters, which are initialised. Strings are borrowed
 * from the command line. */
struct tracemalloc_options {
	bool chosen; /* --format tracemalloc is given */
	struct python_grouping grouping;
	bool most_recent_first;
	const char *given; /* the option that was given first, "--include"; NULL: none */
};

void tracemalloc_options_init(struct tracemalloc_options *options);
void tracemalloc_options_deinit(struct tracemalloc_options *options);

/* Takes the option that options_next() has just given. *ret_taken: it is one of these. The error
 * is one sentence. */
struct error *tracemalloc_options_take(struct tracemalloc_options *options, int id,
	const char *argument, bool *ret_taken) must_check_;

/* Parses "line", "file" or "traceback", or tracemalloc's "lineno" or "filename". */
bool tracemalloc_key_parse(const char *text, enum python_key *ret);

#endif
