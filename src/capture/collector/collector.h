/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The collector: the process that records others. It answers them on the session's socket, drains
 * their rings, and completes each recording when its process has ended. It runs detached from the
 * terminal until the last recorded process has ended.
 */
#ifndef CAPTURE_COLLECTOR_H
#define CAPTURE_COLLECTOR_H

#include "capture/collector/tracked_process.h"
#include "capture/dump_plan.h"
#include "capture/recorder/recorder.h"
#include "capture/session.h"

/*
 * What the launcher sends to the collector on the control socket: how its program has ended, and
 * before that, each time, that the launcher stops because the program has stopped, and that it goes
 * on.
 */
struct collector_ended {
	uint32_t kind; /* enum hpw_exit_kind, or one of these */
	uint32_t value;
};
#define COLLECTOR_DETACH 0xfffffffdu /* root was attached, and is to be let go */
#define COLLECTOR_ROOT_STOPS 0xfffffffeu
#define COLLECTOR_ROOT_GOES_ON 0xffffffffu

/*
 * What the collector sends to the launcher then: a message for each complete recording, of very
 * many those with the largest peaks, and at last a struct collector_end.
 */
#define COLLECTOR_NAMED_MAX 16
#define COLLECTOR_NAMED_WITH_ERRORS_MAX 512 /* where errors are wanted, each may have some */

struct collector_recording {
	uint32_t is_end; /* 0 */
	pid_t pid;
	uint32_t image;                    /* of the process, from 0 */
	char command[TRACKED_COMMAND_MAX]; /* base name of the program */
	char file[TRACKED_FILE_MAX];
	struct recorder_totals totals;
};

/*
 * In memory that the launcher shares with the collector: the recording of root that is under way,
 * for the launcher to name should the collector be killed. The names take turns, so that the one in
 * use is whole at any time. And what is recorded of an interpreter in root, for the launcher to
 * say: it gets a SIGCONT when that has changed.
 */
struct root_file {
	uint32_t current; /* release: 1 + the number of the name in use; 0: none yet */
	uint32_t python; /* of HPW_NOTES_PYTHON, written once; 0: there is none, or not known yet */
	char names[2][TRACKED_FILE_MAX];
};

typedef void recording_end_function(void *context, const struct collector_recording *recording);

/* How many programs that ran unrecorded are named, by name and reason: the first ones. */
#define COLLECTOR_UNRECORDED_MAX 4

struct collector_unrecorded {
	char program[TRACKED_COMMAND_MAX]; /* base name; "": not known */
	uint32_t reason;                   /* enum hw_unrecorded */
	uint64_t count;                    /* 0: there are no more */
};

struct collector_end {
	uint32_t is_end;        /* 1 */
	uint32_t recordings;    /* complete ones, including those that are not named */
	uint64_t unnamed;       /* of them, not named and may have leaks or wrong frees */
	uint64_t unnamed_frees; /* of these, those that may have wrong frees */
	/* Of those that were not told either, but searched, by what was found there: bits
	 * 1 << enum hpw_leak_kind. */
	uint64_t unnamed_kinds[1u << HPW_LEAK_KINDS];
	uint64_t processes;  /* that these recordings are of */
	uint64_t small;      /* recordings that became rows of root's */
	uint64_t unrecorded; /* programs that ran without being recorded */
	uint64_t living;     /* processes still being recorded */
	uint64_t silent;     /* processes that go on and have sent nothing so far */
	uint64_t stays;      /* 1: the collector stays, for these or for others yet to come */
	uint64_t dumps;      /* files with dumps, of all reasons */
	char last_dump[TRACKED_FILE_MAX]; /* the latest of them; others may have replaced it */
	char message[256];                /* why something could not be recorded, or "" */
	struct collector_unrecorded unrecorded_named[COLLECTOR_UNRECORDED_MAX];
};

struct collector_start {
	struct session session; /* taken over: removed at the end */
	int control;            /* taken over; SOCK_SEQPACKET to the launcher; -1: there is none */
	struct root_file *root_file; /* borrowed, and written; NULL: nobody wants to know */
	pid_t launcher;              /* the parent process, while it lives */
	pid_t root;                  /* the program that the launcher starts */
	int file;                    /* for root's first image; taken over */
	const char *file_name; /* absolute; all other names are made from it: tracked_process.h */
	const char *file_now;  /* what it is called until that image says hello; else the same */
	const char *children;  /* COLLECTOR_CHILDREN_*, or a glob(7) of programs' base names */
	bool all_processes;    /* each keeps a file of its own: see small.h */
	struct mode mode;      /* of all recordings */
	struct leak_check leak_check;
	struct dump_plan dumps; /* of all recorded processes */
	/* Makes the verdict for a program that requests a search itself; NULL: none. The context
	 * lives as long as this process. */
	leak_verdict_function *verdict;
	const void *verdict_context;
	/* Taken over: a pipe that does not block, to which the name of a recording is written, with
	 * a newline, when it has an error that it did not have before; -1: nobody wants to know. */
	int errors;
	struct clock_pair began;
	/* Without a launcher: the
	 * root process, which has said hello already, and is sent the result (an empty message:
	 * success). Else NULL. */
	struct session_caller *first;
	void (*on_first)(const char *message);
	/* With a launcher and `first`: root was attached when it had run for so many ns, and
	 * first_message, 256 bytes that the launcher shares, becomes the message; 0: it was
	 * not. */
	uint64_t attached_ns;
	char *first_message;
	/* Then: what root had allocated before, borrowed; NULL: that is not known. */
	const struct older_list *older;
	/* Called, without a launcher, for each recording that is complete when root has ended, of
	 * very many those that are named; NULL: nobody wants to know. */
	recording_end_function *on_recording;
	void *on_recording_context;
};

#define COLLECTOR_CHILDREN_NO "no"
#define COLLECTOR_CHILDREN_ALL "all"

/*
 * Runs until every process of the session has ended. Reports to the launcher when root has ended.
 * If root never sends its hello its file is removed. Returns the exit status for this process.
 */
int collector_run(struct collector_start *start);

#endif
