/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that a forked copy of a process lacks or has otherwise: MADV_DONTFORK, MADV_WIPEONFORK,
 * userfaultfd(2) (and one who listens there may have to answer before a fork ends).
 */
#ifndef PROCESS_UNFORKED_H
#define PROCESS_UNFORKED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct unforked_known {
	/* Whether a mapping is of no interest. `path` as in /proc/PID/maps, or "". */
	bool (*is_known)(const void *context, uint64_t start, uint64_t end, const char *path);
	const void *context;
};

/* Whether the process has such memory that it can write to, besides that of devices and what is
 * known; true also if nobody says. Reads /proc/PID/smaps: 5 to 10 ms a GiB. */
bool process_has_unforked(pid_t pid, const struct unforked_known *known);

#endif
