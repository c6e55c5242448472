/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starts a program under recording and waits for it, as if it had been started directly: its
 * streams, folder, signals, job control and ending are its own.
 */
#ifndef CAPTURE_LAUNCH_H
#define CAPTURE_LAUNCH_H

#include "capture/recorder.h"

#include <stdbool.h>

struct launch_options {
	const char *program; /* path to execute */
	char *const *argv;   /* argv[0] as typed */
	const char *runtime; /* path of libheapwise-rt.so */
	const char *file;    /* pattern with %p %n %h %%; NULL: heapwise.%n.%p.hpw */
	bool overwrite;
};

struct launch_result {
	int status;     /* as waitpid(2) gives it */
	int exec_errno; /* the program could not be executed after all; status means nothing then */
	char *file;     /* absolute name of the recording; caller frees */
	bool have_totals; /* the collector completed the recording */
	struct recorder_totals totals;
};

/*
 * The calling process must have no other threads. Signals: those that ask a program to end or go on
 * are passed to it when a process sends them; a terminal sends them to it directly. When it is
 * stopped, so is the caller.
 */
struct error *launch(const struct launch_options *options, struct launch_result *ret);

#endif
