/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A picture of a stopped process's memory: a copy of it that it is made to fork, which never runs.
 * The process may go on at once; the copy costs it page faults while it lives (11 to 16 ms to make
 * per GiB in small pages, and a fault for each page that it writes to meanwhile).
 *
 * Not in it: what fork leaves out (MADV_DONTFORK, MADV_WIPEONFORK); shared mappings go on
 * changing.
 */
#ifndef PROCESS_SNAPSHOT_H
#define PROCESS_SNAPSHOT_H

#include "process/stop.h"

/* The copy's process id; stopped, traced by the caller, and killed with it. ERROR_ENVIRONMENT: the
 * process is confined, or the kernel refuses. */
struct error *snapshot_take(struct stopped *stopped, pid_t *ret) must_check_;

/*
 * Ends the copy. Its process is stopped once more, for tens of microseconds, to make it reap the
 * copy; if that is not possible, it stays a zombie there.
 */
void snapshot_end(pid_t process, pid_t snapshot);

#endif
