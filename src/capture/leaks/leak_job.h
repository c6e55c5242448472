/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A search for leaks that runs in parallel to the collector's other work. The process is paused,
 * its rings are drained up to that moment, and a forked copy of the collector, which has the table
 * of live blocks of that moment, searches (docs/decisions/0007).
 */
#ifndef CAPTURE_LEAK_JOB_H
#define CAPTURE_LEAK_JOB_H

#include "capture/leaks/leak_search.h"
#include "capture/recorder/recorder.h"

struct leak_job {
	struct paused_target target;
	enum hpw_leak_moment moment;
	uint64_t tsc;
	pid_t searcher;
	int pidfd;   /* readable when the search is over */
	int results; /* memfd: the chunks */
	int asker;   /* connection that waits for a struct hw_reply; -1: none */
};

/*
 * Starts a search. If the process can't be paused or searched, the result says so. Returns NULL if
 * there is no memory or no process.
 */
struct leak_job *leak_job_start(
	struct recorder *recorder, const struct leak_check *check, enum hpw_leak_moment moment);

/* Starts a search of a process that a signal is about to end. Returns NULL also if it has ended
 * otherwise. */
struct leak_job *leak_job_start_dying(
	struct recorder *recorder, const struct leak_check *check, struct death_watch *watch);

/* Ends a job when its pidfd is readable: writes the results to the recording `file`, lets the
 * process go on, answers the asker, and frees the job. */
void leak_job_finish(struct leak_job *job, struct recorder *recorder, const char *file);

/* Returns the result in the payload of a chunk LEAK_SEARCH. */
struct leak_found leak_job_read(const void *payload, size_t bytes);

/* Ends a job whose process has ended meanwhile. NULL is allowed. */
void leak_job_cancel(struct leak_job *job);

#endif
