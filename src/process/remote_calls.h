/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a stopped process do system calls of its own, and nothing else: see live/remote.h. */
#ifndef PROCESS_REMOTE_CALLS_H
#define PROCESS_REMOTE_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "process/stop.h"

struct remote_run;

struct remote_calls {
	struct remote_run *run; /* NULL: it has not begun */
	bool failed;            /* the thread did not do the last one */
};

/* Prepares a thread of a stopped process to do calls. Returns ERROR_ENVIRONMENT if none can.
 * remote_calls_end() in any case, before the process goes on. */
struct error *remote_calls_begin(struct stopped *stopped, struct remote_calls *ret) must_check_;

/* Returns the address of the instruction by which the thread does calls. */
uint64_t remote_calls_at(const struct remote_calls *calls);

/* Does a call. *ret is what the kernel answers: -errno if it refuses. Returns false if the thread
 * could not do it. */
bool remote_calls_do(
	struct remote_calls *calls, uint64_t number, const uint64_t arguments[static 6], long *ret);

/* The thread is as it was. */
void remote_calls_end(struct remote_calls *calls);

#endif
