/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints errors of a program while it runs: a process beside the one that waits for the program.
 * The collector writes to a pipe which recordings have new errors; this process reads those as far
 * as they are written, and shows what it has not shown yet. Neither the program nor the collector
 * waits for it.
 */
#ifndef CLI_CHECK_PRINTER_H
#define CLI_CHECK_PRINTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/check/check_folder.h"
#include "cli/check/check_options.h"

struct check_printer {
	pid_t pid;
	int pipe;   /* for names of recordings: does not block; struct launch_options has it too */
	int result; /* what it says at its end */
};

/* What it has come to. */
struct check_result {
	uint64_t errors;    /* how often, all together */
	uint64_t different; /* how many different ones in each process, added up */
	uint64_t unchecked; /* recordings in which errors may be missing */
	uint64_t printed;   /* different ones that were printed, also of recordings that nobody has
			       called complete: errors, if the collector was killed */
	uint32_t ended;     /* 1: a program was ended because of one */
};

/* Starts it; before the program, which the calling process waits for afterwards. The options must
 * outlive it. `log`: where errors are printed. `folder`: it removes that if the calling process is
 * killed. */
struct error *check_printer_start(const struct check_options *options, int log,
	struct check_folder *folder, struct check_printer *ret) must_check_;

/* Adds a JSON document as one line. */
void check_line_add(const struct text *document, struct text *ret);

/* Names a recording that is complete. */
void check_printer_name(const struct check_printer *printer, const char *file);

/* Ends it without a word: nothing was started. Frees what it has. */
void check_printer_cancel(struct check_printer *printer);

/* Has the printer show what is left and, unless options say no, the summary, waits for its end and
 * frees what it has. False: it has not come to a result. */
bool check_printer_end(struct check_printer *printer, struct check_result *ret);

#endif
