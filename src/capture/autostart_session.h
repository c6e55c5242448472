/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The collector of a program that was started without the command, with LD_PRELOAD alone. The
 * runtime in that program has started this process and waits at the other end of a socket for its
 * answer.
 */
#ifndef CAPTURE_AUTOSTART_SESSION_H
#define CAPTURE_AUTOSTART_SESSION_H

#include "capture/launch.h"

/*
 * Records the process at the other end of `connection` (taken over) and the processes that it
 * starts. `program`, `argv` and `runtime` of `options` are not used; file names are relative to the
 * current folder. Returns when all of them have ended, or an error if the program can't be
 * recorded; it then goes on unrecorded. Standard error is the program's. on_first() is called when
 * the program goes on, with the message for its user ("": none), and closes the streams
 * (daemonize_close_streams(3)).
 */
struct error *autostart_record(const struct launch_options *options, int connection,
	void (*on_first)(const char *message)) must_check_;

/* Answers the process at the other end of `connection` that it is not recorded, and that its user
 * knows. A process without an answer prints that it is not recorded. heard:
 * autostart_record() has received its hello. */
void autostart_decline(int connection, bool heard);

#endif
