/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the seccomp filters of a process let everything pass that attaching, recording and
 * letting go do in it. */
#ifndef CAPTURE_ATTACH_FILTERS_H
#define CAPTURE_ATTACH_FILTERS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "process/seccomp_filters.h"

/* Returns whether a thread of a process has restricted itself by seccomp, by filters alone; -1: in
 * another way (strict mode), or that is not known. */
int attach_is_filtered(pid_t pid);

/*
 * Executes the filters for all system calls that the process is to make. Returns ERROR_ENVIRONMENT,
 * with the name of the first that does not pass. call_at: where the tool lets a thread do calls;
 * hooks_at: where the image is; 0: not yet known, the same is taken.
 */
struct error *attach_filters_check(const struct seccomp_filters *filters, pid_t pid,
	uint64_t call_at, uint64_t hooks_at) must_check_;

/* Makes that error for one system call, whose number is given. */
struct error *attach_filters_refuse(pid_t pid, uint64_t number) must_check_;

#endif
