/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls that a stopped thread of another process is made to do. It does nothing else: its
 * signals stay blocked meanwhile, nobody single-steps it (which would take a handler of SIGTRAP
 * away), and then it stands where it stood.
 *
 * If the tracer is killed in the middle, the thread goes on with the wrong registers; so nobody
 * who traces has himself killed with his parent.
 */
#ifndef PROCESS_REMOTE_H
#define PROCESS_REMOTE_H

#include "process/stop.h"

struct remote_call {
	uint64_t number, arguments[6];
	unsigned long options; /* of ptrace, for the time of the call */
	unsigned long options_after;
	uint64_t instruction; /* where there is a system call instruction */
};

struct remote_answer {
	long result;         /* what the kernel answers */
	unsigned long event; /* what PTRACE_GETEVENTMSG says, if there was an event; else 0 */
};

/* Where in the process there is a system call instruction: the kernel's own code has some. 0:
 * nowhere. */
uint64_t remote_instruction(pid_t pid);

/*
 * A thread that can do a call: stopped, with no signal on its way to it, and confined by no seccomp
 * filter; one that is in a system call rather than one that runs. NULL: none.
 */
struct stopped_thread *remote_thread(struct stopped *stopped);

/* False: the thread can't do it. Its registers are as before, and it is stopped, if it lives. */
bool remote_do(
	struct stopped_thread *thread, const struct remote_call *call, struct remote_answer *ret);

#endif
