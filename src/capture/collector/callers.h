/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections to a session's socket that have not said anything yet. Who connects says what it
 * wants right after, so there are next to none; but whoever may connect may also stay silent, as
 * often as it likes. Nobody is waited for: such a connection is put here and looked at again once
 * there is something to read.
 *
 * They are bounded: at most CALLERS_MAX, and when one more comes the oldest is let go of the
 * process that has the most. A program that is let go without having been silent for long connects
 * once more (runtime/preload/session.c).
 */
#ifndef CAPTURE_CALLERS_H
#define CAPTURE_CALLERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define CALLERS_MAX 256u
/* A stopped process may take long from one system call to the next. */
#define CALLERS_SILENT_NS 10000000000ull

struct caller_silent {
	int connection;
	struct ucred peer;
	uint64_t since_ns;
};

struct callers {
	int epoll; /* readable: one of them has said something, or is gone */
	uint32_t count, max;
	struct caller_silent silent[CALLERS_MAX]; /* oldest first */
};

/* At most `max` at a time. False: no descriptor for it. */
bool callers_init(struct callers *callers, uint32_t max);
/* Closes all. */
void callers_deinit(struct callers *callers);

/* Takes a connection over. */
void callers_add(
	struct callers *callers, int connection, const struct ucred *peer, uint64_t now_ns);

/* Takes one of those out that can be read from by now, or are gone, and gives it to the caller;
 * -1: there is none. */
int callers_next(struct callers *callers, struct ucred *ret_peer);

/* Lets those go that have been silent for long. */
void callers_expire(struct callers *callers, uint64_t now_ns);

#endif
