/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The run of `watch --growth`, which other commands may begin, too. */
#ifndef CLI_GROWTH_RUN_H
#define CLI_GROWTH_RUN_H

#include "cli/watch/watch_names.h"
#include "views/views.h"

struct growth_request {
	pid_t pid;
	uint64_t interval_s;
	uint64_t count; /* looks; 0: until a signal asks to end, or the process ends */
	uint64_t top;   /* stacks of each kind that are shown */
	bool writes_json;
	bool is_spawned; /* by watch_spawn(): it is released, or dropped on errors */
	int signals;     /* readable (signalfd) when it is to end; belongs to the caller */
	struct watch_names *names; /* opened by the caller */
	struct sink sink;          /* for the results */
};

/* Follows a process and prints until that is over. ERROR_INPUT, ERROR_ENVIRONMENT: as
 * growth_open(). */
struct error *growth_run(const struct growth_request *request) must_check_;

#endif
