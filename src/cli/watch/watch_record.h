/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `watch -o FILE` and `attach --route=ebpf`: a recording in place of what is printed. */
#ifndef CLI_WATCH_RECORD_H
#define CLI_WATCH_RECORD_H

#include "capture/watch_recording.h"

struct watch_record {
	struct watch_recording_options recording;
	uint64_t for_ns; /* it ends then; 0: when it is asked to */
	bool quiet;
};

/* Records until the process has ended, for_ns is over, or SIGINT, SIGTERM or SIGHUP comes. A
 * process that waits at its beginning is let go. Says what is done. Returns the exit status. */
int watch_record_run(const struct watch_record *record);

#endif
