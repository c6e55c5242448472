/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The collector of a program that was started without the command, with LD_PRELOAD alone: its
 * runtime has started us, and waits at the other end of a socket for our welcome.
 */
#ifndef CAPTURE_ALONE_H
#define CAPTURE_ALONE_H

#include "capture/launch.h"

/*
 * Records the process at the other end of `connection` (taken over) and what it starts, as
 * `options` say, of which `program`, `argv` and `runtime` mean nothing; names are taken in the
 * current folder. Returns when all has ended, or with what keeps the program from being recorded:
 * then it goes on without. Standard error is the program's: `on_first` is called when the program
 * goes on, with what is to be said about that ("": nothing), and leaves it
 * (apart_close_streams(3)).
 */
struct error *alone_record(const struct launch_options *options, int connection,
	void (*on_first)(const char *message)) must_check_;

/* Tells the process at the other end of `connection` that it is not recorded, and has been told
 * why. Without an answer it says itself that there is none.
 * heard: alone_record() has had its hello. */
void alone_decline(int connection, bool heard);

#endif
