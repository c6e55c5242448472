/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that records others: answers them on the session's socket, drains their rings, and
 * completes each recording when its process has ended. Lives in its own session, apart from the
 * terminal, and until the last recorded process has ended.
 */
#ifndef CAPTURE_COLLECTOR_H
#define CAPTURE_COLLECTOR_H

#include "capture/recorder.h"
#include "capture/session.h"

/* What the launcher tells the collector on the control socket when its program has ended. */
struct collector_ended {
	uint32_t kind; /* enum hpw_exit_kind */
	uint32_t value;
};

struct collector_start {
	struct session session; /* taken over: removed at the end */
	int control;            /* taken over; SOCK_SEQPACKET to the launcher */
	pid_t root;             /* the program that the launcher starts */
	int file;               /* for root's first image; taken over */
	const char *file_name;  /* absolute; later images insert .PID.N before the extension */
	struct clock_pair began;
};

/*
 * Runs until everything is recorded. When root has ended, a struct recorder_totals goes to the
 * launcher. Returns the process's exit status.
 */
int collector_run(struct collector_start *start);

#endif
