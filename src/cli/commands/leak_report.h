/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The search for leaks of a finished recording, read and shown. */
#ifndef CLI_LEAK_REPORT_H
#define CLI_LEAK_REPORT_H

#include "analysis/suppress.h"
#include "base/sink.h"
#include "cli/options/leak_options.h"
#include "views/leaks_view.h"

struct leak_report;

/*
 * Checks what the options say and reads the suppression files, before anything is recorded. The
 * options must outlive the report.
 */
struct error *leak_report_create(
	const struct leak_options *options, struct leak_report **ret) must_check_;
void leak_report_destroy(struct leak_report *report);

static inline void leak_report_cleanup(struct leak_report **report)
{
	leak_report_destroy(*report);
}

/* Whether the form is one that there is, without reading anything. */
struct error *leak_report_check(const struct leak_options *options) must_check_;

/* The suppressions that options name, and the built-in ones unless they say no, or another checker
 * found the model's leaks, with those of its own; the caller destroys them. */
struct error *leak_report_suppressions(const struct leak_options *options,
	const struct model *model, struct suppressions **ret) must_check_;

/*
 * Shows one recording on `fd`, or in --log-file; of a process that is `living` it has no end,
 * of course. Returns 0, or the exit code of our own failure, after saying so.
 */
int leak_report_show(struct leak_report *report, const char *path, int fd, bool living);

/*
 * Writes the JSON of a model that is open, with at most `limit` rows, as leak_report_show() would
 * with that format; adds how many rows the limit left out to *ret_left_out. ERROR_INPUT: it knows
 * nothing of leaks. Nothing is counted and no wishes of LeakSanitizer count.
 */
struct error *leak_report_write(const struct leak_report *report, const struct model *model,
	size_t limit, const struct sink *sink, size_t *ret_left_out) must_check_;

/* How many errors there were in what was shown so far. */
uint64_t leak_report_errors(const struct leak_report *report);

/* The sums of what was shown so far and was searched. */
struct leaks_sums leak_report_sums(const struct leak_report *report);

/* Whether the last one shown was searched at all. */
bool leak_report_searched(const struct leak_report *report);

/* Whether any of those shown was. */
bool leak_report_searched_any(const struct leak_report *report);

/* Leaves out searches that programs requested themselves: they were shown then. A program that
 * wants none at its end has no other. */
void leak_report_leave_out_requested(struct leak_report *report);

/* The exit status that is for errors, or LEAK_NO_EXITCODE: --error-exitcode, or LeakSanitizer's as
 * the last one shown wants it. */
int leak_report_exitcode(const struct leak_report *report);

/* Whether there is such a status, and places that could be errors. */
bool leak_report_is_gate(const struct leak_report *report);

/* Whether of some that was shown it is not certain if it has errors, though a status was asked for.
 */
bool leak_report_undecided(const struct leak_report *report);

/* Whether there were errors for which there is such a status. */
bool leak_report_fails(const struct leak_report *report);

#endif
