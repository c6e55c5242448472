/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes that belong to a session and have not said so yet: a child that was forked and has
 * allocated nothing so far, or one that was started and has not got as far as that.
 */
#ifndef CAPTURE_SURVIVORS_H
#define CAPTURE_SURVIVORS_H

#include <sys/types.h>

/*
 * Calls found(context, pid) for each living process whose environment, as it was when its program
 * started, names this session's socket, or whose memory map has a page of its rings (of its own or
 * of a parent's). Processes of others that may not be looked at are passed
 * over.
 */
void survivors_each(
	const char *session_path, void (*found)(void *context, pid_t pid), void *context);

#endif
