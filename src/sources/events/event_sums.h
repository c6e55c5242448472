/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All figures of a model from a story of events that another tool has written: what the reader of
 * recordings computes of theirs, by the same books, so that each means what docs/quantities.md and
 * docs/moments.md say. Stamps of such a story are nanoseconds. Memory follows sites and live
 * blocks; the story is walked once, and again for moments, series of a part, and lives.
 */
#ifndef SOURCES_EVENT_SUMS_H
#define SOURCES_EVENT_SUMS_H

#include "model/build.h"
#include "model/events.h"
#include "sources/events/event_replay.h"
#include "sources/source.h"

/*
 * The model has all sites, its duration and its path; `unknown` (enum unknown_figure) is what the
 * story does not tell. flags: enum source_flag; query NULL: all. ERROR_INPUT: there is no such
 * moment, or more blocks live at once than are believed.
 */
struct error *event_sums_put(const struct event_replay *story, uint32_t unknown, unsigned flags,
	const struct source_query *query, struct model *model) must_check_;

/* As above, and completes the model: takes it from *model. `cut`: the story's file was cut off. */
struct error *event_sums_finish(const struct event_replay *story, uint32_t unknown, unsigned flags,
	const struct source_query *query, bool cut, struct model **model,
	struct model **ret) must_check_;

/* Tells the events of the range that the query has; the model needs no figures. */
struct error *event_sums_events(const struct event_replay *story, uint32_t unknown,
	const struct source_query *query, struct model *model,
	const struct event_sink *sink) must_check_;

#endif
