/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dumps of one process that are being written, each by a forked copy of the collector, which has
 * all figures as they were at that moment. The process is not stopped.
 */
#ifndef CAPTURE_DUMP_JOB_H
#define CAPTURE_DUMP_JOB_H

#include "capture/dumps/dump_files.h"
#include "capture/recorder/recorder.h"

/* At a time, of one process. */
#define DUMP_JOBS_MAX 4u

/* How long the end of a process waits for its dumps. */
#define DUMP_WAIT_MS 30000

struct dump_job {
	pid_t writer;   /* 0: this place is free */
	int pidfd;      /* readable when the dump is written */
	int asker;      /* connection that waits for a struct hw_reply; -1: none */
	int file;       /* the dump, for the asker; -1: it is in `name` */
	char *name;     /* absolute; NULL: it is in `file` */
	uint64_t order; /* see struct dump_file; 0: someone has named the file, so that it stays */
	struct dump_owner owner;
	uint64_t time_ns;
	char *problem; /* shared with the writer, HW_REPLY_MESSAGE bytes; "": there is none */
};

struct dump_order {
	const struct dump_plan *plan;
	int process; /* its pidfd, borrowed */
	enum dump_reason reason;
	const char *why;         /* see struct recorder_dump */
	struct recorder_end end; /* see there */
	struct dump_owner owner;
	char *name;      /* taken over; NULL: for the asker alone */
	uint64_t number; /* the job's order */
	int asker;       /* taken over; -1: none */
};

/* Starts to write a dump. Returns NULL after starting, or why it can't be done; `name` and `asker`
 * stay the caller's then. */
const char *dump_job_start(
	struct dump_job *job, struct recorder *recorder, const struct dump_order *order);

/*
 * Ends a job whose pidfd is readable, and answers the asker. Returns the name of the file that was
 * written, which the caller frees; NULL: none was, or it went to the asker. *ret_problem (at least
 * HW_REPLY_MESSAGE bytes): why not, or "".
 */
char *dump_job_finish(struct dump_job *job, char *ret_problem);

/* Waits until a job is done, for `ms` milliseconds at most. Returns whether it is: then it can be
 * finished. A pipe that nobody reads, or a disk that does not answer, must not hold the collector.
 */
bool dump_job_is_done(const struct dump_job *job, int ms);

/* Ends a job that nobody needs any more; nothing of it remains. */
void dump_job_cancel(struct dump_job *job);

#endif
