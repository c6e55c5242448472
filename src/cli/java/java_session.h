/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recording objects that a running JVM allocates: what `heapwise java` does with its agent. */
#ifndef CLI_JAVA_SESSION_H
#define CLI_JAVA_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/java/java_shown.h"
#include "process/java_agent.h"

enum java_action {
	JAVA_COLLECT, /* start, wait, stop, show */
	JAVA_START,
	JAVA_RESUME,
	JAVA_STOP,
	JAVA_DUMP,
	JAVA_STATUS,
	JAVA_LIST,
	JAVA_ACTIONS
};

struct java_request {
	enum java_action action;
	uint64_t duration_ns;     /* of JAVA_COLLECT */
	uint64_t interval, depth; /* 0: the usual ones */
	bool live, threads, short_names;
	bool collects;     /* a full garbage collection before a profile */
	uint64_t survived; /* live objects of so many collections alone; 0: all */
	struct java_shown shown;
};

/* Does it. Returns the exit code, after saying what is wrong. */
int java_session_run(const struct java_vm *vm, const struct java_request *request);

#endif
