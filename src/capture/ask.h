/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests of a command to the collector of a recorded process, on its session's socket. */
#ifndef CAPTURE_ASK_H
#define CAPTURE_ASK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "capture/leaks/leak_check.h"
#include "format/shm.h"

#define ASK_MAGIC 0x6b736177u
#define ASK_FILE_MAX 4200

enum ask_what {
	ASK_LEAKS = 0, /* a search for leaks */
	ASK_MARK = 1,
	ASK_BLOCKS = 2, /* the blocks that are live now */
};

/* A live block as the collector writes it to a pipe, ascending by address. */
struct ask_block {
	uint64_t address, size, number;
	uint32_t site, thread;
};

struct ask_request {
	uint32_t magic, version;         /* ASK_MAGIC, HW_SHM_VERSION */
	pid_t pid;                       /* in the PID namespace of the command */
	uint32_t what;                   /* enum ask_what */
	uint32_t alignment, heuristics;  /* for ASK_LEAKS: as in struct leak_check */
	uint32_t anyhow;                 /* for ASK_BLOCKS: also if a thread is in an event */
	char name[HW_MARK_NAME_MAX + 1]; /* for ASK_MARK */
};

struct ask_reply {
	uint32_t ok;
	uint32_t busy;           /* ASK_BLOCKS, if not ok: a thread is in an event */
	uint64_t time_ns;        /* ASK_MARK: since the recording began */
	uint64_t blocks;         /* ASK_BLOCKS: number of struct ask_block in the pipe */
	char file[ASK_FILE_MAX]; /* the recording, whose last search this is; as the collector sees
				    it */
	char message[512];       /* the reason, if not ok */
};

/*
 * Lets the collector search a running recorded process for leaks; returns when the results are in
 * its recording. Returns ERROR_INPUT if there is no such process or it is not recorded,
 * ERROR_ENVIRONMENT if its collector can't be reached or the search failed.
 */
struct error *ask_for_leaks(
	pid_t pid, const struct leak_check *check, struct ask_reply *ret) must_check_;

/* Returns what is wrong with a mark's name; NULL if nothing is. */
const char *ask_mark_problem(const char *name);

/* Sets a mark at the present moment of a recorded process. ask_mark_problem() has returned NULL for
 * the name. Errors are those of ask_for_leaks(). */
struct error *ask_for_mark(pid_t pid, const char *name, struct ask_reply *ret) must_check_;

/*
 * Lets the collector of a recorded process, which is stopped, record all its events so far and list
 * the live blocks: ret->blocks rows can be read from *ret_fd, which the caller closes. The
 * collector answers at once; the rows are those of that moment, however long they take to read. If
 * *ret_fd is -1 and there is no error, a thread was stopped while it recorded an event, and the
 * process has to run on for a moment. anyhow: list the blocks also then; that event may be missing.
 * Errors are those of ask_for_leaks().
 */
struct error *ask_for_blocks(
	pid_t pid, bool anyhow, struct ask_reply *ret, int *ret_fd) must_check_;

/* For the collector: sends a reply and closes the connection `asker`; does nothing if that is -1.
 * problem: the reason for a failure, or NULL. */
void ask_reply_send(int asker, const struct ask_reply *reply, const char *problem);
/* Sends a reply with a descriptor, which stays the caller's; -1 is none. */
void ask_reply_send_with(int asker, const struct ask_reply *reply, const char *problem, int fd);

#endif
