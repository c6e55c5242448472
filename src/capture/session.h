/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The place where recorded processes and their collector meet: a socket in a folder that only this
 * user can enter. (An abstract socket would leave nothing behind, but belongs to one network
 * namespace: there is one beside, for processes that are inside a chroot.)
 *
 * The folder is locked (flock(2)) by the processes that may still remove it. Launcher and collector
 * share one open file, so the lock ends when the last of them does, however it ends. A folder
 * without a lock belongs to a dead session; the next session_create() removes it.
 */
#ifndef CAPTURE_SESSION_H
#define CAPTURE_SESSION_H

#include "base/error.h"
#include "capture/ask.h"
#include "capture/collector/callers.h"
#include "format/shm.h"

#include <stdbool.h>
#include <sys/types.h>

struct session {
	char folder[HW_SESSION_BYTES - 8];
	char path[HW_SESSION_BYTES]; /* the socket; what HEAPWISE_SESSION says */
	int socket;
	int abstract; /* an abstract socket, for processes that can't reach the path: see
		       * session_listen(); -1: none */
	int lock;     /* the folder, open and locked */
};

/* Creates a session's folder and socket, in $XDG_RUNTIME_DIR if that is usable, else in /tmp, else
 * in the folder of `file`, an absolute name or NULL. */
struct error *session_create(const char *file, struct session *ret) must_check_;

/* Makes this process the listening one, as SO_PEERCRED shows it to those that connect. */
void session_take_over(const struct session *session);

/* Closes the sockets, which another process has, too, and answers. */
void session_stop_listening(struct session *session);

/* Closes all descriptors and leaves the folder to the other process that has them. */
void session_leave(struct session *session);

/* Removes the socket and the folder and closes all descriptors; does nothing the second time. */
void session_remove(struct session *session);

/*
 * Gives the name of the shared memory of this session's processes, which is the folder's name. A
 * forked child that has done nothing yet is found by a page of it in its memory map.
 */
void session_mapping(const char *path, char ret[static HW_SESSION_BYTES]);

/* A process that says hello, or something about another. */
struct session_caller {
	int connection;      /* -1: it waits for no answer */
	pid_t pid, ppid;     /* as this side sees it; its parent, 0: not to be seen from here */
	const char *session; /* what the answer names; borrowed */
	bool is_other;       /* of another user than root and ours */
	uid_t uid;           /* its user and group */
	gid_t gid;
	bool has_ended; /* its number may be another process's by now; of hellos alone */
	union {
		struct hw_hello hello;
		struct hw_notice notice;   /* its path ends with a NUL; reason: any number */
		struct hw_request request; /* its text ends with a NUL */
	};
};

enum session_call {
	SESSION_UNKNOWN, /* for now */
	SESSION_REFUSED, /* none of ours */
	SESSION_SILENT,  /* has said nothing yet */
	SESSION_HELLO,
	SESSION_NOTICE,
	SESSION_REQUEST, /* waits for an answer on `connection` */
};

/* Root's sessions can be reached by processes of all users: which of these are heard. */
struct session_gate {
	bool (*knows)(void *context, pid_t pid); /* as this side sees it */
	void *context;
};

/* Takes the caller at the other end of `connection`, which is taken over. */
enum session_call session_take(int connection, struct session_caller *ret);

/* Takes the next caller, including those that were silent before. Does not wait. */
enum session_call session_accept(const struct session *session, struct callers *callers,
	const struct session_gate *gate, uint64_t now_ns, struct session_caller *ret);

/* Returns whether a caller that says hello still waits for the answer, as far as that can be known
 * before it is given. */
bool session_is_awaited(const struct session_caller *caller);

/* Returns whether a caller that says hello has ended: its number may be another process's then. */
bool session_has_ended(const struct session_caller *caller);

/* Sends a caller that says hello the interim answer that it has to wait on; nothing if it has not
 * read the one before. Does not wait; that one has stopped waiting shows when it is answered. */
void session_ask_to_wait(const struct session_caller *caller);

/*
 * Answers a caller and closes the connection. `memory` is the descriptor of the rings; -1 declines.
 * Returns false if the caller has ended or has not waited: then it never has the answer. Further
 * calls do nothing.
 */
bool session_answer(struct session_caller *caller, int memory);

#endif
