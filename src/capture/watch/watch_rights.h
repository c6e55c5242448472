/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why the kernel refuses programs, and what to do about it. */
#ifndef CAPTURE_WATCH_RIGHTS_H
#define CAPTURE_WATCH_RIGHTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* Makes the error for programs that could not be loaded. `err` is an errno value, `log` what the
 * verifier said, "" if it said nothing. */
struct error *watch_rights_explain(int err, const char *log) must_check_;

/* Whether a kernel with that release (uname -r) has return probes make a system call that seccomp
 * filters of the process see. */
bool watch_returns_are_filtered(const char *release);

/* ERROR_ENVIRONMENT: the process is under such a filter, which could kill it. */
struct error *watch_check_filters(pid_t pid) must_check_;

#endif
