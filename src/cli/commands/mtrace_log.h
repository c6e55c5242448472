/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log that glibc's mtrace() would have written, made from the recording of a program that ran
 * with libheapwise-mtrace.so. That library marks the calls of mtrace() and muntrace(); the log has
 * the events between them. Its file is the one that MALLOC_TRACE names here, in the environment of
 * the command: what the recorded process says has no effect on which file is written.
 */
#ifndef CLI_MTRACE_LOG_H
#define CLI_MTRACE_LOG_H

#include <stdbool.h>

#include "base/error.h"

struct launch_options;
struct shim_run;

/* What a log of all calls needs: exact events, and a file of each process. ERROR_USAGE: options
 * exclude it. */
struct error *mtrace_log_prepare(struct launch_options *launch);

/*
 * Writes the log of the process that called mtrace(), of several the one that ended last; messages
 * say what was written, or why nothing was. True, too: the program never called mtrace(), or
 * MALLOC_TRACE is not set. False: the log could not be written.
 */
bool mtrace_log_write(const struct shim_run *run);

#endif
