/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of a program that
 * can be replayed any number of times: those of a recording, or of another tool's file. They come
 * as the steps of hpw_events.h, of which all books are made (hpw_replay.h, hpw_lives.h,
 * hpw_moments.h).
 */
#ifndef SOURCES_EVENT_REPLAY_H
#define SOURCES_EVENT_REPLAY_H

#include "sources/events/hpw_events.h"
#include "sources/recording/hpw_file.h"

struct event_replay {
	const void *context;
	/* Tells all of them, in their order; stops early when *enough (NULL: never) is set. An
	 * error that the visitor returns ends it, unless the file may be damaged there: see
	 * event_replay_of_file(). */
	struct error *(*each)(
		const void *context, const struct hpw_visitor *visitor, const bool *enough);
	uint64_t blocks_max; /* more that live at once are not believed */
};

/* Returns the events of a recording, which is borrowed. Damaged chunks are skipped. */
struct event_replay event_replay_of_file(const struct hpw_file *file);

#endif
