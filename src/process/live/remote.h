/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a stopped thread of another process do a system call, and nothing else. Its signals stay
 * blocked meanwhile, it is not single-stepped (which would remove a handler of SIGTRAP), and
 * afterwards it is where it was.
 *
 * If the tracer is killed meanwhile, the thread does the call and goes on where it was
 * (remote_code.h).
 */
#ifndef PROCESS_REMOTE_H
#define PROCESS_REMOTE_H

#include "process/live/remote_code.h"
#include "process/stop.h"

struct remote_call {
	uint64_t number, arguments[6];
	unsigned long options; /* of ptrace, for the time of the call */
	unsigned long options_after;
	uint64_t place; /* address of the code that does it */
	enum remote_entry entry;
};

struct remote_answer {
	long result;         /* what the kernel answers */
	unsigned long event; /* what PTRACE_GETEVENTMSG says, if there was an event; else 0 */
};

/*
 * Returns a thread that can do a call: it is stopped, has no signal pending, no seccomp filter, and
 * is in 64-bit code. A thread in a system call is preferred. Returns NULL if there is none.
 */
struct stopped_thread *remote_thread(struct stopped *stopped);

/* Makes a forked copy of a thread do one more call, whose result is not known; afterwards it ends
 * if it has no tracer. */
void remote_do_last(pid_t pid, const struct remote_call *call);

/* Makes a thread do a call. Returns false if it can't. Afterwards its registers are as before, and
 * it is stopped, if it lives. */
bool remote_do(
	struct stopped_thread *thread, const struct remote_call *call, struct remote_answer *ret);

#endif
