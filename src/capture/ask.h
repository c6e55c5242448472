/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests of a command to the collector of a recorded process, on its session's socket. */
#ifndef CAPTURE_ASK_H
#define CAPTURE_ASK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "capture/leaks/leak_check.h"
#include "format/request.h"
#include "format/shm.h"

/*
 * Lets the collector search a running recorded process for leaks; returns when the results are in
 * its recording. Returns ERROR_INPUT if there is no such process or it is not recorded,
 * ERROR_ENVIRONMENT if its collector can't be reached or the search failed.
 */
struct error *ask_for_leaks(
	pid_t pid, const struct leak_check *check, struct hw_reply *ret) must_check_;

/*
 * Lets the collector of a recorded process write a dump: a recording of what is live and of all
 * sums at this moment. The process runs on. It can be read from *ret_fd, which the caller closes.
 * Errors are those of ask_for_leaks().
 */
struct error *ask_for_dump(pid_t pid, struct hw_reply *ret, int *ret_fd) must_check_;

/* Lets the collector that listens at `session` list the processes that it records: the lines of
 * HW_ASK_PROCESSES can be read from *ret_fd, which the caller closes. */
struct error *ask_for_processes(const char *session, int *ret_fd) must_check_;

/* Returns what is wrong with a mark's name; NULL if nothing is. */
const char *ask_mark_problem(const char *name);

/* Sets a mark at the present moment of a recorded process. ask_mark_problem() has returned NULL for
 * the name. Errors are those of ask_for_leaks(). */
struct error *ask_for_mark(pid_t pid, const char *name, struct hw_reply *ret) must_check_;

/* Asks the collector of a recorded process for what needs no other answer than a reply: HW_ASK_MARK
 * to HW_ASK_MODE, but not HW_ASK_DUMP. Errors are those of ask_for_leaks(). */
struct error *ask_for(
	pid_t pid, enum hw_request_what what, const char *text, struct hw_reply *ret) must_check_;

/* Who is told that a collector does not answer at once; called once. is_stopped: by a signal
 * (SIGSTOP) or a debugger. */
struct ask_wait {
	void (*on_wait)(void *context, pid_t collector, bool is_stopped);
	void *context;
};

/* Asks the collector of an attached process to let it go (HW_ASK_DETACH). One that is stopped is
 * waited for for a second: then *ret_stopped is its PID, else 0. Errors are those of
 * ask_for_leaks(). */
struct error *ask_to_let_go(pid_t pid, const struct ask_wait *wait, struct hw_reply *ret,
	pid_t *ret_stopped) must_check_;

/*
 * Lets the collector of a recorded process, which is stopped, record all its events so far and list
 * the live blocks: ret->blocks rows can be read from *ret_fd, which the caller closes. The
 * collector answers at once; the rows are those of that moment, however long they take to read. If
 * *ret_fd is -1 and there is no error, a thread was stopped while it recorded an event, and the
 * process has to run on for a moment. anyhow: list the blocks also then; that event may be missing.
 * Errors are those of ask_for_leaks().
 */
struct error *ask_for_blocks(pid_t pid, bool anyhow, struct hw_reply *ret, int *ret_fd) must_check_;

/* For the collector: sends a reply and closes the connection `asker`; does nothing if that is -1.
 * problem: the reason for a failure, or NULL. */
void ask_reply_send(int asker, const struct hw_reply *reply, const char *problem);
/* Sends a reply with a descriptor, which stays the caller's; -1 is none. */
void ask_reply_send_with(int asker, const struct hw_reply *reply, const char *problem, int fd);

#endif
