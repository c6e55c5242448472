/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `heapwise check --uninit`: the search (uninit.h), what it says, and the last run of the program,
 * in which the library reports the blocks that were found with their stacks.
 */
#ifndef CLI_UNWRITTEN_H
#define CLI_UNWRITTEN_H

#include "cli/check/check_options.h"
#include "cli/check/uninit.h"

struct unwritten {
	struct uninit_result found;
	int input;      /* a copy of standard input; -1: there is none */
	char *settings; /* of the last run */
};
void unwritten_deinit(struct unwritten *unwritten);

/* Searches, for the program that `options` launches. Writes what the program wrote in the first run
 * to its streams. */
struct error *unwritten_search(
	const struct check_options *options, const char *guard, struct unwritten *ret) must_check_;

/* Says what was found, on descriptor `log`. */
struct error *unwritten_show(const struct unwritten *unwritten, const struct check_options *options,
	int log) must_check_;

/* Whether there is something that the last run is to report. */
bool unwritten_is_found(const struct unwritten *unwritten);

/* Says so if the last run has reported less than was found, of `errors` errors that it had in all.
 */
void unwritten_compare(
	const struct unwritten *unwritten, const struct check_options *options, uint64_t errors);

/* Makes the options those of the last run. */
struct error *unwritten_prepare(
	struct unwritten *unwritten, struct check_options *options) must_check_;

/* Gives this process the input of the runs as its standard input, and outputs that are thrown away,
 * until they are shown again. */
struct unwritten_streams {
	int kept[3];
};
void unwritten_streams_hide(const struct unwritten *unwritten, struct unwritten_streams *ret);
void unwritten_streams_show(struct unwritten_streams *streams);

#endif
