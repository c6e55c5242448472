/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings of ended images that are being completed, each by a thread of its own, so that the
 * collector goes on to serve the others: millions of live blocks, or a slow disk, take seconds, and
 * a process that has just started waits for its answer no longer than that.
 *
 *	if (closings_wants(&closings, subject) && closings_start(&closings, subject, &end))
 *		…what the subject had is the thread's now…
 *	…when closings.wake is readable…
 *	while ((closing = closings_next(&closings, false)))
 *		…closing->about, closing->totals…
 *		closing_destroy(closing);
 */
#ifndef CAPTURE_CLOSING_H
#define CAPTURE_CLOSING_H

#include <pthread.h>

#include "capture/collector/subject.h"

struct closing {
	struct closing *next;
	struct closings *all;
	pthread_t thread;
	struct recorder *recorder; /* the thread's alone until it is done */
	struct recorder_end end;
	struct subject about; /* a copy, for the names and numbers in it */
	struct recorder_totals totals;
	uint32_t done; /* release: the thread is through with all of this */
};

struct closings {
	struct closing *first;
	uint32_t count;
	int wake; /* an eventfd: one of them is done */
};

bool closings_init(struct closings *closings);
/* Waits for all that are left, and drops their results. */
void closings_deinit(struct closings *closings);

/* Whether the subject's recording is worth a thread, and there are not too many already. */
bool closings_wants(const struct closings *closings, const struct subject *subject);

/* Takes the subject's recorder and completes the recording in a thread. False: no memory, no
 * thread; then the subject keeps it. */
bool closings_start(
	struct closings *closings, struct subject *subject, const struct recorder_end *end);

/* One that is done, or if `wait` one that will be; the caller destroys it. NULL: none. */
struct closing *closings_next(struct closings *closings, bool wait);
void closing_destroy(struct closing *closing);

#endif
