/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of `heapwise check`. Names and values are Valgrind's where they mean the same. */
#ifndef CLI_CHECK_OPTIONS_H
#define CLI_CHECK_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options/error_options.h"
#include "cli/options/leak_options.h"
#include "cli/options/recording_options.h"

enum check_option {
	OPT_CHECK_FULL = 1100, /* beyond those of leak and symbol options */
	OPT_CHECK_ALIGN,
	OPT_CHECK_BEFORE,
	OPT_CHECK_SEED,
	OPT_CHECK_BUDGET,
	OPT_CHECK_ERRORS,
	OPT_CHECK_KILL,
	OPT_CHECK_GDB,
	OPT_CHECK_BACKEND,
	OPT_CHECK_TRACE_CHILDREN,
	OPT_CHECK_UNINIT,
	OPT_CHECK_UNINIT_RUNS,
	OPT_CHECK_ENGINE,
	OPT_CHECK_ESCALATE,
	OPT_CHECK_ORIGINS,
};

extern const struct option_spec check_option_specs[];

struct check_options {
	struct recording_options recording;
	struct leak_options leaks; /* of --leak-check; names, exit code, log and frames are here */
	struct error_options errors; /* --gen-suppressions and --format; the rest is in leaks */
	bool full, first, attach_gdb, json;
	unsigned align, before, budget; /* as given; UINT_MAX: not */
	int kill_signal;                /* 0: none */
	unsigned uninit; /* blocks with unwritten memory to search for, at most; 0: no search */
	unsigned uninit_runs; /* at which that ends; 0: not given */
	bool valgrind;        /* --engine=valgrind */
	bool escalate;        /* what has failed runs again under that */
	bool track_origins;   /* with either */
	uint64_t given; /* a bit for each row of check_option_specs: it was on the command line */
	const char *backend;
	const char *seed;
	char *setting; /* what HEAPWISE_CHECK is to be; owned */
};

void check_options_init(struct check_options *options);
void check_options_deinit(struct check_options *options);

/* Takes the option that options_next() has just given. The error is one sentence. */
struct error *check_options_take(
	struct check_options *options, int id, const char *argument) must_check_;

/* Whether the values make sense, and completes what is to be launched. */
struct error *check_options_complete(struct check_options *options) must_check_;

/* Whether the errors are one document at the end (--format), not printed as they happen. */
bool check_options_wants_document(const struct check_options *options);

/* Whether blocks are recorded too, not only errors. */
bool check_options_records_heap(const struct check_options *options);

#endif
