/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the collector will have to say: which recordings are complete, how many processes they are
 * of, and how many were turned away.
 */
#ifndef CAPTURE_ROLL_H
#define CAPTURE_ROLL_H

#include "capture/collector/collector.h"
#include "capture/collector/subject.h"

/* What recordings are kept for that are too many to name all: higher ones first, then those with
 * larger peaks. */
enum roll_rank {
	ROLL_MAY_GO,      /* it may become a row of another: small.h */
	ROLL_STAYS,       /* nothing special */
	ROLL_ENDED_BADLY, /* as many do that are only asked something */
	ROLL_TELLS,       /* wrong frees, what is not held, or what nobody could see */
};

struct roll_named {
	struct collector_recording about;
	enum roll_rank rank;
};

struct roll {
	struct roll_named named[COLLECTOR_NAMED_MAX]; /* as they ended */
	uint32_t named_count;
	uint8_t *turned_away; /* bit set of PIDs, each counted once however many programs it became
			       */
	size_t turned_away_bytes;
	struct collector_end end;
};

void roll_deinit(struct roll *roll);

/* A recording is complete. Of very many those of the highest ranks are kept, and in any case the
 * one with the largest peak. */
void roll_add(struct roll *roll, const struct subject *subject,
	const struct recorder_totals *totals, enum roll_rank rank);

/* A recording that was added has become a row of another. */
void roll_take_file(struct roll *roll, const char *file);

/* True: this process is turned away for the first time. Count it by roll_unrecorded(). Without
 * memory to remember it each time is the first: rather twice in the count than missing. */
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
