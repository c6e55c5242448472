/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The run of `watch --growth`. */
#ifndef CLI_GROWTH_RUN_H
#define CLI_GROWTH_RUN_H

#include "cli/watch/watch_intervals.h"
#include "cli/watch/watch_names.h"

struct growth_request {
	pid_t pid;
	uint64_t top;              /* stacks of each kind that are shown */
	bool is_spawned;           /* by watch_spawn(): it is released, or dropped on errors */
	struct watch_names *names; /* opened by the caller */
	struct watch_intervals intervals;
};

/* Follows a process and prints until that is over. ERROR_INPUT, ERROR_ENVIRONMENT: as
 * growth_open(). */
struct error *growth_run(const struct growth_request *request) must_check_;

#endif
