/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns a process into a collector: detached from the terminal, its signals, and the caller's
 * folder, limits and descriptors. A program that waits for the end of some pipe must not wait for a
 * collector.
 */
#ifndef CAPTURE_DAEMONIZE_H
#define CAPTURE_DAEMONIZE_H

#include "base/error.h"

#include <stddef.h>

#define FOREIGN_DESCRIPTORS_MAX 16

/* Descriptors that belong to libraries which are preloaded into this process. */
struct foreign_descriptors {
	int alien[FOREIGN_DESCRIPTORS_MAX];
	size_t aliens;
};

/*
 * Lists the foreign descriptors. Called before this process has opened anything: a descriptor that
 * is closed on exec then belongs to a library, which goes on using it (libunwind, which tcmalloc
 * brings, has a pipe); an inherited one is never closed on exec.
 */
void daemonize_note_descriptors(struct foreign_descriptors *apart);

/* Returns an error if the hard limit of file sizes is below the size of shared memory, which counts
 * as a file, and this process may not raise it. */
struct error *daemonize_check_limits(void) must_check_;

/* Detaches this process. Closes all descriptors but the standard streams, the foreign ones, and the
 * `count` ones in `kept` (at most 8; -1 is none). There is no way back. */
void daemonize(const struct foreign_descriptors *apart, const int *kept, size_t count);

/* Opens /dev/null to replace a stream; if there is none, returns a descriptor that can be neither
 * read nor written. */
int daemonize_open_null(void);

/* Replaces the first `count` standard streams by such descriptors. They are not just closed, since
 * the files that are opened next would get their numbers. */
void daemonize_close_streams(int count);

#endif
