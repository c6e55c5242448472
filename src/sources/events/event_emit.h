/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps of a story → events of the model. Memory follows the blocks that are live. */
#ifndef SOURCES_EVENT_EMIT_H
#define SOURCES_EVENT_EMIT_H

#include "model/events.h"
#include "sources/events/event_replay.h"
#include "sources/events/hpw_clock.h"

/*
 * Emits the events from one step on (0: the first) up to, and without, another. Frees of blocks
 * that no event allocates are left out; those of blocks that were allocated before `from_step` are
 * not.
 */
struct error *event_emit(const struct event_replay *story, const struct hpw_clock *clock,
	uint64_t from_step, uint64_t to_step, const struct event_sink *sink) must_check_;

#endif
