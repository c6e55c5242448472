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
	/* All threads are watched. */
	void (*on_ready)(void *context);
	/* A signal is about to end the process, whose threads are all stopped, as stop_process()
	 * leaves them; they go on, and end, when this returns. */
	void (*on_dying)(void *context, const struct stopped *stopped);
};

/*
 * Watches until the process has ended. The caller's thread is the tracer: it has nothing else to do
 * and no children; if it dies, the process goes on unwatched. Errors: as of stop_process().
 */
struct error *watch_process(pid_t pid, const struct watch_calls *calls) must_check_;

#endif
