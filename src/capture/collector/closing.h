/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings of ended images that are being completed, each by a thread of its own, so that the
 * collector goes on serving others. Millions of live blocks, or a slow disk, take seconds, which is
 *too long for a process that has just started and waits for its answer.
 *
 *	if (closings_wants(&closings, process) && closings_start(&closings, process, &end))
 *		…the thread owns the process's recorder now…
 *	…when closings.wake is readable…
 *	while ((closing = closings_next(&closings, false)))
 *		…closing->about, closing->totals…
 *		closing_destroy(closing);
 */
#ifndef CAPTURE_CLOSING_H
#define CAPTURE_CLOSING_H

#include <pthread.h>

#include "capture/collector/tracked_process.h"

struct closing {
	struct closing *next;
	struct closings *all;
	pthread_t thread;
	struct recorder *recorder; /* the thread's alone until it is done */
	struct recorder_end end;
	struct tracked_process about; /* a copy, for the names and numbers in it */
	struct recorder_totals totals;
	uint32_t done; /* released by the thread when it is done with all of this */
};

struct closings {
	struct closing *first;
	uint32_t count;
	int wake; /* an eventfd: one of them is done */
};

bool closings_init(struct closings *closings);
/* Waits for all remaining ones and drops their results. */
void closings_deinit(struct closings *closings);

/* Returns whether the recording of a process is worth a thread, and there are not too many already.
 */
bool closings_wants(const struct closings *closings, const struct tracked_process *process);

/* Takes over the recorder of a process and completes the recording in a thread. Returns false, and
 * takes nothing over, if there is no memory or no thread. */
bool closings_start(
	struct closings *closings, struct tracked_process *process, const struct recorder_end *end);

/* Returns one that is done, or, if `wait`, one that will be done; the caller destroys it. Returns
 * NULL if there is none. */
struct closing *closings_next(struct closings *closings, bool wait);
void closing_destroy(struct closing *closing);

#endif
