/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles and snapshots of node processes that run, by their inspectors. */
#ifndef CLI_NODE_LIVE_H
#define CLI_NODE_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct node_live {
	pid_t pid;
	const char *path; /* of the result */
	bool snapshot;    /* else a profile of what is allocated for so long */
	uint64_t for_ns;
	uint64_t sample_bytes; /* mean distance of samples */
	bool stays_open;       /* afterwards: we opened the inspector and it still listens */
	uint16_t port;
};

/* Writes a profile or a snapshot of the process. An inspector that was opened for it is closed
 * again, also after an error. ^C ends the time of a profile, not the command. */
struct error *node_live_write(struct node_live *live) must_check_;

#endif
