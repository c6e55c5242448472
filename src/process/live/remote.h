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

/* A thread's word for the kernel that says which restartable sequence it is in (rseq(2)): going
 * elsewhere clears it. */
struct remote_sequence {
	uint64_t address, value;
};

/* A thread that does calls. */
struct remote_run {
	struct stopped_thread *thread;
	uint64_t place, mask;
	struct remote_sequence sequence;
	int signal; /* that came meanwhile, and is sent again; 0: none */
};

/*
 * Returns a thread that can do a call: it is stopped, has no signal pending, no seccomp filter (but
 * with stopped->calls_allowed), and is in 64-bit code. A thread in a system call is preferred.
 * Returns NULL if there is none.
 */
struct stopped_thread *remote_thread(struct stopped *stopped);

/* Returns where a thread can be made to do calls; 0: nowhere. */
uint64_t remote_free_place(const struct stopped *stopped, const struct stopped_thread *thread);

/* Makes a forked copy of a thread do one more call, whose result is not known; afterwards it ends
 * if it has no tracer. */
void remote_do_last(pid_t pid, const struct remote_call *call);

/* Lets a thread do several calls: remote_begin() prepares it at `place`, then come the calls, of
 * which only number, arguments and entry count, then remote_end(), which takes all back. `options`
 * are ptrace's, meanwhile and afterwards. remote_begin() returns false if the thread can do none,
 * remote_next() if it did not do this one: no more must follow. */
bool remote_begin(struct remote_run *run, struct stopped_thread *thread, uint64_t place,
	unsigned long options);
bool remote_next(struct remote_run *run, const struct remote_call *call, struct remote_answer *ret);
void remote_end(struct remote_run *run, unsigned long options);

/* Makes a thread do a call. Returns false if it can't. Afterwards its registers are as before, and
 * it is stopped, if it lives. */
bool remote_do(
	struct stopped_thread *thread, const struct remote_call *call, struct remote_answer *ret);

#endif
