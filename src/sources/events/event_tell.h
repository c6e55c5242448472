/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps of a story → events of the model. Memory follows the blocks that are live. */
#ifndef SOURCES_EVENT_TELL_H
#define SOURCES_EVENT_TELL_H

#include "model/events.h"
#include "sources/events/event_story.h"
#include "sources/events/hpw_clock.h"

/* Up to, and without, that step. Frees of blocks that the story does not allocate are left out. */
struct error *event_tell(const struct event_story *story, const struct hpw_clock *clock,
	uint64_t to_step, const struct event_sink *sink) must_check_;

#endif
