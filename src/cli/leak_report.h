/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The search for leaks of a finished recording, read and shown. */
#ifndef CLI_LEAK_REPORT_H
#define CLI_LEAK_REPORT_H

#include "cli/leak_options.h"

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

/*
 * Shows one recording on `fd`, or in --log-file. Returns the exit code: 0, --error-exitcode if
 * there are errors, or that of our own failure, after saying so.
 */
int leak_report_show(struct leak_report *report, const char *path, int fd);

#endif
