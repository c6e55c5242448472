/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recording of the process whose heap is looked at: named by --recording, or found. Of a
 * process that runs its collector says what lives now, at the moment at which the copy of its
 * memory is made; of a core the recording's own list of its end counts.
 */
#ifndef QUERY_HEAP_RECORDING_H
#define QUERY_HEAP_RECORDING_H

#include <sys/types.h>

#include "model/joined.h"
#include "process/address_space.h"
#include "query/context.h"

struct heap_recording {
	char *path;
	struct model *model;
	bool is_asked;                        /* the collector tells its blocks through a pipe */
	struct query_live_blocks live_blocks; /* its path is `path` */
	struct live_block *blocks;            /* that it has told; NULL: the model has them */
	size_t count;
	struct joined joined; /* its recording is NULL unless it is there */
};

void heap_recording_deinit(struct heap_recording *recording);

/* Whether the process was recorded: its runtime is in it. */
bool heap_recording_is_wanted(const struct address_space *space);

/* As above, for a running process. */
bool heap_recording_is_wanted_of(pid_t pid);

/*
 * Asks the collector of a process, which stands still, what lives; what it tells is read later.
 * False: a thread was stopped in the middle of telling something, and the process is to go on for a
 * moment; never if `anyhow`. A process whose collector can't be asked has no recording: that is
 * noted.
 */
bool heap_recording_ask(
	struct query_context *context, pid_t pid, bool anyhow, struct heap_recording *ret);

/*
 * Opens it: that of `path` (NULL: the one that was asked for, or that is found beside the core, in
 * the current folder or that of the program). No error, and nothing there: it was not found, which
 * is noted. ERROR_INPUT: that of `path` can't be read, or is of another process.
 */
struct error *heap_recording_open(struct query_context *context, const char *path, const char *core,
	const struct address_space *space, struct heap_recording *ret) must_check_;

#endif
