/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of merge alone: the records of one lane, taken apart and delivered one after the other. */
#ifndef CAPTURE_LANE_H
#define CAPTURE_LANE_H

#include "capture/recorder/merge.h"

/* A record taken apart. */
struct record {
	uint32_t op;    /* without HW_R_STAMPED */
	uint32_t words; /* 0: nonsense */
	bool stamped;
	uint64_t number; /* address, or what the operation says */
	uint32_t stack;
	uint32_t name_bytes;
	uint64_t size, old;
	uint64_t stamp, stamp2;
};

/* Brings lane->stamp up to the record at tail, passing over what has no time, and fills *ret.
 * Returns false if there is no data left. */
bool lane_peek(struct merge *merge, struct merge_lane *lane, struct record *ret);

/*
 * Delivers records of the lane as long as they are not later than `until`, which the one at tail is
 * not. Returns false if there is no data left.
 */
bool lane_run(struct merge *merge, struct merge_lane *lane, uint64_t until);

/* Returns the sink's number of the thread that the record at tail, at that stamp, is of: a new one
 * if need be; MERGE_NO_THREAD if there is no memory. */
uint32_t lane_thread(struct merge *merge, struct merge_lane *lane, uint64_t stamp);

/* Gives the room of the words that were taken back to the thread. */
void lane_give_room(struct merge *merge, struct merge_lane *lane);

/* Passes over all words before `until`. Returns how many events they were; what makes no sense
 * counts as one. */
uint64_t lane_pass_words(struct merge_lane *lane, uint64_t until);

/* Gives the lane up: what it has left is nonsense. */
void lane_break(struct merge *merge, struct merge_lane *lane);

#endif
