/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How near a process is to having no memory left: its resident size, its cgroup's share of the
 * limit, and whether tasks stall for memory. Files of the kernel are read a few times a second; who
 * waits for events of the kernel (cgroup v2, PSI triggers) would learn no more, since an ordinary
 * user gets those once in 2 seconds.
 */
#ifndef CAPTURE_MEMORY_WATCH_H
#define CAPTURE_MEMORY_WATCH_H

#include "capture/dump_plan.h"

#include <sys/types.h>

struct memory_watch {
	uint64_t looked_ns;    /* CLOCK_MONOTONIC; 0: never */
	uint64_t pressure_ns;  /* when the last look at that was */
	uint64_t limit_events; /* of the cgroup: how often it reached memory.high or .max */
	uint64_t stalled_us;   /* of tasks, for memory */
	bool is_short;         /* it was at the last look */
	bool has_limit_events, has_stalled; /* whether the kernel reports these */
};

/* What was found; 0: not known. */
struct memory_state {
	uint64_t resident_bytes; /* without shared memory: the recorder's rings, too */
	uint32_t used_percent;   /* of the limit of its cgroup, or of the machine's memory */
	/* A limit was reached, or tasks stalled, since the look before; or a cgroup is full. */
	bool is_short;
};

/* Returns whether a look is due. `now_ns`: CLOCK_MONOTONIC. */
bool memory_watch_is_due(const struct memory_watch *watch, uint64_t now_ns);

/* Looks at what the plan needs. */
struct memory_state memory_watch_look(
	struct memory_watch *watch, const struct dump_plan *plan, pid_t pid, uint64_t now_ns);

/*
 * Finds the smallest limit that holds for a cgroup in the folder `top` (of cgroup v2 or, if
 * `is_v1`, of the controller "memory"), and what is used of it. `path` begins with a slash. Returns
 * false if there is no limit.
 */
bool memory_cgroup_use(
	const char *top, const char *path, bool is_v1, uint64_t *ret_used, uint64_t *ret_limit);

/* Returns whether that cgroup, or one above it, is near the limit at which the kernel kills, with
 * memory that can't be taken back from it: not with pages of files. */
bool memory_cgroup_is_full(const char *top, const char *path, bool is_v1);

#endif
