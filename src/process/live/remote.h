/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls that a stopped thread of another process is made to do. It does nothing else: its
 * signals stay blocked meanwhile, nobody single-steps it (which would take a handler of SIGTRAP
 * away), and then it stands where it stood.
 *
 * If the tracer is killed in the middle, at any moment, the thread does the call and goes on where
 * it stood (remote_code.h).
 */
#ifndef PROCESS_REMOTE_H
#define PROCESS_REMOTE_H

#include "process/live/remote_code.h"
#include "process/stop.h"

struct remote_call {
	uint64_t number, arguments[6];
	unsigned long options; /* of ptrace, for the time of the call */
	unsigned long options_after;
	uint64_t place; /* of the code that does it */
	enum remote_entry entry;
};

struct remote_answer {
	long result;         /* what the kernel answers */
	unsigned long event; /* what PTRACE_GETEVENTMSG says, if there was an event; else 0 */
};

/*
 * A thread that can do a call: stopped, with no signal on its way to it, confined by no seccomp
 * filter, in 64-bit code; one that is in a system call rather than one that runs. NULL: none.
 */
struct stopped_thread *remote_thread(struct stopped *stopped);

/* Makes the copy that a thread has forked, which stands where that did, do a last call; then it
 * ends if nobody traces it. What the call says is not told. */
void remote_do_last(pid_t pid, const struct remote_call *call);

/* False: the thread can't do it. Its registers are as before, and it is stopped, if it lives. */
bool remote_do(
	struct stopped_thread *thread, const struct remote_call *call, struct remote_answer *ret);

#endif
