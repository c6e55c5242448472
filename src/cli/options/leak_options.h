/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a search for leaks is shown: options of `leaks`, and of `run`, which shows it at the end.
 * Names and values are Valgrind's where they mean the same.
 */
#ifndef CLI_LEAK_OPTIONS_H
#define CLI_LEAK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/vec.h"
#include "cli/options/symbol_options.h"
#include "cli/terminal/terminal.h"

enum leak_option {
	OPT_LEAK_FIRST = 512, /* beyond those of the commands themselves */
	OPT_SHOW_LEAK_KINDS,
	OPT_ERRORS_FOR_LEAK_KINDS,
	OPT_SHOW_REACHABLE,
	OPT_SHOW_POSSIBLY_LOST,
	OPT_SUPPRESSIONS,
	OPT_DEFAULT_SUPPRESSIONS,
	OPT_GEN_SUPPRESSIONS,
	OPT_ERROR_EXITCODE,
	OPT_LOG_FILE,
	OPT_NUM_CALLERS,
	OPT_LEAK_RESOLUTION,
	OPT_RUN_LIBC_FREERES,
	OPT_FORMAT,
	OPT_LEAK_JSON,
	OPT_LEAK_LIMIT,
	OPT_LEAK_ALL_FRAMES,
	/* Of `leaks` alone: LEAK_SPECS_TERMINAL. */
	OPT_LEAK_COLOUR,
	OPT_LEAK_NO_PAGER,
};

/* Rows for the options table of a command that takes them. */
#define LEAK_OPTIONS                                                                               \
	{OPT_SHOW_LEAK_KINDS, "show-leak-kinds", "LIST",                                           \
		"kinds of leaks to list: definite, indirect, possible, reachable, all, none "      \
		"(default: definite,possible)"},                                                   \
		{OPT_ERRORS_FOR_LEAK_KINDS, "errors-for-leak-kinds", "LIST",                       \
			"kinds of leaks that are errors (default: definite,possible)"},            \
		{OPT_ERROR_EXITCODE, "error-exitcode", "N",                                        \
			"exit status if there are errors: leaks of these kinds, invalid or "       \
			"mismatched frees"},                                                       \
		{OPT_SUPPRESSIONS, "suppressions", "FILE",                                         \
			"file of known leaks, in Valgrind's or LSan's format; may be repeated"},   \
		{OPT_DEFAULT_SUPPRESSIONS, "default-suppressions", "yes|no",                       \
			"use the built-in suppressions too (default: yes)"},                       \
		{OPT_GEN_SUPPRESSIONS, "gen-suppressions", "yes|no|all",                           \
			"print a suppression after each leak (all is the same as yes)"},           \
		{OPT_NUM_CALLERS, "num-callers", "N",                                              \
			"use at most N frames of a stack, 1 to 500 (default: all; with --format "  \
			"memcheck 12)"},                                                           \
		{OPT_LEAK_RESOLUTION, "leak-resolution", "low|med|high",                           \
			"merge leaks whose stacks agree in 2, 4 or all frames (default: high)"},   \
		{OPT_RUN_LIBC_FREERES, "run-libc-freeres", "yes|no",                               \
			"list separately what libc and libstdc++ keep for themselves (default: "   \
			"yes)"},                                                                   \
		{OPT_FORMAT, "format", "FORM",                                                     \
			"text (default), memcheck, valgrind (XML), json, csv, sarif, junit, "      \
			"github or gperftools (a heap profile)"},                                  \
		{OPT_LEAK_JSON, "json", NULL, "as --format json: schema heapwise.leaks/1"},        \
		{OPT_LOG_FILE, "log-file", "FILE",                                                 \
			"write the output to FILE; %p PID, %q{NAME} environment, %n number, %% "   \
			"percent"},                                                                \
		{OPT_LEAK_LIMIT, "limit", "N",                                                     \
			"list at most N allocation sites (default: 100 as text)"},                 \
		{OPT_SHOW_REACHABLE, "show-reachable", "yes|no",                                   \
			"older name: --show-leak-kinds=all, or definite,possible"},                \
		{OPT_SHOW_POSSIBLY_LOST, "show-possibly-lost", "yes|no",                           \
			"older name: --show-leak-kinds=definite,possible, or definite"},           \
		{OPT_LEAK_ALL_FRAMES, "all-frames", NULL,                                          \
			"do not fold frames of std, runtimes, Python's interpreter and "           \
			"allocators (text)"},                                                      \
		SYMBOL_SPECS{                                                                      \
			's', "show-error-list", NULL, "list the suppressions that were used"},     \
	{                                                                                          \
		'v', "verbose", NULL,                                                              \
			"show more: everything that references a block, used suppressions"         \
	}

/* Their headings. */
#define LEAK_HEADINGS                                                                              \
	{                                                                                          \
		OPT_SHOW_LEAK_KINDS, "Which leaks and wrong frees are shown, and how"              \
	}

/* As VIEW_SPECS_TERMINAL. */
#define LEAK_SPECS_TERMINAL                                                                        \
	{OPT_LEAK_COLOUR, "color", "WHEN", "auto (default: on terminals), always or never"},       \
	{                                                                                          \
		OPT_LEAK_NO_PAGER, "no-pager", NULL,                                               \
			"write directly to the terminal, without a pager ($HEAPWISE_PAGER, "       \
			"$PAGER or less)"                                                          \
	}

DEFINE_VEC(suppression_files, const char *)

enum leak_list_errors { LEAK_NO_EXITCODE = -1 };

/* As given, checked when they are taken. Strings are borrowed from the command line. */
struct leak_options {
	const char *detail;               /* full, yes, summary, no */
	unsigned show_kinds, error_kinds; /* bits 1 << enum leak_kind */
	struct suppression_files suppressions;
	struct name_settings symbols;
	bool default_suppressions, gen_suppressions, libc_freeres;
	bool errors_only;   /* nobody asked for leaks: wrong frees alone are told */
	int error_exitcode; /* LEAK_NO_EXITCODE */
	const char *log_file;
	const char *format;
	unsigned num_callers; /* 0: not given */
	unsigned resolution;  /* 0: high */
	size_t limit;         /* 0: not given */
	bool show_error_list, verbose, quiet, all_frames;
	enum colour_when colour; /* of text on stdout */
	bool no_pager;
	bool of_run;     /* at a run's end: of an image that went on by exec no places are listed */
	bool as_lsan;    /* what LeakSanitizer's options say counts, and only leaks are shown */
	bool only_leaks; /* only leaks are shown, and nothing if there are none */
	bool no_errors;  /* errors beside leaks are shown elsewhere */
	bool show_kinds_given, error_kinds_given;
};

void leak_options_init(struct leak_options *options);
void leak_options_deinit(struct leak_options *options);

/* As LeakSanitizer does it, where the user has said nothing else: what is definitely and indirectly
 * lost is an error, and LSAN_OPTIONS count. After all options were taken. */
void leak_options_as_lsan(struct leak_options *options);

/* Reads a list of kinds, "definite,possible", as bits 1 << enum leak_kind; `name` is the option's.
 */
struct error *leak_options_kinds(const char *name, const char *argument, unsigned *ret) must_check_;

/*
 * Takes the option that options_next() has just given. *ret_taken: it is one of these. The error
 * is one sentence.
 */
struct error *leak_options_take(
	struct leak_options *options, int id, const char *argument, bool *ret_taken) must_check_;

#endif
