/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loop of `watch`: every INTERVAL seconds it looks and shows what it found, and in between it
 * takes events from the kernel. What is looked at is a table of functions, one table for each kind
 * of watching.
 */
#ifndef CLI_WATCH_INTERVALS_H
#define CLI_WATCH_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/sink.h"
#include "base/text.h"

/* A kind of watching. `subject` is what is watched, and how it is shown. */
struct watch_kind {
	/* A descriptor that can be read when `poll` should be called at once. */
	int (*fd)(void *subject);
	/* Called some ten times a second. *ret_ended: the process has ended. */
	struct error *(*poll)(void *subject, bool *ret_ended);
	/* Reads what there is now; one of the next two shows it. */
	struct error *(*look)(void *subject);
	struct error *(*add_text)(void *subject, struct text *text, const char *time_of_day);
	struct error *(*add_json)(void *subject, struct json *json, uint64_t wall_seconds);
};

struct watch_intervals {
	uint64_t interval_s;
	uint64_t count;   /* looks; 0: until a signal asks to end, or the process ends */
	int signals;      /* of watch_signals_open(); belongs to the caller */
	struct sink sink; /* for the results */
	struct json
		*json; /* a document whose intervals come next, and which is ended; NULL: text */
};

/* Looks and shows until that is over. *ret_ended: because the process has ended. */
struct error *watch_intervals_run(const struct watch_intervals *intervals,
	const struct watch_kind *kind, void *subject, bool *ret_ended) must_check_;

/* Opens a descriptor from which signals that ask to end are read from now on, so that one that
 * comes early is not lost: SIGINT, SIGTERM, and SIGHUP if `with_hangup`. */
struct error *watch_signals_open(bool with_hangup, int *ret) must_check_;

/* Waits for the kernel, at most for a time. Returns whether a signal asks to end. */
bool watch_await(int kernel, int signals, uint64_t wait_ns);

#endif
