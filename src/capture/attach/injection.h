/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by what changes a process and what changes it back. */
#ifndef CAPTURE_ATTACH_INJECTION_H
#define CAPTURE_ATTACH_INJECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/attach/inject.h"
#include "process/remote_calls.h"
#include "process/seccomp_filters.h"
#include "process/stop.h"

/* A process that is being changed. */
struct injection {
	pid_t pid;
	int memory; /* of the process, read and written */
	struct stopped stopped;
	struct remote_calls calls;
	bool is_filtered;               /* then each call is looked at first: */
	struct seccomp_filters filters; /* of all threads, while the process is stopped */
	uint64_t scratch;               /* a page of the process, while it is stopped */
	struct error *error;            /* the first */
	struct hw_attach *settings;
	bool is_earlier; /* the image was there before */
};

/*
 * Does `work` in a thread of its own, which is the tracer. A thread of the process that has not
 * stopped, as it does not return from the kernel, is let go by the kernel when that thread ends
 * (ptrace(2)), so nobody has to wait for it.
 */
struct error *injection_run(
	pid_t pid, struct error *(*work)(void *context), void *context) must_check_;
/* So often the calling thread meanwhile takes the status of threads that have ended:
 * stop_reap_ended(). */
#define INJECTION_REAP_NS 20000000
/* Sets *ret to so much later than now, by CLOCK_MONOTONIC. */
void injection_reap_time(struct timespec *ret);

/* Opens the process's memory; injection_end() in any case. */
struct error *injection_begin(pid_t pid, struct injection *ret) must_check_;
/* Lets the process go on. Returns the injection's error; *ret_pause: NULL or how long it stood. */
struct error *injection_end(struct injection *in, struct attach_pause *ret_pause) must_check_;

/* Returns a thread of the stopped process that waits for its vfork child, which runs in the same
 * memory; 0: none. */
pid_t injection_vfork(const struct injection *in);
/* Waits until there is none in a process that runs, for a bounded time. Returns what there still
 * is. */
pid_t injection_wait_for_vfork(const struct injection *in);

/* Returns the number of a thread in its own PID namespace, as its libc has it; is_other: that is
 * another one than ours. 0: it is not known. */
uint32_t injection_inner_tid(pid_t pid, pid_t tid, bool is_other);

bool injection_read(const struct injection *in, uint64_t address, void *ret, size_t bytes);
bool injection_write(const struct injection *in, uint64_t address, const void *data, size_t bytes);

/* Reads the filters of a stopped process that has some, and allows calls that they let pass. */
struct error *injection_read_filters(struct injection *in) must_check_;

/* Keeps an error, if there is none yet: "process N can't be attached: " and `what`. */
void injection_fail(struct injection *in, const char *what, int why);

/* Lets the process do a system call. Returns 0 after an error, which is kept; nothing is done if
 * there is one already. `what`: that the kernel refuses it. */
uint64_t injection_call(struct injection *in, const char *what, uint64_t number,
	const uint64_t arguments[static 6]);
/* The same where a failure makes no difference. */
void injection_call_anyway(
	struct injection *in, uint64_t number, uint64_t a, uint64_t b, uint64_t c);

#endif
