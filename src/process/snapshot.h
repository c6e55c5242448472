/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A picture of a stopped process's memory: a copy of it that it is made to fork, which never runs.
 * The process may go on at once; the copy costs it page faults while it lives (11 to 16 ms to make
 * per GiB in small pages, and a fault for each page that it writes to meanwhile). The copy has no
 * open files: what the process closes is closed.
 *
 * Not in it: what fork leaves out (MADV_DONTFORK, MADV_WIPEONFORK); shared mappings go on
 * changing.
 */
#ifndef PROCESS_SNAPSHOT_H
#define PROCESS_SNAPSHOT_H

#include "process/stop.h"

struct snapshot {
	pid_t pid;      /* the copy's; stopped, traced by the caller, and killed with it */
	pid_t inner;    /* as the process sees it */
	uint64_t place; /* as in struct remote_call */
};

/* ERROR_ENVIRONMENT: the process can't be copied, and why. *ret_errno: what its fork gave; 0: it
 * could not be made to fork at all. */
struct error *snapshot_take(
	struct stopped *stopped, struct snapshot *ret, int *ret_errno) must_check_;

/* When the process goes on: makes the copy close the files that it has been born with. */
void snapshot_close_files(const struct snapshot *snapshot);

/*
 * Ends the copy. Its process is stopped once more, for tens of microseconds, to make it reap the
 * copy; if that is not possible, it stays a zombie there.
 */
void snapshot_end(struct stopped *stopped, const struct snapshot *snapshot);

/* The second half of that, of a copy that has ended already. */
void snapshot_reap(struct stopped *stopped, const struct snapshot *snapshot);

#endif
