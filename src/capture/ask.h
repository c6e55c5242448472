/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a command asks the collector of a recorded process, on its session's socket. */
#ifndef CAPTURE_ASK_H
#define CAPTURE_ASK_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "capture/leak_check.h"

#define ASK_MAGIC 0x6b736177u
#define ASK_FILE_MAX 4200

struct ask_request {
	uint32_t magic, version;        /* ASK_MAGIC, HW_SHM_VERSION */
	pid_t pid;                      /* as the asking side sees it */
	uint32_t alignment, heuristics; /* as in struct leak_check */
};

struct ask_reply {
	uint32_t ok;
	char file[ASK_FILE_MAX]; /* the recording, whose last search this is; as the collector sees
				    it */
	char message[512];       /* why not */
};

/*
 * Has a running recorded process searched for leaks; returns when the results stand in its
 * recording. ERROR_INPUT: no such process, or it is not recorded; ERROR_ENVIRONMENT: its collector
 * can't be asked, or could not do it.
 */
struct error *ask_for_leaks(
	pid_t pid, const struct leak_check *check, struct ask_reply *ret) must_check_;

#endif
