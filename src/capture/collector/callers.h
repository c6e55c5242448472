/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections to a session's socket on which nothing was received yet. A process sends its message
 * right after it connects, so there are few; but a hostile one may connect and stay silent, often.
 * The collector never waits for a message: such a connection is kept here until it is readable.
 *
 * There are at most CALLERS_MAX. When one more comes, the oldest connection of the process with the
 * most connections is closed. A program whose connection is closed soon connects once more
 * (runtime/preload/session.c).
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
	int epoll; /* readable: a connection is readable, or closed */
	uint32_t count, max;
	struct caller_silent silent[CALLERS_MAX]; /* oldest first */
};

/* Keeps at most `max` connections at a time. Returns false if there is no descriptor. */
bool callers_init(struct callers *callers, uint32_t max);
/* Closes all. */
void callers_deinit(struct callers *callers);

/* Takes a connection over. */
void callers_add(
	struct callers *callers, int connection, const struct ucred *peer, uint64_t now_ns);

/* Removes a connection that is readable or closed and returns it, for the caller to close; -1 if
 * there is none. */
int callers_next(struct callers *callers, struct ucred *ret_peer);

/* Closes connections that have been silent for CALLERS_SILENT_NS. */
void callers_expire(struct callers *callers, uint64_t now_ns);

#endif
