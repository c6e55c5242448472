/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that the collector tracks: it is recorded, one image after another, or only known to
 * belong to the session and has not sent anything yet.
 *
 * Names. The first image of the launched program gets FILE. Everything else inserts into it, before
 * the extension .hpw if it has that: .PID for the first image of another process, .PID.N for image
 * number N (from 1) of any process. N grows further as long as such a file exists already.
 */
#ifndef CAPTURE_TRACKED_PROCESS_H
#define CAPTURE_TRACKED_PROCESS_H

#include "capture/collector/process_dumps.h"
#include "capture/leak_verdict.h"
#include "capture/leaks/leak_job.h"
#include "capture/recorder/recorder.h"
#include "capture/session.h"

#include <stdbool.h>

#define TRACKED_FILE_MAX 4200
#define TRACKED_COMMAND_MAX 64

/* A mode that somebody has asked for while the process ran. */
struct changed_mode {
	bool is_set; /* false: the session's counts */
	enum mode_kind kind;
	uint64_t sample_bytes;
};

struct tracked_process {
	pid_t pid; /* in the collector's PID namespace */
	int pidfd;
	bool is_root;      /* what the launcher has started */
	bool has_launcher; /* the launcher waits for root's recording; false: root itself does */
	struct recorder *recorder; /* of the present image; NULL: it is not recorded */
	uint64_t due_ns, pause_ns; /* when to look at its rings next, unless it calls */
	uint64_t serviced_ns;
	uint64_t
		ended_ns; /* when it was seen to have ended; 0: it lives, or that was not put off */
	uint32_t images;  /* said hello so far */
	uint32_t completed;                   /* recordings of them */
	uint64_t image_number, parent_number; /* in the lineage, of the present image */
	uint64_t rings_inode;                 /* of the present image's memory */
	uint32_t part;                        /* of the present image's recordings, from 1 on */
	struct changed_mode mode;             /* goes on with exec, and to forked children */
	bool takes_along;                     /* the collector dies soon after the present image */
	bool searched;                        /* the present image's end, for leaks */
	struct leak_job *leaks;               /* a search in the present image, or NULL */
	struct death_watch watch;             /* for a fatal signal, if it is to be searched then */
	struct leak_verdict_child *verdict_child; /* of one that the program asked for, or NULL */
	struct process_dumps dumps;               /* of the present image */
	char command[TRACKED_COMMAND_MAX];        /* base name of the present image's program */
	char started_as[TRACKED_COMMAND_MAX];     /* the same, or that of a link to it */
	char program[HW_NOTICE_PATH];             /* its path, cut; "" if it may not be read */
	char file[TRACKED_FILE_MAX];              /* of the present image */
};

/* Returns NULL if there is no memory or the process does not exist any more. */
struct tracked_process *tracked_process_create(pid_t pid);
/* Frees a process; NULL is allowed. Its open recording stays incomplete. */
void tracked_process_destroy(struct tracked_process *process);

bool tracked_process_has_ended(const struct tracked_process *process);

/* Returns whether a process acts with the rights of another user than this one (its effective
 * user), or that is unknown. */
bool tracked_process_is_of_other(const struct tracked_process *process);

/* Returns whether what says hello is the image that is being recorded already: it still has its
 * rings. */
bool tracked_process_is_same_image(const struct tracked_process *process);

/*
 * How an ended process ended, with value: exit status or signal number. It is not our child, so
 * before Linux 6.15 this works only until its parent has asked; else HPW_EXIT_UNKNOWN.
 */
enum hpw_exit_kind tracked_process_ending(
	const struct tracked_process *process, uint32_t *ret_value);

/* Returns whether that will be known once the parent of the ended process has waited for it. */
bool tracked_process_ending_is_to_come(const struct tracked_process *process);

/* Gives the base name of the program that a process executes, "" if it may not be read. */
void tracked_process_command(pid_t pid, char ret[static TRACKED_COMMAND_MAX]);

/* Sets *ret to the name by which a process's program was started, if that was a link to the file:
 * redis-server, whose file is redis-check-rdb. Else to the file's. Processes can change what this
 * reads, so it is for people alone. */
void tracked_process_started_as(pid_t pid, char ret[static TRACKED_COMMAND_MAX]);

/* Gives the path of that program, cut to `bytes` bytes including the NUL. */
void tracked_process_program(pid_t pid, char *ret, size_t bytes);

/* Creates the file for the next image and sets process->file to its name. Returns the descriptor;
 * -1 with errno set on failure. */
int tracked_process_file_create(struct tracked_process *process, const char *root_file);

/* Creates a file for the next recording of the present image, and sets process->file to its name:
 * .2, .3 and so on before the extension of the first one's. Returns the descriptor; -1 with errno
 * set on failure. */
int tracked_process_part_create(struct tracked_process *process);

/* How an image is to be recorded. */
struct recording_settings {
	struct mode mode;
	struct leak_check leak_check;
	int dump_signal;    /* as in recorder_start */
	bool dumps_at_exit; /* the process waits for the dump of its end */
	uint64_t tsc_hz;
	struct write_queue *write_queue; /* as in recorder_start */
	uint64_t attached_ns;            /* likewise */
	const struct older_list *older;  /* likewise */
};

/*
 * Begins to record the image that has just said hello, into `file`, which is taken over, and
 * answers the caller, if there was no error. parent_file: as in recorder_start. A process that has
 * not waited for that, or has gone, is no error, but there is no recorder then, and no file.
 */
struct error *tracked_process_record(struct tracked_process *process, struct session_caller *caller,
	const struct recording_settings *settings, const char *parent_file, int file) must_check_;

/*
 * Returns whether the collector dies soon after a process that has said hello: as the first process
 * of a PID namespace ends, or, if it is the program that the session is about, because the first
 * process ends when that does. Only in a namespace other than the machine's own.
 */
bool tracked_process_takes_collector_along(const struct session_caller *caller, bool is_program);

#endif
