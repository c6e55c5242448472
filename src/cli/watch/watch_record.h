/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `watch -o FILE` and `attach --route=ebpf`: a recording in place of what is printed. */
#ifndef CLI_WATCH_RECORD_H
#define CLI_WATCH_RECORD_H

#include "capture/watch_recording.h"

struct watch_record {
	struct watch_recording_options recording;
	uint64_t for_ns; /* it ends then; 0: when it is asked to */
	bool quiet;
	const char *why; /* said at the start: why not by another way; NULL: nothing */
};

/* Records until the process has ended, for_ns is over, or SIGINT, SIGTERM or SIGHUP comes. A
 * process that waits at its beginning is let go. Says what is done. Returns the exit status. An
 * error before anything was done is not said, but in *ret_refused. */
int watch_record_run(const struct watch_record *record, struct error **ret_refused);

#endif
