/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a process becomes a collector: away from the terminal, its signals, the caller's folder,
 * limits and descriptors. Whoever waits for the end of some pipe must not wait for a collector.
 */
#ifndef CAPTURE_APART_H
#define CAPTURE_APART_H

#include "base/error.h"

#include <stddef.h>

#define APART_ALIENS_MAX 16

/* Descriptors of libraries that somebody preloads into this process. */
struct apart {
	int alien[APART_ALIENS_MAX];
	size_t aliens;
};

/*
 * To be called before this process has opened anything: what is closed on exec then is a library's,
 * which will go on to use it (libunwind, which tcmalloc brings, has a pipe); what was inherited
 * never is.
 */
void apart_note(struct apart *apart);

/* Shared memory counts as a file: a hard limit below its size, that nobody here may raise. */
struct error *apart_check_limits(void) must_check_;

/* Leaves everything but the standard streams and `kept` (at most 8; -1 is none). For good. */
void apart_go(const struct apart *apart, const int *kept, size_t count);

/* A descriptor that takes the place of a stream: /dev/null; where there is none, one that can be
 * neither read nor written. */
int apart_open_nothing(void);

/* The first `count` standard streams are such from now on. Never closed: what is opened next would
 * get their numbers. */
void apart_close_streams(int count);

#endif
