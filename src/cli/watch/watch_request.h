/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `heapwise watch` is asked for: filled from its options, checked, and run. */
#ifndef CLI_WATCH_REQUEST_H
#define CLI_WATCH_REQUEST_H

#include "cli/options/options.h"
#include "cli/watch/watch_intervals.h"
#include "cli/watch/watch_record.h"
#include "cli/watch/watch_text.h"

/* Which allocations are followed: one of these ways. */
enum sampling_way { WAY_ALL = 1, WAY_MEAN = 2, WAY_RATE = 4 };

struct watch_request {
	struct watch_options watch;
	struct watch_shown shown;
	struct watch_names names;
	uint64_t pid;
	const char *command; /* to be started; NULL: there is a PID, or it is the kernel */
	struct watch_intervals intervals;
	bool all, traces, writes_json, growth;
	struct watch_record record; /* with a file: a recording is made */
	bool verifies;
	struct watch_verify verify; /* if so */
	unsigned ways;              /* bits of enum sampling_way that were asked for */
	/* The last option given that does not go with others; NULL: none. */
	const char *shown_option;   /* about what is printed: not with a recording */
	const char *process_option; /* about a process: not with the kernel's allocations */
	bool has_block_option;      /* one about allocations was given: not with --growth */
};

/* The command's table of options. */
extern const struct option_spec watch_option_specs[];

/* Takes an option into the struct watch_request `context`, for options_each(). */
bool watch_option_take(const struct options *options, int id, void *context);

/* Checks that the options go together, and takes the operands: PID unless it is known, INTERVAL,
 * COUNT. Returns -1, or the exit status of a wrong use, after saying what is wrong. */
int watch_request_check(
	const struct command *command, struct watch_request *request, char **words, int count);

/* Does what was asked for, and says what goes wrong. Returns the exit status. */
int watch_request_run(struct watch_request *request);

#endif
