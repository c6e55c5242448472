/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that a forked copy of a process does not have, or has with other contents: MADV_DONTFORK,
 * MADV_WIPEONFORK, userfaultfd(2) (whose listener may have to answer before a fork ends).
 */
#ifndef PROCESS_FORK_EXCLUSIONS_H
#define PROCESS_FORK_EXCLUSIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fork_exclusions_known {
	/* Returns whether a mapping does not matter. `path` is as in /proc/PID/maps, or "". */
	bool (*is_known)(const void *context, uint64_t start, uint64_t end, const char *path);
	const void *context;
};

/* Returns whether the process has writable memory of this kind, apart from that of devices, of
 * mappings for which is_known() returns true, and of memory that fork wipes and that is zeros
 * anyhow (children of an attached process keep such, and so may what has been let go); true also if
 * that is unknown. Reads /proc/PID/smaps, which takes 5 to 10 ms a GiB. */
bool process_has_fork_exclusions(pid_t pid, const struct fork_exclusions_known *known);

#endif
