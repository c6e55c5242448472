/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records a process as `watch` sees it: nothing is written to it, it is never stopped, and what it
 * had allocated before is not in the recording. A recording that nobody finished, since this
 * process was killed, can be read and lacks its last second.
 */
#ifndef CAPTURE_WATCH_RECORDING_H
#define CAPTURE_WATCH_RECORDING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "capture/launch.h"
#include "capture/watch.h"

struct watch_recording_options {
	pid_t pid;
	struct mode mode;         /* its kind and sample_bytes; the others are 0 */
	const char *file;         /* pattern; NULL: the usual one (recording_file.h) */
	bool overwrite;           /* replace a file that exists */
	bool from_start;          /* it waits at its beginning (watch_spawn()), and is our child */
	const char *object;       /* as in struct watch_options, */
	enum watch_probes probes; /* as this */
};

struct watch_recording;

/*
 * Creates the file and begins. ERROR_INPUT: the process can't be watched; ERROR_ENVIRONMENT: the
 * kernel refuses, or the file can't be written. On failure no file remains. All calls are by one
 * thread.
 */
struct error *watch_recording_open(
	const struct watch_recording_options *options, struct watch_recording **ret) must_check_;
/* Ends it as it is, if it was not finished. NULL is allowed. */
void watch_recording_close(struct watch_recording *recording);

static inline void watch_recording_cleanup(struct watch_recording **recording)
{
	watch_recording_close(*recording);
}

/* Its watch, and its file's absolute name, borrowed. */
struct watch *watch_recording_watch(struct watch_recording *recording);
const char *watch_recording_file(const struct watch_recording *recording);

/*
 * To be called again and again: records what there is by now. *ret_wait_ns: how long the caller may
 * wait for watch_fd() before the next call. *ret_ended: the process has ended, or went on as
 * another program.
 */
struct error *watch_recording_step(
	struct watch_recording *recording, uint64_t *ret_wait_ns, bool *ret_ended) must_check_;

/* Takes the probes away, records what came before that, and completes the file. Fills *ret as
 * launch() does, with one recording. An error before, or of the file, is in there. */
struct error *watch_recording_finish(
	struct watch_recording *recording, struct launch_result *ret) must_check_;

#endif
