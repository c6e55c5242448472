/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starts a program under recording and waits for it, as if it had been started directly: it keeps
 * its streams, folder, signals, job control and exit status.
 */
#ifndef CAPTURE_LAUNCH_H
#define CAPTURE_LAUNCH_H

#include "capture/collector/collector.h"

#include <stdbool.h>
#include <stddef.h>

struct launch_options {
	const char *program;  /* path to execute */
	char *const *argv;    /* argv[0] as typed */
	const char *runtime;  /* path of libheapwise-rt.so */
	const char *beside;   /* other libraries to load after it; NULL: none */
	const char *check;    /* what HEAPWISE_CHECK is to be; NULL: not in the environment */
	const char *file;     /* pattern with %p %n %h %%; NULL: heapwise.%n.%p.hpw */
	const char *children; /* which other processes are recorded: see collector.h */
	bool all_processes;   /* see collector.h */
	struct mode mode;
	struct leak_check leak_check;
	struct dump_plan dumps;
	leak_verdict_function *verdict; /* see collector.h */
	const void *verdict_context;
	recording_end_function *on_recording; /* of autostart_record(): see collector.h */
	void *on_recording_context;
	bool overwrite;
	/* A descriptor that the collector keeps open for as long as it lives; -1: none. */
	int lifeline;
	/* The collector writes to it which recordings have new errors: see collector.h; -1: nobody
	 * wants to know. */
	int errors;
	/* Called once, when the program's process and the session's socket (a path) are there;
	 * NULL: not called. */
	void (*on_start)(void *context, pid_t root, const char *session);
	void *on_start_context;
	/* Called when it is known what is recorded of an interpreter of Python in the program, with
	 * bits of HPW_NOTES_PYTHON; again if that changes. NULL: not called. */
	void (*on_python)(void *context, uint32_t notes);
	void *on_python_context;
};

enum launch_collector {
	LAUNCH_COLLECTOR_REPORTED,
	LAUNCH_COLLECTOR_STOPPED, /* by a signal; when it goes on it completes the recordings */
	LAUNCH_COLLECTOR_DIED,
};

struct launch_result {
	int status;     /* as waitpid(2) gives it */
	bool sampled;   /* totals are of samples, not estimates */
	int exec_errno; /* the program could not be executed after all; status means nothing then */
	char *file;     /* absolute name of the recording of the program's first image */
	char *last_file;                 /* and of the one that the program had last */
	enum launch_collector collector; /* other than REPORTED: nothing below is known */
	struct collector_end end;
	struct collector_recording *recordings;
	size_t recording_count;
	uint32_t python; /* what on_python was called with last; 0: it was not */
};

/*
 * Starts the program and waits until it has ended. The calling process must have no other threads.
 * Signals that ask a program to end or go on are passed on to it if a process sent them; a terminal
 * sends them to it directly. When the program is stopped, the caller stops, too.
 */
struct error *launch(const struct launch_options *options, struct launch_result *ret);
void launch_result_deinit(struct launch_result *result);

/* Takes one message of a collector at the control socket into *ret. Returns false if it was the
 * last, or none will come: ret->collector says which. */
bool launch_result_take(int control, struct launch_result *ret);

/*
 * Returns ERROR_ENVIRONMENT if the hard limit of file sizes is below what recording needs and this
 * process may not raise it; shared memory counts as a file.
 */
struct error *launch_limits_check(void) must_check_;

/* Returns the bytes of shared memory, sparse, for each recorded process. */
uint64_t launch_shared_bytes(void);

/* Returns the bytes of address space that a program must be allowed to have. */
uint64_t launch_address_space(void);

#endif
