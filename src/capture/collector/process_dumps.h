/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The dumps of one recorded process: what was written, what is being written, what is due. When it
 * executes another program, jobs go on, and so do the numbers of names that the user chose.
 */
#ifndef CAPTURE_PROCESS_DUMPS_H
#define CAPTURE_PROCESS_DUMPS_H

#include "capture/dumps/dump_job.h"
#include "capture/dumps/memory_watch.h"

struct process_dumps {
	struct dump_plan plan; /* the session's, or as the process has changed it */
	bool inherited;        /* it was forked, and its files are named by its parent's plan */
	char *own_files;       /* plan.files if the process has set it; owned */
	/* Where the process was when that was last looked at: with the rights of the collector's
	 * user, and with another's. Owned, NULL: not known. */
	char *folder, *folder_of_other;
	/* A process of another user has set that: its dumps are written with that one's rights. */
	struct dump_owner owner;
	struct dump_files files;
	struct dump_trigger trigger;
	struct memory_watch memory;
	struct dump_job jobs[DUMP_JOBS_MAX];
	uint64_t looked_ns; /* when the trigger was asked last */
	uint32_t due;       /* 1 << enum dump_reason: to be made when there is a place for it */
	struct recorder_end end; /* how the process ends; HPW_EXIT_RUNNING: it does not yet */
	bool exit_begun;         /* that of the process's end was begun */
	uint64_t exit_began_ns;  /* when, CLOCK_MONOTONIC */
	uint64_t failed;         /* dumps that could not be written */
	uint64_t done;           /* that were */
};

#endif
