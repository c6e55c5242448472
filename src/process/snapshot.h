/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A snapshot of a stopped process's memory: a copy that the process is made to fork and that never
 * runs. The process may go on at once. The copy takes 11 to 16 ms to make per GiB in small pages,
 * and costs the process a page fault for each page that it writes to while the copy exists. The
 * copy has no open files: what the process closes is closed.
 *
 * Not in it: what fork leaves out (MADV_DONTFORK, MADV_WIPEONFORK); shared mappings go on
 * changing.
 */
#ifndef PROCESS_SNAPSHOT_H
#define PROCESS_SNAPSHOT_H

#include "process/stop.h"

struct snapshot {
	pid_t pid;      /* the copy's; stopped, traced by the caller, and killed with it */
	pid_t inner;    /* its number in the process's PID namespace */
	uint64_t place; /* as in struct remote_call */
};

/* Makes a copy of a stopped process. Returns ERROR_ENVIRONMENT, with the reason, if it can't be
 * copied; *ret_errno is the errno of its fork, or 0 if it could not be made to fork at all. */
struct error *snapshot_take(
	struct stopped *stopped, struct snapshot *ret, int *ret_errno) must_check_;

/* Makes the copy close the files that it was forked with; after the process goes on. */
void snapshot_close_files(const struct snapshot *snapshot);

/*
 * Ends the copy. The copied process is stopped once more, for tens of microseconds, to make it reap
 * the copy; if that is not possible, the copy stays a zombie of it.
 */
void snapshot_end(struct stopped *stopped, const struct snapshot *snapshot);

/* Makes the copied process reap a copy that has ended already. */
void snapshot_reap(struct stopped *stopped, const struct snapshot *snapshot);

#endif
