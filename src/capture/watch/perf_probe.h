/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs by events of perf: at single functions, the way of kernels that can't probe many at once
 * (before Linux 6.6), and at tracepoints.
 */
#ifndef CAPTURE_PERF_PROBE_H
#define CAPTURE_PERF_PROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct perf_probe {
	const char *path;
	pid_t pid;       /* only in this process, all its threads */
	uint64_t offset; /* in the file */
	bool is_return;
};

/*
 * Has a program run at a function, or at its return. *ret is a descriptor, and the probe goes with
 * it. ERROR_ENVIRONMENT: the kernel refuses; it takes CAP_SYS_ADMIN.
 */
struct error *perf_probe_attach(
	const struct perf_probe *probe, int program, uint64_t cookie, int *ret) must_check_;

/*
 * Has a program run at a tracepoint of the kernel, in all processes and on all processors. `id` is
 * its number in tracefs, `name` for messages. *ret is a descriptor, and the tracepoint is let go
 * with it. ERROR_ENVIRONMENT: the kernel refuses.
 */
struct error *perf_tracepoint_attach(
	unsigned id, const char *name, int program, uint64_t cookie, int *ret) must_check_;

#endif
