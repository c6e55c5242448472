/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Callers whose message has been read and not been handled yet, in the order in which they came.
 * Hearing one takes some microseconds, beginning its recording a millisecond, and on a loaded
 * machine a hundred times that: those that wait get an interim answer, a few times a second, and
 * do not give up (runtime/preload/session.c). The queue owns their connections.
 */
#ifndef CAPTURE_CALLER_QUEUE_H
#define CAPTURE_CALLER_QUEUE_H

#include "capture/session.h"

#include <stdbool.h>
#include <stdint.h>

/* Each takes a descriptor. Others stay in the kernel's queue, unheard. */
#define CALLER_QUEUE_MAX 1024u
/* A program waits for at least four times that without a word. */
#define CALLER_QUEUE_PAUSE_NS 250000000u

struct queued_caller {
	struct session_caller caller;
	enum session_call call;
	uint64_t asked_ns; /* when it last got an interim answer, CLOCK_MONOTONIC; 0: never */
};

struct caller_queue {
	struct queued_caller *places; /* a ring of `max` */
	uint32_t first, count, max;
};

/* Makes room for `max` callers, but no more than CALLER_QUEUE_MAX and at least one. Returns false
 * if there is no memory. */
bool caller_queue_init(struct caller_queue *queue, uint64_t max);
/* Closes the connections of those that still wait. */
void caller_queue_deinit(struct caller_queue *queue);

/* Returns whether there is no room for one more. */
bool caller_queue_is_full(const struct caller_queue *queue);

/* Adds a caller, whose connection is taken over. The queue must not be full. */
void caller_queue_add(
	struct caller_queue *queue, const struct session_caller *caller, enum session_call call);

/* Takes the first caller out; its connection is the caller's of this function. Returns
 * SESSION_UNKNOWN if there is none. */
enum session_call caller_queue_take(struct caller_queue *queue, struct session_caller *ret);

/* Asks those that say hello to wait on, but none more than once in CALLER_QUEUE_PAUSE_NS.
 * `now_ns`: CLOCK_MONOTONIC. */
void caller_queue_ask(struct caller_queue *queue, uint64_t now_ns);

#endif
