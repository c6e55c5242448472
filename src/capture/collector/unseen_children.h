/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds processes that belong to a session and have not connected yet: forked children that have
 * not allocated anything, and processes that were just started.
 */
#ifndef CAPTURE_UNSEEN_CHILDREN_H
#define CAPTURE_UNSEEN_CHILDREN_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Calls found(context, pid) for each living process whose environment, as it was when its program
 * started, names this session's socket, or whose memory map has a page of its own or a parent's
 * rings. Processes that may not be read are skipped. The calling process is older than all of them;
 * it began at most `age_ns` ago.
 */
void unseen_children_each(const char *session_path, uint64_t age_ns,
	void (*found)(void *context, pid_t pid), void *context);

#endif
