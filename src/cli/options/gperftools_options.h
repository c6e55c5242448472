/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What --as=gperftools means for a recording, and what that tool says of its profiles. */
#ifndef CLI_GPERFTOOLS_OPTIONS_H
#define CLI_GPERFTOOLS_OPTIONS_H

#include <stdbool.h>

#include "base/error.h"
#include "capture/launch.h"
#include "cli/options/leak_options.h"
#include "views/leaks_view.h"

/* The `prepare` of its row of the table of shims. */
struct error *gperftools_options_prepare(struct launch_options *launch) must_check_;

/*
 * Says on standard error that a heap profile was written (`done`) or not, in gperftools' words, if
 * nobody asked for it: who did says so itself. The figures are those of the file.
 */
void gperftools_announce(const struct dump_conversion *conversion, bool done);

/* Sets what HEAPCHECK means for the judgement of leaks `at_end`, where options don't say it: exit
 * status 1, and which kinds are leaks. The program that is started then has no HEAPCHECK: what
 * it knows of it would search, too. */
void gperftools_options_leaks(struct leak_options *options, bool at_end);

/* Sets likewise what counts, and is shown, of a check that the program makes itself. */
void gperftools_options_check(struct leak_options *options);

/* The `warn` of its row of the table of shims. */
void gperftools_options_warn(void);

/* Says on standard error what was found, in gperftools' words. `recording` (NULL: not known) is
 * where more is to be found. */
void gperftools_describe_leaks(struct leaks_sums sums, const char *recording);

/* Writes the leaks of a recording to HEAP_CHECK_DUMP_DIRECTORY, if that is set, under gperftools'
 * name, and says so. What goes wrong is said, too. */
void gperftools_dump_leaks(const struct collector_recording *recording);

#endif
