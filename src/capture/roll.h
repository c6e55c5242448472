/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the collector will have to say: which recordings are complete, how many processes they are
 * of, and how many were turned away.
 */
#ifndef CAPTURE_ROLL_H
#define CAPTURE_ROLL_H

#include "capture/collector.h"
#include "capture/subject.h"

struct roll {
	struct collector_recording named[COLLECTOR_NAMED_MAX]; /* as they ended */
	uint32_t named_count;
	uint8_t *turned_away; /* bit set of PIDs, each counted once however many programs it became
			       */
	size_t turned_away_bytes;
	struct collector_end end;
};

void roll_deinit(struct roll *roll);

/* A recording is complete. Of very many those with the most allocations are kept, and those that
 * nobody could look into. */
void roll_add(
	struct roll *roll, const struct subject *subject, const struct recorder_totals *totals);

/* True: this process is turned away for the first time. Count it by roll_unrecorded(). */
bool roll_turn_away(struct roll *roll, pid_t pid);
bool roll_has_turned_away(const struct roll *roll, pid_t pid);

/* A program goes unrecorded; the first ones are named. */
void roll_unrecorded(struct roll *roll, const struct unrecorded *one);
/* One that was counted has not come about. */
void roll_take_back(struct roll *roll, const struct unrecorded *one);

/* Keeps a first message for the launcher. Takes `error`. */
void roll_complain(struct roll *roll, struct error *error);

/* Tells the launcher everything; a launcher that is stopped does not hold us up for long. */
void roll_tell(struct roll *roll, int control);

#endif
