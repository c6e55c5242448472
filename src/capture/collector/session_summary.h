/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the collector reports to the launcher at the end: which recordings are complete, how many
 * processes they are of, and how many processes were turned away.
 */
#ifndef CAPTURE_SESSION_SUMMARY_H
#define CAPTURE_SESSION_SUMMARY_H

#include "base/map.h"
#include "capture/collector/collector.h"
#include "capture/collector/tracked_process.h"

/* Which recordings are named if there are too many to name all: those of higher rank first, then
 * those with larger peaks. */
enum recording_rank {
	RECORDING_SMALL,        /* it may become a row of another: small.h */
	RECORDING_PLAIN,        /* nothing special */
	RECORDING_ENDED_BADLY,  /* as many do that are only asked something */
	RECORDING_HAS_FINDINGS, /* wrong frees, leaks, or an allocator that could not be recorded */
};

/* A recording that is named. */
struct ranked_recording {
	struct collector_recording about;
	enum recording_rank rank;
};

static inline bool pids_equal(uint64_t a, uint64_t b)
{
	return a == b;
}

DEFINE_MAP(turned_away_map, uint64_t, uint64_t, hash_u64, pids_equal)

struct session_summary {
	struct ranked_recording named[COLLECTOR_NAMED_WITH_ERRORS_MAX]; /* as they ended */
	uint32_t named_count, named_most;
	/* Processes, each counted once however many programs it became: when it started, 0 if it
	 * had ended, by PID. */
	struct turned_away_map turned_away;
	struct collector_end end;
};

void session_summary_deinit(struct session_summary *summary);

/* Adds a complete recording. If there are very many, those of the highest ranks are kept, and in
 * any case the one with the largest peak. */
void session_summary_add(struct session_summary *summary, const struct tracked_process *process,
	const struct recorder_totals *totals, enum recording_rank rank);

/* Removes a recording that has become a row of another one. */
void session_summary_forget_file(struct session_summary *summary, const char *file);

/* True: this process, which still lives, is turned away for the first time. Count it by
 * session_summary_count_unrecorded(). Without memory to remember it each time is the first: rather
 * twice in the count than missing. */
bool session_summary_turn_away(struct session_summary *summary, pid_t pid);
/* Whether this process was turned away before; if it has ended, whether one with its number was. */
bool session_summary_has_turned_away(const struct session_summary *summary, pid_t pid);
/* A process that had ended when it was heard was turned away: a later notice is of the same one. */
void session_summary_turn_away_ended(struct session_summary *summary, pid_t pid);

/* Counts a program that runs unrecorded; the first ones are named. */
void session_summary_count_unrecorded(
	struct session_summary *summary, const struct unrecorded *one);
/* Takes back session_summary_count_unrecorded(): the program was not started after all. */
void session_summary_uncount_unrecorded(
	struct session_summary *summary, const struct unrecorded *one);

/* Keeps the first message for the launcher. Takes `error` over. */
void session_summary_complain(struct session_summary *summary, struct error *error);

/* Sends everything to the launcher; does not wait long for a launcher that is stopped. */
void session_summary_send(struct session_summary *summary, int control);

#endif
