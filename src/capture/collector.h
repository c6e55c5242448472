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

/*
 * What the collector tells the launcher then: the recordings that are complete, a message each, of
 * very many those with the most allocations; last the end.
 */
#define COLLECTOR_NAMED_MAX 16
#define COLLECTOR_FILE_MAX 4200

struct collector_recording {
	uint32_t is_end; /* 0 */
	pid_t pid;
	uint32_t image;   /* of the process, from 0 */
	char command[64]; /* base name of the program */
	char file[COLLECTOR_FILE_MAX];
	struct recorder_totals totals;
};

struct collector_end {
	uint32_t is_end;     /* 1 */
	uint32_t recordings; /* complete ones, also those that were not told */
	uint64_t processes;  /* that these recordings are of */
	uint64_t unrecorded; /* processes that were turned away */
	uint64_t living;     /* processes still being recorded */
	char message[256];   /* why something could not be recorded; "" */
};

struct collector_start {
	struct session session; /* taken over: removed at the end */
	int control;            /* taken over; SOCK_SEQPACKET to the launcher */
	pid_t root;             /* the program that the launcher starts */
	int file;               /* for root's first image; taken over */
	const char *file_name;  /* absolute; later images insert .PID.N before the extension */
	const char *file_now;   /* what it is called until that image says hello; else the same */
	struct clock_pair began;
};

/*
 * Runs until everything is recorded. When root has ended, the launcher is told. If root never says
 * hello its file is removed. Returns the process's exit status.
 */
int collector_run(struct collector_start *start);

#endif
