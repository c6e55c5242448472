/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process had allocated before it is attached. While it is stopped for that it is copied
 * (process/snapshot.h); the thread of the command that stopped it makes the list (capture/older.h)
 * from the copy, and the process and the command go on meanwhile.
 */
#ifndef CAPTURE_ATTACH_BEFORE_H
#define CAPTURE_ATTACH_BEFORE_H

#include <pthread.h>
#include <signal.h>

#include "capture/attach.h"
#include "capture/attach/plan.h"
#include "capture/older.h"
#include "process/guard.h"
#include "process/snapshot.h"
#include "process/stop.h"

struct before {
	const struct attach_options *options; /* NULL: it was not prepared */
	const struct attach_plan *plan;
	struct older_list list;
	struct guard guard;
	struct stopped stopped; /* the threads as they were then */
	struct snapshot snapshot;
	bool wanted, has_snapshot, has_thread;
	pthread_t thread;
	volatile sig_atomic_t stop;
	uint32_t done; /* release: the thread is done, and the copy is no more */
};

/* How a process's heap would be copied, by what is known without stopping it. HPW_OLDER_UNKNOWN:
 * nothing speaks against it. *ret_ns: about how long that takes; 0: not known. */
enum hpw_older before_look(
	const struct attach_options *options, const struct attach_plan *plan, uint64_t *ret_ns);

/* Before the collector is started, which shares the list. */
void before_prepare(struct before *before, const struct attach_options *options,
	const struct attach_plan *plan);
/* While the process is stopped and before it is changed. Whatever fails is kept in the list. */
void before_take(struct before *before, struct stopped *stopped);
/*
 * Does `work`, which attaches the process and calls before_take(), as injection_run() does it, and
 * returns then. If there is a copy, the thread goes on: as the tracer of the copy it makes the
 * list, and ends it.
 */
struct error *before_run(
	struct before *before, struct error *(*work)(void *context), void *context) must_check_;
/* Frees what is kept as soon as the list is done. */
void before_service(struct before *before);
/* Ends it, done or not. */
void before_end(struct before *before);

#endif
