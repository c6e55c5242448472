/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The place where recorded processes and their collector meet: a socket in a folder that only this
 * user can enter.
 */
#ifndef CAPTURE_SESSION_H
#define CAPTURE_SESSION_H

#include "base/error.h"
#include "format/shm.h"

#include <stdbool.h>
#include <sys/types.h>

struct session {
	char folder[64];
	char path[80]; /* the socket; what HEAPWISE_SESSION says */
	int socket;
};

/* In $XDG_RUNTIME_DIR if that is usable, else in /tmp. */
struct error *session_create(struct session *ret);

/* Closes the socket and removes it and the folder. */
void session_remove(struct session *session);

/* A process that says hello. */
struct session_caller {
	int connection;
	pid_t pid; /* as this side sees it */
	struct hw_hello hello;
};

/* Takes the next caller; false: there is none, or it was not one of ours (and is gone already). */
bool session_accept(const struct session *session, struct session_caller *ret);

/* Answers and closes the connection. memory: the rings' descriptor; -1: declines. */
void session_answer(struct session_caller *caller, int memory);

#endif
