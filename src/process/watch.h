/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces a process for as long as it lives, by ptrace(2), to stop it at the moment when a signal is
 * about to end it, while its memory and the registers of all threads are still there. Every signal,
 * every new thread and every stop of the process costs it a detour through the tracer; its own
 * children are not traced. SIGKILL, and a seccomp filter that kills, end it without a word.
 */
#ifndef PROCESS_WATCH_H
#define PROCESS_WATCH_H

#include "process/stop.h"

struct watch_calls {
	void *context;
	/* Called when all threads are watched. */
	void (*on_ready)(void *context);
	/* Called when a signal is about to end the process. All its threads are stopped, as
	 * stop_process() leaves them; they go on, and end, when this returns. */
	void (*on_dying)(void *context, const struct stopped *stopped);
};

/*
 * Watches a process until it has ended. The caller's thread is the tracer: it does nothing else and
 * has no children. If it dies, the process goes on unwatched. Returns the errors of stop_process().
 */
struct error *watch_process(pid_t pid, const struct watch_calls *calls) must_check_;

#endif
