/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calls that `watch` sees as a source of events for a recorder (recorder/event_source.h): one
 * lane that all threads share, in the order in which the kernel saw them.
 *
 *	ring of the kernel ──▶ calls ──▶ (is it still the program?) ──▶ lane ──▶ merge
 *
 * Stamps are nanoseconds of CLOCK_MONOTONIC. They never go back: two processors may have read the
 * clock in another order than they have entered the ring.
 */
#ifndef CAPTURE_WATCH_SOURCE_H
#define CAPTURE_WATCH_SOURCE_H

#include "base/error.h"
#include "base/hash_index.h"
#include "base/vec.h"
#include "capture/recorder/event_source.h"
#include "capture/watch.h"

DEFINE_VEC(watch_calls, struct watch_call)
DEFINE_VEC(stack_nodes, uint32_t)

struct watch_source {
	struct event_source source;
	struct watch *watch; /* borrowed; set by the caller before the first step */
	struct watch_calls calls;
	uint64_t *words; /* the lane */
	uint64_t head, tail;
	uint64_t last_stamp, safe_stamp; /* of the lane's last record; what comes is later */
	struct hw_node *nodes;           /* of HW_NODES_MAX, sparse */
	uint32_t node_count;
	struct hash_index by_frame;
	struct stack_nodes of_stacks; /* by number of the watch's stack; 0: not there yet */
	uint32_t notes;
	uint64_t nodes_full; /* events whose stack found no room here */
	bool no_memory;
};

/* Prepares it. Call watch_source_deinit() in any case, after the recorder's end. */
struct error *watch_source_init(struct watch_source *source) must_check_;
void watch_source_deinit(struct watch_source *source);

/* What on_call of struct watch_options is to be, with the source as its context. */
bool watch_source_call(void *context, const struct watch_call *call);

/* Takes calls from the kernel, and looks after the process. *ret_more: there are more already.
 * *ret_ended: the process has ended, or went on as another program. The recorder has to drain the
 * source before the next step. */
struct error *watch_source_step(
	struct watch_source *source, bool *ret_more, bool *ret_ended) must_check_;

/* As watch_source_step(), after watch_stop(): takes what is left alone. */
struct error *watch_source_rest(struct watch_source *source, bool *ret_more) must_check_;

#endif
