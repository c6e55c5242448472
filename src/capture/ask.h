/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a command asks the collector of a recorded process, on its session's socket. */
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
	ASK_BLOCKS = 2, /* what lives now */
};

/* A live block, as the collector tells it through a pipe: ascending by address. */
struct ask_block {
	uint64_t address, size, number;
	uint32_t site, thread;
};

struct ask_request {
	uint32_t magic, version;         /* ASK_MAGIC, HW_SHM_VERSION */
	pid_t pid;                       /* as the asking side sees it */
	uint32_t what;                   /* enum ask_what */
	uint32_t alignment, heuristics;  /* of a search: as in struct leak_check */
	uint32_t anyhow;                 /* of blocks: also if a thread is in an event */
	char name[HW_MARK_NAME_MAX + 1]; /* of a mark */
};

struct ask_reply {
	uint32_t ok;
	uint32_t busy;           /* of blocks, if not ok: a thread is in an event */
	uint64_t time_ns;        /* of a mark: since the recording began */
	uint64_t blocks;         /* how many struct ask_block come through the pipe */
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

/* What is wrong with a mark's name, NULL: nothing. */
const char *ask_mark_problem(const char *name);

/* Has the present moment of such a process marked. The name is right. Errors: the same. */
struct error *ask_for_mark(pid_t pid, const char *name, struct ask_reply *ret) must_check_;

/*
 * Has the collector of such a process, which stands still, take all that has happened into the
 * recording, and tell what lives: reply->blocks rows can be read from *ret_fd, which the caller
 * closes. It answers at once; the rows are of that moment, whatever happens while they are read.
 * *ret_fd -1 and no error: a thread was stopped in the middle of telling something; the process is
 * to go on for a moment. anyhow: what such a thread tells may be missing. Errors: the same.
 */
struct error *ask_for_blocks(
	pid_t pid, bool anyhow, struct ask_reply *ret, int *ret_fd) must_check_;

/* The collector's side: answers, and closes the connection. asker -1: nobody waits; problem: why it
 * was not done, NULL: it was. */
void ask_reply_send(int asker, const struct ask_reply *reply, const char *problem);
/* The same with a descriptor, which stays the caller's; -1: none. */
void ask_reply_send_with(int asker, const struct ask_reply *reply, const char *problem, int fd);

#endif
