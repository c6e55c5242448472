/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A search for leaks that goes on beside the collector's other work: the process is held, its rings
 * are taken up to that moment, and a forked copy of the collector, which has the table of live
 * blocks as of then, searches (docs/decisions/0007).
 */
#ifndef CAPTURE_LEAK_JOB_H
#define CAPTURE_LEAK_JOB_H

#include "capture/leaks/leak_search.h"
#include "capture/recorder/recorder.h"

struct leak_job {
	struct hold hold;
	enum hpw_leak_moment moment;
	uint64_t tsc;
	pid_t searcher;
	int pidfd;   /* readable when the search is over */
	int results; /* memfd: the chunks */
	int asker;   /* waits for a struct ask_reply; -1: nobody does */
};

/*
 * Begins one. A process that could not be held or searched gives no error: the result says so.
 * NULL: no memory, or no process.
 */
struct leak_job *leak_job_start(
	struct recorder *recorder, const struct leak_check *check, enum hpw_leak_moment moment);

/* The same of a process that a signal is about to end. NULL also: it has ended otherwise. */
struct leak_job *leak_job_start_dying(
	struct recorder *recorder, const struct leak_check *check, struct hold_watch *watch);

/* When pidfd is readable: puts the results into the recording `file`, lets the process go, answers
 * the asker, ends the job. */
void leak_job_finish(struct leak_job *job, struct recorder *recorder, const char *file);

/* What the payload of a chunk LEAK_SEARCH says. */
struct leak_found leak_job_read(const void *payload, size_t bytes);

/* Ends a job whose process has gone meanwhile. NULL is fine. */
void leak_job_cancel(struct leak_job *job);

#endif
